//! The state of a block in execution, and of a cluster of blocks.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};

use super::copies_in_flight::Copies;
use super::exchange::Exchange;
use super::fault::{Fault, FaultKind, SourceLocation};
use super::launch::Launch;
use super::phases::Phases;
use super::report::LaunchReport;
use super::shadow::{Accessor, GlobalShadows, shadow_epoch};
use super::shared_memory::SharedMemory;
use super::synchronization;
use crate::Dim3;
use cuda_launch::StartOrder;

/// The state of a block in execution.
pub(super) struct Block {
    pub(super) launch: Launch,
    pub(super) index: Dim3,
    /// The linear index in the grid, from 1.
    pub(super) number: u32,
    pub(super) shared: SharedMemory,
    pub(super) global_shadows: Rc<GlobalShadows>,
    /// The block's cluster, in a launch with clusters.
    pub(super) cluster: Option<Rc<Cluster>>,
    pub(super) exchange: Exchange,
    pub(super) votes: Votes,
    pub(super) copies: Copies,
    pub(super) phases: Phases,
    pub(super) threads: u32,
    /// The number of threads that have started.
    pub(super) next: Cell<u32>,
    /// The turns that its threads have taken since one of them ended or passed a barrier.
    pub(super) turns: Cell<u64>,
    pub(super) exited: Cell<u32>,
    /// The times that its threads have waited.
    pub(super) waits: Cell<u64>,
    pub(super) fault: RefCell<Option<Box<Fault>>>,
    /// The state of the thread-local [`Current`](super::current::Current) while the block is suspended.
    pub(super) saved: Cell<Saved>,
}

impl Block {
    pub(super) fn new(
        launch: Launch,
        number: u64,
        global_shadows: Rc<GlobalShadows>,
        cluster: Option<Rc<Cluster>>,
    ) -> Self {
        let threads = launch.config.block.count() as u32;
        let shared = SharedMemory::new(launch.config.dynamic_shared_bytes, launch.options.max_shared_bytes);
        Self {
            index: launch.config.grid.index_of(number),
            // Wraps beyond 2³² − 1 blocks, more than a simulation can finish.
            number: (number as u32).wrapping_add(1),
            launch,
            shared,
            global_shadows,
            cluster,
            exchange: Exchange::new(threads),
            votes: Votes::default(),
            copies: Copies::default(),
            phases: Phases::default(),
            threads,
            next: Cell::new(0),
            turns: Cell::new(0),
            exited: Cell::new(0),
            waits: Cell::new(0),
            fault: RefCell::new(None),
            saved: Cell::default(),
        }
    }

    fn thread_index(&self, thread: u32) -> Dim3 {
        self.launch.config.block.index_of(thread.into())
    }

    /// The order of its threads.
    pub(super) fn order(&self) -> StartOrder {
        self.launch.options.schedule.start
    }

    /// The next thread to start; None if all have started or one has failed.
    pub(super) fn start_next(&self) -> Option<u32> {
        let thread = self.next.get();
        if thread == self.threads || self.has_failed() {
            return None;
        }
        self.next.set(thread + 1);
        Some(self.order().nth(thread.into(), self.threads.into(), 1 + u64::from(self.number)) as u32)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.fault.borrow().is_some()
    }

    pub(super) fn fail(&self, thread: u32, kind: FaultKind, location: SourceLocation) {
        let thread = self.thread_index(thread);
        let schedule = self.launch.options.schedule.clone();
        let fault = Fault { kernel: self.launch.kernel, block: self.index, thread, location, kind, schedule };
        self.fault.replace(Some(Box::new(fault)));
    }

    /// Makes all accesses of the block so far ordered before its next ones: the epochs of the shadow memory start from 1 again.
    pub(super) fn forget_epochs(&self) {
        self.shared.forget_epochs(self.number);
        self.global_shadows.forget_epochs(self.number);
        if let Some(cluster) = &self.cluster {
            cluster.forget_epochs(self.number);
        }
    }

    /// Whether an access, which reads if the flag is set, was before the last barrier of this block's cluster, or atomic operations have ordered it before the
    /// next ones of a thread, `now`.
    pub(super) fn has_ordered(&self, (earlier, reads): (Accessor, bool), now: Accessor) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| cluster.has_ordered(earlier))
            || synchronization::has_ordered((earlier, reads), now)
    }
}

/// The votes of a block's threads at a barrier. A thread may vote at the next barrier while others still read the votes at this one,
/// but not at the one after that.
#[derive(Default)]
pub(super) struct Votes([Cell<VotesAtBarrier>; 2]);

/// The number of barriers before, and the votes.
#[derive(Clone, Copy, Default)]
struct VotesAtBarrier {
    epoch: u32,
    votes: u32,
    threads: u32,
}

impl Votes {
    /// Adds a thread's vote at the barrier after `epoch` others.
    pub(super) fn add(&self, epoch: u32, predicate: bool) {
        let at = &self.0[epoch as usize % 2];
        let before = Some(at.get()).filter(|before| before.epoch == epoch);
        let VotesAtBarrier { votes, threads, .. } = before.unwrap_or_default();
        at.set(VotesAtBarrier { epoch, votes: votes + u32::from(predicate), threads: threads + 1 });
    }

    /// The votes for the predicate at that barrier, and all votes.
    pub(super) fn at(&self, epoch: u32) -> (u32, u32) {
        let VotesAtBarrier { votes, threads, .. } = self.0[epoch as usize % 2].get();
        (votes, threads)
    }
}

/// The part of [`Current`](super::current::Current) that a suspended block keeps.
#[derive(Clone, Copy, Default)]
pub(super) struct Saved {
    /// The number of barriers that the block has passed.
    pub(super) epoch: u32,
    /// The number of asynchronous copies in flight.
    pub(super) copies: u32,
    /// Of loads and stores of global and shared memory, of atomic operations, and of same-value races.
    pub(super) counts: [u64; 6],
}

impl Saved {
    /// The counts of a block of `threads` threads.
    pub(super) fn report(self, threads: u64) -> LaunchReport {
        let [global_loads, global_stores, shared_loads, shared_stores, atomics, same_value_races] = self.counts;
        let barriers = self.epoch.into();
        let (blocks, grid_barriers) = (1, 0);
        LaunchReport {
            blocks,
            threads,
            global_loads,
            global_stores,
            shared_loads,
            shared_stores,
            atomics,
            barriers,
            grid_barriers,
            same_value_races,
        }
    }
}

/// The state that the blocks of a cluster share.
pub(super) struct Cluster {
    /// Number of the first block, from 1 as in [`Block::number`].
    first: u32,
    blocks: OnceCell<Vec<Weak<Block>>>,
    /// For each block the number of its barriers after the cluster's last one, with it.
    epochs: Vec<Cell<u32>>,
}

impl Cluster {
    /// A cluster of `size` blocks, the first of which has index `first` in the grid.
    pub(super) fn new(launch: &Launch, first: u64, shadows: &Rc<GlobalShadows>) -> (Rc<Self>, Vec<Rc<Block>>) {
        let size = u32::from(launch.config.cluster);
        let epochs = (0..size).map(|_| Cell::new(0)).collect();
        let cluster = Rc::new(Self { first: (first as u32).wrapping_add(1), blocks: OnceCell::new(), epochs });
        let block = |number| Rc::new(Block::new(launch.clone(), number, Rc::clone(shadows), Some(Rc::clone(&cluster))));
        let blocks: Vec<Rc<Block>> = (first..first + u64::from(size)).map(block).collect();
        cluster.blocks.set(blocks.iter().map(Rc::downgrade).collect()).expect("the cluster is new");
        (cluster, blocks)
    }

    /// The block with a rank, less than the cluster's size, while it runs.
    pub(super) fn block(&self, rank: u32) -> Option<Rc<Block>> {
        self.blocks()[rank as usize].upgrade()
    }

    /// Whether the block with a rank has passed a barrier of the cluster: it has started.
    pub(super) fn has_started(&self, rank: u32) -> bool {
        self.epochs[rank as usize].get() > 0
    }

    /// Notes that the blocks pass a barrier of the cluster.
    pub(super) fn pass_barrier(&self) {
        for (block, epoch) in self.blocks().iter().zip(&self.epochs) {
            let block = block.upgrade().expect("the blocks of a cluster live as long as it runs");
            epoch.set(shadow_epoch(block.saved.get().epoch + 1));
        }
        synchronization::pass_wide_barrier(self.first..self.first + self.epochs.len() as u32);
    }

    /// Whether an access was before the last barrier of the cluster, by one of its blocks.
    fn has_ordered(&self, accessor: Accessor) -> bool {
        let rank = (accessor.block() + 1).checked_sub(self.first.into());
        let epoch = rank.and_then(|rank| self.epochs.get(rank as usize));
        epoch.is_some_and(|epoch| accessor.epoch() < epoch.get())
    }

    /// Makes all accesses of a block so far ordered before the others' next ones. A race between an access after the cluster's
    /// last barrier and another block's next access is then missed, once in four million barriers.
    fn forget_epochs(&self, block: u32) {
        if let Some(epoch) = self.epochs.get((block - self.first) as usize)
            && epoch.get() > 0
        {
            epoch.set(shadow_epoch(0));
        }
    }

    fn blocks(&self) -> &[Weak<Block>] {
        self.blocks.get().expect("a cluster has its blocks before they run")
    }
}
