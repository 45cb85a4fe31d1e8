//! Observation of a launch, instruction by instruction: the basis for debuggers.

use std::fmt;
use std::ops::ControlFlow;

use cuda_launch::{Dim3, LaunchConfig};

use super::block_state::{Block, BlockState};
use super::divergence::PathState;
use super::fault::{Access, Fault};
use super::launch::Launch;
use super::residents::Residents;
use super::warp::Warp;
use crate::memory::{Extent, Region, first_address};
use crate::program::{Kernel, Place, Program};
use crate::semantics::{LANES, Lanes};
use crate::syntax::Space;

/// Watches a launch; see [`Machine::observe`](super::Machine::observe).
pub trait Observer {
    /// Whether to call [`stop`](Self::stop) before this instruction. Called once for each
    /// instruction that a warp issues, in execution order, which is the same in each run of a
    /// launch.
    fn stops_before(&mut self, step: Step) -> bool;

    /// Looks at the block when one of its warps is about to issue an instruction. `Break` abandons
    /// the launch.
    fn stop(&mut self, step: Step, block: &StoppedBlock<'_>) -> ControlFlow<()>;

    /// Looks at the block with the thread that caused a fault, which ends the launch.
    fn fault(&mut self, fault: &Fault, block: &StoppedBlock<'_>);

    /// Called for each access of a lane to global or shared memory, before the value is written.
    fn access(&mut self, access: ObservedAccess);
}

/// An instruction that a warp is about to issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The block's number in the grid, where x varies fastest.
    pub block: u32,
    /// The warp's index in its block.
    pub warp: u32,
    /// Index of the instruction in its kernel.
    pub pc: usize,
    /// The lanes that execute it: bit i is lane i.
    pub lanes: u32,
    /// The lanes at the instruction: the ones that execute it, and the ones with a false guard.
    pub path: u32,
}

/// An access of a lane to global or shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedAccess {
    /// The instruction, with the accessing lane alone in `lanes` and `path`.
    pub step: Step,
    /// Kind of access.
    pub access: Access,
    /// Global or shared.
    pub space: Space,
    /// Number of the block that owns the shared memory. For global memory, the step's block.
    pub owner: u32,
    /// Address within the state space.
    pub address: u64,
    /// Size in bytes.
    pub bytes: usize,
}

/// The observer of a launch, as held by its context.
pub(super) struct Observing<'a>(pub(super) &'a mut (dyn Observer + 'a));

impl fmt::Debug for Observing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observing")
    }
}

/// A block of a launch that has stopped.
#[derive(Debug)]
pub struct StoppedBlock<'a> {
    pub(super) launch: &'a Launch<'a>,
    pub(super) state: &'a BlockState,
    pub(super) block: &'a Block,
    pub(super) residents: &'a Residents,
    /// Number of instructions of the time slice that the running path has executed.
    pub(super) slice_used: u32,
    pub(super) is_at_fault: bool,
}

impl<'a> StoppedBlock<'a> {
    /// The launch's configuration.
    pub fn config(&self) -> LaunchConfig {
        self.launch.config
    }

    /// The block's number in the grid, where x varies fastest.
    pub fn number(&self) -> u32 {
        self.state.number
    }

    /// The block's index in the grid.
    pub fn index(&self) -> Dim3 {
        self.launch.block_index(self.state.number.into())
    }

    /// Its warps, in order.
    pub fn warps(&self) -> impl Iterator<Item = StoppedWarp<'a>> {
        let kernel = self.launch.kernel;
        self.block.warps().iter().map(move |warp| StoppedWarp { kernel, warp })
    }

    /// Its shared variables, followed by its dynamic shared memory, if any.
    pub fn shared(&self) -> impl Iterator<Item = MemoryRange<'a>> {
        let variables = ranges(&self.launch.kernel.shared, &self.state.shared);
        let dynamic =
            MemoryRange { extent: &self.launch.dynamic_shared, region: &self.state.dynamic_shared, offset: 0 };
        variables.chain((dynamic.extent.bytes > 0).then_some(dynamic))
    }

    /// The live allocations of global memory, by ascending address.
    pub fn global(&self) -> impl Iterator<Item = MemoryRange<'a>> {
        let allocations = self.launch.view.allocations().iter();
        allocations.map(|allocation| MemoryRange { extent: &allocation.extent, region: &allocation.region, offset: 0 })
    }

    /// The kernel's parameters, in order.
    pub fn parameters(&self) -> impl Iterator<Item = MemoryRange<'a>> {
        ranges(&self.launch.kernel.parameters, &self.launch.parameters)
    }
}

/// The variables of a state space, all in one region.
fn ranges<'a>(ranges: &'a crate::program::Ranges, region: &'a Region) -> impl Iterator<Item = MemoryRange<'a>> {
    ranges.iter().map(move |extent| {
        let offset = (extent.start - first_address(extent.space)) as usize;
        MemoryRange { extent, region, offset }
    })
}

/// A variable or an allocation, with its bytes.
#[derive(Clone, Copy, Debug)]
pub struct MemoryRange<'a> {
    /// Its name and its address range.
    pub extent: &'a Extent,
    region: &'a Region,
    /// Start of its bytes in the region.
    offset: usize,
}

impl MemoryRange<'_> {
    /// Copies the bytes starting at `offset`, initialized or not. `None` if they are not all in the
    /// range.
    pub fn read(&self, offset: usize, destination: &mut [u8]) -> Option<()> {
        let start = self.start(offset, destination.len())?;
        self.region.read(start, destination);
        Some(())
    }

    /// Whether `bytes` bytes starting at `offset` are all in the range and have been written.
    pub fn is_written(&self, offset: usize, bytes: usize) -> bool {
        self.start(offset, bytes).is_some_and(|start| self.region.is_initialised(start, bytes))
    }

    /// Start of the bytes in the region.
    fn start(&self, offset: usize, bytes: usize) -> Option<usize> {
        let end = offset.checked_add(bytes)?;
        (end as u64 <= self.extent.bytes).then_some(self.offset + offset)
    }
}

/// A warp of a stopped block.
#[derive(Clone, Copy, Debug)]
pub struct StoppedWarp<'a> {
    kernel: &'a Kernel,
    warp: &'a Warp,
}

/// Lanes of a warp at the same instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpPath {
    /// Index of the instruction to execute next.
    pub pc: usize,
    /// The lanes: bit i is lane i.
    pub lanes: u32,
    /// The event that they wait for. `None` if they can continue.
    pub waits: Option<Waits>,
}

/// An event that lanes wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// The block's barrier of this number.
    Barrier(u8),
    /// The cluster's barrier.
    ClusterBarrier,
    /// The other lanes of a warp-level operation.
    Lanes,
}

impl<'a> StoppedWarp<'a> {
    /// Its index in the block.
    pub fn number(&self) -> u32 {
        self.warp.number
    }

    /// The lanes that have a thread.
    pub fn existing(&self) -> u32 {
        self.warp.existing
    }

    /// The lanes that have exited the kernel.
    pub fn exited(&self) -> u32 {
        self.warp.exited
    }

    /// The paths of its lanes. Lanes on no path have exited or wait at a reconvergence point.
    pub fn paths(&self) -> impl Iterator<Item = WarpPath> {
        self.warp.divergence.paths.iter().map(|path| WarpPath {
            pc: path.pc,
            lanes: path.mask,
            waits: match path.state {
                PathState::Ready => None,
                PathState::AtBarrier(number) => Some(Waits::Barrier(number)),
                PathState::AtClusterBarrier => Some(Waits::ClusterBarrier),
                PathState::AtWarpOperation(_) => Some(Waits::Lanes),
            },
        })
    }

    /// The bits of a register in each lane, 0 or 1 for a predicate. `None` if the kernel has no
    /// such register. If several called functions declare it, returns the first one.
    pub fn register(&self, name: &str) -> Option<Lanes> {
        let named = self.kernel.register_names.iter().find(|named| named.name == name)?;
        Some(match named.bits {
            1 => {
                let bits = self.warp.predicates[named.index as usize];
                std::array::from_fn(|lane| u64::from(bits >> lane & 1))
            }
            _ => self.warp.registers[named.index as usize],
        })
    }

    /// The variables of a lane's local memory.
    ///
    /// # Panics
    /// If `lane` is 32 or more.
    pub fn local(&self, lane: usize) -> impl Iterator<Item = MemoryRange<'a>> {
        assert!(lane < LANES, "a warp has 32 lanes");
        let first = lane * (self.warp.local.bytes() / LANES);
        let variables = ranges(&self.kernel.local, &self.warp.local);
        variables.map(move |range| MemoryRange { offset: first + range.offset, ..range })
    }
}

/// The instructions of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Code<'a> {
    pub(super) program: &'a Program,
    pub(super) kernel: &'a Kernel,
}

impl<'a> Code<'a> {
    /// Number of instructions.
    pub fn instructions(&self) -> usize {
        self.kernel.instructions.len()
    }

    /// Location of an instruction in the PTX and in the source.
    ///
    /// # Panics
    /// If there is no such instruction.
    pub fn place(&self, pc: usize) -> Place {
        self.program.place(self.kernel, pc)
    }

    /// Names of the registers and their sizes in bits, in declaration order. The size of a
    /// predicate is 1.
    pub fn registers(&self) -> impl Iterator<Item = (&'a str, usize)> + use<'a> {
        self.kernel.register_names.iter().map(|named| (named.name.as_str(), named.bits))
    }

    /// The static variables in shared memory by their symbols, each with the first instruction that
    /// names it.
    pub fn shared(&self) -> impl Iterator<Item = (&'a Extent, Option<Place>)> {
        let code = *self;
        code.kernel.shared.iter().map(move |variable| {
            let is_of_name =
                |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '$' | '%');
            let names_it =
                |place: &Place| place.text.split(|other| !is_of_name(other)).any(|word| word == &*variable.name);
            (variable, (0..code.instructions()).map(|pc| code.place(pc)).find(names_it))
        })
    }

    /// A shared variable's name in messages: its symbol, or `shared0`, `shared1`, … if the symbol
    /// is generated.
    pub fn shared_name(&self, variable: &Extent) -> String {
        self.kernel.shared_name(variable).unwrap_or_else(|| variable.name.to_string())
    }
}
