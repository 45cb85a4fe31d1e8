//! Textures: images with samplers.

use thiserror::Error;

use super::sampler::{Axis, ONE};
use super::{AddressMode, Channel, Filter, Geometry, Image, ImageError, ObjectKind, ReadMode, Sampler};

/// An image that kernels read with texture fetches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texture {
    image: Image,
    sampler: Sampler,
}

/// A linear filter on channels that fetches return as integers.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("a linear filter needs channels that are returned as floats")]
pub struct InvalidFilter;

/// Coordinates of a fetch, not counting the layer. Unused ones are ignored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Coordinates {
    /// Indices of a texel.
    Integers([i32; 3]),
    /// A point.
    Floats([f32; 3]),
}

/// A texel of a fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Texel {
    /// Its indices. `None` for the border.
    pub(crate) place: Option<[u32; 3]>,
    /// Its weight in the result, relative to the others.
    pub(crate) weight: u32,
}

/// The texels of a fetch. All weights are nonzero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Footprint {
    texels: [Texel; Self::MAX],
    count: usize,
}

impl Footprint {
    /// Maximum number of texels: two along each dimension.
    pub(crate) const MAX: usize = 8;

    pub(crate) fn texels(&self) -> &[Texel] {
        &self.texels[..self.count]
    }

    fn push(&mut self, texel: Texel) {
        if texel.weight > 0 && self.count < Self::MAX {
            self.texels[self.count] = texel;
            self.count += 1;
        }
    }

    fn of_one(place: Option<[u32; 3]>) -> Self {
        let mut only = Self::default();
        only.push(Texel { place, weight: ONE });
        only
    }

    /// Every combination of texels along three dimensions.
    fn of_axes(axes: [Axis; 3]) -> Self {
        let mut all = Self::default();
        for (z, z_weight) in axes[2] {
            for (y, y_weight) in axes[1] {
                for (x, x_weight) in axes[0] {
                    let place = x.zip(y).zip(z).map(|((x, y), z)| [x, y, z]);
                    all.push(Texel { place, weight: x_weight * y_weight * z_weight });
                }
            }
        }
        all
    }
}

impl Texture {
    /// Combines an image with a sampler. Linear memory ignores the filter and the addressing modes.
    ///
    /// # Errors
    /// If the filter is linear and channels are returned as integers.
    pub fn new(image: Image, sampler: Sampler) -> Result<Self, InvalidFilter> {
        let filter = if image.is_linear() { Filter::Point } else { sampler.filter };
        let texture = Self { image, sampler: Sampler { filter, ..sampler } };
        if filter == Filter::Linear && !texture.returns_floats() { Err(InvalidFilter) } else { Ok(texture) }
    }

    /// The image.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// The sampler.
    pub fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    fn returns_floats(&self) -> bool {
        self.image.format().channel().is_float() || self.is_normalized()
    }

    fn is_normalized(&self) -> bool {
        self.sampler.read == ReadMode::NormalizedFloat && self.image.format().channel().can_be_normalized()
    }

    /// The texels of a fetch at coordinates in a layer. Layers beyond the last are clamped to it.
    ///
    /// # Errors
    /// If the instruction has other dimensions than the image.
    pub(crate) fn footprint(&self, accessed: Geometry, layer: u32, at: Coordinates) -> Result<Footprint, ImageError> {
        self.check(accessed)?;
        let size = self.image.size();
        let at = match at {
            Coordinates::Floats(at) => at,
            Coordinates::Integers(at) => return Ok(Footprint::of_one(self.texel(accessed, layer, at))),
        };
        if self.image.is_linear() {
            // The row ends at the last index. A float coordinate is rounded down.
            return Ok(Footprint::of_one(self.texel(accessed, layer, [at[0].floor() as i32, 0, 0])));
        }
        let (sampler, [s, t, r], layer) = self.on_face(accessed, layer, at);
        let only = |index: u32| [(Some(index), ONE), (None, 0)];
        let along = |dimension: usize, coordinate| sampler.along(dimension, coordinate, size[dimension]);
        Ok(Footprint::of_axes(match accessed {
            Geometry::OneD => [along(0, s), only(0), only(0)],
            Geometry::TwoD => [along(0, s), along(1, t), only(0)],
            Geometry::ThreeD => [along(0, s), along(1, t), along(2, r)],
            Geometry::LayeredOneD => [along(0, s), only(0), only(layer)],
            Geometry::LayeredTwoD | Geometry::Cube | Geometry::LayeredCube => [along(0, s), along(1, t), only(layer)],
        }))
    }

    /// The four texels around a point of a plane, from which `tld4` gathers a channel.
    /// Counterclockwise from the lower left, where the second coordinate increases downward.
    ///
    /// # Errors
    /// See [`footprint`](Self::footprint).
    pub(crate) fn around(
        &self,
        accessed: Geometry,
        layer: u32,
        at: [f32; 3],
    ) -> Result<[Option<[u32; 3]>; 4], ImageError> {
        self.check(accessed)?;
        let (sampler, [s, t, _], layer) = self.on_face(accessed, layer, at);
        let [width, height, _] = self.image.size();
        let ([left, right], [top, bottom]) = (sampler.around(0, s, width), sampler.around(1, t, height));
        let place = |(x, y): (Option<u32>, Option<u32>)| x.zip(y).map(|(x, y)| [x, y, layer]);
        Ok([(left, bottom), (right, bottom), (right, top), (left, top)].map(place))
    }

    fn check(&self, accessed: Geometry) -> Result<(), ImageError> {
        let geometry = self.image.geometry();
        let kind = ObjectKind::Texture;
        geometry.permits(accessed).then_some(()).ok_or(ImageError::Geometry { kind, geometry, accessed })
    }

    /// The texel with these indices. `None` for the border.
    fn texel(&self, accessed: Geometry, layer: u32, at: [i32; 3]) -> Option<[u32; 3]> {
        let size = self.image.size();
        if self.image.is_linear() {
            return u32::try_from(at[0]).ok().filter(|x| *x < size[0]).map(|x| [x, 0, 0]);
        }
        let mut place = [0; 3];
        for dimension in 0..accessed.dimensions() {
            place[dimension] = self.sampler.index(dimension, at[dimension].into(), size[dimension])?;
        }
        if accessed.is_layered() {
            place[2] = layer.min(size[2] - 1);
        }
        Some(place)
    }

    /// The sampler, coordinates and layer of a fetch within a plane. For a cube, the plane is a
    /// face (CUDA C++ Programming Guide, Cubemap Textures). A filter does not extend across a
    /// face's edges.
    fn on_face(&self, accessed: Geometry, layer: u32, at: [f32; 3]) -> (Sampler, [f32; 3], u32) {
        let layers = self.image.size()[2];
        if !accessed.is_cube() {
            return (self.sampler, at, layer.min(layers - 1));
        }
        let [x, y, z] = at;
        let (face, m, s, t) = if x.abs() > y.abs() && x.abs() > z.abs() {
            if x >= 0.0 { (0, x, -z, -y) } else { (1, -x, z, -y) }
        } else if y.abs() > z.abs() {
            if y >= 0.0 { (2, y, x, z) } else { (3, -y, x, -z) }
        } else if z >= 0.0 {
            (4, z, x, -y)
        } else {
            (5, -z, -x, -y)
        };
        let sampler = Sampler { modes: [AddressMode::Clamp; 3], normalized_coordinates: true, ..self.sampler };
        let cube = if accessed.is_layered() { layer.min(layers / 6 - 1) } else { 0 };
        (sampler, [(s / m + 1.0) / 2.0, (t / m + 1.0) / 2.0, 0.0], cube * 6 + face)
    }

    /// The four registers of a fetch, computed from the bytes of its texels (`None` for the border)
    /// and their weights. Channels that the format lacks are 0, the fourth one 1, as in OpenGL.
    pub(crate) fn filtered(&self, texels: &[(Option<[u8; 16]>, u32)]) -> [u32; 4] {
        let total: u32 = texels.iter().map(|(_, weight)| weight).sum();
        std::array::from_fn(|channel| match texels {
            // A single texel is returned unchanged, even NaN.
            [(texel, _)] => self.channel(texel.as_ref(), channel),
            _ => {
                let term = |(texel, weight): &(Option<[u8; 16]>, u32)| {
                    f64::from(*weight) * self.value(texel.as_ref(), channel)
                };
                ((texels.iter().map(term).sum::<f64>() / f64::from(total)) as f32).to_bits()
            }
        })
    }

    /// The register for a texel's channel.
    pub(crate) fn channel(&self, texel: Option<&[u8; 16]>, channel: usize) -> u32 {
        let format = self.image.format();
        match texel {
            _ if self.is_normalized() => (self.value(texel, channel) as f32).to_bits(),
            None if self.image.is_linear() => 0,
            None => self.sampler.border[channel % 4].to_bits(),
            Some(texel) => match format.channel_of(texel, channel) {
                Some(bits) => format.channel().element(bits),
                None if channel < 3 => 0,
                None if format.channel().is_float() => 1.0_f32.to_bits(),
                None => 1,
            },
        }
    }

    /// A channel of a texel as a float.
    fn value(&self, texel: Option<&[u8; 16]>, channel: usize) -> f64 {
        let format = self.image.format();
        match texel {
            None if self.image.is_linear() => 0.0,
            None => self.sampler.border[channel % 4].into(),
            Some(texel) => match format.channel_of(texel, channel) {
                Some(bits) => {
                    let value = format.channel().normalized(bits);
                    let is_srgb = self.sampler.srgb && format.channel() == Channel::U8 && channel < 3;
                    if is_srgb { linear_of_srgb(value) } else { value }
                }
                None => f64::from(u8::from(channel == 3)),
            },
        }
    }
}

/// Converts an sRGB value to a linear one (IEC 61966-2-1), rounded to f32.
fn linear_of_srgb(value: f64) -> f64 {
    let linear = if value <= 0.04045 { value / 12.92 } else { libm::pow((value + 0.055) / 1.055, 2.4) };
    f64::from(linear as f32)
}
