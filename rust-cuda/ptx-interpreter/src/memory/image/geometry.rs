//! The dimensions of images.

use std::fmt;

/// The dimensions of an image, or the dimensions with which an instruction accesses one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Geometry {
    /// A row.
    OneD,
    /// Rows and columns.
    TwoD,
    /// Several planes, with interpolation between them.
    ThreeD,
    /// Several rows, each a separate image.
    LayeredOneD,
    /// Several planes, each a separate image.
    LayeredTwoD,
    /// Six square planes, the faces of a cube.
    Cube,
    /// Several cubes.
    LayeredCube,
}

impl Geometry {
    /// The geometry that PTX writes as `.name`, without the dot.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "1d" => Self::OneD,
            "2d" => Self::TwoD,
            "3d" => Self::ThreeD,
            "a1d" => Self::LayeredOneD,
            "a2d" => Self::LayeredTwoD,
            "cube" => Self::Cube,
            "acube" => Self::LayeredCube,
            _ => return None,
        })
    }

    /// Number of coordinates, not counting the layer. A cube has three, which form a direction.
    pub fn dimensions(self) -> usize {
        match self {
            Self::OneD | Self::LayeredOneD => 1,
            Self::TwoD | Self::LayeredTwoD => 2,
            Self::ThreeD | Self::Cube | Self::LayeredCube => 3,
        }
    }

    /// Whether an access selects a layer.
    pub fn is_layered(self) -> bool {
        matches!(self, Self::LayeredOneD | Self::LayeredTwoD | Self::LayeredCube)
    }

    /// Whether its planes are the faces of cubes.
    pub fn is_cube(self) -> bool {
        matches!(self, Self::Cube | Self::LayeredCube)
    }

    /// Whether an image of this geometry can be accessed with another one. The faces of a cube are
    /// also layers.
    pub(super) fn permits(self, accessed: Self) -> bool {
        self == accessed || self.is_cube() && accessed == Self::LayeredTwoD
    }
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneD => "1-D",
            Self::TwoD => "2-D",
            Self::ThreeD => "3-D",
            Self::LayeredOneD => "layered 1-D",
            Self::LayeredTwoD => "layered 2-D",
            Self::Cube => "cubemap",
            Self::LayeredCube => "layered cubemap",
        })
    }
}
