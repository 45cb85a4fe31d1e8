//! Accuracies of training runs by number of ranks, workers or epochs.

use plotters::style::RGBColor;

use super::Chart;
use super::canvas::{BLACK, Canvas, ChartError, GREY, LIGHT, Side};
use crate::words::{accuracy, percent};

const HEIGHT: f64 = 145.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 300.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 112.0;
const Y_TITLE: &str = "test accuracy";

/// A line of a chart: its name, its color, and its points with accuracies as second values.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) colour: RGBColor,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Plots test accuracies against a number. With `ticks_of_values`, the axis is logarithmic and has
/// these values as ticks; otherwise it is linear. `None` if no line has two points.
pub(crate) fn accuracies(
    name: &str,
    x_title: &str,
    ticks_of_values: bool,
    lines: &[Line],
) -> Result<Option<Chart>, ChartError> {
    let values = |of: fn(&(f64, f64)) -> f64| lines.iter().flat_map(move |line| line.points.iter().map(of));
    let bounds = |all: &mut dyn Iterator<Item = f64>| {
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (left, right) = bounds(&mut values(|point| point.0));
    let (low, high) = bounds(&mut values(|point| point.1));
    // Counts are positive. A NaN or an infinity cannot be placed on an axis.
    if !(left > 0.0 && right > left && low.is_finite() && high.is_finite()) {
        return Ok(None);
    }
    let (low, high) = ((10.0 * low).floor() / 10.0, (10.0 * high).ceil() / 10.0);
    let (low, high) = if low < high { (low, high) } else { (low, low + 1.0) };
    let share = |value: f64| match ticks_of_values {
        true => (value / left).ln() / (right / left).ln(),
        false => (value - left) / (right - left),
    };
    let x = |value: f64| LEFT + 12.0 + share(value) * (RIGHT - LEFT - 24.0);
    let y = |value: f64| BOTTOM - ((value - low) / (high - low)).clamp(0.0, 1.0) * (BOTTOM - TOP);
    let svg = Canvas::draw(HEIGHT as u32, |canvas| {
        for tick in (0..=5).map(|part| low + (high - low) * f64::from(part) / 5.0) {
            canvas.line(&[(LEFT, y(tick)), (RIGHT, y(tick))], LIGHT, 0.5)?;
            canvas.text(&percent(tick), (LEFT - 5.0, y(tick)), Side::Left, 8.5, BLACK)?;
        }
        let mut shown: Vec<f64> = values(|point| point.0).collect();
        shown.sort_by(f64::total_cmp);
        shown.dedup();
        // Show every value on a logarithmic axis, and at most about eight on a linear one.
        let step = if ticks_of_values { 1 } else { 1 + shown.len() / 8 };
        for value in shown.into_iter().step_by(step) {
            canvas.text(&value.to_string(), (x(value), BOTTOM + 9.0), Side::Centre, 8.5, BLACK)?;
        }
        canvas.text(x_title, (0.5 * (LEFT + RIGHT), BOTTOM + 23.0), Side::Centre, 9.0, BLACK)?;
        canvas.text(Y_TITLE, (LEFT - 30.0, TOP - 12.0), Side::Right, 9.0, BLACK)?;
        canvas.line(&[(LEFT, BOTTOM), (RIGHT, BOTTOM)], GREY, 0.75)?;
        let mut at = (RIGHT + 18.0, TOP + 8.0);
        for Line { name, colour, points } in lines.iter().filter(|line| !line.points.is_empty()) {
            let points: Vec<(f64, f64)> = points.iter().map(|point| (x(point.0), y(point.1))).collect();
            canvas.line(&points, *colour, 1.5)?;
            points.iter().try_for_each(|&point| canvas.dot(point, *colour))?;
            canvas.line(&[at, (at.0 + 18.0, at.1)], *colour, 1.5)?;
            canvas.text(name, (at.0 + 24.0, at.1), Side::Right, 9.0, BLACK)?;
            at.1 += 17.0;
        }
        Ok(())
    })?;
    let alt: Vec<String> = lines
        .iter()
        .map(|Line { name, points, .. }| {
            let points: Vec<String> = points.iter().map(|&(x, y)| format!("{} at {x}", accuracy(y))).collect();
            format!("{name}: {}", points.join(", "))
        })
        .collect();
    Ok(Some(Chart { name: name.to_owned(), svg, alt: format!("{Y_TITLE} by {x_title}. {}", alt.join("; ")) }))
}
