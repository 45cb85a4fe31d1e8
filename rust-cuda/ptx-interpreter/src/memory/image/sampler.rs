//! Samplers: how a texture fetch turns coordinates into texels and weights.
//!
//! The formulas are from the CUDA C++ Programming Guide, Texture Fetching: `tex(x) = T[floor(x)]`, and by a linear filter, with
//! `xB = x - 0.5`, `(1 - α) T[floor(xB)] + α T[floor(xB) + 1]` where `α = frac(xB)` is a fixed-point number with 8 fractional bits
//! (rounded to the nearest here). Coordinates from 0 to 1 are multiplied by the size before. Outside of the image an addressing mode
//! applies to each texel's index. The guide wraps and mirrors coordinates; OpenGL does
//! so with indices, as here.
//! NaN counts as 0.

/// What a coordinate outside of the image means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// The image repeats; only for normalized coordinates, else as `Clamp`.
    Wrap,
    /// The nearest texel.
    #[default]
    Clamp,
    /// The image repeats, every other time mirrored; only for normalized coordinates, else as `Clamp`.
    Mirror,
    /// The border color.
    Border,
}

/// How a fetch chooses texels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The texel that contains the point.
    #[default]
    Point,
    /// The mean of the nearest texels along each dimension, by their distances.
    Linear,
}

/// What a fetch returns of a texel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReadMode {
    /// Its channels.
    #[default]
    Element,
    /// Its channels, integers of 8 and 16 bits as floats from 0 or −1 to 1.
    NormalizedFloat,
}

/// How texels are read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampler {
    /// What coordinates outside mean, by dimension.
    pub modes: [AddressMode; 3],
    /// How texels are chosen.
    pub filter: Filter,
    /// What is returned of them.
    pub read: ReadMode,
    /// Whether coordinates are from 0 to 1, rather than to the size.
    pub normalized_coordinates: bool,
    /// Whether red, green and blue of 8 bits are converted from sRGB to linear values before they are filtered.
    pub srgb: bool,
    /// The border color. Where channels are returned as integers, its bits.
    pub border: [f32; 4],
}

/// Weights are multiples of 1 / 256.
pub(super) const ONE: u32 = 256;

/// The texels along one dimension that a fetch reads: each with its index, or None for the border, and its weight.
pub(super) type Axis = [(Option<u32>, u32); 2];

impl Sampler {
    /// The texels at a coordinate along a dimension of `size` texels, by the filter.
    pub(super) fn along(&self, dimension: usize, coordinate: f32, size: u32) -> Axis {
        let x = self.scaled(coordinate, size);
        match self.filter {
            Filter::Point => [(self.index(dimension, x.floor(), size), ONE), (None, 0)],
            Filter::Linear => {
                let first = (x - 0.5).floor();
                // An infinite coordinate is as far from one texel as from the other.
                let fraction = (x - 0.5 - first) * f64::from(ONE);
                let weight = (fraction + 0.5).floor().clamp(0.0, f64::from(ONE)) as u32;
                let [low, high] = [first, first + 1.0].map(|index| self.index(dimension, index, size));
                [(low, ONE - weight), (high, weight)]
            }
        }
    }

    /// The two texels around a coordinate, whichever the filter.
    pub(super) fn around(&self, dimension: usize, coordinate: f32, size: u32) -> [Option<u32>; 2] {
        let first = (self.scaled(coordinate, size) - 0.5).floor();
        [first, first + 1.0].map(|index| self.index(dimension, index, size))
    }

    fn scaled(&self, coordinate: f32, size: u32) -> f64 {
        let x = if coordinate.is_nan() { 0.0 } else { f64::from(coordinate) };
        if self.normalized_coordinates { x * f64::from(size) } else { x }
    }

    /// The index within the image that an integral one means; None for the border.
    pub(super) fn index(&self, dimension: usize, index: f64, size: u32) -> Option<u32> {
        let mode = match self.modes[dimension] {
            AddressMode::Wrap | AddressMode::Mirror if !self.normalized_coordinates => AddressMode::Clamp,
            mode => mode,
        };
        let (count, last) = (f64::from(size), f64::from(size) - 1.0);
        // A remainder of infinity is NaN, which becomes 0.
        match mode {
            AddressMode::Clamp => Some(index.clamp(0.0, last) as u32),
            AddressMode::Border => (0.0..=last).contains(&index).then_some(index as u32),
            AddressMode::Wrap => Some(index.rem_euclid(count) as u32),
            AddressMode::Mirror => {
                let place = index.rem_euclid(2.0 * count);
                Some(if place < count { place } else { 2.0 * count - 1.0 - place } as u32)
            }
        }
    }
}
