//! Where each neuron stands.

use eframe::egui::{Pos2, Rect, pos2};

/// A neuron's radius.
pub(super) const RADIUS: f32 = 7.0;
/// The most neurons of a column: more lines cannot be told apart.
const MOST_DRAWN: usize = 12;
/// Room above for the layers' sizes, on the left for the inputs' names, on the right for half of the target's.
const CAPTION: f32 = 24.0;
const INPUT_NAMES: f32 = 112.0;
const TARGET_NAME: f32 = 52.0;
/// The least height of a neuron.
const LEAST_STEP: f32 = 2.0 * RADIUS + 3.0;

/// The columns of neurons.
pub(super) struct Columns {
    area: Rect,
    sizes: Vec<usize>,
    /// How many neurons fit below each other.
    fit: usize,
}

impl Columns {
    pub(super) fn new(area: Rect, sizes: &[usize]) -> Self {
        let mut inner = area;
        inner.min.y += CAPTION;
        inner.min.x += INPUT_NAMES.min(area.width() / 4.0);
        inner.max.x -= TARGET_NAME.min(area.width() / 6.0);
        let fit = ((inner.height() / LEAST_STEP) as usize).clamp(2, MOST_DRAWN);
        Self { area: inner, sizes: sizes.to_vec(), fit }
    }

    pub(super) fn layers(&self) -> usize {
        self.sizes.len()
    }

    /// How many of a layer's neurons are drawn: all, or the first of them with room for "… more".
    pub(super) fn drawn(&self, layer: usize) -> usize {
        let size = self.sizes[layer];
        if size <= self.fit { size } else { self.fit - 1 }
    }

    /// Where it is told that there are more, and how many.
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
    fn every_neuron_stands_inside_and_apart_from_the_others() {
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
