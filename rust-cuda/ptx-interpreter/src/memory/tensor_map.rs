//! Tensor maps: the elements of global memory that an asynchronous tensor copy accesses, and their
//! places in shared memory.
//!
//! A GPU's driver writes tensor maps in a format that NVIDIA does not document. These also have 128
//! bytes, in their own format.
//!
//! The rules come from `cuTensorMapEncodeTiled` in cuda.h, and from the CUDA C++ Programming Guide,
//! Asynchronous Data Copies using the Tensor Memory Accelerator.

use std::ops::Range;

use thiserror::Error;

/// Size of a tensor map in bytes (`CUtensorMap`).
pub const TENSOR_MAP_BYTES: usize = 128;

/// Maximum number of dimensions of a tensor.
pub const MAX_TENSOR_RANK: usize = 5;

/// The first bytes of a tensor map.
const MAGIC: [u8; 8] = *b"emulTMAP";

/// Number of bytes of shared memory that a copy accesses at once.
pub(crate) const CHUNK: usize = 16;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorElement {
    /// 8 bits.
    U8,
    /// 16 bits.
    U16,
    /// 32 bits.
    U32,
    /// 32 bits, signed.
    S32,
    /// 64 bits.
    U64,
    /// 64 bits, signed.
    S64,
    /// A float of 16 bits.
    F16,
    /// A float of 32 bits.
    F32,
    /// A float of 64 bits.
    F64,
    /// A bfloat16.
    Bf16,
    /// A float of 32 bits. Loads flush subnormal numbers to zero.
    F32Ftz,
    /// A float of 32 bits. Loads round to the precision of tf32.
    Tf32,
    /// Like `Tf32`, and loads also flush subnormal numbers to zero.
    Tf32Ftz,
}

impl TensorElement {
    /// All of them, in the order of `CUtensorMapDataType`.
    pub const ALL: [Self; 13] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::Bf16,
        Self::F32Ftz,
        Self::Tf32,
        Self::Tf32Ftz,
    ];

    /// Size in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U64 | Self::S64 | Self::F64 => 8,
            _ => 4,
        }
    }

    /// The NaN with which loads replace out-of-bounds elements. `None` for integers. NVIDIA does
    /// not specify which NaN it is.
    fn nan(self) -> Option<u64> {
        match self {
            Self::F16 | Self::Bf16 => Some(0x7fff),
            Self::F32 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz => Some(0x7fff_ffff),
            Self::F64 => Some(u64::MAX >> 1),
            _ => None,
        }
    }

    /// Converts the bytes of elements as a load does.
    pub(crate) fn convert(self, bytes: &mut [u8]) {
        let (flushes, rounds) = match self {
            Self::F32Ftz => (true, false),
            Self::Tf32 => (false, true),
            Self::Tf32Ftz => (true, true),
            _ => return,
        };
        for element in bytes.as_chunks_mut().0 {
            let mut value = f32::from_le_bytes(*element);
            if flushes && value.is_subnormal() {
                value = 0_f32.copysign(value);
            }
            if rounds && !value.is_nan() {
                // Rounds to the nearest number with 10 fraction bits, ties away from zero, like
                // `cvt.rna.tf32.f32`.
                value = f32::from_bits((value.to_bits() + 0x1000) & !0x1fff);
            }
            *element = value.to_le_bytes();
        }
    }
}

/// Permutation of a box's 16-byte chunks in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swizzle {
    /// No permutation.
    None,
    /// Within 32 bytes.
    Bytes32,
    /// Within 64 bytes.
    Bytes64,
    /// Within 128 bytes.
    Bytes128,
}

impl Swizzle {
    /// All of them, in the order of `CUtensorMapSwizzle`.
    pub const ALL: [Self; 4] = [Self::None, Self::Bytes32, Self::Bytes64, Self::Bytes128];

    /// The number of bytes within which chunks are permuted. `None` if they are not.
    pub(crate) fn span(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Bytes32 => Some(32),
            Self::Bytes64 => Some(64),
            Self::Bytes128 => Some(128),
        }
    }

    /// The permuted address of a chunk of shared memory. Shared memory has rows of 128 bytes; the
    /// chunk's number in its span is XORed with the row's number.
    pub(crate) fn permute(self, address: u64) -> u64 {
        let mask = self.span().unwrap_or(CHUNK as u64) / CHUNK as u64 - 1;
        address ^ ((address >> 7 & mask) << 4)
    }
}

/// A tensor in global memory, and the box of it that a copy accesses. Elements along the first
/// dimension are adjacent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// The type of the elements.
    pub element: TensorElement,
    /// Address of the first element.
    pub address: u64,
    /// Number of elements per dimension.
    pub sizes: Vec<u64>,
    /// Distance in bytes between consecutive elements of each dimension except the first.
    pub strides: Vec<u64>,
    /// Extent of the box in each dimension, in elements.
    pub box_sizes: Vec<u32>,
    /// Distance between the box's elements in each dimension. The value for the first dimension is
    /// ignored.
    pub element_strides: Vec<u32>,
    /// The order in shared memory.
    pub swizzle: Swizzle,
    /// Whether out-of-bounds elements are NaN in shared memory. Otherwise they are zeros.
    pub fills_with_nan: bool,
}

/// The reason why a tensor map is invalid.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum InvalidTensor {
    /// The number of dimensions is not 1 to 5, or the arrays' lengths differ.
    #[error("a tensor has 1 to 5 dimensions")]
    Rank,
    /// The address is not a multiple of 16.
    #[error("the address {0:#x} of a tensor has to be a multiple of 16")]
    Address(u64),
    /// A size is 0 or more than 2³².
    #[error("size {size} of dimension {dimension}: it has to be from 1 to 2^32")]
    Size {
        /// The dimension, from 0.
        dimension: usize,
        /// Its size.
        size: u64,
    },
    /// A stride is not a multiple of 16, or is 2⁴⁰ or more.
    #[error("stride {stride} of dimension {dimension}: it has to be a multiple of 16 bytes below 2^40")]
    Stride {
        /// The dimension, from 1.
        dimension: usize,
        /// Its stride.
        stride: u64,
    },
    /// A box size is 0 or more than 256.
    #[error("the box has {size} elements in dimension {dimension}: it has to have from 1 to 256")]
    Box {
        /// The dimension, from 0.
        dimension: usize,
        /// The box's size.
        size: u32,
    },
    /// The size of a box row is not a multiple of 16 bytes.
    #[error("a row of the box has {0} bytes: it has to have a multiple of 16")]
    Row(usize),
    /// A row of the box is longer than the swizzle's span.
    #[error("a row of the box has {bytes} bytes, more than the {span} of its swizzle")]
    Span {
        /// The row's size.
        bytes: usize,
        /// The swizzle's span.
        span: u64,
    },
    /// An element stride is 0 or more than 8.
    #[error("element stride {stride} of dimension {dimension}: it has to be from 1 to 8")]
    ElementStride {
        /// The dimension, from 0.
        dimension: usize,
        /// Its element stride.
        stride: u32,
    },
    /// Filling with NaN is requested for integers.
    #[error("elements out of bounds can be NaN only if they are floats")]
    Fill,
}

/// A tensor map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap(Tensor);

/// Sixteen bytes of a box.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    /// Offset in shared memory, before the swizzle.
    pub(crate) shared: u64,
    /// Address in global memory of the first byte, possibly out of bounds.
    pub(crate) global: u64,
    /// The bytes that are in bounds.
    pub(crate) inside: Range<usize>,
}

impl TensorMap {
    /// Creates the map of a tensor.
    ///
    /// # Errors
    /// If a GPU cannot copy the tensor or its box.
    pub fn new(tensor: Tensor) -> Result<Self, InvalidTensor> {
        let Tensor { element, address, sizes, strides, box_sizes, element_strides, swizzle, fills_with_nan } = &tensor;
        let rank = sizes.len();
        let lengths = [strides.len() + 1, box_sizes.len(), element_strides.len()];
        if !(1..=MAX_TENSOR_RANK).contains(&rank) || lengths != [rank; 3] {
            return Err(InvalidTensor::Rank);
        }
        if !address.is_multiple_of(16) {
            return Err(InvalidTensor::Address(*address));
        }
        for dimension in 0..rank {
            let (size, of_box) = (sizes[dimension], box_sizes[dimension]);
            if !(1..=1 << 32).contains(&size) {
                return Err(InvalidTensor::Size { dimension, size });
            }
            if !(1..=256).contains(&of_box) {
                return Err(InvalidTensor::Box { dimension, size: of_box });
            }
            let stride = element_strides[dimension];
            if !(1..=8).contains(&stride) {
                return Err(InvalidTensor::ElementStride { dimension, stride });
            }
        }
        for (index, stride) in strides.iter().enumerate() {
            if !stride.is_multiple_of(16) || *stride >= 1 << 40 {
                return Err(InvalidTensor::Stride { dimension: index + 1, stride: *stride });
            }
        }
        let row = box_sizes[0] as usize * element.bytes();
        if !row.is_multiple_of(CHUNK) {
            return Err(InvalidTensor::Row(row));
        }
        if let Some(span) = swizzle.span().filter(|span| row as u64 > *span) {
            return Err(InvalidTensor::Span { bytes: row, span });
        }
        if *fills_with_nan && element.nan().is_none() {
            return Err(InvalidTensor::Fill);
        }
        Ok(Self(tensor))
    }

    /// The same map for a tensor at another address.
    ///
    /// # Errors
    /// If the address is not a multiple of 16.
    pub fn at(self, address: u64) -> Result<Self, InvalidTensor> {
        Self::new(Tensor { address, ..self.0 })
    }

    /// The map's bytes.
    pub fn to_bytes(&self) -> [u8; TENSOR_MAP_BYTES] {
        let Tensor { element, address, sizes, strides, box_sizes, element_strides, swizzle, fills_with_nan } = &self.0;
        let number_in =
            |is_it: &dyn Fn(usize) -> bool, count: usize| (0..count).find(|index| is_it(*index)).unwrap_or(0);
        let element = number_in(&|index| TensorElement::ALL[index] == *element, TensorElement::ALL.len());
        let swizzle = number_in(&|index| Swizzle::ALL[index] == *swizzle, Swizzle::ALL.len());
        let mut bytes = [0; TENSOR_MAP_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&[sizes.len() as u8, element as u8, swizzle as u8, (*fills_with_nan).into()]);
        bytes[16..24].copy_from_slice(&address.to_le_bytes());
        for (dimension, size) in sizes.iter().enumerate() {
            bytes[24 + 4 * dimension..][..4].copy_from_slice(&((size - 1) as u32).to_le_bytes());
            bytes[80 + dimension] = (box_sizes[dimension] - 1) as u8;
            bytes[88 + dimension] = element_strides[dimension] as u8;
        }
        for (index, stride) in strides.iter().enumerate() {
            bytes[48 + 8 * index..][..8].copy_from_slice(&stride.to_le_bytes());
        }
        bytes
    }

    /// The map with these bytes. `None` if they are not a map.
    pub fn from_bytes(bytes: &[u8; TENSOR_MAP_BYTES]) -> Option<Self> {
        let [rank, element, swizzle, fill] = [bytes[8], bytes[9], bytes[10], bytes[11]].map(usize::from);
        if bytes[..8] != MAGIC || rank > MAX_TENSOR_RANK || fill > 1 {
            return None;
        }
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let half = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let map = Self::new(Tensor {
            element: *TensorElement::ALL.get(element)?,
            address: word(16),
            sizes: (0..rank).map(|dimension| u64::from(half(24 + 4 * dimension)) + 1).collect(),
            strides: (1..rank).map(|dimension| word(40 + 8 * dimension)).collect(),
            box_sizes: (0..rank).map(|dimension| u32::from(bytes[80 + dimension]) + 1).collect(),
            element_strides: (0..rank).map(|dimension| bytes[88 + dimension].into()).collect(),
            swizzle: *Swizzle::ALL.get(swizzle)?,
            fills_with_nan: fill == 1,
        });
        map.ok().filter(|map| map.to_bytes() == *bytes)
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.sizes.len()
    }

    /// The type of the elements.
    pub(crate) fn element(&self) -> TensorElement {
        self.0.element
    }

    /// The order in shared memory.
    pub(crate) fn swizzle(&self) -> Swizzle {
        self.0.swizzle
    }

    /// The value with which a load replaces an out-of-bounds element.
    pub(crate) fn fill(&self) -> u64 {
        self.0.element.nan().filter(|_| self.0.fills_with_nan).unwrap_or(0)
    }

    /// Number of elements of the box in a dimension.
    fn count(&self, dimension: usize) -> u64 {
        let stride = if dimension == 0 { 1 } else { self.0.element_strides[dimension] };
        self.0.box_sizes[dimension].div_ceil(stride).into()
    }

    /// Size in bytes of a row of the box.
    fn row_bytes(&self) -> u64 {
        self.count(0) * self.0.element.bytes() as u64
    }

    /// Size of the box in bytes, including out-of-bounds elements.
    pub fn box_bytes(&self) -> u64 {
        (1..self.rank()).fold(self.row_bytes(), |bytes, dimension| bytes * self.count(dimension))
    }

    /// The chunks of the box that begins at these coordinates, in shared-memory order.
    pub(crate) fn chunks(&self, at: &[i32]) -> impl Iterator<Item = Chunk> {
        let Tensor { element, address, sizes, strides, element_strides, swizzle, .. } = &self.0;
        let bytes = element.bytes() as i64;
        // A row shorter than the swizzle's span still occupies a whole span.
        let pitch = swizzle.span().unwrap_or(self.row_bytes());
        let rows: u64 = (1..self.rank()).map(|dimension| self.count(dimension)).product();
        let row = move |row: u64| {
            let (mut rest, mut global, mut is_inside) = (row, *address, true);
            for dimension in 1..self.rank() {
                let step = rest % self.count(dimension) * u64::from(element_strides[dimension]);
                rest /= self.count(dimension);
                let coordinate = i64::from(at[dimension]) + step as i64;
                is_inside &= coordinate >= 0 && (coordinate as u64) < sizes[dimension];
                global = global.wrapping_add((coordinate as u64).wrapping_mul(strides[dimension - 1]));
            }
            (global, is_inside)
        };
        (0..rows).flat_map(move |number| {
            let (global, is_inside) = row(number);
            (0..self.row_bytes()).step_by(CHUNK).map(move |start| {
                // In bytes within the whole row, starting at the chunk's first byte.
                let first = i64::from(at[0]) * bytes + start as i64;
                let end = (sizes[0] as i64 * bytes - first).clamp(0, CHUNK as i64) as usize;
                let begin = (-first).clamp(0, CHUNK as i64) as usize;
                let inside = if is_inside && begin < end { begin..end } else { 0..0 };
                Chunk { shared: number * pitch + start, global: global.wrapping_add(first as u64), inside }
            })
        })
    }
}

/// The reason why a tensor copy is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TensorMapError {
    /// The bytes are not a tensor map.
    #[error(
        "the 128 bytes at {address:#x} are no tensor map: make one with cuTensorMapEncodeTiled, and pass it to the kernel as \
         `const __grid_constant__ CUtensorMap`, or copy it to device memory"
    )]
    NoMap {
        /// Their generic address.
        address: u64,
    },
    /// The instruction has another number of dimensions.
    #[error("a copy of {instruction} dimensions with a tensor map of {map}")]
    Rank {
        /// The map's number of dimensions.
        map: usize,
        /// The instruction's number of dimensions.
        instruction: usize,
    },
    /// The instruction's operation does not support the element type.
    #[error("a reduction `.{operation}` that there is not for elements of the type {element:?}")]
    Reduction {
        /// The operation's name.
        operation: &'static str,
        /// The type of the map's elements.
        element: TensorElement,
    },
}
