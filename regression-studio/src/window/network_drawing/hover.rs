//! Tooltip of a neuron.

use eframe::egui::{self, Rect, RichText, Sense, Ui, vec2};

use super::Drawing;
use crate::window::{number, theme};

/// Maximum number of inputs listed.
const MAX_LISTED: usize = 12;
/// Width of the longest bar in points.
const BAR: f32 = 80.0;

/// Shows the neuron's name, its inputs by absolute weight, and its bias.
pub(super) fn show(ui: &mut Ui, drawing: &Drawing<'_>, layer: usize, neuron: usize) {
    ui.set_max_width(320.0);
    ui.strong(capitalised(&drawing.name(layer, neuron)));
    let Some(before) = layer.checked_sub(1) else {
        ui.label("Input: the column, standardised to mean 0 and variance 1.");
        return;
    };
    let kind = match layer + 1 == drawing.sizes.len() {
        true => "Weighted sum of its inputs".to_owned(),
        false => format!("{} of the weighted sum of its inputs", capitalised(&drawing.neuron)),
    };
    ui.label(RichText::new(kind).weak());
    let Some(weights) = drawing.weights(before) else {
        ui.label("The weights are initialised when training starts.");
        return;
    };
    let mut inputs: Vec<(usize, f32)> = weights.column(neuron).iter().copied().enumerate().collect();
    inputs.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()));
    let strongest = inputs.first().map_or(1.0, |(_, weight)| weight.abs()).max(f32::MIN_POSITIVE);
    ui.spacing_mut().interact_size.y = 0.0;
    egui::Grid::new("inputs").num_columns(3).spacing([10.0, 2.0]).show(ui, |ui| {
        for &(input, weight) in inputs.iter().take(MAX_LISTED) {
            row(ui, &drawing.name(before, input), weight, strongest);
        }
        if let Some(bias) = drawing.bias(before, neuron) {
            row(ui, "bias", bias, strongest.max(bias.abs()));
        }
    });
    if inputs.len() > MAX_LISTED {
        ui.label(RichText::new(format!("… {} weaker inputs", inputs.len() - MAX_LISTED)).weak());
    }
}

fn row(ui: &mut Ui, name: &str, weight: f32, strongest: f32) {
    let palette = theme::palette(ui);
    let color = if weight >= 0.0 { palette.blue } else { palette.orange };
    ui.label(RichText::new(name).small());
    let (area, _) = ui.allocate_exact_size(vec2(BAR, 10.0), Sense::hover());
    let bar = Rect::from_min_size(area.min, vec2((BAR * weight.abs() / strongest).max(1.0), 10.0));
    ui.painter().rect_filled(bar, 2.0, color);
    let sign = if weight >= 0.0 { "+" } else { "−" };
    ui.label(RichText::new(format!("{sign}{}", number::short(f64::from(weight.abs())))).small().monospace());
    ui.end_row();
}

fn capitalised(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
