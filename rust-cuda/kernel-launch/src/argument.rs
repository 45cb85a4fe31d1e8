//! The arguments of a launch.

use crate::element_type::ElementType;

/// A parameter of the kernel as written in the source. A Rust slice is one parameter, though PTX
/// has its address and its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A buffer in global memory.
    Buffer {
        /// The parameter's name.
        name: String,
        /// The type of its elements.
        element: ElementType,
        /// Its extents, slowest first: rows and columns for a matrix.
        shape: Vec<usize>,
        /// Its address.
        address: u64,
        /// Whether the kernel's next parameter is its length in elements, as for a Rust slice.
        has_length: bool,
    },
    /// A value.
    Value {
        /// The parameter's name.
        name: String,
        /// Its type.
        element: ElementType,
        /// Its little-endian bytes, padded with zeros.
        bytes: [u8; 8],
    },
    /// A structure passed by value.
    Structure {
        /// The parameter's name.
        name: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

impl Argument {
    /// The parameter's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Buffer { name, .. } | Self::Value { name, .. } | Self::Structure { name, .. } => name,
        }
    }

    /// The little-endian bytes of the kernel's PTX parameters for this argument. A value's bytes
    /// are padded with zeros.
    pub(crate) fn parameters(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Buffer { address, shape, has_length, .. } => {
                let length = has_length.then(|| shape.iter().product::<usize>() as u64);
                std::iter::once(*address).chain(length).map(|word| word.to_le_bytes().to_vec()).collect()
            }
            Self::Value { bytes, .. } => vec![bytes.to_vec()],
            Self::Structure { bytes, .. } => vec![bytes.clone()],
        }
    }
}
