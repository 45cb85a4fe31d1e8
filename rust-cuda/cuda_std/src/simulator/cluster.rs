//! Thread block clusters: barriers between the blocks of a cluster, and access to each other's shared memory.

use std::cell::{Cell, OnceCell};
use std::panic::Location;
use std::rc::{Rc, Weak};

use super::LaunchError;
use super::block::{Block, Scheduler};
use super::cooperative::run_together;
use super::current::{self, Wait};
use super::fault::{self, FaultKind};
use super::global::GlobalShadows;
use super::launch::Launch;
use super::report::LaunchReport;
use super::shadow::Accessor;
use super::shared::DynamicShared;
use super::stacks::Stacks;
use crate::F32x4;

/// The state that the blocks of a cluster share.
pub(super) struct Cluster {
    /// Number of the first block, from 1 as in [`Block::number`].
    first: u32,
    blocks: OnceCell<Vec<Weak<Block>>>,
    /// For each block the number of its barriers after the cluster's last one, with it.
    epochs: Vec<Cell<u32>>,
}

impl Cluster {
    /// Notes that the blocks pass a barrier of the cluster.
    fn pass_barrier(&self) {
        for (block, epoch) in self.blocks().iter().zip(&self.epochs) {
            let block = block.upgrade().expect("the blocks of a cluster live as long as it runs");
            epoch.set(block.saved.get().epoch() + 1);
        }
    }

    /// Whether an access was before the last barrier of the cluster, by one of its blocks.
    pub(super) fn has_ordered(&self, accessor: Accessor) -> bool {
        let rank = (accessor.block() + 1).checked_sub(self.first.into());
        let epoch = rank.and_then(|rank| self.epochs.get(rank as usize));
        epoch.is_some_and(|epoch| accessor.epoch() < epoch.get())
    }

    fn blocks(&self) -> &[Weak<Block>] {
        self.blocks.get().expect("a cluster has its blocks before they run")
    }
}

/// Runs `thread` for each thread of cluster `number` of the grid.
pub(super) fn run(
    launch: &Launch,
    number: u64,
    shadows: &Rc<GlobalShadows>,
    stacks: &Stacks,
    thread: &dyn Fn(),
) -> Result<LaunchReport, LaunchError> {
    let size = u32::from(launch.config.cluster);
    let first = number * u64::from(size);
    let epochs = (0..size).map(|_| Cell::new(0)).collect();
    let cluster = Rc::new(Cluster { first: (first as u32).wrapping_add(1), blocks: OnceCell::new(), epochs });
    let block = |number| Rc::new(Block::new(*launch, number, Rc::clone(shadows), Some(Rc::clone(&cluster))));
    let blocks: Vec<Rc<Block>> = (first..first + u64::from(size)).map(block).collect();
    let of_cluster = blocks.iter().map(Rc::downgrade).collect();
    cluster.blocks.set(of_cluster).expect("the cluster is new");
    let mut schedulers: Vec<Scheduler<'_>> = blocks.into_iter().map(|block| Scheduler::new(block, stacks)).collect();
    Ok(run_together(&mut schedulers, || cluster.pass_barrier(), thread)?.0)
}

/// The block's index in its cluster.
#[inline]
pub fn rank() -> u32 {
    current::with(|current| current.block_index.get().x) % size()
}

/// The number of blocks of a cluster.
#[inline]
pub fn size() -> u32 {
    current::with_block(|block| block.launch.config.cluster.into())
}

/// Waits until every thread of the cluster has arrived. Writes before the barrier are visible to all of them after it.
///
/// A block whose threads do not arrive, or wait elsewhere, is a
/// [`ClusterDivergence`](crate::simulator::FaultKind::ClusterDivergence).
#[track_caller]
pub fn sync() {
    let location = Location::caller();
    // A block without others is its own cluster.
    current::wait(if size() > 1 { Wait::Cluster(location) } else { Wait::Barrier(location) });
}

/// The dynamic shared memory of another block of the cluster, from [`map_shared`].
#[derive(Clone)]
pub struct ClusterShared {
    array: DynamicShared<F32x4>,
    rank: u32,
    /// None: the current block.
    block: Option<Rc<Block>>,
}

/// The array of block `rank` of the cluster that is at the place of `shared` in this block.
///
/// All blocks must have started when one accesses another's memory: [`sync`] before the first access. Otherwise the
/// access is a fault, [`BlockNotStarted`](crate::simulator::FaultKind::BlockNotStarted), and so is a rank that is not
/// less than [`size`]. None ends before the others' last accesses: a kernel that reaches this function ends by a barrier
/// of the cluster, which `cuda_builder` adds to its PTX.
#[track_caller]
pub fn map_shared(shared: &DynamicShared<F32x4>, rank: u32) -> ClusterShared {
    let blocks = size();
    if rank >= blocks {
        fault::raise(FaultKind::NoSuchBlock { rank, blocks }, Location::caller());
    }
    let block = current::with_block(|block| match &block.cluster {
        Some(cluster) if rank != self::rank() => cluster.blocks()[rank as usize].upgrade(),
        _ => None,
    });
    let array = match &block {
        Some(block) => shared.in_other_block(block),
        None => Some(shared.clone()),
    };
    let Some(array) = array else { fault::raise(FaultKind::DynamicSharedType, Location::caller()) };
    ClusterShared { array, rank, block }
}

impl ClusterShared {
    /// Element `index`. An index out of bounds is a fault.
    #[track_caller]
    pub fn get(&self, index: usize) -> F32x4 {
        self.check();
        self.array.get(index)
    }

    /// Writes element `index`. An index out of bounds is a fault.
    #[track_caller]
    pub fn set(&self, index: usize, value: F32x4) {
        self.check();
        self.array.set(index, value);
    }

    /// Checks that the block has started.
    #[track_caller]
    fn check(&self) {
        let Some(block) = &self.block else { return };
        let Some(cluster) = &block.cluster else { return };
        let rank = self.rank;
        if cluster.epochs[rank as usize].get() == 0 {
            fault::raise(FaultKind::BlockNotStarted { rank }, Location::caller());
        }
    }
}
