//! SVG plots: errors over the epochs, predicted over true values, and the runs of a search.

use std::ops::Range;

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::results::EpochErrors;
use crate::results::Predicted;
use crate::tried::Tried;

/// An error of the plotting back end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plot cannot be drawn: {0}")]
pub struct PlotError(pub String);

const SIZE: (u32, u32) = (800, 500);
const TRAINING: RGBColor = RGBColor(31, 119, 180);
const VALIDATION: RGBColor = RGBColor(214, 94, 0);

/// A curve's name, color and value per epoch.
type Series = (&'static str, RGBColor, fn(&EpochErrors) -> f64);

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for PlotError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        Self(error.to_string())
    }
}

/// Plots training and validation error over the epochs, on a logarithmic scale if no error is 0.
///
/// # Errors
/// If the back end fails.
pub fn errors(history: &[EpochErrors]) -> Result<String, PlotError> {
    let values = || history.iter().flat_map(|record| [record.train_rmse, record.validation_rmse]);
    let Range { start, end } = range(values());
    if values().all(|value| value > 0.0) && !history.is_empty() {
        draw_errors(history, (start.max(end * 1e-9)..end).log_scale())
    } else {
        draw_errors(history, start.min(0.0)..end)
    }
}

fn draw_errors<Y>(history: &[EpochErrors], y: Y) -> Result<String, PlotError>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let last = history.len().max(1) as f64;
        let mut chart = ChartBuilder::on(&area)
            .caption("Error over the epochs", ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(64)
            .build_cartesian_2d(0.5..last + 0.5, y)?;
        chart
            .configure_mesh()
            .x_desc("epoch")
            .y_desc("root mean squared error, standardised")
            .x_label_formatter(&|epoch| format!("{epoch:.0}"))
            .y_label_formatter(&|error| shown(*error))
            .draw()?;
        let series: [Series; 2] = [
            ("training", TRAINING, |record| record.train_rmse),
            ("validation", VALIDATION, |record| record.validation_rmse),
        ];
        for (name, colour, of) in series {
            let points = || history.iter().map(|record| (record.epoch as f64, of(record)));
            let line = chart.draw_series(LineSeries::new(points(), colour.stroke_width(2)))?;
            line.label(name).legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2)));
            if history.len() <= 50 {
                chart.draw_series(points().map(|point| Circle::new(point, 3, colour.filled())))?;
            }
        }
        chart.configure_series_labels().background_style(WHITE.mix(0.8)).border_style(BLACK.mix(0.3)).draw()?;
        area.present()?;
    }
    Ok(svg)
}

/// Plots predicted over true values, with the identity line.
///
/// # Errors
/// If the back end fails.
pub fn predicted(predicted: &Predicted) -> Result<String, PlotError> {
    let scaled = |value: f64| match predicted.is_logarithmic {
        true => value.signum() * value.abs().ln_1p() / std::f64::consts::LN_10,
        false => value,
    };
    let points = || predicted.pairs.iter().map(|[truth, predicted]| (scaled(*truth), scaled(*predicted)));
    let points = || points().filter(|(x, y)| x.is_finite() && y.is_finite());
    let Range { start, end } = range(points().flat_map(|(x, y)| [x, y]));
    let target = match predicted.is_logarithmic {
        true => format!("log10(1 + {})", predicted.target),
        false => predicted.target.clone(),
    };
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (560, 560)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(format!("Predicted over true values, {} part", predicted.part), ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(64)
            .build_cartesian_2d(start..end, start..end)?;
        chart
            .configure_mesh()
            .x_desc(format!("true {target}"))
            .y_desc(format!("predicted {target}"))
            .x_label_formatter(&|value| shown(*value))
            .y_label_formatter(&|value| shown(*value))
            .draw()?;
        chart.draw_series(LineSeries::new([(start, start), (end, end)], BLACK.mix(0.5)))?;
        chart.draw_series(points().map(|point| Circle::new(point, 2, TRAINING.mix(0.5).filled())))?;
        area.present()?;
    }
    Ok(svg)
}

/// Colors for runs with no, one, two, three, and more hidden layers.
const LAYERS: [RGBColor; 5] =
    [RGBColor(127, 127, 127), TRAINING, VALIDATION, RGBColor(0, 128, 96), RGBColor(148, 70, 170)];

/// Plots the runs of a search in order: their validation errors over the learning rate, and the
/// smallest error up to each run.
///
/// # Errors
/// If the back end fails.
pub fn search(tried: &[&Tried]) -> Result<String, PlotError> {
    let mut errors: Vec<f64> = tried.iter().map(|tried| tried.error()).filter(|error| error.is_finite()).collect();
    errors.sort_by(f64::total_cmp);
    // Runs with a bad learning rate would leave no room for the others. Errors above the limit are
    // drawn at the upper end.
    let own = tried.iter().find(|tried| tried.run == 1).map(|own| own.error());
    let most = errors.get(errors.len() * 9 / 10).or(errors.last()).copied();
    let most = most.into_iter().chain(own).filter(|error| error.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    let shown_errors = range(errors.iter().copied().filter(|error| *error <= most));
    // Leave room for the legend above the points.
    let height = 1.45 * (shown_errors.end - shown_errors.start);
    let axis = shown_errors.start..shown_errors.start + height;
    let rates = range(tried.iter().map(|tried| tried.learning_rate.log10()));
    let rates = 10_f64.powf(rates.start)..10_f64.powf(rates.end);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (1100, 460)).into_drawing_area();
        area.fill(&WHITE)?;
        let (left, right) = area.split_horizontally(620);
        draw_rates(&left, tried, (own, shown_errors.end), rates, axis.clone())?;
        draw_best_so_far(&right, tried, own, axis)?;
        area.present()?;
    }
    Ok(svg)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw_rates(
    area: &Area<'_>,
    tried: &[&Tried],
    (own, top): (Option<f64>, f64),
    rates: Range<f64>,
    errors: Range<f64>,
) -> Result<(), PlotError> {
    let mut chart = ChartBuilder::on(area)
        .caption("Validation error by learning rate", ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d(rates.log_scale(), errors)?;
    chart
        .configure_mesh()
        .max_light_lines(1)
        .x_desc("learning rate")
        .y_desc("root mean squared error, standardised")
        .x_label_formatter(&|rate| shown(*rate))
        .y_label_formatter(&|error| shown(*error))
        .draw()?;
    for (layers, colour) in LAYERS.into_iter().enumerate() {
        let is_of = |tried: &&&Tried| tried.hidden.len().min(LAYERS.len() - 1) == layers;
        let points = || tried.iter().filter(is_of).map(|tried| (tried.learning_rate, tried.error()));
        if points().next().is_none() {
            continue;
        }
        let within = points().filter(|(_, error)| *error <= top);
        let series = chart.draw_series(within.map(|point| Circle::new(point, 4, colour.mix(0.75).filled())))?;
        let name = match layers {
            1 => "1 hidden layer".to_owned(),
            4.. => "4 hidden layers or more".to_owned(),
            _ => format!("{layers} hidden layers"),
        };
        series.label(name).legend(move |(x, y)| Circle::new((x + 10, y), 4, colour.filled()));
        let above = points().filter(|(_, error)| *error > top).map(|(rate, _)| (rate, top));
        chart.draw_series(above.map(|point| TriangleMarker::new(point, 6, colour.mix(0.75).filled())))?;
    }
    if tried.iter().any(|tried| tried.error() > top) {
        let series = chart.draw_series(std::iter::empty::<Circle<(f64, f64), i32>>())?;
        let symbol = |(x, y)| TriangleMarker::new((x + 10, y), 6, BLACK.filled());
        series.label("above, or diverged").legend(symbol);
    }
    let best = tried.iter().min_by(|a, b| a.error().total_cmp(&b.error()));
    let of_own = tried.iter().filter(|tried| tried.run == 1 && own.is_some_and(f64::is_finite));
    for (name, point, size) in [
        ("the file's settings", of_own.map(|own| (own.learning_rate, own.error())).next(), 8),
        ("the best", best.map(|best| (best.learning_rate, best.error())).filter(|(_, error)| error.is_finite()), 11),
    ] {
        let colour = if size == 8 { BLACK } else { RED };
        let ring = chart.draw_series(point.map(|point| Circle::new(point, size, colour.stroke_width(2))))?;
        ring.label(name).legend(move |(x, y)| Circle::new((x + 10, y), 6, colour.stroke_width(2)));
    }
    let mut labels = chart.configure_series_labels();
    labels.position(SeriesLabelPosition::UpperLeft).background_style(WHITE).border_style(BLACK.mix(0.3));
    Ok(labels.draw()?)
}

fn draw_best_so_far(area: &Area<'_>, tried: &[&Tried], own: Option<f64>, errors: Range<f64>) -> Result<(), PlotError> {
    let runs = tried.len().max(2) as f64;
    let mut chart = ChartBuilder::on(area)
        .caption("The best so far", ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d(1.0..runs, errors)?;
    chart
        .configure_mesh()
        .max_light_lines(1)
        .x_desc("number of runs")
        .y_desc("smallest validation error")
        .x_label_formatter(&|run| format!("{run:.0}"))
        .y_label_formatter(&|error| shown(*error))
        .draw()?;
    if let Some(own) = own.filter(|own| own.is_finite()) {
        let line = LineSeries::new([(1.0, own), (runs, own)], BLACK.mix(0.5).stroke_width(2));
        let line = chart.draw_series(line)?;
        line.label("the file's settings")
            .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], BLACK.mix(0.5).stroke_width(2)));
    }
    let mut best = f64::INFINITY;
    let steps = tried.iter().enumerate().flat_map(|(index, tried)| {
        let (before, runs) = (best, index as f64 + 1.0);
        best = best.min(tried.error());
        [(runs, before), (runs, best)]
    });
    let steps = steps.filter(|(_, error)| error.is_finite());
    let line = chart.draw_series(LineSeries::new(steps, TRAINING.stroke_width(2)))?;
    line.label("best so far").legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], TRAINING.stroke_width(2)));
    let mut labels = chart.configure_series_labels();
    labels.position(SeriesLabelPosition::UpperRight).background_style(WHITE).border_style(BLACK.mix(0.3));
    Ok(labels.draw()?)
}

/// The range of the finite values plus a margin.
fn range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let values = values.filter(|value| value.is_finite());
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return 0.0..1.0;
    }
    let margin = if low < high { 0.03 * (high - low) } else { (0.1 * high.abs()).max(f64::MIN_POSITIVE * 1e16) };
    let low_with_margin = low - margin;
    // On the logarithmic scale, the margin must keep the range of positive errors positive.
    if low > 0.0 && low_with_margin <= 0.0 { low * 0.9..high + margin } else { low_with_margin..high + margin }
}

/// Formats an axis label.
fn shown(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if (1e-3..1e5).contains(&size) => {
            let text = format!("{value:.4}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => format!("{value:.1e}"),
    }
}
