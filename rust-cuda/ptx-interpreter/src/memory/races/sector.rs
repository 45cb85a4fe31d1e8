//! Access histories of 32 consecutive bytes.

use super::access::AccessKind;
use super::happens_before::HappensBefore;
use super::history::{Current, History, Word};

/// Number of bytes of a sector.
pub(super) const SECTOR_BYTES: usize = 32;

/// Number of words of a sector.
const WORDS: usize = SECTOR_BYTES / 4;

/// The access history of the bytes of a sector. Most sectors are accessed by consecutive lanes of a
/// warp, each accessing the next element. Then one history serves all of them.
#[derive(Clone, Debug)]
pub(super) enum Sector {
    /// All accesses so far followed this pattern.
    Alike {
        /// The first element's history. Each next element has the same history with every record's
        /// lane increased by one.
        first: History,
        /// The size of an element in bytes, a power of two. 0 before the first access.
        element: u8,
    },
    /// Separate histories for each word.
    Words(Box<[Word; WORDS]>),
}

impl Default for Sector {
    fn default() -> Self {
        Self::Alike { first: History::default(), element: 0 }
    }
}

impl Sector {
    /// Records accesses by consecutive lanes to all elements of the sector, if all earlier accesses
    /// had this pattern and none races. `access` is the first lane's access. `silence` tells
    /// whether all of them write the values already in memory, or none does; `None` if only some
    /// do. Returns whether the accesses were recorded.
    #[inline]
    pub(super) fn record_alike(
        &mut self,
        order: &HappensBefore,
        access: &Current,
        silence: impl FnOnce() -> Option<bool>,
    ) -> bool {
        let Self::Alike { first, element } = self else { return false };
        if *element == 0 {
            *element = access.bytes as u8;
        }
        let is_synchronised = order.is_synchronised(access.epoch.phase.block);
        if usize::from(*element) != access.bytes || is_synchronised && !first.is_ordered_alike(order, access.epoch) {
            return false;
        }
        let Some(is_silent) = silence().filter(|is_silent| !first.has_conflict(order, access, *is_silent)) else {
            return false;
        };
        first.add(order, access, is_silent);
        true
    }

    /// Records a lane's access, if it does not race. Returns whether it was recorded.
    #[inline]
    pub(super) fn record_quiet(&mut self, order: &HappensBefore, access: &Current, is_silent: bool) -> bool {
        let (at, writes) = (access.location.offset % SECTOR_BYTES, access.kind == AccessKind::Write);
        let (words, bytes) = (at / 4..(at + access.bytes).div_ceil(4), at % 4..(at % 4 + access.bytes).min(4));
        let races = |history: &History| history.has_conflict(order, access, is_silent);
        for word in words.clone() {
            let histories = self.word(word).histories(bytes.clone(), writes);
            if histories.is_none_or(|histories| histories.iter().any(races)) {
                return false;
            }
        }
        for word in words {
            let histories = self.word(word).histories(bytes.clone(), writes);
            histories.into_iter().flatten().for_each(|history| history.add(order, access, is_silent));
        }
        true
    }

    /// Records reads of whole words at the same address by lanes of a warp, including `access`, if
    /// none of them can race. Returns whether they were recorded.
    pub(super) fn read_by_lanes(&mut self, order: &HappensBefore, access: &Current, lanes: u32) -> bool {
        let first = access.location.offset % SECTOR_BYTES / 4;
        let words = first..first + access.bytes / 4;
        let is_possible = words.clone().all(|word| match self.word(word) {
            Word::Whole(history) => history.may_be_read_by_warp(order, access.epoch),
            Word::Bytes(_) => false,
        });
        if is_possible {
            for word in words {
                if let Word::Whole(history) = self.word(word) {
                    history.read_by_lanes(order, access, lanes);
                }
            }
        }
        is_possible
    }

    /// The history of the word at this index, kept separately from now on.
    #[inline]
    pub(super) fn word(&mut self, index: usize) -> &mut Word {
        match self {
            Self::Words(words) => &mut words[index],
            Self::Alike { .. } => self.split_up_to(index),
        }
    }

    #[inline(never)]
    fn split_up_to(&mut self, index: usize) -> &mut Word {
        if let Self::Alike { first, element } = self {
            let of = |byte: usize| match usize::from(*element) {
                0 => History::default(),
                element => first.of_later_lane((byte / element) as u32),
            };
            *self = Self::Words(Box::new(std::array::from_fn(|word| match element {
                1 | 2 => Word::Bytes(Box::new(std::array::from_fn(|byte| of(4 * word + byte)))),
                _ => Word::Whole(of(4 * word)),
            })));
        }
        match self {
            Self::Words(words) => &mut words[index],
            Self::Alike { .. } => unreachable!("it has just been split up"),
        }
    }
}
