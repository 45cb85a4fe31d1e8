//! The report of a launch: instructions, memory transactions and branches.

use std::collections::BTreeMap;
use std::sync::Arc;

use cuda_launch::LaunchConfig;

use super::counts::InstructionCounts;
use super::fault::Fault;
use super::fidelity::Fidelity;
use super::launch::LaunchResults;
use super::note;
use crate::program::instruction::{AccessSpace, Action, TensorCopyKind, Wgmma, Wmma};
use crate::program::{Kernel, Place, Program};
use crate::semantics::Class;
use crate::syntax::Space;

/// Counts of a completed launch.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchReport {
    /// The kernel's name.
    pub kernel: Arc<str>,
    /// Number of blocks.
    pub blocks: u64,
    /// Number of threads.
    pub threads: u64,
    /// One entry per instruction of the kernel, in the order of the PTX.
    pub instructions: Vec<InstructionReport>,
    /// Number of schedules under which the launch ran. With
    /// [`Options::search`](crate::Options::search) it may exceed one.
    pub orders: u32,
    /// Findings that stricter [`Options`](crate::Options) would report as faults, in the order of
    /// the PTX.
    pub notes: Vec<Fault>,
}

/// Counts of one instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct InstructionReport {
    /// Location of the instruction.
    pub place: Place,
    /// The kind of work that the instruction does.
    pub class: Class,
    /// The memory that it accesses, if any.
    pub space: Option<AccessedSpace>,
    /// Whether it reads, writes or updates memory atomically. `None` if it does not access memory.
    pub direction: Option<super::Access>,
    /// How its results compare to a GPU's.
    pub fidelity: Fidelity,
    /// Its counts.
    pub counts: InstructionCounts,
}

/// The memory that an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessedSpace {
    /// Global memory.
    Global,
    /// Shared memory.
    Shared,
    /// Each thread's local memory.
    Local,
    /// Constants.
    Const,
    /// The kernel's parameters.
    Param,
    /// Generic addresses: the address determines the memory.
    Generic,
}

/// Totals of the accesses to one memory in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceTotals {
    /// Number of accesses by single lanes.
    pub lanes: u64,
    /// Number of accesses by warps.
    pub requests: u64,
    /// 32-byte sectors for global memory, wavefronts for shared memory; see [`InstructionCounts`].
    pub transactions: u64,
    /// Minimum number of transactions for the same bytes.
    pub min_transactions: u64,
}

impl LaunchReport {
    pub(super) fn new(program: &Program, kernel: &Kernel, config: LaunchConfig, results: LaunchResults) -> Self {
        let LaunchResults { counts, notes, .. } = results;
        let instructions = kernel.instructions.iter().enumerate().map(|(pc, instruction)| {
            let (space, direction) = accessed(&instruction.action);
            let place = program.place(kernel, pc);
            let class = kernel.descriptions[pc].class;
            let fidelity = Fidelity::of(&instruction.action, &place.text);
            InstructionReport { place, class, space, direction, fidelity, counts: counts[pc] }
        });
        let blocks = config.grid.count();
        Self {
            kernel: Arc::clone(&kernel.name),
            blocks,
            threads: blocks * config.block.count(),
            instructions: instructions.collect(),
            orders: 1,
            notes: note::by_line(notes),
        }
    }

    /// Number of instructions executed, counted per thread.
    pub fn thread_instructions(&self) -> u64 {
        self.instructions.iter().map(|instruction| instruction.counts.lanes).sum()
    }

    /// Number of instructions issued, counted per warp.
    pub fn warp_instructions(&self) -> u64 {
        self.instructions.iter().map(|instruction| instruction.counts.issued).sum()
    }

    /// Thread instructions by class. Only classes that occur.
    pub fn by_class(&self) -> BTreeMap<Class, u64> {
        let mut classes = BTreeMap::new();
        for instruction in self.instructions.iter().filter(|instruction| instruction.counts.lanes > 0) {
            *classes.entry(instruction.class).or_default() += instruction.counts.lanes;
        }
        classes
    }

    /// Totals of the accesses to one memory in one direction.
    pub fn accesses(&self, space: AccessedSpace, direction: super::Access) -> SpaceTotals {
        let is_selected =
            |report: &&InstructionReport| report.space == Some(space) && report.direction == Some(direction);
        let mut totals = SpaceTotals::default();
        for InstructionReport { counts, .. } in self.instructions.iter().filter(is_selected) {
            totals.lanes += counts.lanes;
            totals.requests += counts.requests;
            totals.transactions += counts.transactions;
            totals.min_transactions += counts.min_transactions;
        }
        if (space, direction) == (AccessedSpace::Global, super::Access::Read) {
            // Asynchronous copies are listed under shared memory, which they write. This adds their
            // reads.
            for InstructionReport { counts, .. } in
                self.instructions.iter().filter(|report| report.counts.source_requests > 0)
            {
                totals.lanes += counts.lanes;
                totals.requests += counts.source_requests;
                totals.transactions += counts.source_sectors;
                totals.min_transactions += counts.min_source_sectors;
            }
        }
        totals
    }

    /// Number of branches issued by warps, and number of branches at which their lanes diverged.
    pub fn branches(&self) -> (u64, u64) {
        let branches = self.instructions.iter().filter(|report| report.class == Class::Control);
        branches.fold((0, 0), |(issued, divergent), report| {
            (issued + report.counts.issued, divergent + report.counts.divergent)
        })
    }
}

fn accessed(action: &Action) -> (Option<AccessedSpace>, Option<super::Access>) {
    let (space, access) = match action {
        Action::Load(load) => (load.space, super::Access::Read),
        Action::Store(store) => (store.space, super::Access::Write),
        Action::Atomic(atomic) => (atomic.space, super::Access::Atomic),
        Action::StoreAsync(_) => (AccessSpace::Cluster, super::Access::Write),
        Action::Wmma(Wmma::Load(load)) => (load.space, super::Access::Read),
        Action::Wmma(Wmma::Store(store)) => (store.space, super::Access::Write),
        Action::LoadMatrix(_) | Action::Wgmma(Wgmma::Product(_)) => {
            (AccessSpace::Space(Space::Shared), super::Access::Read)
        }
        Action::BulkCopy(copy) => (copy.to.0, super::Access::Write),
        Action::TensorCopy(copy) => match copy.kind {
            TensorCopyKind::Load { .. } => (copy.shared.0, super::Access::Write),
            TensorCopyKind::Store => (AccessSpace::Space(Space::Global), super::Access::Write),
            TensorCopyKind::Reduce(_) => (AccessSpace::Space(Space::Global), super::Access::Atomic),
        },
        // The copy also reads global memory; the source counts cover that.
        Action::CopyAsync(_) => (AccessSpace::Space(Space::Shared), super::Access::Write),
        _ => return (None, None),
    };
    let space = match space {
        AccessSpace::Space(Space::Global) => AccessedSpace::Global,
        AccessSpace::Space(Space::Shared) | AccessSpace::Cluster => AccessedSpace::Shared,
        AccessSpace::Space(Space::Local) => AccessedSpace::Local,
        AccessSpace::Space(Space::Const) => AccessedSpace::Const,
        AccessSpace::Space(Space::Param) => AccessedSpace::Param,
        AccessSpace::Generic => AccessedSpace::Generic,
    };
    (Some(space), Some(access))
}
