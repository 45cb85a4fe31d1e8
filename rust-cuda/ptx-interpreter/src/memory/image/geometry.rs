//! The dimensions of images.

use std::fmt;

/// The dimensions of an image, or those that an instruction accesses one by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Geometry {
    /// A row.
    OneD,
    /// Rows and columns.
    TwoD,
    /// Several planes, between which a filter interpolates.
    ThreeD,
    /// Several rows, each an image of its own.
    LayeredOneD,
    /// Several planes, each an image of its own.
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

    /// Number of coordinates beside the layer. A cube has three, which are a direction.
    pub fn dimensions(self) -> usize {
        match self {
            Self::OneD | Self::LayeredOneD => 1,
            Self::TwoD | Self::LayeredTwoD => 2,
            Self::ThreeD | Self::Cube | Self::LayeredCube => 3,
        }
    }

    /// Whether a layer is chosen.
    pub fn is_layered(self) -> bool {
        matches!(self, Self::LayeredOneD | Self::LayeredTwoD | Self::LayeredCube)
    }

    /// Whether its planes are the faces of cubes.
    pub fn is_cube(self) -> bool {
        matches!(self, Self::Cube | Self::LayeredCube)
    }

    /// Whether an image of this geometry can be accessed by the other one: the faces of a cube are layers too.
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
