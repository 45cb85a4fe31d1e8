//! What each feature contributes to the prediction for the row that the user varies.

use eframe::egui::{self, Align, Layout, Rect, Response, RichText, Sense, Ui, vec2};

use crate::contributions::{Contribution, Contributions};
use crate::prepared::Scale;
use crate::window::{number, theme};

/// Height of a line with a name and a bar.
const LINE_HEIGHT: f32 = 18.0;
/// Width of the name, as a fraction of the line.
const NAME: f32 = 0.37;
/// Width of the bar, as a fraction of the line.
const BAR: f32 = 0.2;
/// Opacity of contributions that were computed before the row changed.
const FADED: f32 = 0.5;

/// A sentence that explains the bars.
pub(super) fn caption(ui: &mut Ui, contributions: &Contributions, scale: Scale) {
    let &Contributions { mean, background_rows, .. } = contributions;
    let (mean, multiplies) = (number::short(scale.of_learned(mean)), are_factors(contributions, scale));
    let does = if multiplies { "multiplies the prediction by its factor" } else { "moves the prediction by its bar" };
    let of_logarithms = if scale.log { " (of logarithms)" } else { "" };
    let text = format!(
        "Why: the mean{of_logarithms} over {background_rows} training rows is {mean}; from there, each feature {does}."
    );
    let label = ui.add(egui::Label::new(RichText::new(text).small().weak()).wrap());
    let sum = match multiplies {
        true => "their logarithms add up to that of 1 + the prediction",
        false if scale.log => "the mean and all contributions add up to the logarithm of the prediction",
        false => "the mean and all contributions add up to the prediction",
    };
    label.on_hover_text(format!(
        "Shapley values: {sum}. Features that tell the same share theirs. ± is the standard error of the estimate."
    ));
}

/// Whether contributions to a logarithm are shown as factors. These are factors on 1 + a positive
/// value.
fn are_factors(contributions: &Contributions, scale: Scale) -> bool {
    scale.log && contributions.mean > 0.0 && contributions.predicted > 0.0
}

/// A contribution with the largest one, and whether it belongs to the current row.
#[derive(Clone, Copy)]
pub(super) struct Bar {
    contribution: Contribution,
    largest: f64,
    is_factor: bool,
    is_current: bool,
}

impl Bar {
    /// The bars of all features, in order.
    pub(super) fn of(contributions: &Contributions, scale: Scale, is_current: bool) -> Vec<Self> {
        let is_factor = are_factors(contributions, scale);
        let of_features = &contributions.of_features;
        let largest = of_features.iter().map(|of| of.value.abs()).fold(f64::MIN_POSITIVE, f64::max);
        of_features.iter().map(|&contribution| Self { contribution, largest, is_factor, is_current }).collect()
    }

    /// The contribution as text, with its standard error.
    fn text(&self) -> String {
        let Contribution { value, standard_error } = self.contribution;
        let size = if self.is_factor { value.exp() } else { value.abs() };
        let (value, error) = match self.is_factor {
            true => (format!("× {}", number::short(value.exp())), value.exp() * standard_error),
            false => (format!("{}{}", if value > 0.0 { "+" } else { "" }, number::short(value)), standard_error),
        };
        // An error smaller than the displayed digits carries no information.
        if error < 5e-4 * size {
            return value;
        }
        let error = if (1e-4..1e4).contains(&error) { number::with_digits(error, 1) } else { number::short(error) };
        format!("{value} ± {error}")
    }
}

/// A feature's name, and the bar of its contribution if it is known. Returns the name's label.
pub(super) fn line(ui: &mut Ui, name: &str, bar: Option<Bar>) -> Response {
    let (palette, width) = (theme::palette(ui), ui.available_width());
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        ui.set_min_height(LINE_HEIGHT);
        let share = if bar.is_some() { NAME } else { 1.0 };
        let label = egui::Label::new(RichText::new(name).strong()).truncate();
        let area = vec2(width * share, LINE_HEIGHT);
        let layout = Layout::left_to_right(Align::Center);
        let label = ui.allocate_ui_with_layout(area, layout, |ui| {
            ui.set_min_width(area.x);
            ui.add(label)
        });
        let Some(bar) = bar else { return label.inner };
        let (area, _) = ui.allocate_exact_size(vec2(width * BAR, 10.0), Sense::hover());
        let opacity = if bar.is_current { 1.0 } else { FADED };
        let share = (bar.contribution.value / bar.largest) as f32 / 2.0;
        let middle = area.center().x;
        let end = middle + area.width() * share;
        let color = if share < 0.0 { palette.orange } else { palette.blue };
        let filled = Rect::from_x_y_ranges(middle.min(end)..=middle.max(end), area.y_range());
        ui.painter().rect_filled(filled, 1.0, color.gamma_multiply(opacity));
        ui.painter().vline(middle, area.y_range(), egui::Stroke::new(1.0, palette.grey));
        let text = bar.text();
        let color = palette.grey.gamma_multiply(opacity);
        let shown = ui.add(egui::Label::new(RichText::new(&text).small().color(color)).truncate());
        shown.widget_info(|| {
            egui::WidgetInfo::labeled(egui::accesskit::Role::Label, true, format!("{name} contributes {text}"))
        });
        label.inner
    })
    .inner
}
