//! The simulated thread that this operating-system thread currently runs.

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;

use corosensei::Yielder;

use super::block::{Block, Saved};
use super::fault;
use super::phases::MbarrierId;
use super::shadow::{Accessor, shadow_epoch};
use super::synchronization;
use super::worker::Worker;
use crate::Dim3;
use cuda_launch::Switches;

/// Why a simulated thread waits, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// For all threads of the block.
    Barrier(&'static Location<'static>),
    /// For these lanes of the warp, but for those that have exited.
    Warp(&'static Location<'static>, u32),
    /// For the lanes of the warp that get here too before all others wait or have exited.
    Active(&'static Location<'static>),
    /// For all threads of the grid.
    Grid(&'static Location<'static>),
    /// For all threads of the cluster.
    Cluster(&'static Location<'static>),
    /// Before an atomic operation, for all others that can run.
    Turn(&'static Location<'static>),
    /// For a phase of an mbarrier, which others complete.
    Phase(&'static Location<'static>, MbarrierId),
}

impl Wait {
    /// Whether it is for lanes of the warp.
    pub(super) fn is_at_warp(self) -> bool {
        matches!(self, Self::Warp(..) | Self::Active(_))
    }

    /// The source location of the wait.
    pub(super) fn location(self) -> &'static Location<'static> {
        match self {
            Self::Barrier(location)
            | Self::Warp(location, _)
            | Self::Active(location)
            | Self::Grid(location)
            | Self::Cluster(location)
            | Self::Turn(location)
            | Self::Phase(location, _) => location,
        }
    }
}

/// The state that simulated threads access most often, in a thread-local without indirection.
pub(super) struct Current {
    pub(super) thread_index: Cell<Dim3>,
    pub(super) block_index: Cell<Dim3>,
    pub(super) block_dim: Cell<Dim3>,
    pub(super) grid_dim: Cell<Dim3>,
    /// The thread's linear index in its block; x varies fastest.
    pub(super) thread: Cell<u32>,
    /// The block's linear index in the grid, from 1.
    block_number: Cell<u32>,
    /// The number of barriers that the block has passed.
    pub(super) epoch: Cell<u32>,
    /// That number as the shadow memory keeps it.
    shadow_epoch: Cell<u32>,
    /// Asynchronous copies in flight of the block.
    pub(super) copies: Cell<u32>,
    /// Whether accesses are recorded to detect races.
    pub(super) checks_races: Cell<bool>,
    pub(super) global_loads: Cell<u64>,
    pub(super) global_stores: Cell<u64>,
    pub(super) shared_loads: Cell<u64>,
    pub(super) shared_stores: Cell<u64>,
    pub(super) atomics: Cell<u64>,
    pub(super) same_value_races: Cell<u64>,
    /// Atomic operations that the current thread may make until its turn is looked at.
    turn: Cell<u32>,
    /// Those of its turn that were looked at.
    operations: Cell<u32>,
    /// The value of `turn` when a thread starts or resumes.
    first_turn: Cell<u32>,
    /// The times that a thread may run loops.
    pub(super) loop_iterations: Cell<u64>,
    /// The kernel whose launch takes its arguments.
    pub(super) binding: Cell<&'static str>,
    /// The watchdog's record of this operating-system thread.
    pub(super) worker: Cell<Option<&'static Worker>>,
    /// The watchdog's count of the current thread's accesses, with the value of [`Worker`]'s counter to which it belongs.
    pub(super) accesses: Cell<(u64, u64)>,
    /// Whether the launch has failed, and the block's threads that wait are unwound.
    pub(super) is_ending: Cell<bool>,
    /// That of the coroutine that runs; null if none does.
    yielder: Cell<*const Yielder<(), Wait>>,
}

const OUTSIDE_LAUNCH: Dim3 = Dim3::new(0, 0, 0);

thread_local! {
    static CURRENT: Current = const {
        Current {
            thread_index: Cell::new(OUTSIDE_LAUNCH),
            block_index: Cell::new(OUTSIDE_LAUNCH),
            block_dim: Cell::new(OUTSIDE_LAUNCH),
            grid_dim: Cell::new(OUTSIDE_LAUNCH),
            thread: Cell::new(0),
            block_number: Cell::new(0),
            epoch: Cell::new(0),
            shadow_epoch: Cell::new(0),
            copies: Cell::new(0),
            checks_races: Cell::new(false),
            global_loads: Cell::new(0),
            global_stores: Cell::new(0),
            shared_loads: Cell::new(0),
            shared_stores: Cell::new(0),
            atomics: Cell::new(0),
            same_value_races: Cell::new(0),
            turn: Cell::new(0),
            operations: Cell::new(0),
            first_turn: Cell::new(0),
            loop_iterations: Cell::new(0),
            binding: Cell::new(""),
            worker: Cell::new(None),
            accesses: Cell::new((0, 0)),
            is_ending: Cell::new(false),
            yielder: Cell::new(std::ptr::null()),
        }
    };
    /// Counts the launch's atomic operations, if it has a schedule.
    static SWITCHES: RefCell<Option<Switches>> = const { RefCell::new(None) };
    static BLOCK: RefCell<Option<Rc<Block>>> = const { RefCell::new(None) };
}

/// Calls `look` with the current thread.
#[inline(always)]
pub(super) fn with<R>(look: impl FnOnce(&Current) -> R) -> R {
    CURRENT.with(look)
}

/// Atomic operations that a thread makes before others take their turns, which may be what it waits for.
pub(super) const OPERATIONS_OF_TURN: u32 = 1 << 14;

/// Starts to count a launch's atomic operations, if it has a schedule. Returns the number of those of the last launch.
pub(super) fn set_switches(switches: Option<Switches>) -> u64 {
    SWITCHES.replace(switches).map_or(0, |switches| switches.accesses())
}

/// Lets other threads run before an atomic operation, if the schedule says so or the thread's turn is over.
#[inline(always)]
pub(super) fn before_atomic(location: &'static Location<'static>) {
    let left = with(|current| {
        let left = current.turn.get();
        current.turn.set(left.wrapping_sub(1));
        left
    });
    if left == 0 {
        end_turn(location);
    }
}

#[cold]
#[inline(never)]
fn end_turn(location: &'static Location<'static>) {
    let gives_way = SWITCHES.with_borrow_mut(|switches| switches.as_mut().map(Switches::gives_way));
    let operations = with(|current| {
        current.turn.set(current.first_turn.get());
        let operations = current.operations.get() + 1;
        current.operations.set(operations);
        operations
    });
    // Without a schedule this is called at the end of a turn only.
    if gives_way.unwrap_or(true) || operations >= OPERATIONS_OF_TURN {
        wait(Wait::Turn(location));
    }
}

/// The operations until the next look at the turn: each is looked at in the order of a schedule.
fn turn() -> u32 {
    if SWITCHES.with_borrow(Option::is_some) { 0 } else { OPERATIONS_OF_TURN }
}

/// Increments a counter.
#[inline(always)]
pub(super) fn count(counter: impl FnOnce(&Current) -> &Cell<u64>) {
    with(|current| {
        let counter = counter(current);
        counter.set(counter.get() + 1);
    });
}

/// Whether the block with this number, from 1, is the current one.
pub(super) fn is_current(block: u32) -> bool {
    with(|current| current.block_number.get()) == block
}

/// Whether a kernel runs on this operating-system thread.
pub(super) fn is_simulated() -> bool {
    with(|current| current.block_dim.get() != OUTSIDE_LAUNCH)
}

/// Calls `look` with the current block.
///
/// # Panics
/// Outside of a launch.
pub(super) fn with_block<R>(look: impl FnOnce(&Block) -> R) -> R {
    let block = BLOCK.with_borrow(|block| block.clone());
    look(&block.expect("only a launched kernel can call this"))
}

/// The identity of the current thread between two barriers.
#[inline]
pub(super) fn accessor() -> Accessor {
    with(|current| Accessor::new(current.block_number.get(), current.thread.get(), current.shadow_epoch.get()))
}

/// The identity of the current thread, if races are checked.
pub(super) fn checked_accessor() -> Option<Accessor> {
    with(|current| current.checks_races.get()).then(accessor)
}

/// Makes `block` the current one and restores its saved state, until the guard is dropped.
pub(super) fn enter_block(block: &Rc<Block>) -> BlockGuard {
    with(|current| {
        current.block_index.set(block.index);
        current.block_dim.set(block.launch.config.block);
        current.grid_dim.set(block.launch.config.grid);
        current.block_number.set(block.number);
        current.checks_races.set(block.launch.options.check_races);
        current.loop_iterations.set(block.launch.options.loop_iterations);
        current.first_turn.set(turn());
        current.is_ending.set(false);
        let saved = block.saved.get();
        current.epoch.set(saved.epoch);
        current.shadow_epoch.set(shadow_epoch(saved.epoch));
        current.copies.set(saved.copies);
        for (counter, count) in counters(current).into_iter().zip(saved.counts) {
            counter.set(count);
        }
    });
    BLOCK.set(Some(Rc::clone(block)));
    BlockGuard
}

fn counters(current: &Current) -> [&Cell<u64>; 6] {
    [
        &current.global_loads,
        &current.global_stores,
        &current.shared_loads,
        &current.shared_stores,
        &current.atomics,
        &current.same_value_races,
    ]
}

/// Saves the current block's state and leaves the block when dropped.
pub(super) struct BlockGuard;

impl Drop for BlockGuard {
    fn drop(&mut self) {
        with(|current| {
            let saved = Saved {
                epoch: current.epoch.get(),
                copies: current.copies.get(),
                counts: counters(current).map(Cell::get),
            };
            if let Some(block) = BLOCK.take() {
                block.saved.set(saved);
            }
            current.block_dim.set(OUTSIDE_LAUNCH);
        });
    }
}

/// Counts a barrier that the block passes.
pub(super) fn next_epoch() {
    let epoch = with(|current| {
        current.epoch.set(current.epoch.get() + 1);
        current.shadow_epoch.set(shadow_epoch(current.epoch.get()));
        current.shadow_epoch.get()
    });
    synchronization::pass_barrier(with(|current| current.block_number.get()));
    if epoch == shadow_epoch(0) {
        with_block(Block::forget_epochs);
    }
}

/// Makes `thread` the current one, which `yielder` suspends.
#[inline]
pub(super) fn enter_thread(thread: u32, yielder: *const Yielder<(), Wait>) {
    with(|current| {
        current.thread.set(thread);
        current.thread_index.set(current.block_dim.get().index_of(thread.into()));
        current.yielder.set(yielder);
        current.turn.set(current.first_turn.get());
        current.operations.set(0);
        if let Some(worker) = current.worker.get() {
            worker.enter(current.block_number.get(), thread);
        }
    });
}

/// Notes that no coroutine runs.
pub(super) fn leave_thread() {
    with(|current| current.yielder.set(std::ptr::null()));
}

/// Makes a thread the current one again when dropped.
struct Reenter(u32, *const Yielder<(), Wait>);

impl Drop for Reenter {
    fn drop(&mut self) {
        enter_thread(self.0, self.1);
    }
}

/// Suspends the current thread until the barrier or warp operation of `reason` is complete. Returns at once if the thread unwinds.
pub(super) fn wait(reason: Wait) {
    if fault::is_unwinding() {
        return;
    }
    let (thread, yielder) = with(|current| (current.thread.get(), current.yielder.get()));
    assert!(is_simulated() && !yielder.is_null(), "only a launched kernel can call this");
    if with(|current| current.is_ending.get()) {
        // The kernel has caught what unwinds it, and waits again.
        std::panic::resume_unwind(Box::new(()));
    }
    // Also if the coroutine is unwound instead of resumed: its destructors may look at the current thread.
    let _reenter = Reenter(thread, yielder);
    // SAFETY: the yielder belongs to the coroutine that runs now, whose function, which borrows it, has not returned: `enter_thread`
    // stores it before the kernel's body starts and after each suspension, and `leave_thread` clears it when a coroutine has
    // given control back.
    #[allow(unsafe_code)]
    unsafe {
        (*yielder).suspend(reason);
    }
}
