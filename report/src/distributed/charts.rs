//! The charts of assignment 3.

use plotters::style::RGBColor;

use super::{Figures, Trained};
use crate::charts::{BLUE, Chart, ChartError, GREEN, Line, ORANGE, accuracies};

pub(super) fn all(figures: &Figures) -> Result<Vec<Chart>, ChartError> {
    let charts = [synchronous(figures)?, asynchronous(figures)?];
    Ok(charts.into_iter().flatten().collect())
}

/// The accuracy of synchronous runs by number of ranks.
fn synchronous(figures: &Figures) -> Result<Option<Chart>, ChartError> {
    let lines = [line("synchronous", BLUE, figures.small_batches.iter())];
    accuracies("synchronous", "ranks", true, &lines)
}

/// The accuracy of asynchronous runs by number of workers.
fn asynchronous(figures: &Figures) -> Result<Option<Chart>, ChartError> {
    let by = |masters: usize| figures.asynchronous.iter().filter(move |run| run.masters == masters);
    let lines = [
        line("2 masters", BLUE, by(2)),
        line("4 masters", GREEN, by(4)),
        line("2 masters, staleness ignored", ORANGE, figures.ignoring.iter()),
    ];
    accuracies("asynchronous", "workers", true, &lines)
}

fn line<'a>(name: &'static str, colour: RGBColor, runs: impl Iterator<Item = &'a Trained>) -> Line {
    let points = runs.filter(|run| !run.diverged).map(|run| (run.ranks as f64, run.accuracy));
    Line { name, colour, points: points.collect() }
}
