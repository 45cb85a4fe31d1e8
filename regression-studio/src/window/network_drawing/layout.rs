//! Positions of the neurons.

use eframe::egui::{Pos2, Rect, pos2};

/// Radius of a neuron in points.
pub(super) const RADIUS: f32 = 7.0;
/// Maximum number of neurons drawn per layer. The lines of more neurons would be indistinguishable.
const MAX_DRAWN: usize = 12;
/// Margins in points: above for the layers' sizes, left for the inputs' names, right for half of the target's name.
const CAPTION: f32 = 24.0;
const INPUT_NAMES: f32 = 112.0;
const TARGET_NAME: f32 = 52.0;
/// Minimum distance between neurons of a layer, in points.
const MIN_STEP: f32 = 2.0 * RADIUS + 3.0;

/// One column of neurons per layer.
pub(super) struct Columns {
    area: Rect,
    sizes: Vec<usize>,
    /// Number of neurons that fit in a column.
    fit: usize,
}

impl Columns {
    pub(super) fn new(area: Rect, sizes: &[usize]) -> Self {
        let mut inner = area;
        inner.min.y += CAPTION;
        inner.min.x += INPUT_NAMES.min(area.width() / 4.0);
        inner.max.x -= TARGET_NAME.min(area.width() / 6.0);
        let fit = ((inner.height() / MIN_STEP) as usize).clamp(2, MAX_DRAWN);
        Self { area: inner, sizes: sizes.to_vec(), fit }
    }

    pub(super) fn layers(&self) -> usize {
        self.sizes.len()
    }

    /// Number of neurons drawn in a layer: all, or the first ones and "… more".
    pub(super) fn drawn(&self, layer: usize) -> usize {
        let size = self.sizes[layer];
        if size <= self.fit { size } else { self.fit - 1 }
    }

    /// Position and number of the "… more" caption, if any.
    pub(super) fn more(&self, layer: usize) -> Option<(Pos2, usize)> {
        let (size, drawn) = (self.sizes[layer], self.drawn(layer));
        (drawn < size).then(|| (self.place(layer, drawn), size - drawn))
    }

    pub(super) fn x(&self, layer: usize) -> f32 {
        let share = layer as f32 / (self.sizes.len() - 1).max(1) as f32;
        self.area.left() + share * self.area.width()
    }

    pub(super) fn place(&self, layer: usize, neuron: usize) -> Pos2 {
        let rows = self.drawn(layer) + usize::from(self.drawn(layer) < self.sizes[layer]);
        let step = (self.area.height() / rows.max(1) as f32).min(34.0);
        let offset = neuron as f32 - (rows as f32 - 1.0) / 2.0;
        pos2(self.x(layer), self.area.center().y + offset * step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neurons_are_inside_the_area_and_do_not_overlap() {
        for size in [(300.0, 90.0), (460.0, 260.0), (900.0, 500.0)] {
            let area = Rect::from_min_size(pos2(10.0, 20.0), size.into());
            let sizes = [8, 32, 12, 13, 1024, 1];
            let columns = Columns::new(area, &sizes);
            for (layer, &size) in sizes.iter().enumerate() {
                let places: Vec<Pos2> = (0..columns.drawn(layer)).map(|neuron| columns.place(layer, neuron)).collect();
                assert!(places.iter().all(|place| area.shrink(RADIUS).contains(*place)), "{size} neurons in {area}");
                assert!(places.windows(2).all(|pair| pair[1].y - pair[0].y > 2.0 * RADIUS));
                let more = columns.more(layer).map_or(0, |(_, more)| more);
                assert_eq!(places.len() + more, size);
                assert!(columns.more(layer).is_none_or(|(place, _)| place.y <= area.bottom()));
            }
        }
    }
}
