//! Who accessed some bytes in one way, as far as a later race needs it.

use std::num::NonZero;

use super::order::{Order, Party};

/// An access, told by eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The party's number, see `Order::party_of`.
    pub(super) party: NonZero<u32>,
    pub(super) instruction: u32,
}

/// So many accesses of one kind that are all concurrent are remembered.
const MOST: usize = 16;

/// So many of them of the lanes of a warp in one phase.
const MOST_OF_A_PHASE: usize = 4;

impl Record {
    /// Whether lanes of one warp made both, in the same phase.
    fn is_beside(self, other: Self) -> bool {
        self.party.get() >> 5 == other.party.get() >> 5
    }
}

/// Accesses of one kind, none of which happens before another.
///
/// One that happens before another of them needs no remembering: what happens after the other happens after it.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    latest: Option<Record>,
    /// The others, in the order of time; most words have none.
    others: Option<Box<Others>>,
}

#[derive(Clone, Debug, Default)]
struct Others(Vec<Record>);

impl Records {
    pub(super) fn clear(&mut self) {
        self.latest = None;
        if let Some(others) = &mut self.others {
            others.0.clear();
        }
    }

    /// The latest of those that don't happen before an access.
    #[inline]
    pub(super) fn concurrent_with(&self, order: &Order, later: Party) -> Option<Record> {
        let others = self.others.iter().flat_map(|others| others.0.iter().rev());
        self.latest.iter().chain(others).find(|record| !order.is_ordered(order.party_of(**record), later)).copied()
    }

    #[inline]
    pub(super) fn add(&mut self, order: &Order, party: Party, instruction: u32) {
        let latest = Record { party: party.number, instruction };
        let Some(before) = self.latest.replace(latest) else { return };
        let has_others = self.others.as_ref().is_some_and(|others| !others.0.is_empty());
        if before.party == latest.party || !has_others && order.is_ordered(order.party_of(before), party) {
            return;
        }
        if has_others && before.is_beside(latest) {
            self.keep_beside(order, before, party);
        } else {
            self.keep(order, before, party);
        }
    }

    /// As `keep`, for lanes that come one after the other in the same phase: the others have been looked through.
    fn keep_beside(&mut self, order: &Order, before: Record, latest: Party) {
        let Others(others) = &mut **self.others.get_or_insert_default();
        if let Some(latest_three) = others.last_chunk_mut::<{ MOST_OF_A_PHASE - 1 }>()
            && latest_three.iter().all(|record| record.is_beside(before))
        {
            // There are no more of the phase.
            let replaced = latest_three.iter().position(|record| record.party == latest.number).unwrap_or(0);
            latest_three[replaced..].rotate_left(1);
            latest_three[MOST_OF_A_PHASE - 2] = before;
            return;
        }
        let of_lane = others.iter().position(|record| record.party == latest.number);
        let replaced = of_lane.or_else(|| {
            let mut beside = others.iter().enumerate().filter(|(_, record)| record.is_beside(before));
            let first = beside.next()?.0;
            (beside.count() + 3 > MOST_OF_A_PHASE).then_some(first)
        });
        match replaced {
            Some(replaced) => {
                others.remove(replaced);
                others.push(before);
            }
            None => self.keep(order, before, latest),
        }
    }

    fn keep(&mut self, order: &Order, before: Record, latest: Party) {
        let Others(others) = &mut **self.others.get_or_insert_default();
        others.push(before);
        others.retain(|record| !order.is_ordered(order.party_of(*record), latest));
        if others.len() < MOST {
            return;
        }
        // Another thread of the same warp, then of the same block, tells most of what the forgotten one told.
        let phase = |record: &Record| order.party_of(*record).phase;
        let is_of_block = |record: &Record| phase(record).block == latest.phase.block;
        let is_of_warp = |record: &Record| is_of_block(record) && phase(record).warp == latest.phase.warp;
        let oldest_of = |is_of: &dyn Fn(&Record) -> bool, at_least: usize| {
            let first = others.iter().position(is_of)?;
            (others.iter().filter(|record| is_of(record)).count() >= at_least).then_some(first)
        };
        let oldest = oldest_of(&is_of_warp, 2).or_else(|| oldest_of(&is_of_block, 4)).unwrap_or(0);
        others.remove(oldest);
    }
}
