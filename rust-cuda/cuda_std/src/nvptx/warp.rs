//! Warp-wide operations: shuffles, votes and reductions of the 32 lanes of a warp.

unsafe extern "C" {
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shuffle_butterfly(lanes: i32, value: i32, mask: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    fn shuffle_from_below(lanes: i32, value: i32, delta: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn shuffle_from_above(lanes: i32, value: i32, delta: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shuffle_from(lanes: i32, value: i32, source: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot(lanes: i32, predicate: bool) -> i32;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    fn vote_any(lanes: i32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.all.sync"]
    fn vote_all(lanes: i32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    fn match_any_word(lanes: i32, word: i32) -> i32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(lanes: i32);
}

/// The member mask with all lanes of the warp.
const ALL_LANES: i32 = -1;
/// The `c` operand of `shfl.sync`, with lanes 0 to 31 as one segment: its last lane, or, for `up`, its first.
const LAST_LANE: i32 = 31;
const FIRST_LANE: i32 = 0;

include!("../warp_values.rs");
include!("../lanes.rs");

/// The thread's lane: its index in the warp, 0 to 31.
#[inline(always)]
pub fn lane_id() -> u32 {
    let lane: u32;
    // SAFETY: the instruction reads a register that every thread has.
    unsafe {
        core::arch::asm!("mov.u32 {0}, %laneid;", out(reg32) lane, options(pure, nomem, nostack, preserves_flags));
    }
    lane
}

/// The `value` of lane `lane_id() ^ mask`.
#[inline(always)]
pub fn shuffle_xor<T: Shuffled>(value: T, mask: u32) -> T {
    // SAFETY: the intrinsic moves registers between lanes; the simulator checks that all lanes reach it.
    value.exchanged(|word| unsafe { shuffle_butterfly(ALL_LANES, word as i32, mask as i32, LAST_LANE) } as u32)
}

/// The `value` of the lane `delta` below; the lowest `delta` lanes keep their own.
#[inline(always)]
pub fn shuffle_up<T: Shuffled>(value: T, delta: u32) -> T {
    // SAFETY: see `shuffle_xor`.
    value.exchanged(|word| unsafe { shuffle_from_below(ALL_LANES, word as i32, delta as i32, FIRST_LANE) } as u32)
}

/// The `value` of the lane `delta` above; the highest `delta` lanes keep their own.
#[inline(always)]
pub fn shuffle_down<T: Shuffled>(value: T, delta: u32) -> T {
    // SAFETY: see `shuffle_xor`.
    value.exchanged(|word| unsafe { shuffle_from_above(ALL_LANES, word as i32, delta as i32, LAST_LANE) } as u32)
}

/// The `value` of lane `source` modulo 32.
#[inline(always)]
pub fn shuffle_idx<T: Shuffled>(value: T, source: u32) -> T {
    // SAFETY: see `shuffle_xor`.
    value.exchanged(|word| unsafe { shuffle_from(ALL_LANES, word as i32, source as i32, LAST_LANE) } as u32)
}

/// The lanes whose `predicate` holds: bit i is lane i, 0 if it has exited.
#[inline(always)]
pub fn ballot(predicate: bool) -> u32 {
    // SAFETY: see `shuffle_xor`.
    unsafe { vote_ballot(ALL_LANES, predicate) as u32 }
}

/// Whether `predicate` holds for any lane.
#[inline(always)]
pub fn any(predicate: bool) -> bool {
    // SAFETY: see `shuffle_xor`.
    unsafe { vote_any(ALL_LANES, predicate) }
}

/// Whether `predicate` holds for all lanes that have not exited.
#[inline(always)]
pub fn all(predicate: bool) -> bool {
    // SAFETY: see `shuffle_xor`.
    unsafe { vote_all(ALL_LANES, predicate) }
}

/// The lanes whose value equals this one's: bit i is lane i, 0 if it has exited.
#[inline(always)]
pub fn match_any<T: WarpInteger>(value: T) -> u32 {
    match_within(ALL_LANES as u32, value)
}

/// Those of `lanes` whose value equals this one's.
#[inline(always)]
fn match_within<T: WarpInteger>(lanes: u32, value: T) -> u32 {
    let mut equal = lanes;
    // Lanes are equal if all words are.
    let _ = value.exchanged(|word| {
        // SAFETY: see `shuffle_xor`.
        equal &= unsafe { match_any_word(lanes as i32, word as i32) } as u32;
        word
    });
    equal
}

/// The `value` of lane `source`, one of `lanes`.
#[inline(always)]
fn shuffle_within<T: Shuffled>(lanes: u32, value: T, source: u32) -> T {
    // SAFETY: see `shuffle_xor`.
    value.exchanged(|word| unsafe { shuffle_from(lanes as i32, word as i32, source as i32, LAST_LANE) } as u32)
}

/// Those of `lanes` whose `predicate` holds.
#[inline(always)]
fn ballot_within(lanes: u32, predicate: bool) -> u32 {
    // SAFETY: see `shuffle_xor`.
    unsafe { vote_ballot(lanes as i32, predicate) as u32 }
}

/// Waits for `lanes`.
#[inline(always)]
fn sync_within(lanes: u32) {
    // SAFETY: see `shuffle_xor`.
    unsafe { bar_warp_sync(lanes as i32) }
}

/// The lanes that execute this together: bit i is lane i. They may be fewer than those that take the same way.
#[inline(always)]
pub fn activemask() -> u32 {
    let lanes: u32;
    // SAFETY: the instruction reads the state of the warp. Not `pure`: it differs from place to place.
    unsafe {
        core::arch::asm!("activemask.b32 {0};", out(reg32) lanes, options(nomem, nostack, preserves_flags));
    }
    lanes
}

/// Waits for the other lanes. Their accesses to memory before it are ordered before this lane's after it.
#[inline(always)]
pub fn sync_warp() {
    sync_within(ALL_LANES as u32);
}
