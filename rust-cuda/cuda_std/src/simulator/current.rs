//! The simulated thread that this operating-system thread runs now.

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;

use corosensei::Yielder;

use super::block::Block;
use super::report::LaunchReport;
use super::shadow::Accessor;
use crate::Dim3;

/// Why a simulated thread waits, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// For all threads of the block.
    Barrier(&'static Location<'static>),
    /// For all lanes of the warp.
    Warp(&'static Location<'static>),
    /// For all threads of the grid.
    Grid(&'static Location<'static>),
}

impl Wait {
    /// Where.
    pub(super) fn location(self) -> &'static Location<'static> {
        match self {
            Self::Barrier(location) | Self::Warp(location) | Self::Grid(location) => location,
        }
    }
}

/// What a block goes on with when it becomes the current one again.
#[derive(Clone, Copy, Default)]
pub(super) struct Saved {
    epoch: u32,
    counts: [u64; 5],
}

/// What a simulated thread asks most often, without a pointer in between.
pub(super) struct Current {
    pub(super) thread_index: Cell<Dim3>,
    pub(super) block_index: Cell<Dim3>,
    pub(super) block_dim: Cell<Dim3>,
    pub(super) grid_dim: Cell<Dim3>,
    /// The thread's number in its block, x running fastest.
    pub(super) thread: Cell<u32>,
    /// The block's number in the grid, from 1.
    block_number: Cell<u32>,
    /// Barriers that the block has passed.
    epoch: Cell<u32>,
    /// Whether accesses are remembered to find races.
    pub(super) checks_races: Cell<bool>,
    pub(super) global_loads: Cell<u64>,
    pub(super) global_stores: Cell<u64>,
    pub(super) shared_loads: Cell<u64>,
    pub(super) shared_stores: Cell<u64>,
    pub(super) atomics: Cell<u64>,
    yielder: Cell<*const Yielder<(), Wait>>,
}

const NOWHERE: Dim3 = Dim3::new(0, 0, 0);

thread_local! {
    static CURRENT: Current = const {
        Current {
            thread_index: Cell::new(NOWHERE),
            block_index: Cell::new(NOWHERE),
            block_dim: Cell::new(NOWHERE),
            grid_dim: Cell::new(NOWHERE),
            thread: Cell::new(0),
            block_number: Cell::new(0),
            epoch: Cell::new(0),
            checks_races: Cell::new(false),
            global_loads: Cell::new(0),
            global_stores: Cell::new(0),
            shared_loads: Cell::new(0),
            shared_stores: Cell::new(0),
            atomics: Cell::new(0),
            yielder: Cell::new(std::ptr::null()),
        }
    };
    static BLOCK: RefCell<Option<Rc<Block>>> = const { RefCell::new(None) };
}

/// Looks at the current thread.
#[inline(always)]
pub(super) fn with<R>(look: impl FnOnce(&Current) -> R) -> R {
    CURRENT.with(look)
}

/// Adds one to a count.
#[inline(always)]
pub(super) fn count(counter: impl FnOnce(&Current) -> &Cell<u64>) {
    with(|current| {
        let counter = counter(current);
        counter.set(counter.get() + 1);
    });
}

/// Whether a kernel runs on this operating-system thread.
pub(super) fn is_simulated() -> bool {
    with(|current| current.block_dim.get() != NOWHERE)
}

/// Looks at the current block.
///
/// # Panics
/// Outside of a launch.
pub(super) fn with_block<R>(look: impl FnOnce(&Block) -> R) -> R {
    let block = BLOCK.with_borrow(|block| block.clone());
    look(&block.expect("this works only in a kernel: launch it"))
}

/// Who accesses memory now.
#[inline]
pub(super) fn accessor() -> Accessor {
    with(|current| Accessor::new(current.block_number.get(), current.thread.get(), current.epoch.get()))
}

/// Makes `block` the current one, as it was when it was left, until the guard is dropped.
pub(super) fn enter_block(block: &Rc<Block>) -> BlockGuard {
    with(|current| {
        current.block_index.set(block.index);
        current.block_dim.set(block.launch.config.block);
        current.grid_dim.set(block.launch.config.grid);
        current.block_number.set(block.number);
        current.checks_races.set(block.launch.options.check_races);
        let saved = block.saved.get();
        current.epoch.set(saved.epoch);
        for (counter, count) in counters(current).into_iter().zip(saved.counts) {
            counter.set(count);
        }
    });
    BLOCK.set(Some(Rc::clone(block)));
    BlockGuard
}

fn counters(current: &Current) -> [&Cell<u64>; 5] {
    [&current.global_loads, &current.global_stores, &current.shared_loads, &current.shared_stores, &current.atomics]
}

/// Leaves the block when it is dropped.
pub(super) struct BlockGuard;

impl Drop for BlockGuard {
    fn drop(&mut self) {
        with(|current| {
            let saved = Saved { epoch: current.epoch.get(), counts: counters(current).map(Cell::get) };
            if let Some(block) = BLOCK.take() {
                block.saved.set(saved);
            }
            current.block_dim.set(NOWHERE);
        });
    }
}

impl Saved {
    /// What a block of so many threads did.
    pub(super) fn report(self, threads: u64) -> LaunchReport {
        let [global_loads, global_stores, shared_loads, shared_stores, atomics] = self.counts;
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
        }
    }
}

/// Counts a barrier that the block passes.
pub(super) fn next_epoch() {
    with(|current| current.epoch.set(current.epoch.get() + 1));
}

/// Makes `thread` the current one; `yielder` suspends it.
#[inline]
pub(super) fn enter_thread(thread: u32, yielder: *const Yielder<(), Wait>) {
    with(|current| {
        current.thread.set(thread);
        current.thread_index.set(current.block_dim.get().index_of(thread.into()));
        current.yielder.set(yielder);
    });
}

/// Suspends the current thread until what it waits for has come.
pub(super) fn wait(reason: Wait) {
    let (thread, yielder) = with(|current| (current.thread.get(), current.yielder.get()));
    assert!(is_simulated(), "this works only in a kernel: launch it");
    // SAFETY: the yielder belongs to the coroutine that runs now: `enter_thread` was told so before the kernel's body
    // started and after it was last suspended, and the coroutine's function, which borrows it, has not returned.
    #[allow(unsafe_code)]
    unsafe {
        (*yielder).suspend(reason);
    }
    enter_thread(thread, yielder);
}
