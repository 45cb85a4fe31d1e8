//! A warp: its registers and its lanes.

use std::sync::Arc;

use super::divergence::{Divergence, Path, PathState};
use super::fault::FaultKind;
use super::lanes::{ALL, write, write_bits};
use super::pending_copies::PendingCopies;
use super::products::Products;
use super::spin::Spin;
use crate::memory::Region;
use crate::program::Kernel;
use crate::program::instruction::{EffectiveAddress, Predicate, PredicateSource, Register};
use crate::semantics::{LANES, Lanes};

/// A warp of 32 lanes.
///
/// Its methods are in files by topic:
/// - its paths: `start` resets it, `execution` chooses the running path and its next instruction,
///   `spin_detection` finds endless loops, `recovery` continues after a fault;
/// - instructions by their effect: `compute`, `branches`, `calls`, `access` (loads, stores and
///   atomic operations), `image`, `heap`, `print`, `trap`;
/// - asynchronous instructions: `copies`, `bulk`, `tensor`, `mbarrier`, `wgmma`;
/// - instructions of several lanes or warps: `barrier`, `collective`, with `matrix` and `wmma`;
/// - shared helpers: `resolve` finds the memory of addresses, and checks and records the accesses;
///   `uninitialised` tracks uninitialized bits.
#[derive(Clone, Debug)]
pub(super) struct Warp {
    /// Index within the block.
    pub(super) number: u32,
    /// The lanes that have a thread. The last warp of a block may have fewer than 32.
    pub(super) existing: u32,
    /// The lanes that have exited the kernel.
    pub(super) exited: u32,
    pub(super) registers: Vec<Lanes>,
    pub(super) predicates: Vec<u32>,
    /// The carry flag of each lane.
    pub(super) carry: u32,
    pub(super) divergence: Divergence,
    /// The lanes' local memories, one after the other.
    pub(super) local: Region,
    /// Each lane's calls that have not returned, innermost last. Empty before the first call.
    pub(super) activations: Vec<Vec<Activation>>,
    pub(super) copies: PendingCopies,
    /// Reads of bulk copies in groups, and their writes.
    pub(super) bulk_reads: PendingCopies,
    pub(super) bulk_writes: PendingCopies,
    pub(super) products: Products,
    /// Number of `bar.warp.sync` instructions that all lanes have executed.
    pub(super) warp_syncs: u32,
    /// Registers and predicates that hold uninitialized bits of memory.
    pub(super) uninitialised: Vec<UninitialisedRegister>,
    /// The lanes that have arrived at each of the block's barriers since it was last passed.
    pub(super) arrived: [u32; 16],
    /// The lanes that have arrived at the cluster's barrier but not waited yet.
    pub(super) cluster_arrived: u32,
    /// The lanes that have arrived at a barrier that is now complete.
    pub(super) cluster_passed: u32,
    /// Number of expired time slices.
    pub(super) slices: u32,
    /// Number of slices expired since memory changed, and the count of memory changes when the
    /// latest one expired.
    pub(super) idle_slices: u32,
    pub(super) changes_at_slice: u64,
    pub(super) spin: Spin,
    /// Whether the schedule has already counted the warp's upcoming synchronizing access.
    pub(super) is_counted: bool,
    /// Number of instructions of the time slice that were executed in earlier turns.
    pub(super) slice_used: u32,
    /// The last instruction of the warp's turn, if the launch is interleaved. `None` before the
    /// first one.
    pub(super) last_of_turn: Option<usize>,
}

/// A register or predicate with uninitialized bits in some lanes.
#[derive(Clone, Debug)]
pub(super) struct UninitialisedRegister {
    pub(super) held: Held,
    /// For each lane, a mask of the uninitialized bits. Bits beyond the register's size are
    /// ignored.
    pub(super) bits: Lanes,
    pub(super) origin: Arc<Origin>,
    /// For each lane, the lane that loaded the bits. A different one after a shuffle.
    pub(super) loaded_by: [u8; LANES],
    /// Whether the value was computed from the loaded bits, and is not just a copy of them.
    pub(super) is_computed: bool,
}

/// A register or a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    Register(Register),
    Predicate(Predicate),
}

/// The load that read uninitialized bytes.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) pc: usize,
    /// The fault to report for the load. `of_lanes` holds separate faults for lanes that each
    /// loaded a different part of memory.
    pub(super) kind: FaultKind,
    pub(super) of_lanes: Vec<(u8, FaultKind)>,
}

/// A call that has not returned.
#[derive(Clone, Debug)]
pub(super) struct Activation {
    /// The call instruction.
    pub(super) call: usize,
    /// The caller's frame, registers and predicates.
    pub(super) frame: u64,
    pub(super) registers: Vec<u64>,
    pub(super) predicates: Vec<bool>,
    /// The saved registers with uninitialized bytes in the lane.
    pub(super) uninitialised: Vec<UninitialisedRegister>,
}

impl Activation {
    /// Size on the host, in bytes.
    fn host_bytes(&self) -> usize {
        let uninitialised = size_of_val(&*self.uninitialised);
        size_of::<Self>() + size_of_val(&*self.registers) + size_of_val(&*self.predicates) + uninitialised
    }
}

/// How a path continues after an instruction.
pub(super) enum Next {
    /// At the next instruction.
    Advance,
    /// At the targets of a branch, which the program counters already hold.
    Jumped,
    /// Not until its state changes, or because another path has taken its index.
    Stop,
}

impl Warp {
    /// Creates warp `number` of a block. Its first `threads` lanes (at most 32) have a thread.
    pub(super) fn new(number: u32, threads: u32, kernel: &Kernel) -> Self {
        let existing = if threads >= LANES as u32 { ALL } else { (1 << threads) - 1 };
        Self {
            number,
            existing,
            exited: 0,
            registers: vec![[0; LANES]; kernel.registers.len()],
            predicates: vec![0; kernel.predicates],
            carry: 0,
            divergence: Divergence::default(),
            local: Region::private(kernel.local.bytes().next_multiple_of(16) * LANES),
            activations: Vec::new(),
            copies: PendingCopies::default(),
            products: Products::default(),
            bulk_reads: PendingCopies::default(),
            bulk_writes: PendingCopies::default(),
            warp_syncs: 0,
            uninitialised: Vec::new(),
            arrived: [0; 16],
            cluster_arrived: 0,
            cluster_passed: 0,
            slices: 0,
            idle_slices: 0,
            changes_at_slice: 0,
            spin: Spin::No,
            is_counted: false,
            slice_used: 0,
            last_of_turn: None,
        }
    }

    /// Size on the host, in bytes.
    pub(super) fn host_bytes(&self) -> usize {
        let registers = size_of_val(&*self.registers) + size_of_val(&*self.predicates);
        let copies: usize = [&self.copies, &self.bulk_reads, &self.bulk_writes, &self.products.reads]
            .map(PendingCopies::bytes)
            .iter()
            .sum();
        let rest = self.divergence.bytes() + copies + size_of_val(&*self.uninitialised);
        let activations: usize = self.activations.iter().flatten().map(Activation::host_bytes).sum();
        size_of::<Self>() + registers + rest + activations + self.local.host_bytes()
    }

    /// The lanes that have not exited the kernel.
    pub(super) fn live(&self) -> u32 {
        self.existing & !self.exited
    }

    /// Linear index within the block of the thread in lane 0.
    pub(super) fn first_thread(&self) -> u32 {
        self.number * LANES as u32
    }

    /// Linear index within the block of the path's lowest thread.
    pub(super) fn first_thread_of(&self, path: &Path) -> u32 {
        self.first_thread() + path.mask.trailing_zeros()
    }

    /// Makes the active lanes wait at their instruction. The others, with a false guard, continue
    /// after it.
    pub(super) fn wait(&mut self, index: usize, active: u32, state: PathState) {
        let path = self.divergence.paths[index];
        let rest = path.mask & !active;
        if rest != 0 {
            let paths = [(active, path.pc), (rest, path.pc + 1)];
            self.divergence.diverge(index, &paths, Some(path.pc + 1));
        }
        self.divergence.paths[index].state = state;
    }

    /// Each lane's address before resolution: base register plus offset.
    #[inline]
    pub(super) fn addresses(&self, address: &EffectiveAddress) -> Lanes {
        let EffectiveAddress { base, offset, narrow } = *address;
        let mut addresses = match base {
            Some(base) => self.registers[base as usize],
            None => [0; LANES],
        };
        for address in &mut addresses {
            *address = address.wrapping_add_signed(offset);
        }
        if narrow {
            addresses.iter_mut().for_each(|address| *address &= u64::from(u32::MAX));
        }
        addresses
    }

    #[inline]
    pub(super) fn write(&mut self, register: Register, values: &Lanes, mask: u32) {
        write(&mut self.registers[register as usize], values, mask);
    }

    #[inline]
    pub(super) fn write_predicate(&mut self, predicate: Predicate, values: u32, mask: u32) {
        write_bits(&mut self.predicates[predicate as usize], values, mask);
    }

    #[inline]
    pub(super) fn predicate(&self, source: PredicateSource) -> u32 {
        match source {
            PredicateSource::Predicate(predicate) => self.predicates[predicate as usize],
            PredicateSource::Constant(value) => {
                if value {
                    ALL
                } else {
                    0
                }
            }
        }
    }
}
