//! Samplers: how a texture fetch turns coordinates into texels and weights.
//!
//! The formulas are from the CUDA C++ Programming Guide, Texture Fetching. A point filter returns
//! `tex(x) = T[floor(x)]`. A linear filter, with `xB = x - 0.5`, returns `(1 - α) T[floor(xB)] + α
//! T[floor(xB) + 1]`, where `α = frac(xB)` is a fixed-point number with 8 fractional bits (here
//! rounded to nearest). Normalized coordinates from 0 to 1 are first multiplied by the size.
//! Outside the image, an addressing mode applies to each texel's index. The guide wraps and mirrors
//! coordinates; OpenGL does so with indices, as here. NaN counts as 0.

/// Handling of coordinates outside the image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// Repeats the image. Only for normalized coordinates; otherwise like `Clamp`.
    Wrap,
    /// Uses the nearest texel.
    #[default]
    Clamp,
    /// Repeats the image, mirrored every other time. Only for normalized coordinates; otherwise
    /// like `Clamp`.
    Mirror,
    /// Uses the border color.
    Border,
}

/// How a fetch selects texels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The texel that contains the point.
    #[default]
    Point,
    /// The mean of the nearest texels along each dimension, weighted by distance.
    Linear,
}

/// The value that a fetch returns for a texel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReadMode {
    /// Its channels.
    #[default]
    Element,
    /// Its channels, with 8-bit and 16-bit integers converted to floats in [0, 1] or [−1, 1].
    NormalizedFloat,
}

/// Settings for reading texels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampler {
    /// Handling of coordinates outside the image, per dimension.
    pub modes: [AddressMode; 3],
    /// How texels are selected.
    pub filter: Filter,
    /// The value returned for a texel.
    pub read: ReadMode,
    /// Whether coordinates range from 0 to 1, rather than to the size.
    pub normalized_coordinates: bool,
    /// Whether 8-bit red, green and blue are converted from sRGB to linear values before filtering.
    pub srgb: bool,
    /// The border color. If channels are returned as integers, its bits.
    pub border: [f32; 4],
}

/// Weights are multiples of 1 / 256.
pub(super) const ONE: u32 = 256;

/// The texels that a fetch reads along one dimension, each with its index (`None` for the border)
/// and weight.
pub(super) type Axis = [(Option<u32>, u32); 2];

impl Sampler {
    /// The texels that the filter selects at a coordinate along a dimension of `size` texels.
    pub(super) fn along(&self, dimension: usize, coordinate: f32, size: u32) -> Axis {
        let x = self.scaled(coordinate, size);
        match self.filter {
            Filter::Point => [(self.index(dimension, x.floor(), size), ONE), (None, 0)],
            Filter::Linear => {
                let first = (x - 0.5).floor();
                // An infinite coordinate is equally far from both texels.
                let fraction = (x - 0.5 - first) * f64::from(ONE);
                let weight = (fraction + 0.5).floor().clamp(0.0, f64::from(ONE)) as u32;
                let [low, high] = [first, first + 1.0].map(|index| self.index(dimension, index, size));
                [(low, ONE - weight), (high, weight)]
            }
        }
    }

    /// The two texels around a coordinate, whatever the filter.
    pub(super) fn around(&self, dimension: usize, coordinate: f32, size: u32) -> [Option<u32>; 2] {
        let first = (self.scaled(coordinate, size) - 0.5).floor();
        [first, first + 1.0].map(|index| self.index(dimension, index, size))
    }

    fn scaled(&self, coordinate: f32, size: u32) -> f64 {
        let x = if coordinate.is_nan() { 0.0 } else { f64::from(coordinate) };
        if self.normalized_coordinates { x * f64::from(size) } else { x }
    }

    /// Maps an integral index to an index within the image. `None` for the border.
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
