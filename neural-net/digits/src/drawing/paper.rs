//! Estimates the paper's brightness at each pixel, and the ink on it.
//!
//! A shadow can make one side of a sheet darker than the ink on the other side. The paper under a
//! stroke is as bright as the paper around it. A gray closing estimates this: the maximum filter,
//! then the minimum filter, in a window wider than any stroke.
//!
//! Source: J. Serra, "Image Analysis and Mathematical Morphology", 1982, chapter XII.

use std::collections::VecDeque;

use ndarray::{Array2, Axis, Zip};

use super::{Background, Grey, MIN_CONTRAST};

/// Radius of the filters' window, as a fraction of the image's longer side. No stroke is as wide as
/// the window.
const RADIUS_SHARE: f64 = 0.2;
/// Minimum paper brightness to divide the ink by. On darker paper, noise would show as ink.
const MIN_PAPER: i16 = 64;
/// Fractions of light pixels around the ink that are too close to a half to decide. Then the border
/// decides.
const UNDECIDED: std::ops::Range<f64> = 0.45..0.55;

/// The ink of a drawing, 0 … 255, as the fraction of the paper's light that it absorbs, and whether
/// the drawing is dark on light. `None` if there is no ink.
pub(super) fn ink(image: &Grey, background: Background) -> Option<(Grey, bool)> {
    let (height, width) = image.dim();
    let radius = ((height.max(width) as f64 * RADIUS_SHARE).ceil() as usize).max(1);
    let mut light = image.mapv(i16::from);
    let is_dark = match background {
        Background::Auto => is_dark_on_light(&light, radius),
        Background::Dark => false,
        Background::Light => true,
    };
    if !is_dark {
        light.mapv_inplace(|value| 255 - value);
    }
    let paper = eroded(&dilated(&light, radius), radius, Edge::Continued);
    let contrast = paper.iter().zip(&light).map(|(paper, light)| paper - light).max()?;
    let share = |&paper: &i16, &light: &i16| {
        let taken = 255 * i32::from(paper - light) / i32::from(paper.max(MIN_PAPER));
        taken.clamp(0, 255) as u8
    };
    (contrast >= i16::from(MIN_CONTRAST)).then(|| (Zip::from(&paper).and(&light).map_collect(share), is_dark))
}

/// Whether most pixels with both ink and paper in their window are as light as the paper. If that
/// is undecided, as for a digit without a margin, whether most of the border is light.
fn is_dark_on_light(light: &Array2<i16>, radius: usize) -> bool {
    let (maxima, minima) = (dilated(light, radius), eroded(light, radius, Edge::Cut));
    let contrast = maxima.iter().zip(&minima).map(|(max, min)| max - min).max().unwrap_or(0);
    let (mut all, mut near) = (0.0, 0.0);
    Zip::from(light).and(&maxima).and(&minima).for_each(|&light, &max, &min| {
        if max - min > contrast / 2 {
            all += 1.0;
            near += f64::from(u8::from(2 * light > max + min));
        }
    });
    let share = near / f64::max(all, 1.0);
    if !UNDECIDED.contains(&share) {
        return share > 0.5;
    }
    let (height, width) = light.dim();
    let border = [light.row(0), light.row(height - 1), light.column(0), light.column(width - 1)];
    let sum: f64 = border.iter().flatten().map(|&light| f64::from(light)).sum();
    sum / (2 * (height + width)) as f64 > 127.5
}

/// How a window treats the area beyond the image.
#[derive(Clone, Copy, PartialEq)]
enum Edge {
    /// It contributes no values.
    Cut,
    /// It is a linear continuation, reflected at the edge. A shadow that reaches the edge is then
    /// not mistaken for ink.
    Continued,
}

/// The maximum in the square window around each pixel.
fn dilated(image: &Array2<i16>, radius: usize) -> Array2<i16> {
    let mut maxima = image.clone();
    for axis in [Axis(0), Axis(1)] {
        for mut lane in maxima.lanes_mut(axis) {
            let values = window_maxima(&lane.to_vec(), radius);
            lane.iter_mut().zip(values).for_each(|(value, max)| *value = max);
        }
    }
    maxima
}

/// The minimum in the square window around each pixel.
fn eroded(image: &Array2<i16>, radius: usize, edge: Edge) -> Array2<i16> {
    let mut minima = image.mapv(|value| -value);
    for axis in [Axis(0), Axis(1)] {
        for mut lane in minima.lanes_mut(axis) {
            let length = lane.len();
            let beyond = if edge == Edge::Continued { radius.min(length - 1) } else { 0 };
            let reflected = |edge: usize, inside: usize| 2 * lane[edge] - lane[inside];
            let before = (1..=beyond).rev().map(|distance| reflected(0, distance));
            let after = (1..=beyond).map(|distance| reflected(length - 1, length - 1 - distance));
            let values: Vec<i16> = before.chain(lane.iter().copied()).chain(after).collect();
            let maxima = window_maxima(&values, radius);
            lane.iter_mut().zip(&maxima[beyond..]).for_each(|(value, &max)| *value = max);
        }
    }
    minima.mapv(|value| -value)
}

/// The maxima of the windows around all values, in linear time.
fn window_maxima(values: &[i16], radius: usize) -> Vec<i16> {
    // Indices of the window's values that are larger than all values after them.
    let mut larger: VecDeque<usize> = VecDeque::new();
    let mut maxima = Vec::with_capacity(values.len());
    for end in 0..values.len() + radius {
        if let Some(&value) = values.get(end) {
            while larger.back().is_some_and(|&last| values[last] <= value) {
                larger.pop_back();
            }
            larger.push_back(end);
        }
        let Some(middle) = end.checked_sub(radius) else { continue };
        while larger.front().is_some_and(|&first| first + radius < middle) {
            larger.pop_front();
        }
        maxima.push(values[larger[0]]);
    }
    maxima
}
