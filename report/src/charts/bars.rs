//! Bars of time with their spread.

use plotters::style::RGBColor;

use super::axis::LogAxis;
use super::canvas::{BLACK, SKY};
use super::{BLUE, Canvas, Chart, ChartError, GREY, ORANGE, Side, WIDTH};
use crate::figures::Figures;
use crate::timed::{Table, Timed, rows};
use crate::words::seconds;

const LABELS: f64 = 196.0;
const ROW: f64 = 15.0;
const TOP: f64 = 6.0;
const BELOW: f64 = 34.0;
/// Room for the value to the right of the longest bar.
const VALUE: f64 = 50.0;

/// Draws a table's times as bars on a logarithmic axis; `None` if there are none.
pub(super) fn times(figures: &Figures, table: Table) -> Result<Option<Chart>, ChartError> {
    let rows = rows(figures, table);
    if rows.is_empty() {
        return Ok(None);
    }
    let height = TOP + ROW * rows.len() as f64 + BELOW;
    let ends = rows.iter().flat_map(|row| row.times.interval());
    let axis = LogAxis::holding(ends.chain(rows.iter().map(|row| row.times.median)), LABELS, f64::from(WIDTH) - VALUE);
    let svg = Canvas::draw(height as u32, |canvas| {
        let bottom = height - BELOW;
        axis.draw(canvas, (TOP, bottom), "time per call", tick)?;
        for (index, row) in rows.iter().enumerate() {
            bar(canvas, &axis, row, TOP + ROW * (index as f64 + 0.5))?;
        }
        Ok(())
    })?;
    let names: Vec<String> = rows.iter().map(|row| format!("{}: {}", row.label, seconds(row.times.median))).collect();
    let alt = format!("Bars of time: {}", names.join("; "));
    Ok(Some(Chart { name: format!("times_{}", table.key()), svg, alt }))
}

fn bar(canvas: &Canvas, axis: &LogAxis, row: &Timed, y: f64) -> Result<(), ChartError> {
    let (end, [lower, upper]) = (axis.at(row.times.median), row.times.interval().map(|time| axis.at(time)));
    canvas.text(&row.label, (LABELS - 5.0, y), Side::Left, 9.0, BLACK)?;
    canvas.rectangle((LABELS, y - 4.5), (end, y + 4.5), colour(&row.label))?;
    canvas.line(&[(lower, y), (upper, y)], BLACK, 0.75)?;
    for x in [lower, upper] {
        canvas.line(&[(x, y - 3.0), (x, y + 3.0)], BLACK, 0.75)?;
    }
    canvas.value(&seconds(row.times.median), (upper.max(end) + 4.0, y))
}

/// The color of a version: the definition, our parallel version, or another one.
fn colour(label: &str) -> RGBColor {
    match label {
        "max_cpu" | "matmul_transpose_trivial" | "one loop per step" => GREY,
        _ if label.starts_with("max_rayon") || label.starts_with("matmul_transpose_rayon") => BLUE,
        _ if label.starts_with("three passes") => SKY,
        _ if label.starts_with("one pass") => BLUE,
        _ => ORANGE,
    }
}

/// The label for 10^`power` seconds.
fn tick(power: i32) -> String {
    let (unit, base) = match power {
        ..=-7 => ("ns", -9),
        -6..=-4 => ("µs", -6),
        -3..=-1 => ("ms", -3),
        _ => ("s", 0),
    };
    format!("{:.0} {unit}", 10.0_f64.powi((power - base).max(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_have_suitable_units() {
        let ticks = [-9, -7, -6, -4, -3, -1, 0, 2].map(tick);
        assert_eq!(ticks, ["1 ns", "100 ns", "1 µs", "100 µs", "1 ms", "100 ms", "1 s", "100 s"]);
    }
}
