//! The charts of assignment 3.

use plotters::style::RGBColor;

use super::{Figures, Trained};
use crate::charts::{BLACK, BLUE, Canvas, Chart, ChartError, GREEN, GREY, LIGHT, ORANGE, PURPLE, Side};
use crate::words::{accuracy, grouped, seconds, significant};

const HEIGHT: f64 = 210.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 300.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 175.0;

/// A line of a chart: its name, its colour and its points.
struct Line {
    name: String,
    colour: RGBColor,
    points: Vec<(f64, f64)>,
}

/// The titles of a chart's axes, and the texts of a tick's value.
struct Axes {
    x: &'static str,
    y: &'static str,
    x_tick: fn(f64) -> String,
    y_tick: fn(f64) -> String,
    /// Whether the vertical axis is logarithmic too.
    is_logarithmic: bool,
}

pub(super) fn all(figures: &Figures) -> Result<Vec<Chart>, ChartError> {
    let charts = [by_ranks(figures)?, by_length(figures)?, accuracies(figures)?];
    Ok(charts.into_iter().flatten().collect())
}

/// A chart with a logarithmic horizontal axis, whose ticks are the lines' values; None if no line has two points.
fn chart(name: &str, axes: &Axes, lines: &[Line], ideal: bool) -> Result<Option<Chart>, ChartError> {
    let values = |of: fn(&(f64, f64)) -> f64| lines.iter().flat_map(move |line| line.points.iter().map(of));
    let bounds = |all: &mut dyn Iterator<Item = f64>| {
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (left, right) = bounds(&mut values(|point| point.0));
    let (low, high) = bounds(&mut values(|point| point.1));
    // Times and counts are positive; a NaN or an infinity has no place on an axis.
    if !(left > 0.0 && right > left && low.is_finite() && high.is_finite() && (low > 0.0 || !axes.is_logarithmic)) {
        return Ok(None);
    }
    let (low, high) = match axes.is_logarithmic {
        true => (10.0_f64.powf(low.log10().floor()), 10.0_f64.powf(high.log10().ceil())),
        false => ((10.0 * low).floor() / 10.0, (10.0 * high).ceil() / 10.0),
    };
    let (low, high) = if low < high { (low, high) } else { (low, low + 1.0) };
    let x = |value: f64| LEFT + 12.0 + (value / left).ln() / (right / left).ln() * (RIGHT - LEFT - 24.0);
    let y = |value: f64| {
        let share = match axes.is_logarithmic {
            true => (value / low).ln() / (high / low).ln(),
            false => (value - low) / (high - low),
        };
        BOTTOM - share.clamp(0.0, 1.0) * (BOTTOM - TOP)
    };
    let svg = Canvas::draw(HEIGHT as u32, |canvas| {
        let ticks: Vec<f64> = match axes.is_logarithmic {
            true => {
                let (first, last) = (low.log10().round() as i32, high.log10().round() as i32);
                (first..=last).map(|power| 10.0_f64.powi(power)).collect()
            }
            false => (0..=5).map(|part| low + (high - low) * f64::from(part) / 5.0).collect(),
        };
        for tick in ticks {
            canvas.line(&[(LEFT, y(tick)), (RIGHT, y(tick))], LIGHT, 0.5)?;
            canvas.text(&(axes.y_tick)(tick), (LEFT - 5.0, y(tick)), Side::Left, 8.5, BLACK)?;
        }
        let mut shown: Vec<f64> = values(|point| point.0).collect();
        shown.sort_by(f64::total_cmp);
        shown.dedup();
        for value in shown {
            canvas.text(&(axes.x_tick)(value), (x(value), BOTTOM + 9.0), Side::Centre, 8.5, BLACK)?;
        }
        canvas.text(axes.x, (0.5 * (LEFT + RIGHT), BOTTOM + 25.0), Side::Centre, 9.0, BLACK)?;
        canvas.text(axes.y, (LEFT - 30.0, TOP - 14.0), Side::Right, 9.0, BLACK)?;
        canvas.line(&[(LEFT, BOTTOM), (RIGHT, BOTTOM)], GREY, 0.75)?;
        let mut at = (RIGHT + 18.0, TOP + 8.0);
        if ideal {
            canvas.line(&[(x(left), y(left)), (x(right), y(right))], GREY, 0.75)?;
            canvas.line(&[at, (at.0 + 18.0, at.1)], GREY, 0.75)?;
            canvas.text("ideal", (at.0 + 24.0, at.1), Side::Right, 9.0, BLACK)?;
            at.1 += 17.0;
        }
        for Line { name, colour, points } in lines {
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
            let points: Vec<String> =
                points.iter().map(|&(x, y)| format!("{} at {}", (axes.y_tick)(y), (axes.x_tick)(x))).collect();
            format!("{name}: {}", points.join(", "))
        })
        .collect();
    Ok(Some(Chart { name: name.to_owned(), svg, alt: format!("{} by {}. {}", axes.y, axes.x, alt.join("; ")) }))
}

/// Images a second, relative to one rank.
fn by_ranks(figures: &Figures) -> Result<Option<Chart>, ChartError> {
    let line = |name: String, colour, runs: &[Trained]| {
        let one = runs.first().map_or(0.0, Trained::seconds_of_epoch);
        Line { name, colour, points: runs.iter().map(|run| (run.ranks as f64, one / run.seconds_of_epoch())).collect() }
    };
    let batch = |runs: &[Trained]| runs.first().map_or(0, |run| run.batch);
    let lines = [
        line(format!("batches of {}", batch(&figures.small_batches)), ORANGE, &figures.small_batches),
        line(format!("batches of {}", batch(&figures.large_batches)), BLUE, &figures.large_batches),
        line(format!("{} for each rank", batch(&figures.own_batches)), GREEN, &figures.own_batches),
    ];
    let axes = Axes {
        x: "ranks",
        y: "speed-up over one rank",
        x_tick: |value| format!("{value}"),
        y_tick: significant,
        is_logarithmic: true,
    };
    chart("ranks", &axes, &lines, true)
}

/// The all-reduces on the most ranks.
fn by_length(figures: &Figures) -> Result<Option<Chart>, ChartError> {
    let Some(most) = figures.all_reduce.last() else { return Ok(None) };
    let lines: Vec<Line> = [("naive", ORANGE), ("ring", BLUE), ("MPI_Allreduce", GREEN)]
        .into_iter()
        .enumerate()
        .map(|(index, (name, colour))| {
            let points = most.lengths.iter().map(|row| (row.length as f64, row.seconds[index]));
            Line { name: name.to_owned(), colour, points: points.collect() }
        })
        .collect();
    let axes =
        Axes { x: "elements of f64", y: "time", x_tick: |value| grouped(value), y_tick: seconds, is_logarithmic: true };
    chart("lengths", &axes, &lines, false)
}

/// The accuracy, synchronously and asynchronously.
fn accuracies(figures: &Figures) -> Result<Option<Chart>, ChartError> {
    let line = |name: &str, colour, runs: &[Trained]| {
        let runs = runs.iter().filter(|run| !run.diverged);
        Line { name: name.to_owned(), colour, points: runs.map(|run| (run.ranks as f64, run.accuracy)).collect() }
    };
    let ignoring: Vec<Trained> = figures.ignoring.iter().cloned().collect();
    let lines = [
        line("synchronous ranks", BLUE, &figures.small_batches),
        line("asynchronous workers", GREEN, &figures.asynchronous),
        line("staleness ignored", PURPLE, &ignoring),
    ];
    let axes = Axes {
        x: "ranks or workers",
        y: "test accuracy",
        x_tick: |value| format!("{value}"),
        y_tick: accuracy,
        is_logarithmic: false,
    };
    chart("accuracy", &axes, &lines, false)
}
