//! Decoded accesses through texture and surface objects.

use super::instruction::{Extend, Register};
use crate::memory::{Geometry, OutsidePolicy};

/// An access through a texture or surface object.
#[derive(Debug)]
pub(crate) enum ImageAccess {
    /// `tex`
    Fetch(Fetch),
    /// `tld4`
    Gather {
        fetch: Fetch,
        /// The gathered channel.
        channel: usize,
    },
    /// `suld.b`
    Load(SurfaceAccess),
    /// `sust.b`
    Store(SurfaceAccess),
    /// `txq` and `suq`
    Query(ImageQuery),
}

/// A place in an image: the registers with the handle, the layer, and the coordinates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImagePlace {
    pub(crate) object: Register,
    pub(crate) geometry: Geometry,
    pub(crate) layer: Option<Register>,
    /// One coordinate per dimension of the geometry; the remaining ones are 0.
    pub(crate) at: [Register; 3],
}

/// A texture fetch.
#[derive(Debug)]
pub(crate) struct Fetch {
    pub(crate) place: ImagePlace,
    /// Whether coordinates are floats.
    pub(crate) is_float: bool,
    /// Level and gradients, which have no effect without mipmaps.
    pub(crate) unused: Vec<Register>,
    pub(crate) destinations: [Option<Register>; 4],
}

/// A load or store of a surface.
#[derive(Debug)]
pub(crate) struct SurfaceAccess {
    pub(crate) place: ImagePlace,
    pub(crate) outside: OutsidePolicy,
    /// Size of an element in bytes.
    pub(crate) bytes: usize,
    /// Destinations of a load, sources of a store.
    pub(crate) registers: Vec<Option<Register>>,
    pub(crate) extend: Extend,
}

/// A query about the image of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImageQuery {
    pub(crate) object: Register,
    pub(crate) is_texture: bool,
    pub(crate) destination: Register,
    pub(crate) of: Queried,
}

/// The queried property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queried {
    /// A size in texels: 0 is the width.
    Size(usize),
    /// The number of layers.
    Layers,
    /// Whether coordinates are normalized to the range from 0 to 1.
    NormalizedCoordinates,
}

impl ImagePlace {
    /// The registers.
    pub(crate) fn registers(&self) -> impl Iterator<Item = Register> {
        let coordinates = &self.at[..self.geometry.dimensions()];
        [self.object].into_iter().chain(self.layer).chain(coordinates.iter().copied())
    }
}

impl ImageAccess {
    /// The registers that determine the accessed place.
    pub(crate) fn operands(&self) -> Vec<Register> {
        match self {
            Self::Fetch(fetch) | Self::Gather { fetch, .. } => {
                fetch.place.registers().chain(fetch.unused.iter().copied()).collect()
            }
            Self::Load(access) | Self::Store(access) => access.place.registers().collect(),
            Self::Query(query) => vec![query.object],
        }
    }

    /// The registers that it writes.
    pub(crate) fn destinations(&self) -> Vec<Register> {
        match self {
            Self::Fetch(fetch) | Self::Gather { fetch, .. } => fetch.destinations.into_iter().flatten().collect(),
            Self::Load(access) => access.registers.iter().flatten().copied().collect(),
            Self::Store(_) => Vec::new(),
            Self::Query(query) => vec![query.destination],
        }
    }
}
