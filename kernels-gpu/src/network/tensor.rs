//! The first layer of a large batch of samples of bytes, by tensor cores. From sm_80 on.
//!
//! A byte is a bf16, and a float the sum of three: each product is exact, and the sums are those of f32. The elements along a fragment's
//! rows, columns or depth may have any order, if both factors have the same: a lane takes 16 adjacent bytes of a sample by one load.

use cuda_std::matrix::upper_halves;
use cuda_std::{math, thread};

use super::shape::LayerShape;

/// Calls a function with each of some numbers. In a loop that is not unrolled, arrays of registers would be local memory.
macro_rules! repeated {
    ($function:ident: $($number:literal)*) => {
        $($function($number);)*
    };
}

mod forward;
mod gradient;

pub use forward::{TENSOR_THREADS, network_forward_bytes_tensor, tensor_shared_bytes};
pub use gradient::{TENSOR_FEATURES, network_gradient_bytes_tensor};

/// Units of a block.
pub const TENSOR_UNITS: u32 = 16;
/// Bytes of a sample that a lane loads at once.
const BYTES: u32 = 16;

/// Ends the kernel unless a block has `threads` threads and a sample is a number of loads.
#[inline(always)]
fn require(threads: u32, shape: LayerShape) {
    assert!(
        thread::block_dim_x() * thread::block_dim_y() == threads,
        "the cells are distributed to a block of this many threads"
    );
    assert!(shape.features.is_multiple_of(BYTES), "a lane loads 16 bytes of a sample");
}

/// Byte `index` of a word as a float: the float from 2²³ on whose last bits are the byte, less 2²³.
#[inline(always)]
fn byte(word: u32, index: u32) -> f32 {
    const BASE: f32 = (1 << 23) as f32;
    f32::from_bits(math::byte_permute(word, BASE.to_bits(), 0x7650 + index)) - BASE
}

/// Two bytes as bf16 in a register, the first in its lower half: bytes of words with their numbers.
#[inline(always)]
fn bf16_pair(bytes: [(u32, u32); 2]) -> u32 {
    // An integer of eight bits is in the upper half of its float.
    upper_halves(bytes.map(|(word, index)| byte(word, index)))
}
