// What a block adds to the state of the grid's barrier; for the GPU and for the simulator.
//
// All blocks' additions together come to 2³¹, whatever their number: they turn the highest bit over and leave the others
// zero, for the next barrier and the next launch. So does CUDA's own barrier, in its cooperative_groups.

/// The bit that turns over when the last block arrives.
const PASSED: u32 = 1 << 31;

/// The first block adds what the others, who add 1, leave to be added.
#[inline(always)]
const fn arrival(is_first: bool, blocks: u32) -> u32 {
    if is_first { PASSED - (blocks - 1) } else { 1 }
}
