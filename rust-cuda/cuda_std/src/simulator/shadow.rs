//! Shadow memory: the recorded accesses to an element, to detect races.

use std::num::NonZero;
use std::panic::Location;

use super::current;
use super::fault::Access;

/// A thread between two barriers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accessor {
    /// The block's linear index in the grid, from 1.
    block: NonZero<u32>,
    /// 1024 · the number of barriers that the block has passed + the thread's linear index in its block.
    stamp: u32,
}

impl Accessor {
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

    /// The number of barriers that its block has passed.
    pub(super) fn epoch(self) -> u32 {
        self.stamp >> 10
    }

    /// Whether this access and a later one of the current thread, `now`, are unordered: in different blocks with no
    /// barrier of their cluster between, or different threads of a block with no barrier between.
    fn is_concurrent(self, now: Self) -> bool {
        if self.block != now.block {
            return !current::is_before_cluster_barrier(self);
        }
        self.epoch() == now.epoch() && self.stamp != now.stamp
    }
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

    fn concurrent_with(&self, accessor: Accessor) -> Option<Accessor> {
        let all = [self.latest, self.other_thread, self.other_block];
        all.into_iter().flatten().find(|earlier| earlier.is_concurrent(accessor))
    }
}

/// The recorded accesses to one element.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shadow {
    /// One is enough: two concurrent writers are a race already.
    writer: Option<Accessor>,
    write_location: Option<&'static Location<'static>>,
    readers: Accessors,
    atomics: Accessors,
    atomic_location: Option<&'static Location<'static>>,
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
        self.writer.is_some() || self.atomics.latest.is_some()
    }

    /// Records an access.
    ///
    /// # Errors
    /// The earlier access with which it races.
    #[inline]
    pub(super) fn record(
        &mut self,
        access: Access,
        accessor: Accessor,
        location: &'static Location<'static>,
    ) -> Result<(), Conflict> {
        if let Some(writer) = self.writer.filter(|writer| writer.is_concurrent(accessor)) {
            return Err(Conflict { access: Access::Write, accessor: writer, location: self.write_location });
        }
        if access != Access::Read
            && let Some(reader) = self.readers.concurrent_with(accessor)
        {
            return Err(Conflict { access: Access::Read, accessor: reader, location: None });
        }
        if access != Access::Atomic
            && let Some(other) = self.atomics.concurrent_with(accessor)
        {
            return Err(Conflict { access: Access::Atomic, accessor: other, location: self.atomic_location });
        }
        match access {
            Access::Read => self.readers.add(accessor),
            Access::Write => (self.writer, self.write_location) = (Some(accessor), Some(location)),
            Access::Atomic => {
                self.atomics.add(accessor);
                self.atomic_location = Some(location);
            }
        }
        Ok(())
    }
}
