//! Error curves: over the epochs, of one run or of two.

use std::ops::RangeInclusive;

use eframe::egui::{self, Color32, Rangef, Ui};
use egui_plot::{
    AxisHints, Corner, GridInput, GridMark, HoverPosition, Legend, Line, LineStyle, Plot, PlotPoints, VLine,
};

use super::{number, theme};
use crate::session::EpochRecord;

/// What the error axis shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scale {
    /// Powers of ten.
    pub(crate) is_logarithmic: bool,
    /// The target's own unit in place of standard deviations.
    pub(crate) is_in_unit: bool,
}

/// One line.
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) color: Color32,
    pub(crate) is_dashed: bool,
    /// Epoch and error.
    pub(crate) points: Vec<[f64; 2]>,
}

impl Scale {
    /// The switches.
    pub(crate) fn show(&mut self, ui: &mut Ui, target: &str) {
        ui.checkbox(&mut self.is_logarithmic, "Log scale").on_hover_text("Shows the error in powers of ten");
        let in_unit = ui.checkbox(&mut self.is_in_unit, "In the target's unit");
        in_unit.on_hover_text(format!(
            "Root mean squared error in the unit of {target:?}; without it, in standard deviations of what is learned"
        ));
    }

    /// The training and the validation error of an epoch.
    fn errors(self, record: &EpochRecord) -> [f64; 2] {
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

/// Training (dashed if `dashed_training`) and validation curve of a history.
pub(crate) fn of_history(
    history: &[EpochRecord],
    scale: Scale,
    names: [String; 2],
    colors: [Color32; 2],
) -> [Curve; 2] {
    let points = |part: usize| -> Vec<[f64; 2]> {
        let point = |record: &EpochRecord| [record.epoch as f64, scale.place(scale.errors(record)[part])];
        history.iter().map(point).filter(|[_, error]| error.is_finite()).collect()
    };
    let [training, validation] = names;
    [
        Curve { name: training, color: colors[0], is_dashed: colors[0] == colors[1], points: points(0) },
        Curve { name: validation, color: colors[1], is_dashed: false, points: points(1) },
    ]
}

/// The plot. `best_epoch` is marked, if it is not 0.
pub(crate) fn show(
    ui: &mut Ui,
    name: &str,
    scale: Scale,
    epochs: usize,
    best: Option<(usize, Color32)>,
    curves: Vec<Curve>,
) {
    let plot = Plot::new(name)
        .legend(Legend::default().position(Corner::RightTop).follow_insertion_order(true))
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

/// Epochs are whole: lines at every one, five, ten, … of them.
fn whole_steps(input: GridInput) -> [f64; 3] {
    let power = 10.0_f64.powf(input.base_step_size.max(0.1).log10().ceil()).max(1.0);
    [power, 5.0 * power, 10.0 * power]
}

/// Lines at 1 to 9 times each power of ten that is in sight.
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

fn error_axis(scale: Scale) -> AxisHints<'static> {
    let name = if scale.is_in_unit { "error (RMSE, in the target's unit)" } else { "error (RMSE, standardised)" };
    let axis = AxisHints::new_y().label(name).min_thickness(44.0);
    let axis = axis.formatter(move |mark, shown| axis_label(scale, mark, shown));
    if scale.is_logarithmic { axis.label_spacing(Rangef::new(12.0, 24.0)) } else { axis }
}

fn axis_label(scale: Scale, mark: GridMark, shown: &RangeInclusive<f64>) -> String {
    if !scale.is_logarithmic {
        return if mark.value == 0.0 { "0".to_owned() } else { number::tick(mark.value) };
    }
    let power = number::power_of_ten(mark.value);
    let digit = 10.0_f64.powf(mark.value - mark.value.floor()).round() as i32;
    // Between the powers: as many as there is room for.
    let told: &[i32] = if shown.end() - shown.start() < 1.2 { &[2, 3, 4, 6, 8] } else { &[2, 5] };
    if power.is_empty() && told.contains(&digit) { number::tick(scale.error_at(mark.value)) } else { power }
}
