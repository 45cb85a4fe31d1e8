//! SVG plots: errors over the epochs, and predicted over true values.

use std::ops::Range;

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::results::EpochErrors;
use crate::results::Predicted;

/// An error of the plotting back end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plot cannot be drawn: {0}")]
pub struct PlotError(pub String);

const SIZE: (u32, u32) = (800, 500);
const TRAINING: RGBColor = RGBColor(31, 119, 180);
const VALIDATION: RGBColor = RGBColor(214, 94, 0);

/// A curve's name, colour and value per epoch.
type Series = (&'static str, RGBColor, fn(&EpochErrors) -> f64);

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for PlotError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        Self(error.to_string())
    }
}

/// Training and validation error over the epochs, on a logarithmic scale if no error is 0.
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

/// Predicted over true values, with the identity line.
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

/// The range of the finite values plus a margin.
fn range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let values = values.filter(|value| value.is_finite());
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return 0.0..1.0;
    }
    let margin = if low < high { 0.03 * (high - low) } else { (0.1 * high.abs()).max(f64::MIN_POSITIVE * 1e16) };
    let low_with_margin = low - margin;
    // The margin must keep the range of positive errors positive, for the logarithmic scale.
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
