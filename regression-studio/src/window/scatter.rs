//! Scatter plot of predicted over true values.

use std::ops::RangeInclusive;

use eframe::egui::{self, Rangef, Ui};
use egui_plot::{AxisHints, GridMark, HoverPosition, Legend, Line, Plot, PlotPoints, Points};

use super::curves::decades;
use super::{number, theme};
use crate::results::Predicted;

/// Draws the plot.
pub(crate) fn show(ui: &mut Ui, predicted: &Predicted) {
    let palette = theme::palette(ui);
    let is_logarithmic = predicted.is_logarithmic;
    // On the logarithmic scale, values ≤ 0 are drawn at the smallest positive value.
    let positive = predicted.pairs.iter().flatten().copied().filter(|value| *value > 0.0);
    let floor = positive.fold(f64::INFINITY, f64::min);
    let place = |value: f64| if is_logarithmic { value.max(floor).log10() } else { value };
    let value_at = move |place: f64| if is_logarithmic { 10.0_f64.powf(place) } else { place };
    let points: Vec<[f64; 2]> = predicted.pairs.iter().map(|pair| pair.map(place)).collect();
    let points: Vec<[f64; 2]> =
        points.into_iter().filter(|point| point.iter().all(|value| value.is_finite())).collect();
    let truth = points.iter().map(|point| point[0]);
    let (low, high) =
        truth.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    let axis = move |mark: GridMark, _: &RangeInclusive<f64>| match is_logarithmic {
        true => number::power_of_ten(mark.value),
        false => number::tick(mark.value),
    };
    let mut plot = Plot::new("predicted over true")
        .legend(Legend::default().position(egui_plot::Corner::LeftTop))
        .custom_x_axes(vec![labels(AxisHints::new_x(), format!("true {}", predicted.target), axis)])
        .custom_y_axes(vec![labels(AxisHints::new_y(), "predicted".to_owned(), axis).min_thickness(52.0)])
        .show_background(false)
        .grid_color(palette.line)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .label_formatter(move |position| match position {
            HoverPosition::NearDataPoint { plot_name, position, .. } if !plot_name.is_empty() => Some(format!(
                "true {}\npredicted {}",
                number::short(value_at(position.x)),
                number::short(value_at(position.y))
            )),
            _ => None,
        });
    if is_logarithmic {
        plot = plot.x_grid_spacer(decades).y_grid_spacer(decades);
    }
    let count = points.len();
    let response = plot.show(ui, |plot| {
        plot.points(
            Points::new(format!("{} part", predicted.part), points)
                .color(palette.blue.gamma_multiply(0.55))
                .radius(1.6),
        );
        if low < high {
            let diagonal = Line::new("perfect", PlotPoints::from(vec![[low, low], [high, high]]));
            plot.line(diagonal.color(palette.orange).width(1.5).allow_hover(false));
        }
    });
    let spoken = format!("Predicted over true values of {count} rows of the {} part", predicted.part);
    response.response.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::Image, true, &spoken));
}

/// An axis with densely spaced labels.
fn labels<'a>(
    axis: AxisHints<'a>,
    name: String,
    text: impl Fn(GridMark, &RangeInclusive<f64>) -> String + 'a,
) -> AxisHints<'a> {
    axis.label(name).formatter(text).label_spacing(Rangef::new(18.0, 36.0))
}
