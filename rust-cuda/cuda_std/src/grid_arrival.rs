// The value that a block adds to the state of the grid's barrier, on the GPU and in the simulator.
//
// The additions of all blocks sum to 2³¹, for any number of blocks: they flip the highest bit and leave the others zero
// for the next barrier and the next launch. CUDA's cooperative_groups implements its grid barrier in the same way.

/// The bit that flips when the last block arrives.
const PASSED: u32 = 1 << 31;

/// The addition of one block: 1, or, for the first block, 2³¹ less the additions of the others.
#[inline(always)]
const fn arrival(is_first: bool, blocks: u32) -> u32 {
    if is_first { PASSED - (blocks - 1) } else { 1 }
}
