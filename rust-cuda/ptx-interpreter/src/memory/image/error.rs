//! Errors of accesses through texture and surface objects.

use std::fmt;

use thiserror::Error;

use super::Geometry;

/// The kinds of objects through which kernels access images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A texture object.
    Texture,
    /// A surface object.
    Surface,
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Texture => "texture",
            Self::Surface => "surface",
        })
    }
}

/// The reason why a kernel's access to an image is rejected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImageError {
    /// No object of this kind has the handle.
    #[error("a {kind} by the handle {handle:#x}, which no {kind} object has{}", if *is_other { ": it is of the other kind" } else { "" })]
    NoObject {
        /// The kind of object that the instruction needs.
        kind: ObjectKind,
        /// The handle.
        handle: u64,
        /// Whether the handle belongs to an object of the other kind.
        is_other: bool,
    },
    /// The instruction accesses other dimensions than the image has.
    #[error("a {kind} of {geometry} memory by an instruction for {accessed} memory")]
    Geometry {
        /// The kind of object.
        kind: ObjectKind,
        /// The image's dimensions.
        geometry: Geometry,
        /// The instruction's dimensions.
        accessed: Geometry,
    },
    /// Some bytes of a surface access are outside the image.
    #[error("{bytes} bytes at {} of a surface of {}", At(*at, *geometry), Size(*size, *geometry))]
    Outside {
        /// The number of bytes before it in its row, the row, and the plane or layer.
        at: [i64; 3],
        /// Size of the access in bytes.
        bytes: usize,
        /// Bytes per row, number of rows, and number of planes or layers.
        size: [u64; 3],
        /// The image's dimensions.
        geometry: Geometry,
    },
}

/// Whether an image of these dimensions has rows, and the name of its layers, if any.
fn named(geometry: Geometry) -> (bool, Option<&'static str>) {
    match geometry {
        Geometry::OneD => (false, None),
        Geometry::TwoD => (true, None),
        Geometry::ThreeD => (true, Some("plane")),
        Geometry::LayeredOneD => (false, Some("layer")),
        Geometry::LayeredTwoD => (true, Some("layer")),
        Geometry::Cube | Geometry::LayeredCube => (true, Some("face")),
    }
}

/// "byte 64 of row 3 of layer 1"
struct At([i64; 3], Geometry);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([x, y, layer], geometry) = *self;
        let (has_rows, layers) = named(geometry);
        write!(f, "byte {x}")?;
        if has_rows {
            write!(f, " of row {y}")?;
        }
        layers.map_or(Ok(()), |name| write!(f, " of {name} {layer}"))
    }
}

/// "64 bytes × 16 rows × 2 layers"
struct Size([u64; 3], Geometry);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([width, height, layers], geometry) = *self;
        let (has_rows, name) = named(geometry);
        write!(f, "{width} bytes")?;
        if has_rows {
            write!(f, " × {}", cuda_launch::counted(height as usize, "row"))?;
        }
        name.map_or(Ok(()), |name| write!(f, " × {}", cuda_launch::counted(layers as usize, name)))
    }
}
