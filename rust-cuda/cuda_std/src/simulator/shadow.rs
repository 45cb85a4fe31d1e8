//! Shadow memory: the recorded accesses to an element, to detect races.

use std::cell::{Cell, RefCell};
use std::num::NonZero;
use std::panic::Location;

use super::fault::Access;

/// Number of epochs before they start from 1 again, so that an epoch and a thread's index fit 32 bits.
const EPOCHS: u32 = (1 << 22) - 1;

/// The epoch of a block that has passed `barriers` barriers, from 1. After [`EPOCHS`] barriers it is 1 again, and accesses
/// recorded before get the epoch 0.
pub(super) fn shadow_epoch(barriers: u32) -> u32 {
    barriers % EPOCHS + 1
}

/// A thread between two barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accessor {
    /// The block's linear index in the grid, from 1.
    block: NonZero<u32>,
    /// 1024 · the [`shadow_epoch`], or 0 for one before, + the thread's linear index in its block.
    stamp: u32,
}

/// The number of the first agent, above those of all blocks.
const FIRST_AGENT: u32 = 1 << 31;

impl Accessor {
    /// What stores asynchronously for a phase of an mbarrier, in place of a thread: the agent of this index.
    pub(super) fn agent(index: u32, thread: u64, phase: u64) -> Self {
        Self::new(FIRST_AGENT + 1 + index, thread as u32, (phase % u64::from(EPOCHS)) as u32)
    }

    /// The index of an agent; None for a thread.
    pub(super) fn agent_index(self) -> Option<usize> {
        agent_index(self.block())
    }

    pub(super) fn new(block: u32, thread: u32, epoch: u32) -> Self {
        Self { block: NonZero::new(block).unwrap_or(NonZero::<u32>::MIN), stamp: epoch << 10 | thread }
    }

    /// The block's linear index in the grid, from 0.
    pub(super) fn block(self) -> u64 {
        u64::from(self.block.get()) - 1
    }

    /// The thread's linear index in its block.
    pub(super) fn thread(self) -> u64 {
        u64::from(self.stamp & 1023)
    }

    /// The [`shadow_epoch`], or 0 for one before.
    pub(super) fn epoch(self) -> u32 {
        self.stamp >> 10
    }

    /// Whether this access and a later one, `now`, are unordered: in different blocks, or by different threads of a block with no
    /// barrier between, unless something else has ordered them, which `is_ordered` knows.
    fn is_concurrent(self, now: Self, is_ordered: impl Fn(Self) -> bool) -> bool {
        let may_be = self.block != now.block || self.epoch() == now.epoch() && self.stamp != now.stamp;
        may_be && !is_ordered(self)
    }
}

/// The index of the agent that [`Accessor::block`] is; None for a block.
pub(super) fn agent_index(block: u64) -> Option<usize> {
    block.checked_sub(FIRST_AGENT.into()).map(|index| index as usize)
}

/// The accessors of one kind that suffice to decide whether any earlier access is concurrent with a later one.
#[derive(Clone, Copy, Debug, Default)]
struct Accessors {
    latest: Option<Accessor>,
    /// The latest other thread of the same block.
    other_thread: Option<Accessor>,
    /// The latest accessor of an earlier block.
    other_block: Option<Accessor>,
}

impl Accessors {
    fn add(&mut self, accessor: Accessor) {
        if let Some(latest) = self.latest {
            if latest.block != accessor.block {
                self.other_block = Some(latest);
                self.other_thread = None;
            } else if latest.thread() != accessor.thread() {
                self.other_thread = Some(latest);
            }
        }
        self.latest = Some(accessor);
    }

    fn concurrent_with(&self, accessor: Accessor, is_ordered: impl Fn(Accessor) -> bool) -> Option<Accessor> {
        let all = [self.latest, self.other_thread, self.other_block];
        all.into_iter().flatten().find(|earlier| earlier.is_concurrent(accessor, &is_ordered))
    }
}

/// The recorded writes to one element.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Writes {
    writer: Option<Accessor>,
    /// A thread that wrote the value that `writer` then wrote too, concurrently. Two are enough: one more writer is concurrent
    /// with one of them, or with none.
    other_writer: Option<Accessor>,
    location: Option<&'static Location<'static>>,
}

/// The recorded reads and atomic operations of one element.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OtherAccesses {
    readers: Accessors,
    atomics: Accessors,
    atomic_location: Option<&'static Location<'static>>,
}

/// The recorded accesses to one element.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shadow {
    pub(super) writes: Writes,
    pub(super) others: OtherAccesses,
}

/// An earlier access that is concurrent with a new one.
pub(super) struct Conflict {
    pub(super) access: Access,
    pub(super) accessor: Accessor,
    pub(super) location: Option<&'static Location<'static>>,
}

impl Shadow {
    /// Whether the element has been written.
    pub(super) fn is_written(&self) -> bool {
        self.writes.writer.is_some() || self.others.atomics.latest.is_some()
    }
}

impl Writes {
    /// Records an access to the element whose other accesses are `others`, and returns whether it writes the value that a
    /// concurrent thread has written. `is_ordered` tells whether a barrier of a cluster or atomic operations have ordered an access before
    /// this one, which reads if the flag is set, and `same_value` whether the access writes the value that the element has. A write does not change `others`.
    ///
    /// # Errors
    /// The earlier access with which it races.
    #[inline]
    pub(super) fn record(
        &mut self,
        others: &mut OtherAccesses,
        (access, accessor, location): (Access, Accessor, &'static Location<'static>),
        is_ordered: impl Fn(Accessor, bool) -> bool,
        same_value: impl FnOnce() -> bool,
    ) -> Result<bool, Conflict> {
        let (is_ordered_read, is_ordered) = (|earlier| is_ordered(earlier, true), |earlier| is_ordered(earlier, false));
        let writers = [self.writer, self.other_writer].into_iter().flatten();
        let other = writers.into_iter().find(|writer| writer.is_concurrent(accessor, is_ordered));
        if let Some(writer) = other
            && !(match access {
                Access::Write => true,
                // The thread reads the value that it has written itself, as others have.
                Access::Read => self.writer == Some(accessor),
                Access::Atomic => false,
            } && same_value())
        {
            return Err(Conflict { access: Access::Write, accessor: writer, location: self.location });
        }
        if access != Access::Read
            && let Some(reader) = others.readers.concurrent_with(accessor, is_ordered_read)
        {
            return Err(Conflict { access: Access::Read, accessor: reader, location: None });
        }
        if access != Access::Atomic
            && let Some(other) = others.atomics.concurrent_with(accessor, is_ordered)
        {
            return Err(Conflict { access: Access::Atomic, accessor: other, location: others.atomic_location });
        }
        match access {
            // What races with the thread's write races with its read.
            Access::Read if self.writer == Some(accessor) => {}
            Access::Read => others.readers.add(accessor),
            Access::Write => {
                *self = Self { writer: Some(accessor), other_writer: other, location: Some(location) };
            }
            Access::Atomic => {
                others.atomics.add(accessor);
                others.atomic_location = Some(location);
            }
        }
        Ok(other.is_some())
    }

    /// Replaces who has made the latest write.
    pub(super) fn hand_over(&mut self, to: Accessor) {
        self.writer = Some(to);
    }

    fn forget_epochs(&mut self, block: u32) {
        forget_epochs([&mut self.writer, &mut self.other_writer], block);
    }
}

impl OtherAccesses {
    fn forget_epochs(&mut self, block: u32) {
        for Accessors { latest, other_thread, other_block } in [&mut self.readers, &mut self.atomics] {
            forget_epochs([latest, other_thread, other_block], block);
        }
    }
}

impl Shadow {
    /// Makes the accesses of a block ordered before its next ones.
    pub(super) fn forget_epochs(&mut self, block: u32) {
        self.writes.forget_epochs(block);
        self.others.forget_epochs(block);
    }
}

fn forget_epochs<const N: usize>(accessors: [&mut Option<Accessor>; N], block: u32) {
    for accessor in accessors.into_iter().flatten().filter(|accessor| accessor.block.get() == block) {
        accessor.stamp &= 1023;
    }
}

/// The shadow memory of the buffers that a launch can write, for race detection.
#[derive(Default)]
pub(super) struct GlobalShadows {
    by_parameter: RefCell<Vec<BufferShadows>>,
    /// The number of barriers that the grid has passed.
    grid_barriers: Cell<u64>,
    /// The sum of what the blocks that wait at the next one have added to its state.
    arrived: Cell<u32>,
}

/// The shadows of one buffer; empty before its first access.
#[derive(Clone, Default)]
struct BufferShadows {
    writes: Vec<Writes>,
    /// Empty while there are only writes, as to most results.
    others: Vec<OtherAccesses>,
    /// The number of grid barriers at the last access to each element; empty before the first barrier.
    since: Vec<u64>,
}

impl GlobalShadows {
    /// Notes that the grid passes a barrier: accesses before it do not race with accesses after it.
    pub(super) fn pass_grid_barrier(&self) {
        self.grid_barriers.set(self.grid_barriers.get() + 1);
        self.arrived.set(0);
    }

    /// Notes that a block adds to the state of the grid's barrier. Returns the sum of what others have added.
    pub(super) fn arrive_at_grid_barrier(&self, arrival: u32) -> u32 {
        let before = self.arrived.get();
        self.arrived.set(before.wrapping_add(arrival));
        before
    }

    /// Makes the accesses of a block ordered before its next ones.
    pub(super) fn forget_epochs(&self, block: u32) {
        for BufferShadows { writes, others, .. } in self.by_parameter.borrow_mut().iter_mut() {
            writes.iter_mut().for_each(|writes| writes.forget_epochs(block));
            others.iter_mut().for_each(|others| others.forget_epochs(block));
        }
    }

    /// Calls `record` with the recorded accesses to element `index` in the buffer of `parameter`, which has `length` elements, for
    /// an access of this kind.
    pub(super) fn with<R>(
        &self,
        parameter: u32,
        (length, index): (usize, usize),
        access: Access,
        record: impl FnOnce(&mut Writes, &mut OtherAccesses) -> R,
    ) -> R {
        let mut all = self.by_parameter.borrow_mut();
        let parameter = parameter as usize;
        if all.len() <= parameter {
            all.resize(parameter + 1, BufferShadows::default());
        }
        let BufferShadows { writes, others, since } = &mut all[parameter];
        if writes.is_empty() {
            writes.resize(length, Writes::default());
        }
        if others.is_empty() && access != Access::Write {
            others.resize(length, OtherAccesses::default());
        }
        let grid_barriers = self.grid_barriers.get();
        if grid_barriers > 0 {
            // Shadows are reset lazily, at the next access: the cost of a barrier does not depend on the length.
            since.resize(length, 0);
            if since[index] != grid_barriers {
                since[index] = grid_barriers;
                writes[index] = Writes::default();
                if let Some(others) = others.get_mut(index) {
                    *others = OtherAccesses::default();
                }
            }
        }
        match others.get_mut(index) {
            Some(others) => record(&mut writes[index], others),
            None => record(&mut writes[index], &mut OtherAccesses::default()),
        }
    }
}
