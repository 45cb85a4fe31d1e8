//! Plots the network's accuracy over its training time.

use plotters::style::RGBColor;

use super::canvas::{BLACK, GREEN, PURPLE, SKY};
use super::{BLUE, Canvas, Chart, ChartError, GREY, LIGHT, ORANGE, Side, WIDTH};
use crate::figures::{Figures, Gpu, Point};
use crate::words::{accuracy as shown, seconds};

const HEIGHT: f64 = 220.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 340.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 185.0;
const COLOURS: [RGBColor; 5] = [BLUE, GREEN, PURPLE, SKY, GREY];
/// The accuracies that have a tick.
const TICKS: [f64; 9] = [0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999];

/// One line per seed, and one for a training run on a GPU. `None` if there are no lines. The axis
/// is logarithmic in the error rate, so the distance from 90 to 95 % equals the distance from 95 to
/// 97.5 %.
pub(super) fn accuracy(figures: &Figures) -> Result<Option<Chart>, ChartError> {
    let training = &figures.training;
    let mut lines: Vec<(String, RGBColor, &[Point])> = training
        .runs
        .iter()
        .zip(COLOURS.iter().cycle())
        .map(|(run, colour)| (format!("seed {}", run.seed), *colour, run.curve.as_slice()))
        .collect();
    if let Some(gpu) = figures.gpu.run().and_then(|run| run.training.as_ref()) {
        let name = match figures.gpu {
            Gpu::Recorded { .. } => "GPU, recorded",
            _ => "GPU",
        };
        lines.push((name.to_owned(), ORANGE, &gpu.curve));
    }
    let points = || lines.iter().flat_map(|(_, _, curve)| curve.iter());
    let longest = points().map(|point| point.seconds).fold(0.0, f64::max);
    if longest <= 0.0 {
        return Ok(None);
    }
    let best = points().map(|point| point.accuracy).fold(training.target, f64::max);
    let highest = TICKS.into_iter().find(|tick| *tick > best).unwrap_or(0.9999);
    let lowest = (1.0 - highest).log10();
    let x = |time: f64| LEFT + time / longest * (RIGHT - LEFT);
    let y = |accuracy: f64| {
        let share = (1.0 - accuracy).max(1e-9).log10() / lowest;
        BOTTOM - share.clamp(0.0, 1.0) * (BOTTOM - TOP)
    };
    let svg = Canvas::draw(HEIGHT as u32, |canvas| {
        for tick in TICKS.into_iter().filter(|tick| *tick <= highest) {
            canvas.line(&[(LEFT, y(tick)), (RIGHT, y(tick))], LIGHT, 0.5)?;
            let label = format!("{} %", (1e4 * tick).round() / 100.0);
            canvas.text(&label, (LEFT - 5.0, y(tick)), Side::Left, 8.5, BLACK)?;
        }
        for part in 0..=4 {
            let time = longest * f64::from(part) / 4.0;
            let label = if part == 0 { "0".to_owned() } else { seconds(time) };
            canvas.text(&label, (x(time), BOTTOM + 9.0), Side::Centre, 8.5, BLACK)?;
        }
        canvas.line(&[(LEFT, BOTTOM), (RIGHT, BOTTOM)], GREY, 0.75)?;
        canvas.text("training time", (0.5 * (LEFT + RIGHT), BOTTOM + 25.0), Side::Centre, 9.0, BLACK)?;
        let title = "validation accuracy";
        canvas.text(title, (LEFT - 30.0, TOP - 14.0), Side::Right, 9.0, BLACK)?;
        if training.is_mnist {
            let at = y(training.target);
            canvas.dashes((LEFT, at), (RIGHT, at), ORANGE)?;
        }
        for (index, (name, colour, curve)) in lines.iter().enumerate() {
            canvas.line(
                &curve.iter().map(|point| (x(point.seconds), y(point.accuracy))).collect::<Vec<_>>(),
                *colour,
                0.75,
            )?;
            for point in *curve {
                let at = (x(point.seconds), y(point.accuracy));
                canvas.rectangle((at.0 - 1.0, at.1 - 1.0), (at.0 + 1.0, at.1 + 1.0), *colour)?;
            }
            let at = TOP + 8.0 + 13.0 * index as f64;
            canvas.line(&[(RIGHT + 22.0, at), (RIGHT + 40.0, at)], *colour, 1.5)?;
            canvas.text(name, (RIGHT + 46.0, at), Side::Right, 9.0, BLACK)?;
        }
        Ok(())
    })?;
    const { assert!(RIGHT + 46.0 < WIDTH as f64, "a line's name is in the picture") };
    let alt: Vec<String> = lines
        .iter()
        .filter_map(|(name, _, curve)| {
            Some(format!("{name}: {} after {}", shown(curve.last()?.accuracy), seconds(curve.last()?.seconds)))
        })
        .collect();
    Ok(Some(Chart { name: "accuracy".to_owned(), svg, alt: format!("Accuracy over time. {}", alt.join("; ")) }))
}
