//! The plot of the partial dependence on a feature, with curves of individual rows.

use std::ops::RangeInclusive;

use eframe::egui::{self, Ui};
use egui_plot::{AxisHints, GridInput, GridMark, Line, Plot, PlotPoints, Points};

use crate::explanation::{FeatureCurves, Grid};
use crate::prediction::Cell;
use crate::prepared::{Input, Scale, Transform};
use crate::window::{number, theme};

const HEIGHT: f32 = 150.0;

/// Draws the curves of `feature`; `now` is the row's value and its prediction.
pub(super) fn show(ui: &mut Ui, transform: &Transform, feature: &str, curves: &FeatureCurves, now: (&Cell, f64)) {
    let palette = theme::palette(ui);
    let (x_scale, y_scale) = (scale_of(transform, feature), transform.target_scale);
    let FeatureCurves { grid, curves } = curves;
    let places: Vec<f64> = match grid {
        Grid::Numbers(values) => values.clone(),
        Grid::Categories(names) => (0..names.len()).map(|index| index as f64).collect(),
    };
    let place = match (grid, now.0) {
        (Grid::Numbers(_), Cell::Number(value)) => x_scale.map(|scale| scale.learned(scale.in_deviations(*value))),
        (Grid::Categories(names), Cell::Text(text)) => {
            names.iter().position(|name| name == text).map(|index| index as f64)
        }
        _ => None,
    };
    let names = match grid {
        Grid::Categories(names) => names.clone(),
        Grid::Numbers(_) => Vec::new(),
    };
    let is_text = !names.is_empty();
    // Show as many characters of each category as fit side by side.
    let shown = (28 / names.len().max(1)).clamp(1, 8);
    let x_label = move |mark: GridMark, _: &RangeInclusive<f64>| {
        if let Some(scale) = x_scale {
            return tick(scale, mark.value);
        }
        let index = mark.value.round();
        let name = names.get(index as usize).filter(|_| (mark.value - index).abs() < 1e-6 && index >= 0.0);
        name.map(|name| name.chars().take(shown).collect()).unwrap_or_default()
    };
    let y_label = move |mark: GridMark, _: &RangeInclusive<f64>| tick(y_scale, mark.value);
    let mut plot = Plot::new(("curve", feature))
        .height(HEIGHT)
        .custom_x_axes(vec![AxisHints::new_x().formatter(x_label).label_spacing(egui::Rangef::new(16.0, 24.0))])
        .custom_y_axes(vec![AxisHints::new_y().formatter(y_label).label_spacing(egui::Rangef::new(12.0, 16.0))])
        .show_background(false)
        .grid_color(palette.line)
        .show_x(false)
        .show_y(false)
        .allow_scroll(false)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_boxed_zoom(false);
    if is_text {
        plot = plot.x_grid_spacer(|input| {
            let (first, last) = (input.bounds.0.ceil() as i64, input.bounds.1.floor() as i64);
            (first..=last).map(|index| GridMark { value: index as f64, step_size: 1.0 }).collect()
        });
    }
    if x_scale.is_some_and(|scale| scale.log) {
        plot = plot.x_grid_spacer(powers);
    } else if !is_text {
        plot = plot.x_grid_spacer(round_numbers);
    }
    plot = if y_scale.log { plot.y_grid_spacer(powers) } else { plot.y_grid_spacer(round_numbers) };
    let count = curves.individual.len();
    let response = plot.show(ui, |plot| {
        let points = |curve: &[f64]| -> PlotPoints<'static> {
            places.iter().zip(curve).filter(|(_, y)| y.is_finite()).map(|(&x, &y)| [x, y]).collect()
        };
        for (index, curve) in curves.individual.iter().enumerate() {
            let line = Line::new(format!("row {index}"), points(curve)).allow_hover(false);
            plot.line(line.color(palette.grey.gamma_multiply(0.35)).width(1.0));
        }
        plot.line(Line::new("mean", points(&curves.mean)).color(palette.blue).width(2.5).allow_hover(false));
        plot.line(Line::new("this row", points(&curves.row)).color(palette.orange).width(2.0).allow_hover(false));
        let y = y_scale.learned(y_scale.in_deviations(now.1));
        if let Some(place) = place.filter(|place| place.is_finite() && y.is_finite()) {
            let point = Points::new("now", vec![[place, y]]).radius(4.0).color(palette.orange);
            plot.points(point.allow_hover(false));
        }
    });
    let target = &transform.target;
    let spoken = format!("{target} over {feature}: the mean curve, this row, and {count} rows of the training part");
    response.response.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::Image, true, &spoken));
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 10.0;
        let one_row = format!("{count} training rows");
        for (text, color) in [("mean", palette.blue), ("this row", palette.orange), (&one_row, palette.grey)] {
            ui.label(egui::RichText::new(format!("— {text}")).small().color(color));
        }
    });
}

/// The label at a position on an axis, which is logarithmic if the scale is.
fn tick(scale: Scale, place: f64) -> String {
    if scale.log { number::tick(rounded(scale.of_learned(place))) } else { number::tick(place) }
}

/// The value with three significant digits.
fn rounded(value: f64) -> f64 {
    number::with_digits(value, 3).parse().unwrap_or(value)
}

/// Marks at up to about six powers of ten on an axis of signed logarithms. Within a decade, marks
/// at round logarithms.
fn powers(input: GridInput) -> Vec<GridMark> {
    let (low, high) = input.bounds;
    let decades = (high - low) / std::f64::consts::LN_10;
    if decades.is_nan() || decades > 700.0 {
        return Vec::new();
    }
    let every = (decades / 5.0).ceil().max(1.0) as i32;
    let power = |exponent: i32| 10.0_f64.powi(exponent);
    let step_size = f64::from(every) * std::f64::consts::LN_10;
    let sizes = (0..=308_i32).step_by(every as usize).map(power);
    let places = sizes.flat_map(|size| [size.ln_1p(), -size.ln_1p()]).chain((decades < 2.0).then_some(0.0));
    let marks: Vec<GridMark> =
        places.filter(|place| (low..=high).contains(place)).map(|value| GridMark { value, step_size }).collect();
    if marks.len() >= 2 {
        return marks;
    }
    round_numbers(input)
}

/// At most six marks, at multiples of 1, 2 or 5 times a power of ten.
fn round_numbers(input: GridInput) -> Vec<GridMark> {
    let (low, high) = input.bounds;
    let least = (high - low) / 5.0;
    let power = 10.0_f64.powf(least.log10().floor());
    let step_size = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|step| *step >= least);
    let Some(step_size) = step_size.filter(|step| step.is_normal()) else { return Vec::new() };
    let mark = |index: f64| GridMark { value: index * step_size, step_size };
    (0..6).map(|index| mark((low / step_size).ceil() + f64::from(index))).filter(|mark| mark.value <= high).collect()
}

/// The scale of a numeric feature.
pub(super) fn scale_of(transform: &Transform, name: &str) -> Option<Scale> {
    let is_number = |input: &&Input| matches!(input, Input::Number { column, .. } if column == name);
    transform.inputs.iter().find(is_number).map(|input| *input.scale())
}
