//! Charts of the kernel ladder for X·Xᵀ: instruction counts, and times if a GPU was measured.

use super::axis::LogAxis;
use super::canvas::{BLACK, PURPLE};
use super::{Canvas, Chart, ChartError, ORANGE, Side, WIDTH};
use crate::figures::{Counts, Figures};
use crate::statements::needed_share;
use crate::words::{percent, seconds};

const LABELS: f64 = 92.0;
const ROW: f64 = 19.0;
const TOP: f64 = 6.0;
const BELOW: f64 = 34.0;
const VALUE: f64 = 112.0;

/// The bar of a rung.
struct Bar {
    label: String,
    value: f64,
    note: String,
}

/// The issued warp instructions, and the fraction of them that the result needs.
pub(super) fn counts(figures: &Figures) -> Result<Option<Chart>, ChartError> {
    let Counts::Counted(counts) = &figures.counts else { return Ok(None) };
    let bars: Vec<Bar> = counts
        .rungs
        .iter()
        .enumerate()
        .map(|(index, rung)| Bar {
            label: rung.name.clone(),
            value: rung.warp_instructions.max(1) as f64,
            note: format!("{} needed", percent(needed_share(counts, index))),
        })
        .collect();
    let tick = |power: i32| match power {
        ..3 => format!("{:.0}", 10.0_f64.powi(power)),
        3..6 => format!("{:.0} thousand", 10.0_f64.powi(power - 3)),
        6..9 => format!("{:.0} million", 10.0_f64.powi(power - 6)),
        _ => format!("{:.0} billion", 10.0_f64.powi(power - 9)),
    };
    draw("ladder_counts", &bars, PURPLE, "warp instructions issued: counts, not times", tick)
}

/// The kernels' times, and the fraction of one multiprocessor's peak if it is known.
pub(super) fn times(figures: &Figures) -> Result<Option<Chart>, ChartError> {
    let Some(run) = figures.gpu.run() else { return Ok(None) };
    let Some(product) = &run.product else { return Ok(None) };
    let peak = run.gpu.multiprocessor_operations_per_second();
    let operations = figures.product.operations();
    let bars: Vec<Bar> = product
        .rungs
        .iter()
        .map(|rung| {
            let share = peak.map(|peak| format!(", {} of the roof", percent(operations / rung.times.median / peak)));
            Bar {
                label: rung.name.clone(),
                value: rung.times.median,
                note: format!("{}{}", seconds(rung.times.median), share.unwrap_or_default()),
            }
        })
        .collect();
    let tick = |power: i32| seconds(10.0_f64.powi(power)).replace(".000", "").replace(".00", "").replace(".0 ", " ");
    draw("ladder_times", &bars, ORANGE, "kernel time by GPU events", tick)
}

fn draw(
    name: &str,
    bars: &[Bar],
    colour: plotters::style::RGBColor,
    title: &str,
    tick: impl Fn(i32) -> String,
) -> Result<Option<Chart>, ChartError> {
    if bars.is_empty() {
        return Ok(None);
    }
    let height = TOP + ROW * bars.len() as f64 + BELOW;
    let axis = LogAxis::holding(bars.iter().map(|bar| bar.value), LABELS, f64::from(WIDTH) - VALUE);
    let svg = Canvas::draw(height as u32, |canvas| {
        let bottom = height - BELOW;
        axis.draw(canvas, (TOP, bottom), title, tick)?;
        for (index, bar) in bars.iter().enumerate() {
            let (y, end) = (TOP + ROW * (index as f64 + 0.5), axis.at(bar.value));
            canvas.text(&bar.label, (LABELS - 5.0, y), Side::Left, 9.0, BLACK)?;
            canvas.rectangle((LABELS, y - 6.0), (end, y + 6.0), colour)?;
            canvas.value(&bar.note, (end + 5.0, y))?;
        }
        Ok(())
    })?;
    let alt: Vec<String> = bars.iter().map(|bar| format!("{}: {}", bar.label, bar.note)).collect();
    Ok(Some(Chart { name: name.to_owned(), svg, alt: format!("The ladder of kernels: {}", alt.join("; ")) }))
}
