//! Access histories of the bytes of a word.

use std::ops::Range;

use super::Why;
use super::access::{AccessKind, Location, Record, ThreadEpoch};
use super::happens_before::HappensBefore;
use super::records::Records;

/// The access history of bytes that were always accessed together.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// The latest plain writer.
    writer: Option<Record>,
    readers: Records<true>,
    /// Boxed because most words are never accessed atomically, nor written by several threads
    /// without an order.
    rare: Option<Box<RareAccesses>>,
}

#[derive(Clone, Debug, Default)]
struct RareAccesses {
    atomic_readers: Records<true>,
    atomic_writers: Records<false>,
    /// Plain writers after `writer` that kept its value: concurrent ones and silent ones.
    same_writers: Records<false>,
    /// The last access, if it is a strong read without a conflict. A polling loop repeats it
    /// without further effect.
    polled: Option<Record>,
}

/// An earlier access that races with the current one.
#[derive(Clone, Copy, Debug)]
pub(super) struct RacingAccess {
    pub(super) kind: AccessKind,
    pub(super) record: Record,
    /// Whether both write the same value, both plain or both volatile, or one is a plain read that
    /// finds the same value before and after the write.
    pub(super) same_value: bool,
    pub(super) why: Why,
}

/// The access being recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    /// Its first byte.
    pub(super) location: Location,
    pub(super) kind: AccessKind,
    pub(super) epoch: ThreadEpoch,
    pub(super) instruction: u32,
    /// Its size.
    pub(super) bytes: usize,
    /// Whether a plain write of the value already in memory does not race with plain reads.
    pub(super) may_be_silent: bool,
}

/// The access history of the four bytes of a word.
#[derive(Clone, Debug)]
pub(super) enum Word {
    Whole(History),
    /// Some access was to only part of the word.
    Bytes(Box<[History; 4]>),
}

impl Default for Word {
    fn default() -> Self {
        Self::Whole(History::default())
    }
}

impl Word {
    /// Records an access to some bytes of the word. Returns the first byte with a racing access. A
    /// race of different values takes precedence over one of the same value. `same_value` tells
    /// whether a plain write leaves these bytes of the word unchanged; its argument tells whether
    /// another thread may have written them just before.
    #[inline]
    pub(super) fn record(
        &mut self,
        order: &HappensBefore,
        bytes: Range<usize>,
        access: &Current,
        same_value: &mut impl FnMut(Range<usize>, bool) -> bool,
    ) -> Option<(usize, RacingAccess)> {
        if let Self::Whole(history) = self
            && bytes.len() == 4
        {
            let found = history.record(order, access, |after_others| same_value(0..4, after_others))?;
            return Some((0, found));
        }
        let histories = self.of_bytes();
        let mut found: Option<(usize, RacingAccess)> = None;
        for byte in bytes {
            let same_value = |after_others| same_value(byte..byte + 1, after_others);
            let conflict = histories[byte].record(order, access, same_value);
            if let Some(conflict) = conflict
                && found.is_none_or(|(_, found)| found.same_value && !conflict.same_value)
            {
                found = Some((byte, conflict));
            }
        }
        found
    }
}

impl Word {
    /// The histories of the bytes of a plain access. `None` if the bytes have separate histories,
    /// but a write is compared with memory as one value.
    #[inline]
    pub(super) fn histories(&mut self, bytes: Range<usize>, writes: bool) -> Option<&mut [History]> {
        if bytes.len() < 4 {
            return Some(&mut self.of_bytes()[bytes]);
        }
        match self {
            Self::Whole(history) => Some(std::slice::from_mut(history)),
            Self::Bytes(_) if writes => None,
            Self::Bytes(histories) => Some(&mut **histories),
        }
    }

    /// The histories of the bytes, kept separately from now on.
    fn of_bytes(&mut self) -> &mut [History; 4] {
        if let Self::Whole(history) = self {
            *self = Self::Bytes(Box::new(std::array::from_fn(|_| history.clone())));
        }
        match self {
            Self::Bytes(histories) => histories,
            Self::Whole(_) => unreachable!("it has just been split"),
        }
    }

    /// Replaces the latest plain writer of the whole word.
    pub(super) fn hand_over(&mut self, to: Record) {
        match self {
            Self::Whole(history) => history.writer = Some(to),
            Self::Bytes(histories) => histories.iter_mut().for_each(|history| history.writer = Some(to)),
        }
    }
}

impl History {
    #[inline]
    fn record(
        &mut self,
        order: &HappensBefore,
        access: &Current,
        mut same_value: impl FnMut(bool) -> bool,
    ) -> Option<RacingAccess> {
        let Current { kind, epoch, instruction, may_be_silent, .. } = *access;
        let record = Record::new(epoch.number, kind, instruction);
        let is_strong_read = matches!(kind, AccessKind::VolatileRead | AccessKind::AtomicRead(_));
        if let Some(rare) = &mut self.rare
            && std::mem::take(&mut rare.polled) == Some(record)
            && is_strong_read
        {
            rare.polled = Some(record);
            return None;
        }
        let writer = self.unordered_writer(order, epoch);
        let is_silent = may_be_silent && kind == AccessKind::Write && same_value(writer.is_some());
        let conflict = self.conflict(order, access, (writer, is_silent), || same_value(true));
        self.keep(order, access, is_silent, conflict);
        conflict
    }

    /// Whether a plain access races with an earlier one. `is_silent` tells whether it writes the
    /// value already in memory.
    #[inline]
    pub(super) fn has_conflict(&self, order: &HappensBefore, access: &Current, is_silent: bool) -> bool {
        self.unordered_writer(order, access.epoch).is_some()
            || self.conflict(order, access, (None, is_silent), || false).is_some()
    }

    /// Records a plain access without a race.
    #[inline]
    pub(super) fn add(&mut self, order: &HappensBefore, access: &Current, is_silent: bool) {
        if let Some(rare) = &mut self.rare {
            rare.polled = None;
        }
        self.keep(order, access, is_silent, None);
    }

    /// Whether all accesses so far happen before the current one, also if the lanes of all are
    /// shifted up by the same amount.
    pub(super) fn is_ordered_alike(&self, order: &HappensBefore, epoch: ThreadEpoch) -> bool {
        self.rare.is_none()
            && self.writer.is_none_or(|writer| order.is_ordered_alike(order.epoch_of(writer), epoch))
            && self.readers.are_ordered_alike(order, epoch)
    }

    /// Whether no plain read by any lane of the warp in this phase races with an earlier access.
    #[inline]
    pub(super) fn may_be_read_by_warp(&self, order: &HappensBefore, epoch: ThreadEpoch) -> bool {
        self.rare.is_none() && self.writer.is_none_or(|writer| order.precedes_warp(order.epoch_of(writer), epoch))
    }

    /// Records plain reads by lanes of a warp, including `access`.
    /// [`may_be_read_by_warp`](Self::may_be_read_by_warp) must be true.
    pub(super) fn read_by_lanes(&mut self, order: &HappensBefore, access: &Current, lanes: u32) {
        let record = Record::new(access.epoch.number, access.kind, access.instruction);
        self.readers.add_lanes(order, access.epoch, (record, access.kind), lanes);
    }

    /// The history with all records shifted up by this many lanes.
    pub(super) fn of_later_lane(&self, by: u32) -> Self {
        let later = |record: Record| record.of_lane(record.lane() + by);
        Self {
            writer: self.writer.map(later),
            readers: self.readers.of_later_lane(by),
            rare: self.rare.as_ref().map(|rare| {
                Box::new(RareAccesses {
                    atomic_readers: rare.atomic_readers.of_later_lane(by),
                    atomic_writers: rare.atomic_writers.of_later_lane(by),
                    same_writers: rare.same_writers.of_later_lane(by),
                    polled: rare.polled.map(later),
                })
            }),
        }
    }

    /// Keeps an access.
    #[inline]
    fn keep(&mut self, order: &HappensBefore, access: &Current, is_silent: bool, conflict: Option<RacingAccess>) {
        let Current { kind, epoch, instruction, .. } = *access;
        let record = Record::new(epoch.number, kind, instruction);
        match kind {
            // Whatever races with a thread's write also races with its later reads, until it
            // releases them.
            AccessKind::Read if self.has_own_write(epoch) => {}
            AccessKind::Read | AccessKind::ReadOnly => self.readers.add(order, epoch, record, kind),
            AccessKind::VolatileRead | AccessKind::AtomicRead(_) => {
                let rare = self.rare.get_or_insert_default();
                rare.atomic_readers.add(order, epoch, record, kind);
                rare.polled = conflict.is_none().then_some(record);
            }
            AccessKind::VolatileWrite | AccessKind::AtomicWrite(_) => {
                self.rare.get_or_insert_default().atomic_writers.add(order, epoch, record, kind);
            }
            // Earlier accesses stay recorded: what races with one of them need not race with this
            // write.
            AccessKind::Write if is_silent => self.add_silent(order, epoch, record),
            AccessKind::Write => {
                let earlier = self.writer.replace(record);
                // No later access can race with an earlier access but not with this write. It would
                // happen after the write, and the write happens after all earlier accesses, unless
                // a race has been reported.
                self.readers.clear();
                if let Some(rare) = &mut self.rare {
                    rare.atomic_readers.clear();
                    rare.atomic_writers.clear();
                }
                match (conflict, earlier) {
                    // Other writers of the same value stay recorded because their race need not end
                    // the launch.
                    (Some(RacingAccess { same_value: true, .. }), Some(earlier)) => {
                        let others = &mut self.rare.get_or_insert_default().same_writers;
                        others.add(order, order.epoch_of(earlier), earlier, kind);
                    }
                    _ => {
                        if let Some(rare) = &mut self.rare {
                            rare.same_writers.clear();
                        }
                    }
                }
            }
        }
    }

    /// Records a plain write of the value already in memory.
    fn add_silent(&mut self, order: &HappensBefore, epoch: ThreadEpoch, record: Record) {
        let has_others = self.rare.as_ref().is_some_and(|rare| !rare.same_writers.is_empty());
        match self.writer {
            None => self.writer = Some(record.silent()),
            Some(writer) if writer.epoch == record.epoch => {}
            Some(writer)
                if !has_others && writer.is_silent() && order.is_ordered::<false>(order.epoch_of(writer), epoch) =>
            {
                self.writer = Some(record.silent());
            }
            Some(_) => self.rare.get_or_insert_default().same_writers.add(order, epoch, record, AccessKind::Write),
        }
    }

    /// A plain writer that does not happen before an access. The latest writer of a different value
    /// comes first.
    #[inline]
    fn unordered_writer(&self, order: &HappensBefore, epoch: ThreadEpoch) -> Option<Record> {
        let writer = self.writer.filter(|writer| !order.is_ordered::<false>(order.epoch_of(*writer), epoch));
        writer.or_else(|| self.rare.as_ref()?.same_writers.concurrent_with(order, epoch).next())
    }

    /// Whether an access finds the current value regardless of unordered plain writes: the value
    /// was there before the launch, or its write happens before the access.
    #[cold]
    fn finds_value(&self, order: &HappensBefore, epoch: ThreadEpoch) -> bool {
        self.writer.is_none_or(|writer| writer.is_silent() || order.is_ordered::<false>(order.epoch_of(writer), epoch))
    }

    /// A write of the launch, in any order. A read-only load may miss it.
    #[cold]
    fn ordered_write(&self) -> Option<RacingAccess> {
        let plain = self.writer.filter(|record| !record.is_silent()).map(|record| (AccessKind::Write, record));
        let strong = || {
            let record = self.rare.as_ref()?.atomic_writers.latest_of_lanes().next()?;
            Some((record.strong_write(), record))
        };
        let (kind, record) = plain.or_else(strong)?;
        Some(RacingAccess { kind, record, same_value: false, why: Why::ReadOnly })
    }

    /// Whether a thread has written the value in this epoch. Others may have written it too.
    #[inline]
    fn has_own_write(&self, epoch: ThreadEpoch) -> bool {
        self.writer.is_some_and(|writer| writer.epoch == epoch.number)
            || self.rare.as_ref().is_some_and(|rare| rare.same_writers.has_of(epoch))
    }

    #[inline]
    fn conflict(
        &self,
        order: &HappensBefore,
        access: &Current,
        (writer, is_silent): (Option<Record>, bool),
        mut same_value: impl FnMut() -> bool,
    ) -> Option<RacingAccess> {
        let Current { kind, epoch, may_be_silent, .. } = *access;
        let mut same = None;
        if let Some(record) = writer {
            let same_value = match kind {
                AccessKind::Write if may_be_silent => is_silent,
                AccessKind::Write => same_value(),
                AccessKind::Read => self.has_own_write(epoch) || may_be_silent && self.finds_value(order, epoch),
                AccessKind::ReadOnly => may_be_silent && self.writer.is_some_and(Record::is_silent),
                _ => false,
            };
            let found = RacingAccess { kind: AccessKind::Write, record, same_value, why: Why::Unordered };
            if !same_value {
                return Some(found);
            }
            same = Some(found);
        }
        if kind.writes() && !self.readers.is_empty() {
            let unordered = || self.readers.concurrent_with(order, epoch).next();
            let is_of_another = |record: &Record| {
                let earlier = order.epoch_of(*record);
                let thread = |epoch: ThreadEpoch| (epoch.phase.block, epoch.phase.warp, epoch.lane);
                record.plain_read() == AccessKind::ReadOnly && thread(earlier) != thread(epoch)
            };
            let ordered = || self.readers.latest_of_lanes().find(is_of_another);
            let found = unordered().map(|record| (record, Why::Unordered));
            if let Some((record, why)) = found.or_else(|| Some((ordered()?, Why::ReadOnly))) {
                let found = RacingAccess { kind: record.plain_read(), record, same_value: is_silent, why };
                if !is_silent {
                    return Some(found);
                }
                same = same.or(Some(found));
            }
        }
        if kind == AccessKind::ReadOnly
            && let Some(found) = self.ordered_write()
        {
            return Some(found);
        }
        let Some(rare) = &self.rare else { return same };
        rare.conflict(order, access, same_value, same)
    }
}

impl RareAccesses {
    /// A racing strong access, otherwise `same` or a volatile write of the same value.
    fn conflict(
        &self,
        order: &HappensBefore,
        access: &Current,
        mut same_value: impl FnMut() -> bool,
        mut same: Option<RacingAccess>,
    ) -> Option<RacingAccess> {
        let Current { kind, epoch, location, .. } = *access;
        // Apart from order, either all lanes of a group race or none.
        let why = |record: Record, other: AccessKind| {
            if kind.races_with(other, order.distance(order.epoch_of(record), epoch)) {
                return Some(Why::Unordered);
            }
            let differ = (kind.writes() || other.writes()) && order.differ_in_size(kind, access.bytes, record);
            differ.then_some(Why::Size)
        };
        let races = |record: Record| why(record, record.strong_write()).is_some();
        for record in self.atomic_writers.concurrent_where(order, epoch, races) {
            let (earlier, other) = (order.epoch_of(record), record.strong_write());
            let Some(why) = why(record, other) else { continue };
            let mut is_same_value = false;
            if (kind, other) == (AccessKind::VolatileWrite, AccessKind::VolatileWrite) {
                if order.has_acquired_store(location, earlier, epoch) {
                    continue;
                }
                is_same_value = same_value();
            }
            let found = RacingAccess { kind: other, record, same_value: is_same_value, why };
            if !is_same_value {
                return Some(found);
            }
            same = same.or(Some(found));
        }
        let races = |record: Record| why(record, record.strong_read()).is_some();
        let mut readers = self.atomic_readers.concurrent_where(order, epoch, races);
        let reader = readers.find_map(|record| {
            let kind = record.strong_read();
            Some(RacingAccess { kind, record, same_value: false, why: why(record, kind)? })
        });
        reader.or(same)
    }
}

#[cfg(test)]
mod tests {
    use super::Word;

    #[test]
    fn a_word_takes_40_bytes() {
        assert_eq!(size_of::<Word>(), 40);
    }
}
