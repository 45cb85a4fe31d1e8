//! What a launch did, as a student should see it.

use std::collections::BTreeMap;
use std::sync::Arc;

use cuda_std::LaunchConfig;

use super::counts::InstructionCounts;
use super::launch::Observed;
use super::race::SameValueRace;
use crate::program::instruction::{AccessSpace, Action};
use crate::program::{Kernel, Place, Program};
use crate::semantics::Class;
use crate::syntax::Space;

/// What a launch did.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchReport {
    /// The kernel.
    pub kernel: Arc<str>,
    /// Blocks that ran.
    pub blocks: u64,
    /// Threads that ran.
    pub threads: u64,
    /// Each instruction of the kernel, in the order of the PTX.
    pub instructions: Vec<InstructionReport>,
    /// Races of writes of the same value, in the order of the PTX; none unless races are checked.
    pub same_value_races: Vec<SameValueRace>,
}

/// What one instruction did.
#[derive(Clone, Debug, PartialEq)]
pub struct InstructionReport {
    /// The instruction.
    pub place: Place,
    /// What kind of work it is.
    pub class: Class,
    /// The memory that it accesses, if it does.
    pub space: Option<AccessedSpace>,
    /// Whether it loads, stores or does both at once.
    pub direction: Option<super::Access>,
    /// How often.
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
    /// Wherever the address points.
    Generic,
}

/// The accesses of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceTotals {
    /// Accesses of single lanes.
    pub lanes: u64,
    /// Accesses of warps.
    pub requests: u64,
    /// Sectors of 32 bytes for global memory, wavefronts for shared memory; see [`InstructionCounts`].
    pub transactions: u64,
    /// How few it could have been.
    pub least_transactions: u64,
}

impl LaunchReport {
    pub(super) fn new(program: &Program, kernel: &Kernel, config: LaunchConfig, observed: Observed) -> Self {
        let Observed { counts, same_value_races } = observed;
        let instructions = kernel.instructions.iter().enumerate().map(|(pc, instruction)| {
            let (space, direction) = accessed(&instruction.action);
            let place = program.place(kernel, pc);
            let class = kernel.descriptions[pc].class;
            InstructionReport { place, class, space, direction, counts: counts[pc] }
        });
        let blocks = config.grid.count();
        Self {
            kernel: Arc::clone(&kernel.name),
            blocks,
            threads: blocks * config.block.count(),
            instructions: instructions.collect(),
            same_value_races,
        }
    }

    /// Instructions that threads executed.
    pub fn thread_instructions(&self) -> u64 {
        self.instructions.iter().map(|instruction| instruction.counts.lanes).sum()
    }

    /// Instructions that warps issued.
    pub fn warp_instructions(&self) -> u64 {
        self.instructions.iter().map(|instruction| instruction.counts.issued).sum()
    }

    /// Thread instructions of each class that occurs.
    pub fn by_class(&self) -> BTreeMap<Class, u64> {
        let mut classes = BTreeMap::new();
        for instruction in self.instructions.iter().filter(|instruction| instruction.counts.lanes > 0) {
            *classes.entry(instruction.class).or_default() += instruction.counts.lanes;
        }
        classes
    }

    /// The accesses of one kind.
    pub fn accesses(&self, space: AccessedSpace, direction: super::Access) -> SpaceTotals {
        let of_this_kind =
            |report: &&InstructionReport| report.space == Some(space) && report.direction == Some(direction);
        let mut totals = SpaceTotals::default();
        for InstructionReport { counts, .. } in self.instructions.iter().filter(of_this_kind) {
            totals.lanes += counts.lanes;
            totals.requests += counts.requests;
            totals.transactions += counts.transactions;
            totals.least_transactions += counts.least_transactions;
        }
        if (space, direction) == (AccessedSpace::Global, super::Access::Read) {
            // Asynchronous copies stand under shared memory, which they write.
            for InstructionReport { counts, .. } in
                self.instructions.iter().filter(|report| report.counts.source_requests > 0)
            {
                totals.lanes += counts.lanes;
                totals.requests += counts.source_requests;
                totals.transactions += counts.source_sectors;
                totals.least_transactions += counts.least_source_sectors;
            }
        }
        totals
    }

    /// Branches that warps came to, and those at which their lanes went different ways.
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
        Action::LoadMatrix(_) => (AccessSpace::Space(Space::Shared), super::Access::Read),
        // It writes shared memory, and reads global memory beside it.
        Action::CopyAsync(_) => (AccessSpace::Space(Space::Shared), super::Access::Write),
        _ => return (None, None),
    };
    let space = match space {
        AccessSpace::Space(Space::Global) => AccessedSpace::Global,
        AccessSpace::Space(Space::Shared) => AccessedSpace::Shared,
        AccessSpace::Space(Space::Local) => AccessedSpace::Local,
        AccessSpace::Space(Space::Const) => AccessedSpace::Const,
        AccessSpace::Space(Space::Param) => AccessedSpace::Param,
        AccessSpace::Generic => AccessedSpace::Generic,
    };
    (Some(space), Some(access))
}
