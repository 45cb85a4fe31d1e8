//! Error curves over the epochs, for one or several runs.

use std::ops::RangeInclusive;

use eframe::egui::{self, Color32, Rangef, Ui};
use egui_plot::{AxisHints, GridInput, GridMark, HoverPosition, Line, LineStyle, Plot, PlotPoints, VLine};

use super::{number, theme};
use crate::results::EpochErrors;

/// Scale and unit of the error axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorScale {
    /// Whether the axis is logarithmic.
    pub(crate) is_logarithmic: bool,
    /// Whether errors are in the target's unit rather than standardized.
    pub(crate) is_in_unit: bool,
}

/// One curve of the plot.
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) color: Color32,
    pub(crate) is_dashed: bool,
    /// (epoch, error on the axis' scale)
    pub(crate) points: Vec<[f64; 2]>,
}

impl ErrorScale {
    /// Shows the switches.
    pub(crate) fn show(&mut self, ui: &mut Ui, target: &str) {
        ui.checkbox(&mut self.is_logarithmic, "Log scale").on_hover_text("Show the error on a logarithmic axis");
        let in_unit = ui.checkbox(&mut self.is_in_unit, "In the target's unit");
        in_unit.on_hover_text(format!(
            "Show the root mean squared error in the unit of {target:?} instead of standard deviations"
        ));
    }

    /// The training and the validation error of an epoch.
    fn errors(self, record: &EpochErrors) -> [f64; 2] {
        match self.is_in_unit {
            true => [record.train_rmse_in_unit, record.validation_rmse_in_unit],
            false => [record.train_rmse, record.validation_rmse],
        }
    }

    fn place(self, error: f64) -> f64 {
        if self.is_logarithmic { error.log10() } else { error }
    }

    fn error_at(self, place: f64) -> f64 {
        if self.is_logarithmic { 10.0_f64.powf(place) } else { place }
    }
}

/// Training and validation curve of a history. If their colors are equal, the training curve is
/// dashed.
pub(crate) fn of_history(
    history: &[EpochErrors],
    scale: ErrorScale,
    names: [String; 2],
    colors: [Color32; 2],
) -> [Curve; 2] {
    let points = |part: usize| -> Vec<[f64; 2]> {
        let point = |record: &EpochErrors| [record.epoch as f64, scale.place(scale.errors(record)[part])];
        history.iter().map(point).filter(|[_, error]| error.is_finite()).collect()
    };
    let [training, validation] = names;
    [
        Curve { name: training, color: colors[0], is_dashed: colors[0] == colors[1], points: points(0) },
        Curve { name: validation, color: colors[1], is_dashed: false, points: points(1) },
    ]
}

/// Draws the plot over `epochs` epochs. `best` is the epoch to mark, unless 0, and the mark's
/// color. Without `best` there is no legend, because the colors are explained elsewhere.
pub(crate) fn show(
    ui: &mut Ui,
    name: &str,
    scale: ErrorScale,
    epochs: usize,
    best: Option<(usize, Color32)>,
    curves: Vec<Curve>,
) {
    let plot = Plot::new(name)
        .x_axis_label("epoch")
        .show_background(false)
        .grid_color(theme::palette(ui).line)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .include_x(1.0)
        .include_x(epochs.max(2) as f64)
        .x_axis_formatter(|mark, _| {
            if mark.value.fract() == 0.0 { number::count(mark.value.max(0.0) as usize) } else { String::new() }
        })
        .x_grid_spacer(egui_plot::uniform_grid_spacer(whole_steps))
        .custom_y_axes(vec![error_axis(scale)])
        .label_formatter(move |position| match position {
            HoverPosition::NearDataPoint { plot_name, position, .. } if !plot_name.is_empty() => {
                let error = number::short(scale.error_at(position.y));
                Some(format!("{plot_name}\nepoch {}: {error}", position.x))
            }
            _ => None,
        });
    if let Some((epoch, color)) = best {
        legend(ui, &curves, (epoch > 0).then_some(color));
    }
    let plot = if scale.is_logarithmic { plot.y_grid_spacer(decades) } else { plot.include_y(0.0) };
    let response = plot.show(ui, |plot| {
        if let Some((epoch, color)) = best.filter(|(epoch, _)| *epoch > 0) {
            let line = VLine::new("best epoch", epoch as f64).color(color).style(LineStyle::dashed_loose());
            plot.vline(line.allow_hover(false));
        }
        for curve in curves {
            let style = if curve.is_dashed { LineStyle::dashed_dense() } else { LineStyle::Solid };
            plot.line(Line::new(curve.name, PlotPoints::from(curve.points)).color(curve.color).width(2.0).style(style));
        }
    });
    let spoken = format!("Error curves {name}");
    response.response.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::Image, true, &spoken));
}

/// Explains the colors. It is above the plot to cover no curve. `best` is the color of the best
/// epoch's mark.
fn legend(ui: &mut Ui, curves: &[Curve], best: Option<Color32>) {
    ui.horizontal(|ui| {
        let curves = curves.iter().map(|curve| (curve.color, curve.name.as_str()));
        for (color, name) in curves.chain(best.map(|color| (color, "best epoch"))) {
            let (line, _) = ui.allocate_exact_size(egui::vec2(16.0, 8.0), egui::Sense::hover());
            ui.painter().hline(line.x_range(), line.center().y, egui::Stroke::new(2.0, color));
            ui.label(egui::RichText::new(name).small());
            ui.add_space(6.0);
        }
    });
}

/// Grid spacing for integers: every 1, 5 or 10 epochs, times a power of ten.
fn whole_steps(input: GridInput) -> [f64; 3] {
    let power = 10.0_f64.powf(input.base_step_size.max(0.1).log10().ceil()).max(1.0);
    [power, 5.0 * power, 10.0 * power]
}

/// Grid lines at 1 to 9 times each visible power of ten.
pub(crate) fn decades(input: GridInput) -> Vec<GridMark> {
    let (low, high) = input.bounds;
    if !(0.0..=40.0).contains(&(high - low)) {
        return Vec::new();
    }
    let mark = |decade: i32, digit: i32| GridMark {
        value: f64::from(decade) + f64::from(digit).log10(),
        step_size: if digit == 1 { 1.0 } else { 0.1 },
    };
    let marks =
        (low.floor() as i32..=high.ceil() as i32).flat_map(|decade| (1..10).map(move |digit| mark(decade, digit)));
    marks.filter(|mark| (low..=high).contains(&mark.value)).collect()
}

fn error_axis(scale: ErrorScale) -> AxisHints<'static> {
    let name = if scale.is_in_unit { "error (RMSE, in the target's unit)" } else { "error (RMSE, standardised)" };
    let axis = AxisHints::new_y().label(name).min_thickness(44.0);
    axis.formatter(move |mark, shown| axis_label(scale, mark, shown)).label_spacing(Rangef::new(12.0, 24.0))
}

fn axis_label(scale: ErrorScale, mark: GridMark, shown: &RangeInclusive<f64>) -> String {
    if !scale.is_logarithmic {
        return if mark.value == 0.0 { "0".to_owned() } else { number::tick(mark.value) };
    }
    let power = number::power_of_ten(mark.value);
    let digit = 10.0_f64.powf(mark.value - mark.value.floor()).round() as i32;
    // Labels between the powers of ten; there are more if few powers are visible.
    let labelled: &[i32] = if shown.end() - shown.start() < 1.2 { &[2, 3, 4, 6, 8] } else { &[2, 5] };
    if power.is_empty() && labelled.contains(&digit) { number::tick(scale.error_at(mark.value)) } else { power }
}
