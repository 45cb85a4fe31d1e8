//! The paper's brightness at each pixel, and the ink on it.
//!
//! Shadows make one side of a sheet darker than the ink on the other. The paper's brightness under a stroke is that
//! around it: a grey closing, the minimum filter after the maximum filter, in a window wider than any stroke.
//!
//! Source: J. Serra, "Image Analysis and Mathematical Morphology", 1982, chapter XII.

use std::collections::VecDeque;

use ndarray::{Array2, Axis, Zip};

use super::{Background, Grey, MIN_CONTRAST};

/// Radius of the filters' window as a share of the image's longer side. No stroke is as wide as the window.
const RADIUS_SHARE: f64 = 0.2;
/// Minimum brightness of the paper by which the ink is divided. Darker paper shows noise as ink.
const MIN_PAPER: i16 = 64;
/// Share of light pixels around the ink, below and above which the border does not decide.
const UNDECIDED: std::ops::Range<f64> = 0.45..0.55;

/// The ink of a drawing, as the share of the paper's light that it takes, 0 … 255, and whether it is dark on light;
/// `None` if there is no ink.
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

/// Whether most pixels in whose window there is ink, and so paper, are as light as the paper. In doubt, as for a
/// digit without a margin, whether most of the border is.
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

/// The values that a window sees beyond the image.
#[derive(Clone, Copy, PartialEq)]
enum Edge {
    /// None.
    Cut,
    /// A linear continuation, reflected at the edge, so that a shadow that reaches the edge is not taken for ink.
    Continued,
}

/// The maximum in the window around each pixel, a square.
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

/// The minimum in the window around each pixel, a square.
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
    // Indices in the window of values that are larger than all after them.
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
