//! The memories of a GPU: bytes, addresses, allocations, access patterns and race detection.

mod access_error;
mod access_pattern;
mod address;
mod extent;
mod global;
mod heap;
mod image;
mod initialised;
pub mod races;
mod region;
mod tensor_map;

pub use access_error::AccessError;
pub(crate) use access_error::SpaceName;
pub use access_pattern::{
    BusiestBank, GlobalPattern, SharedPattern, busiest_bank, global_pattern, shared_pattern, stride,
};
pub(crate) use address::{block_of_cluster, in_block_of_cluster, window_bytes};
pub use address::{first_address, from_generic, is_in_space, space_of, to_generic, unspaced_offset};
pub(crate) use extent::Accessed;
pub use extent::Extent;
pub use global::{
    ALLOCATION_ALIGNMENT, Allocation, DEFAULT_HEAP_BYTES, GUARD_BYTES, GlobalMemory, GlobalSnapshot, GlobalView,
    LARGE_ALIGNMENT, MemoryError,
};
pub use heap::{BadFree, Heap};
pub use image::{
    AddressMode, Channel, Filter, Format, Geometry, Image, ImageError, InvalidFilter, InvalidImage, ObjectKind,
    ReadMode, Sampler, Texture,
};
pub(crate) use image::{Coordinates, Footprint, ImageObjects, OutsidePolicy, Texel};
pub use region::{NoHostMemory, Region};
pub(crate) use tensor_map::{CHUNK, Chunk};
pub use tensor_map::{
    InvalidTensor, MAX_TENSOR_RANK, Swizzle, TENSOR_MAP_BYTES, Tensor, TensorElement, TensorMap, TensorMapError,
};
