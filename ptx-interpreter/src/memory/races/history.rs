//! What happened to the bytes of a word.

use std::ops::Range;

use super::AccessKind;
use super::order::{Order, Party};
use super::records::{Record, Records};

/// What happened to some bytes that were always accessed together.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// One is enough: two concurrent plain writers are a race already.
    writer: Option<Record>,
    readers: Records,
    /// Most words are never accessed atomically.
    atomics: Option<Box<Atomics>>,
}

#[derive(Clone, Debug, Default)]
struct Atomics {
    readers: Records,
    writers: Records,
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
    /// Remembers an access to some of its bytes, and returns the first byte with an access that races with it.
    #[inline]
    pub(super) fn record(
        &mut self,
        order: &Order,
        bytes: Range<usize>,
        kind: AccessKind,
        party: Party,
        instruction: u32,
    ) -> Option<(usize, AccessKind, Record)> {
        if let Self::Whole(history) = self {
            if bytes.len() == 4 {
                let (kind, record) = history.record(order, kind, party, instruction)?;
                return Some((0, kind, record));
            }
            *self = Self::Bytes(Box::new(std::array::from_fn(|_| history.clone())));
        }
        let Self::Bytes(histories) = self else { return None };
        let mut found = None;
        for byte in bytes {
            let conflict = histories[byte].record(order, kind, party, instruction);
            found = found.or(conflict.map(|(kind, record)| (byte, kind, record)));
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
    ) -> Option<(AccessKind, Record)> {
        let conflict = self.conflict(order, kind, party);
        match kind {
            AccessKind::Read => self.readers.add(order, party, instruction),
            AccessKind::AtomicRead => self.atomics.get_or_insert_default().readers.add(order, party, instruction),
            AccessKind::AtomicWrite => self.atomics.get_or_insert_default().writers.add(order, party, instruction),
            AccessKind::Write => {
                self.writer = Some(Record { party: party.number, instruction });
                // What races with an earlier access and not with this write cannot be: it would happen after the
                // write, and the write happened after all others, or else a race has been reported.
                self.readers.clear();
                if let Some(atomics) = &mut self.atomics {
                    atomics.readers.clear();
                    atomics.writers.clear();
                }
            }
        }
        conflict
    }

    #[inline]
    fn conflict(&self, order: &Order, kind: AccessKind, party: Party) -> Option<(AccessKind, Record)> {
        if let Some(writer) = self.writer
            && !order.is_ordered(order.party_of(writer), party)
        {
            return Some((AccessKind::Write, writer));
        }
        if kind.races_with(AccessKind::Read)
            && let Some(reader) = self.readers.concurrent_with(order, party)
        {
            return Some((AccessKind::Read, reader));
        }
        let atomics = self.atomics.as_ref()?;
        if kind.races_with(AccessKind::AtomicWrite)
            && let Some(writer) = atomics.writers.concurrent_with(order, party)
        {
            return Some((AccessKind::AtomicWrite, writer));
        }
        if kind.races_with(AccessKind::AtomicRead)
            && let Some(reader) = atomics.readers.concurrent_with(order, party)
        {
            return Some((AccessKind::AtomicRead, reader));
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
