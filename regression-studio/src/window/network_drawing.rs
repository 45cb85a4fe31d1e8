//! Draws the network: a column of neurons per layer, and lines with color and width according to
//! the weights.

mod hover;
mod layout;

use eframe::egui::epaint::CubicBezierShape;
use eframe::egui::{self, Align2, Color32, Id, Rect, Sense, Stroke, TextStyle, Ui, pos2, vec2};
use ndarray::ArrayView2;
use neural_net::Network;
use table_network::Options;

use self::layout::{Columns, RADIUS};
use super::theme::{self, Palette};
use crate::settings::NetworkKind;
use crate::{Settings, Snapshot};

/// The network to draw: layer sizes, names, and weights if training has started.
pub(crate) struct Drawing<'a> {
    sizes: Vec<usize>,
    inputs: Vec<&'a str>,
    target: &'a str,
    neuron: String,
    network: Option<&'a Network>,
}

impl<'a> Drawing<'a> {
    /// The network of a run, or of the settings if there is no run yet.
    pub(crate) fn new(snapshot: &'a Snapshot, settings: &'a Settings) -> Self {
        let network = snapshot.network.as_deref();
        let inputs: Vec<&str> = match snapshot.inputs.is_empty() {
            true => settings.data.features.iter().map(String::as_str).collect(),
            false => snapshot.inputs.iter().map(String::as_str).collect(),
        };
        let sizes = match network {
            Some(network) => network.architecture().sizes().to_vec(),
            None => {
                let hidden = match settings.network.kind {
                    NetworkKind::Layers => settings.network.hidden.clone(),
                    NetworkKind::Table => Options::for_table(0, &[]).hidden,
                };
                std::iter::once(inputs.len()).chain(hidden).chain([1]).collect()
            }
        };
        let neuron = match settings.network.kind {
            NetworkKind::Layers => settings.network.activation_in_words(),
            NetworkKind::Table => "ReLU".to_owned(),
        };
        Self { sizes, inputs, target: &settings.data.target, neuron, network }
    }

    fn weights(&self, layer: usize) -> Option<ArrayView2<'_, f32>> {
        self.network?.weights().get(layer).map(|weights| weights.view())
    }

    fn bias(&self, layer: usize, neuron: usize) -> Option<f32> {
        self.network?.biases().get(layer)?.get(neuron).copied()
    }

    /// Name shown for a neuron; layer 0 is the inputs.
    fn name(&self, layer: usize, neuron: usize) -> String {
        match layer {
            0 => self.inputs.get(neuron).map_or_else(|| format!("input {}", neuron + 1), |name| (*name).to_owned()),
            layer if layer + 1 == self.sizes.len() => self.target.to_owned(),
            layer => format!("layer {layer}, neuron {}", neuron + 1),
        }
    }
}

/// Draws the network in the available space.
pub(crate) fn show(ui: &mut Ui, drawing: &Drawing<'_>) {
    let (area, response) = ui.allocate_exact_size(ui.available_size().max(vec2(120.0, 80.0)), Sense::hover());
    let layers: Vec<String> = drawing.sizes.iter().map(usize::to_string).collect();
    let spoken = format!("Network of {} neurons", layers.join("-"));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::Image, true, &spoken));
    let palette = theme::palette(ui);
    let columns = Columns::new(area, &drawing.sizes);
    let id = ui.scope_id().with("network");
    let hovered = neurons(&columns).find(|&(layer, neuron)| {
        let place = columns.place(layer, neuron);
        ui.rect_contains_pointer(Rect::from_center_size(place, vec2(2.6 * RADIUS, 2.6 * RADIUS)))
    });
    for layer in 0..drawing.sizes.len().saturating_sub(1) {
        lines(ui, drawing, &columns, layer, hovered, palette);
    }
    for (layer, neuron) in neurons(&columns) {
        circle(ui, drawing, &columns, (layer, neuron), hovered, palette, id);
    }
    captions(ui, drawing, &columns, area, palette);
}

/// The drawn neurons, as (layer, index).
fn neurons(columns: &Columns) -> impl Iterator<Item = (usize, usize)> + '_ {
    (0..columns.layers()).flat_map(|layer| (0..columns.drawn(layer)).map(move |neuron| (layer, neuron)))
}

/// Draws the weights between a layer and the next: blue if positive, orange if negative.
fn lines(
    ui: &Ui,
    drawing: &Drawing<'_>,
    columns: &Columns,
    layer: usize,
    hovered: Option<(usize, usize)>,
    palette: Palette,
) {
    let weights = drawing.weights(layer);
    // Line widths are relative to the layer's largest absolute weight.
    let strongest = weights.iter().flatten().fold(0.0_f32, |max, weight| max.max(weight.abs())).max(f32::MIN_POSITIVE);
    let mut shapes = Vec::with_capacity(columns.drawn(layer) * columns.drawn(layer + 1));
    for to in 0..columns.drawn(layer + 1) {
        for from in 0..columns.drawn(layer) {
            let weight = weights.as_ref().and_then(|weights| weights.get((from, to)).copied());
            let strength = weight.map_or(0.0, |weight| (weight.abs() / strongest).min(1.0));
            let color = match weight {
                Some(weight) if weight >= 0.0 => palette.blue,
                Some(_) => palette.orange,
                None => palette.grey,
            };
            let opacity = match hovered {
                Some(neuron) if neuron == (layer + 1, to) || neuron == (layer, from) && layer == 0 => {
                    0.35 + 0.65 * strength
                }
                Some(_) => 0.05,
                None => 0.10 + 0.80 * strength,
            };
            let stroke = Stroke::new(0.6 + 3.4 * strength, color.gamma_multiply(opacity));
            let (start, end) = (columns.place(layer, from), columns.place(layer + 1, to));
            let bend = vec2((end.x - start.x) * 0.45, 0.0);
            let curve = [start, start + bend, end - bend, end];
            shapes.push((strength, CubicBezierShape::from_points_stroke(curve, false, Color32::TRANSPARENT, stroke)));
        }
    }
    // Draw the strongest weights on top.
    shapes.sort_by(|one, other| one.0.total_cmp(&other.0));
    ui.painter().extend(shapes.into_iter().map(|(_, shape)| shape.into()));
}

fn circle(
    ui: &Ui,
    drawing: &Drawing<'_>,
    columns: &Columns,
    (layer, neuron): (usize, usize),
    hovered: Option<(usize, usize)>,
    palette: Palette,
    id: Id,
) {
    let place = columns.place(layer, neuron);
    let is_hovered = hovered == Some((layer, neuron));
    let color = match layer.checked_sub(1).and_then(|layer| drawing.bias(layer, neuron)) {
        Some(bias) if bias > 0.0 => palette.blue,
        Some(bias) if bias < 0.0 => palette.orange,
        _ => palette.grey,
    };
    let stroke = Stroke::new(if is_hovered { 3.0 } else { 1.5 }, color);
    ui.painter().circle(place, RADIUS, palette.card, stroke);
    let area = Rect::from_center_size(place, vec2(2.6 * RADIUS, 2.6 * RADIUS));
    let response = ui.interact(area, id.with((layer, neuron)), Sense::hover());
    let name = drawing.name(layer, neuron);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::Image, true, format!("Neuron {name}")));
    response.on_hover_ui(|ui| hover::show(ui, drawing, layer, neuron));
}

/// Draws the layers' sizes above, the inputs' names on the left and the target's name below the
/// output.
fn captions(ui: &Ui, drawing: &Drawing<'_>, columns: &Columns, area: Rect, palette: Palette) {
    let small = TextStyle::Small.resolve(ui.style());
    let text = ui.visuals().text_color();
    let last = drawing.sizes.len() - 1;
    for (layer, &size) in drawing.sizes.iter().enumerate() {
        let kind = match layer {
            0 if size == 1 => "input",
            0 => "inputs",
            layer if layer == last => "output",
            _ if size == 1 => "neuron",
            _ => "neurons",
        };
        let top = pos2(columns.x(layer), area.top() + 8.0);
        ui.painter().text(top, Align2::CENTER_CENTER, format!("{size} {kind}"), small.clone(), palette.grey);
        if let Some((place, more)) = columns.more(layer) {
            ui.painter().text(place, Align2::CENTER_CENTER, format!("… {more} more"), small.clone(), palette.grey);
        }
    }
    let name = |place: egui::Pos2, align: Align2, full: &str, limit: f32| {
        let width = |text: &str| {
            let galley = ui.painter().layout_no_wrap(text.to_owned(), small.clone(), Color32::PLACEHOLDER);
            galley.size().x
        };
        let mut shown = full.to_owned();
        let mut kept = full.chars().count();
        while width(&shown) > limit && kept > 1 {
            kept -= 1;
            shown = full.chars().take(kept).chain(['…']).collect();
        }
        let galley = ui.painter().layout_no_wrap(shown, small.clone(), text);
        let area = align.anchor_size(place, galley.size());
        // A background keeps the lines behind from obscuring the text.
        ui.painter().rect_filled(area.expand2(vec2(2.0, 0.0)), 2.0, palette.card.gamma_multiply(0.85));
        ui.painter().galley(area.min, galley, text);
    };
    for neuron in 0..columns.drawn(0) {
        let place = columns.place(0, neuron) - vec2(RADIUS + 5.0, 0.0);
        name(place, Align2::RIGHT_CENTER, &drawing.name(0, neuron), place.x - area.left());
    }
    for neuron in 0..columns.drawn(last) {
        let place = columns.place(last, neuron) + vec2(0.0, RADIUS + 4.0);
        name(place, Align2::CENTER_TOP, &drawing.name(last, neuron), 2.0 * (area.right() - place.x));
    }
}
