//! What happened to the bytes of a word.

use std::ops::Range;

use super::AccessKind;
use super::order::{Order, Party};
use super::records::{Record, Records};

/// What happened to some bytes that were always accessed together.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// The latest plain writer.
    writer: Option<Record>,
    readers: Records,
    /// Most words are never accessed atomically, nor written by several threads at once.
    rare: Option<Box<Rare>>,
}

#[derive(Clone, Debug, Default)]
struct Rare {
    atomic_readers: Records,
    atomic_writers: Records,
    /// Plain writers concurrent with `writer` that wrote the value it wrote; of another value, the race is reported.
    same_writers: Records,
}

/// An earlier access that races with the present one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) kind: AccessKind,
    pub(super) record: Record,
    /// Whether both are plain writes of the same value.
    pub(super) same_value: bool,
}

/// What happened to the four bytes of a word.
#[derive(Clone, Debug)]
pub(super) enum Word {
    Whole(History),
    /// Some access was to a part of them.
    Bytes(Box<[History; 4]>),
}

impl Default for Word {
    fn default() -> Self {
        Self::Whole(History::default())
    }
}

impl Word {
    /// Remembers an access to some of its bytes, and returns the first byte with an access that races with it; one of
    /// another value comes before one of the same value. `same_value` says whether a plain write of these bytes of the
    /// word leaves them as they are.
    #[inline]
    pub(super) fn record(
        &mut self,
        order: &Order,
        bytes: Range<usize>,
        kind: AccessKind,
        party: Party,
        instruction: u32,
        same_value: &mut impl FnMut(Range<usize>) -> bool,
    ) -> Option<(usize, Found)> {
        if let Self::Whole(history) = self {
            if bytes.len() == 4 {
                let found = history.record(order, kind, party, instruction, || same_value(0..4))?;
                return Some((0, found));
            }
            *self = Self::Bytes(Box::new(std::array::from_fn(|_| history.clone())));
        }
        let Self::Bytes(histories) = self else { return None };
        let mut found: Option<(usize, Found)> = None;
        for byte in bytes {
            let conflict = histories[byte].record(order, kind, party, instruction, || same_value(byte..byte + 1));
            if let Some(conflict) = conflict
                && found.is_none_or(|(_, found)| found.same_value && !conflict.same_value)
            {
                found = Some((byte, conflict));
            }
        }
        found
    }
}

impl History {
    #[inline]
    fn record(
        &mut self,
        order: &Order,
        kind: AccessKind,
        party: Party,
        instruction: u32,
        same_value: impl FnOnce() -> bool,
    ) -> Option<Found> {
        let conflict = self.conflict(order, kind, party, same_value);
        match kind {
            AccessKind::Read => self.readers.add(order, party, instruction),
            AccessKind::AtomicRead => self.rare.get_or_insert_default().atomic_readers.add(order, party, instruction),
            AccessKind::AtomicWrite => self.rare.get_or_insert_default().atomic_writers.add(order, party, instruction),
            AccessKind::Write => {
                let earlier = self.writer.replace(Record { party: party.number, instruction });
                // What races with an earlier access and not with this write cannot be: it would happen after the
                // write, and the write happened after all others, or else a race has been reported.
                self.readers.clear();
                if let Some(rare) = &mut self.rare {
                    rare.atomic_readers.clear();
                    rare.atomic_writers.clear();
                }
                match (conflict, earlier) {
                    // Not so the other writers of the same value, whose race need not end the launch.
                    (Some(Found { same_value: true, .. }), Some(earlier)) => {
                        let others = &mut self.rare.get_or_insert_default().same_writers;
                        others.add(order, order.party_of(earlier), earlier.instruction);
                    }
                    _ => {
                        if let Some(rare) = &mut self.rare {
                            rare.same_writers.clear();
                        }
                    }
                }
            }
        }
        conflict
    }

    #[inline]
    fn conflict(
        &self,
        order: &Order,
        kind: AccessKind,
        party: Party,
        same_value: impl FnOnce() -> bool,
    ) -> Option<Found> {
        let writer = self.writer.filter(|writer| !order.is_ordered(order.party_of(*writer), party));
        let same_writers = || self.rare.as_ref()?.same_writers.concurrent_with(order, party);
        let mut same = None;
        if let Some(record) = writer.or_else(same_writers) {
            let same_value = kind == AccessKind::Write && same_value();
            let found = Found { kind: AccessKind::Write, record, same_value };
            if !same_value {
                return Some(found);
            }
            same = Some(found);
        }
        self.other_conflict(order, kind, party).or(same)
    }

    /// An access beside the plain writes that races.
    #[inline]
    fn other_conflict(&self, order: &Order, kind: AccessKind, party: Party) -> Option<Found> {
        let found = |kind, record| Some(Found { kind, record, same_value: false });
        if kind.races_with(AccessKind::Read)
            && let Some(reader) = self.readers.concurrent_with(order, party)
        {
            return found(AccessKind::Read, reader);
        }
        let rare = self.rare.as_ref()?;
        if kind.races_with(AccessKind::AtomicWrite)
            && let Some(writer) = rare.atomic_writers.concurrent_with(order, party)
        {
            return found(AccessKind::AtomicWrite, writer);
        }
        if kind.races_with(AccessKind::AtomicRead)
            && let Some(reader) = rare.atomic_readers.concurrent_with(order, party)
        {
            return found(AccessKind::AtomicRead, reader);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Word;

    #[test]
    fn a_word_is_as_small_as_promised() {
        assert_eq!(size_of::<Word>(), 40);
    }
}
