//! Rents of flats in an invented town.

use super::noise::{Noise, exp};

/// A district: its share of the flats, its nearest distance and width in kilometers from the
/// center, and what its name adds to the rent per square meter.
struct District {
    name: &'static str,
    share: f64,
    nearest: f64,
    width: f64,
    level: f64,
}

const fn district(name: &'static str, share: f64, [nearest, width]: [f64; 2], level: f64) -> District {
    District { name, share, nearest, width, level }
}

const DISTRICTS: [District; 6] = [
    district("Center", 0.16, [0.2, 1.3], 1.0),
    district("Harbor", 0.14, [1.0, 2.0], 2.0),
    district("Station", 0.20, [0.8, 1.7], -1.5),
    district("Hill", 0.18, [2.0, 4.0], 1.5),
    district("Mill", 0.16, [3.0, 5.0], -1.0),
    district("Meadow", 0.16, [4.0, 6.0], 0.0),
];

/// The names of the districts.
pub(super) fn districts() -> [&'static str; DISTRICTS.len()] {
    DISTRICTS.map(|district| district.name)
}

/// A flat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Flat {
    /// The flat's index in [`DISTRICTS`].
    pub(super) district: u32,
    pub(super) has_lift: bool,
    /// In the order of [`Flat::NAMES`].
    pub(super) numbers: [f64; Self::NAMES.len()],
}

impl Flat {
    /// The numeric columns; the last is the target.
    pub(super) const NAMES: [&str; 5] = ["size_m2", "rooms", "built", "km_to_center", "rent"];

    /// Draws a flat, and its rent according to the formula in docs/regression-studio-reference.md.
    pub(super) fn draw(noise: &mut Noise) -> Self {
        let mut share = noise.uniform();
        let district = DISTRICTS.iter().position(|district| {
            share -= district.share;
            share < 0.0
        });
        let index = district.unwrap_or(DISTRICTS.len() - 1);
        let place = &DISTRICTS[index];
        let tenth = |value: f64| (10.0 * value).round() / 10.0;
        let km = tenth(place.nearest + place.width * noise.uniform());
        let size = (65.0 * exp(0.38 * noise.normal())).round().clamp(18.0, 220.0);
        let rooms = (size / 25.0 + 0.4 * noise.normal()).round().clamp(1.0, 8.0);
        let built = (1905.0 + 120.0 * noise.uniform()).floor();
        let has_lift = built >= 1960.0 && noise.uniform() < 0.6;

        let age = (built - 1960.0) / 60.0;
        let by_age = if age < 0.0 { 2.0 * age * age } else { 4.0 * age * age };
        let by_lift = if has_lift { 1.0 } else { 0.0 };
        let per_meter = 7.0 + 5.0 * exp(-km / 2.0) + place.level + by_age + by_lift;
        let rent = (150.0 + per_meter * size * exp(0.18 * noise.normal())).round();
        let numbers = [size, rooms, built, km, rent];
        Self { district: index as u32, has_lift, numbers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_districts_share_all_flats() {
        let sum: f64 = DISTRICTS.iter().map(|district| district.share).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    }
}
