//! Plots the speed-up by number of threads, and the ideal line.

use super::canvas::{BLACK, GREEN};
use super::{BLUE, Canvas, Chart, ChartError, GREY, LIGHT, ORANGE, Side, WIDTH};
use crate::figures::{Figures, OnThreads};
use crate::words::{counted, significant};

const HEIGHT: f64 = 210.0;
const LEFT: f64 = 40.0;
const RIGHT: f64 = 300.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 175.0;

/// The speed-ups of the maximum, X·Xᵀ and the fused activation. `None` without measurements on more
/// than one thread.
pub(super) fn by_threads(figures: &Figures) -> Result<Option<Chart>, ChartError> {
    let lines = [
        ("maximum", BLUE, &figures.maximum.rayon),
        ("X·Xᵀ", ORANGE, &figures.product.rayon),
        ("activation, one pass", GREEN, &figures.activation.fused),
    ];
    let max_threads = lines.iter().flat_map(|(_, _, ladder)| ladder.iter()).map(|on| on.threads).max().unwrap_or(1);
    if max_threads < 2 {
        return Ok(None);
    }
    // The thread axis is logarithmic, which makes 1, 2, 4 and 8 equidistant.
    let doublings = (max_threads as f64).log2();
    let x = |threads: f64| LEFT + 14.0 + threads.log2() / doublings * (RIGHT - LEFT - 28.0);
    let top = axis_maximum(figures);
    let y = |speedup: f64| BOTTOM - (speedup / top).clamp(0.0, 1.0) * (BOTTOM - TOP);
    let svg = Canvas::draw(HEIGHT as u32, |canvas| {
        let step = (top / 8.0).ceil().max(1.0);
        for tick in (0..).map(|tick| f64::from(tick) * step).take_while(|tick| *tick <= top) {
            canvas.line(&[(LEFT, y(tick)), (RIGHT, y(tick))], LIGHT, 0.5)?;
            canvas.text(&format!("{tick:.0}"), (LEFT - 5.0, y(tick)), Side::Left, 8.5, BLACK)?;
        }
        let mut shown: Vec<usize> =
            lines.iter().flat_map(|(_, _, ladder)| ladder.iter()).map(|on| on.threads).collect();
        shown.sort_unstable();
        shown.dedup();
        for threads in shown {
            canvas.text(&threads.to_string(), (x(threads as f64), BOTTOM + 9.0), Side::Centre, 8.5, BLACK)?;
        }
        canvas.text("threads", (0.5 * (LEFT + RIGHT), BOTTOM + 25.0), Side::Centre, 9.0, BLACK)?;
        canvas.text("speed-up over one thread", (LEFT - 20.0, TOP - 14.0), Side::Right, 9.0, BLACK)?;
        canvas.line(&[(LEFT, BOTTOM), (RIGHT, BOTTOM)], GREY, 0.75)?;

        let ideal: Vec<(f64, f64)> = (0..=64)
            .map(|part| 2.0_f64.powf(doublings * f64::from(part) / 64.0))
            .filter(|threads| *threads <= top)
            .map(|threads| (x(threads), y(threads)))
            .collect();
        canvas.line(&ideal, GREY, 0.75)?;
        let cores = figures.machine.cores;
        if cores > 1 && cores < max_threads {
            let at = x(cores as f64);
            canvas.dashes((at, TOP), (at, BOTTOM), GREY)?;
            canvas.text("over-subscribed", (at + 5.0, BOTTOM - 7.0), Side::Right, 8.5, GREY)?;
        }
        for (_, colour, ladder) in lines {
            let Some(one) = ladder.first() else { continue };
            let at = |on: &OnThreads| (x(on.threads as f64), y(one.times.median / on.times.median));
            canvas.line(&ladder.iter().map(at).collect::<Vec<_>>(), colour, 1.5)?;
            for on in ladder {
                let (x, [lower, upper]) = (at(on).0, on.times.interval().map(|time| y(one.times.median / time)));
                canvas.line(&[(x, lower), (x, upper)], colour, 0.75)?;
                canvas.dot(at(on), colour)?;
            }
        }
        legend(canvas, figures, &lines.map(|(name, colour, _)| (name, colour)), cores > 1 && cores < max_threads)
    })?;
    let alt = lines.map(|(name, _, ladder)| {
        let gains = ladder.iter().filter_map(|on| {
            Some(format!("{} on {}", significant(ladder.first()?.times.median / on.times.median), on.threads))
        });
        format!("{name}: {}", gains.collect::<Vec<_>>().join(", "))
    });
    Ok(Some(Chart { name: "speedup".to_owned(), svg, alt: format!("Speed-up by threads. {}", alt.join("; ")) }))
}

/// The upper end of the speed-up axis: an integer above all measured intervals.
fn axis_maximum(figures: &Figures) -> f64 {
    let ladders = [&figures.maximum.rayon, &figures.product.rayon, &figures.activation.fused];
    let best = ladders.iter().flat_map(|ladder| {
        let one = ladder.first().map_or(0.0, |one| one.times.median);
        ladder.iter().map(move |on| one / on.times.interval()[0])
    });
    best.fold(1.0, f64::max).ceil() + 1.0
}

fn legend(
    canvas: &Canvas,
    figures: &Figures,
    lines: &[(&str, plotters::style::RGBColor)],
    marks_cores: bool,
) -> Result<(), ChartError> {
    let (x, mut y) = (RIGHT + 22.0, TOP + 8.0);
    canvas.line(&[(x, y), (x + 18.0, y)], GREY, 0.75)?;
    canvas.text("ideal", (x + 24.0, y), Side::Right, 9.0, BLACK)?;
    for (name, colour) in lines {
        y += 17.0;
        canvas.line(&[(x, y), (x + 18.0, y)], *colour, 1.5)?;
        canvas.dot((x + 9.0, y), *colour)?;
        canvas.text(name, (x + 24.0, y), Side::Right, 9.0, BLACK)?;
    }
    if marks_cores {
        y += 17.0;
        canvas.dashes((x, y), (x + 18.0, y), GREY)?;
        let label = format!("{} available", counted(figures.machine.cores, "core"));
        canvas.text(&label, (x + 24.0, y), Side::Right, 9.0, BLACK)?;
    }
    assert!(y < BOTTOM && x < f64::from(WIDTH), "the legend is next to the axes");
    Ok(())
}
