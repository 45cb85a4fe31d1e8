//! A row's prediction with the whiskers of its interval.

use eframe::egui::{self, RichText, Sense, Stroke, Ui, pos2, vec2};

use crate::prepared::Scale;
use crate::window::{number, theme};

/// The axis covers at least the training part's mean plus and minus this many standard deviations.
const RANGE: f64 = 3.0;
const HEIGHT: f32 = 14.0;

/// Draws the interval on an axis with the target's usual values, and the interval's ends below.
/// Outside the range of training the interval has no guarantee.
pub(super) fn show(ui: &mut Ui, percent: u8, value: f64, interval: [f64; 2], scale: Scale, is_outside: bool) {
    let palette = theme::palette(ui);
    let [low, high] = interval.map(number::short);
    let text = format!("{percent} % interval: {low} to {high}");
    let (area, response) = ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::hover());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::Image, true, &text));
    let color = if is_outside { palette.orange } else { palette.blue };
    let places = [interval[0], value, interval[1]].map(|value| scale.in_deviations(value));
    let finite = || places.into_iter().filter(|place| place.is_finite());
    let (left, right) = (finite().fold(-RANGE, f64::min), finite().fold(RANGE, f64::max));
    let inner = area.shrink2(vec2(5.0, 0.0));
    let x = |place: f64| inner.left() + inner.width() * ((place - left) / (right - left)).clamp(0.0, 1.0) as f32;
    let [low, middle, high] = places.map(x);
    let y = area.center().y;
    let painter = ui.painter();
    painter.hline(inner.x_range(), y, Stroke::new(1.0, palette.line));
    painter.hline(low..=high, y, Stroke::new(2.0, color));
    for end in [low, high] {
        painter.vline(end, y - 5.0..=y + 5.0, Stroke::new(2.0, color));
    }
    painter.circle_filled(pos2(middle, y), 4.0, color);
    let (text, color) = match is_outside {
        true => (format!("⚠ {text}: outside the range of training, without guarantee"), palette.orange),
        false => (text, ui.visuals().text_color()),
    };
    let label = ui.add(egui::Label::new(RichText::new(text).color(color)).wrap());
    label.on_hover_text(format!(
        "Of new rows like those of the table, {percent} % have a true value within their interval, by the errors on rows that were not \
         trained on. The line above is the range of usual values of the target."
    ));
}
