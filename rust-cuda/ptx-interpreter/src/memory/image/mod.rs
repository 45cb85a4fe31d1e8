//! Images: memory that kernels read through texture objects, and read and write through surface
//! objects.
//!
//! An image is part of an allocation of global memory, stored plane by plane and row by row. CUDA
//! arrays use the same layout here. A GPU orders their texels for its caches, which programs cannot
//! observe.

mod error;
mod format;
mod geometry;
mod objects;
mod sampler;
mod surface;
mod texture;

use thiserror::Error;

pub use error::{ImageError, ObjectKind};
pub use format::{Channel, Format};
pub use geometry::Geometry;
pub(crate) use objects::ImageObjects;
pub use sampler::{AddressMode, Filter, ReadMode, Sampler};
pub(crate) use surface::OutsidePolicy;
pub(crate) use texture::{Coordinates, Footprint, Texel};
pub use texture::{InvalidFilter, Texture};

/// An image in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    start: u64,
    format: Format,
    geometry: Geometry,
    size: [u32; 3],
    pitch: u64,
    is_linear: bool,
}

/// The reason why an image is invalid.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum InvalidImage {
    /// A size is 0, a dimension that the geometry lacks is not 1, or faces are not square.
    #[error("an image of {size:?} texels is not {geometry}")]
    Size {
        /// Width, height, and depth or number of layers.
        size: [u32; 3],
        /// The dimensions.
        geometry: Geometry,
    },
    /// The start or the pitch is not a multiple of the texel size, or the pitch is less than a row.
    #[error("an image at {start:#x} with rows of {pitch} bytes cannot have texels of {texel} bytes in that order")]
    Layout {
        /// Address of the first texel.
        start: u64,
        /// Distance in bytes between the starts of consecutive rows.
        pitch: u64,
        /// Size of a texel in bytes.
        texel: usize,
    },
}

impl Image {
    /// Creates an image that begins at an address. The size in texels is the width, the height, and
    /// the depth or the number of layers. The faces of cubes are layers, six per cube. `pitch` is
    /// the distance between rows in bytes.
    ///
    /// # Errors
    /// If the size does not match the geometry, or if start and pitch do not match the format.
    pub fn new(
        start: u64,
        format: Format,
        geometry: Geometry,
        size: [u32; 3],
        pitch: u64,
    ) -> Result<Self, InvalidImage> {
        let [width, height, layers] = size;
        let suits = match geometry {
            Geometry::OneD => [height, layers] == [1, 1],
            Geometry::TwoD => layers == 1,
            Geometry::ThreeD | Geometry::LayeredTwoD => true,
            Geometry::LayeredOneD => height == 1,
            Geometry::Cube => layers == 6 && width == height,
            Geometry::LayeredCube => layers.is_multiple_of(6) && width == height,
        };
        if !suits || size.contains(&0) {
            return Err(InvalidImage::Size { size, geometry });
        }
        let texel = format.bytes() as u64;
        let rows = u64::from(height).checked_mul(layers.into());
        let end = rows.and_then(|rows| rows.checked_mul(pitch)?.checked_add(start));
        let is_aligned = start.is_multiple_of(texel) && pitch.is_multiple_of(texel);
        if !is_aligned || pitch < u64::from(width) * texel || end.is_none() {
            return Err(InvalidImage::Layout { start, pitch, texel: format.bytes() });
        }
        Ok(Self { start, format, geometry, size, pitch, is_linear: false })
    }

    /// Creates a row of `width` texels of linear memory, starting at an address. A fetch beyond
    /// either end returns zero.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn linear(start: u64, format: Format, width: u32) -> Result<Self, InvalidImage> {
        let pitch = u64::from(width) * format.bytes() as u64;
        Ok(Self { is_linear: true, ..Self::new(start, format, Geometry::OneD, [width, 1, 1], pitch)? })
    }

    /// Format of its texels.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Its dimensions.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Width, height, and depth or number of layers.
    pub fn size(&self) -> [u32; 3] {
        self.size
    }

    /// Size in bytes, from the first texel to the end of the last row.
    pub fn bytes(&self) -> u64 {
        let [_, height, layers] = self.size;
        self.pitch * u64::from(height) * u64::from(layers)
    }

    /// Whether it is linear memory, which has no addressing modes and filters.
    pub(crate) fn is_linear(&self) -> bool {
        self.is_linear
    }

    /// Address of a texel in the image.
    pub(crate) fn address(&self, [x, y, layer]: [u32; 3]) -> u64 {
        self.row(y, layer) + u64::from(x) * self.format.bytes() as u64
    }

    /// Address of a row in the image.
    fn row(&self, y: u32, layer: u32) -> u64 {
        let row = u64::from(layer) * u64::from(self.size[1]) + u64::from(y);
        self.start + row * self.pitch
    }
}
