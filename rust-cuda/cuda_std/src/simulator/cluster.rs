//! Thread block clusters: barriers between the blocks of a cluster, and access to each other's shared memory.

use std::panic::Location;
use std::rc::Rc;

use super::block::Block;
use super::current::{self, Wait};
use super::fault::{self, Access, FaultKind, Place};
use super::global::raise_race;
use super::mbarrier::Mbarriers;
use super::shadow::Conflict;
use super::shared::DynamicShared;
use crate::F32x4;

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
        fault::raise_first(FaultKind::NoSuchBlock { rank, blocks }, Location::caller());
        return ClusterShared { array: shared.clone(), rank: self::rank(), block: None };
    }
    let block = current::with_block(|block| match &block.cluster {
        Some(cluster) if rank != self::rank() => cluster.block(rank),
        _ => None,
    });
    let array = match &block {
        Some(block) => shared.in_other_block(block),
        None => Some(shared.clone()),
    };
    let array = array.unwrap_or_else(|| {
        fault::raise_first(FaultKind::DynamicSharedType, Location::caller());
        shared.clone()
    });
    ClusterShared { array, rank, block }
}

impl ClusterShared {
    /// Element `index`. An index out of bounds is a fault.
    #[track_caller]
    pub fn get(&self, index: usize) -> F32x4 {
        self.check(Access::Read, index);
        self.array.get(index)
    }

    /// Writes element `index`. An index out of bounds is a fault.
    #[track_caller]
    pub fn set(&self, index: usize, value: F32x4) {
        self.check(Access::Write, index);
        self.array.set(index, value);
    }

    /// Writes element `index` asynchronously, and then completes its 16 bytes of the current phase of that block's mbarrier `barrier`; see
    /// [`mbarrier`](crate::mbarrier). An index out of bounds is a fault.
    #[track_caller]
    pub fn set_async<const N: usize>(&self, index: usize, value: F32x4, barriers: &Mbarriers<N>, barrier: usize) {
        if fault::is_unwinding() {
            return;
        }
        self.check(Access::Write, index);
        self.array.set(index, value);
        let sent = (size_of::<F32x4>() as u32, self.array.shadow(index));
        let store = barriers.complete_bytes(self.block.as_deref(), barrier, sent, Location::caller());
        if let Some(store) = store {
            self.array.hand_over(index, store);
        }
    }

    /// Checks that the block has started, and that no asynchronous store to the element is in flight there.
    #[track_caller]
    fn check(&self, access: Access, index: usize) {
        let (Some(block), location) = (&self.block, Location::caller()) else { return };
        let Some(cluster) = &block.cluster else { return };
        let rank = self.rank;
        if !cluster.has_started(rank) {
            fault::raise_first(FaultKind::BlockNotStarted { rank }, location);
        }
        if index < self.array.len()
            && let Some((accessor, begun)) = self.array.shadow(index).and_then(|shadow| block.copies.to(shadow))
        {
            let conflict = Conflict { access: Access::Write, accessor, location: Some(begun) };
            raise_race(Place::Shared, index, access, &conflict, location);
        }
    }
}
