//! Asynchronous copies in flight. Every access to their destinations is a race, and so is every
//! write to their sources.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::access::{AccessKind, LaneAccess, Location, Thread, Watched};
use super::happens_before::BarrierOf;
use super::{Conflict, Why};

/// Whole words read or written by a thread's asynchronous copy.
#[derive(Clone, Copy, Debug)]
pub struct CopyAccess<'a> {
    /// The first word.
    pub location: Location,
    /// Size of the words in bytes.
    pub bytes: usize,
    /// The bytes it writes. `None` if it reads.
    pub data: Option<&'a [u8]>,
    /// The thread.
    pub thread: Thread,
}

/// A copy's access to a word.
#[derive(Clone, Copy, Debug)]
struct Flight {
    block: u32,
    thread: u32,
    instruction: u32,
    /// The value it writes to the word. `None` if it reads.
    value: Option<u32>,
}

impl Flight {
    fn is_of(&self, thread: Thread) -> bool {
        (self.block, self.thread) == (thread.phase.block, thread.number())
    }
}

/// A store in flight until the phase of an mbarrier is complete.
#[derive(Debug)]
struct Store {
    location: Location,
    bytes: usize,
    thread: Thread,
}

/// The asynchronous copies in flight.
#[derive(Debug, Default)]
pub(super) struct Flights {
    /// Flights by word, keyed by the word's first byte.
    of_words: FxHashMap<Location, Vec<Flight>>,
    /// The stores that end when the current phase of an mbarrier is complete.
    stores: FxHashMap<BarrierOf, Vec<Store>>,
}

impl Flights {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.of_words.is_empty()
    }

    pub(super) fn begin(&mut self, copy: CopyAccess<'_>, instruction: u32) {
        let CopyAccess { location, bytes, data, thread } = copy;
        for word in words(location, bytes) {
            let value = data.and_then(|data| word_at(data, word.offset - location.offset));
            let flight = Flight { block: thread.phase.block, thread: thread.number(), instruction, value };
            self.of_words.entry(word).or_default().push(flight);
        }
    }

    /// Like [`begin`](Self::begin), for a store that ends when the current phase of an mbarrier is
    /// complete.
    pub(super) fn begin_store(&mut self, barrier: BarrierOf, copy: CopyAccess<'_>, instruction: u32) {
        let CopyAccess { location, bytes, thread, .. } = copy;
        self.begin(copy, instruction);
        self.stores.entry(barrier).or_default().push(Store { location, bytes, thread });
    }

    pub(super) fn end(&mut self, copy: CopyAccess<'_>) {
        let writes = copy.data.is_some();
        self.remove(copy.location, copy.bytes, |flight| flight.is_of(copy.thread) && flight.value.is_some() == writes);
    }

    /// Ends the stores that wait for the current phase of a barrier, which is now complete.
    pub(super) fn complete(&mut self, barrier: BarrierOf) {
        for Store { location, bytes, thread } in self.stores.remove(&barrier).into_iter().flatten() {
            self.remove(location, bytes, |flight| flight.is_of(thread) && flight.value.is_some());
        }
    }

    /// Removes one flight of each word.
    fn remove(&mut self, location: Location, bytes: usize, is_it: impl Fn(&Flight) -> bool) {
        for word in words(location, bytes) {
            let Entry::Occupied(mut flights) = self.of_words.entry(word) else { continue };
            if let Some(index) = flights.get().iter().position(&is_it) {
                flights.get_mut().swap_remove(index);
            }
            if flights.get().is_empty() {
                flights.remove();
            }
        }
    }

    /// Removes the copies to and from a region, and its mbarriers.
    pub(super) fn forget(&mut self, region: Watched) {
        self.of_words.retain(|word, _| word.region != region);
        self.stores.retain(|barrier, _| !barrier.is_in(region));
    }

    /// The first copy that an access races with, whichever thread makes the access. Copies of the
    /// same value are excluded. `copied` is the data that the access writes if it is also a copy.
    #[inline]
    pub(super) fn conflict(&self, access: &LaneAccess, copied: Option<&[u8]>) -> Option<Conflict> {
        if self.is_empty() {
            return None;
        }
        let LaneAccess { location: Location { region, offset }, bytes, kind, .. } = *access;
        (offset / 4..(offset + bytes).div_ceil(4)).find_map(|word| {
            let word = 4 * word;
            let value = copied.and_then(|data| word_at(data, word.checked_sub(offset)?));
            let races = |flight: &&Flight| match flight.value {
                Some(of_flight) => value != Some(of_flight),
                None => kind.writes(),
            };
            let Flight { block, thread, instruction, value } =
                *self.of_words.get(&region.at(word))?.iter().find(races)?;
            let kind = if value.is_some() { AccessKind::Write } else { AccessKind::Read };
            Some(Conflict { block, thread, kind, instruction, offset: offset.max(word), why: Why::InFlight })
        })
    }

    /// Whether copies in flight write to this word, all with this value.
    pub(super) fn all_write(&self, word: Location, value: u32) -> bool {
        let Some(flights) = self.of_words.get(&word) else { return false };
        let mut values = flights.iter().filter_map(|flight| flight.value).peekable();
        values.peek().is_some() && values.all(|of_flight| of_flight == value)
    }
}

/// The first bytes of the whole words.
fn words(location: Location, bytes: usize) -> impl Iterator<Item = Location> {
    let Location { region, offset } = location;
    (offset / 4..(offset + bytes) / 4).map(move |word| region.at(4 * word))
}

/// The word at an offset in some bytes.
pub(super) fn word_at(data: &[u8], offset: usize) -> Option<u32> {
    data.get(offset..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}
