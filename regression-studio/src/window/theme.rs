//! Colors, sizes and spacing of the light and dark theme.

use eframe::egui::{
    self, Color32, CornerRadius, FontFamily, FontId, Frame, Margin, Shadow, Stroke, TextStyle, Theme, Ui, Visuals, vec2,
};

/// Colors of the drawings, readable in both themes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    /// Primary action, training part, positive weights.
    pub(crate) blue: Color32,
    /// Validation part, negative weights.
    pub(crate) orange: Color32,
    /// Success.
    pub(crate) green: Color32,
    /// Errors.
    pub(crate) red: Color32,
    /// The fifth run of a comparison.
    pub(crate) violet: Color32,
    /// The sixth run of a comparison.
    pub(crate) teal: Color32,
    /// Secondary lines and text.
    pub(crate) grey: Color32,
    /// Background of cards.
    pub(crate) card: Color32,
    /// Borders of cards and grid lines.
    pub(crate) line: Color32,
    /// Background of every other row of a table.
    pub(crate) stripe: Color32,
}

const LIGHT: Palette = Palette {
    blue: Color32::from_rgb(29, 95, 208),
    orange: Color32::from_rgb(208, 96, 0),
    green: Color32::from_rgb(20, 122, 62),
    red: Color32::from_rgb(190, 25, 30),
    violet: Color32::from_rgb(128, 60, 190),
    teal: Color32::from_rgb(0, 120, 130),
    grey: Color32::from_rgb(98, 106, 120),
    card: Color32::WHITE,
    line: Color32::from_rgb(216, 221, 229),
    stripe: Color32::from_rgb(246, 248, 251),
};

const DARK: Palette = Palette {
    blue: Color32::from_rgb(96, 165, 250),
    orange: Color32::from_rgb(251, 164, 72),
    green: Color32::from_rgb(96, 205, 140),
    red: Color32::from_rgb(252, 125, 120),
    violet: Color32::from_rgb(196, 150, 255),
    teal: Color32::from_rgb(80, 205, 215),
    grey: Color32::from_rgb(152, 162, 179),
    card: Color32::from_rgb(32, 36, 43),
    line: Color32::from_rgb(58, 64, 75),
    stripe: Color32::from_rgb(37, 42, 50),
};

impl Palette {
    /// The colors of the runs in a comparison.
    pub(crate) fn of_runs(&self) -> [Color32; 6] {
        [self.blue, self.orange, self.green, self.red, self.violet, self.teal]
    }
}

/// The current theme's palette.
pub(crate) fn palette(ui: &Ui) -> Palette {
    if ui.visuals().dark_mode { DARK } else { LIGHT }
}

/// Sets the styles of both themes.
pub(crate) fn apply(context: &egui::Context) {
    context.style_mut_of(Theme::Light, |style| {
        style.visuals =
            visuals(Visuals::light(), &LIGHT, Color32::from_rgb(239, 242, 246), Color32::from_rgb(31, 36, 46));
    });
    context.style_mut_of(Theme::Dark, |style| {
        style.visuals =
            visuals(Visuals::dark(), &DARK, Color32::from_rgb(22, 25, 30), Color32::from_rgb(225, 229, 236));
    });
    context.all_styles_mut(|style| {
        let size = |points| FontId::new(points, FontFamily::Proportional);
        style.text_styles.insert(TextStyle::Body, size(14.0));
        style.text_styles.insert(TextStyle::Button, size(14.0));
        style.text_styles.insert(TextStyle::Small, size(12.0));
        style.text_styles.insert(TextStyle::Heading, size(16.0));
        style.spacing.item_spacing = vec2(8.0, 6.0);
        style.spacing.button_padding = vec2(10.0, 4.0);
        style.spacing.interact_size.y = 26.0;
        style.spacing.combo_width = 60.0;
        style.spacing.tooltip_width = 340.0;
        style.spacing.window_margin = Margin::same(16);
        style.interaction.selectable_labels = false;
        style.interaction.tooltip_delay = 0.35;
        style.wrap_mode = None;
    });
}

fn visuals(mut visuals: Visuals, palette: &Palette, background: Color32, text: Color32) -> Visuals {
    let corner = CornerRadius::same(6);
    let is_dark = visuals.dark_mode;
    visuals.panel_fill = background;
    visuals.window_fill = palette.card;
    visuals.window_stroke = Stroke::new(1.0, palette.line);
    visuals.window_corner_radius = CornerRadius::same(10);
    visuals.menu_corner_radius = corner;
    let shadow = |blur, alpha| Shadow { offset: [0, 4], blur, spread: 0, color: Color32::from_black_alpha(alpha) };
    visuals.window_shadow = shadow(24, if is_dark { 120 } else { 50 });
    visuals.popup_shadow = shadow(12, if is_dark { 100 } else { 36 });
    visuals.extreme_bg_color = if is_dark { Color32::from_rgb(18, 21, 25) } else { Color32::WHITE };
    visuals.faint_bg_color = palette.stripe;
    visuals.error_fg_color = palette.red;
    visuals.warn_fg_color = palette.orange;
    visuals.hyperlink_color = palette.blue;
    visuals.weak_text_color = Some(palette.grey);
    visuals.selection.bg_fill = palette.blue.gamma_multiply(if is_dark { 0.45 } else { 0.22 });
    visuals.selection.stroke = Stroke::new(1.0, if is_dark { Color32::WHITE } else { palette.blue });
    let widgets = &mut visuals.widgets;
    widgets.noninteractive.bg_stroke = Stroke::new(1.0, palette.line);
    widgets.noninteractive.fg_stroke = Stroke::new(1.0, text);
    let (rest, hovered) = match is_dark {
        true => (Color32::from_rgb(48, 54, 64), Color32::from_rgb(60, 67, 79)),
        false => (Color32::WHITE, Color32::from_rgb(232, 239, 250)),
    };
    let edge = if is_dark { Color32::from_rgb(74, 82, 95) } else { Color32::from_rgb(196, 203, 213) };
    for (widget, fill, stroke) in [
        (&mut widgets.inactive, rest, edge),
        (&mut widgets.hovered, hovered, palette.blue),
        (&mut widgets.active, hovered, palette.blue),
        (&mut widgets.open, hovered, palette.blue),
    ] {
        (widget.bg_fill, widget.weak_bg_fill) = (fill, fill);
        widget.bg_stroke = Stroke::new(1.0, stroke);
        widget.fg_stroke = Stroke::new(1.5, text);
        widget.corner_radius = corner;
        widget.expansion = 0.0;
    }
    // Emphasises the widget with keyboard focus.
    widgets.active.bg_stroke.width = 2.0;
    widgets.noninteractive.corner_radius = corner;
    visuals
}

/// A card: a framed group with its own background.
pub(crate) fn card<R>(ui: &mut Ui, add_contents: impl FnOnce(&mut Ui) -> R) -> R {
    let palette = palette(ui);
    let frame = Frame::new()
        .fill(palette.card)
        .stroke(Stroke::new(1.0, palette.line))
        .corner_radius(CornerRadius::same(10))
        .inner_margin(Margin::same(12));
    frame.show(ui, add_contents).inner
}

/// A button for the primary action.
pub(crate) fn primary_button(ui: &Ui, text: &str) -> egui::Button<'static> {
    let palette = palette(ui);
    let on_blue = if ui.visuals().dark_mode { Color32::from_rgb(10, 20, 36) } else { Color32::WHITE };
    egui::Button::new(egui::RichText::new(text).color(on_blue).strong()).fill(palette.blue)
}
