//! The concurrent accesses of one kind to some bytes, as far as detection of a later race needs them.

use super::access::{Record, ThreadEpoch};
use super::happens_before::HappensBefore;

/// Maximum number of concurrent accesses of one kind that are kept.
const MAX_CONCURRENT: usize = 16;

/// Maximum number of them by lanes of one warp in one phase.
const MAX_PER_PHASE: usize = 4;

/// Accesses of one kind, none of which happens before another.
///
/// An access that happens before another of them need not be kept: what happens after the other happens after it too.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    latest: Option<Record>,
    /// The others, in order of execution; most words have none.
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

    /// The records that do not happen before an access, the latest first.
    #[inline]
    pub(super) fn concurrent_with(&self, order: &HappensBefore, later: ThreadEpoch) -> impl Iterator<Item = Record> {
        let others = self.others.iter().flat_map(|others| others.0.iter().rev());
        let records = self.latest.iter().chain(others).copied();
        records.filter(move |record| !order.is_ordered(order.epoch_of(*record), later))
    }

    #[inline]
    pub(super) fn add(&mut self, order: &HappensBefore, epoch: ThreadEpoch, latest: Record) {
        let Some(before) = self.latest.replace(latest) else { return };
        let has_others = self.others.as_ref().is_some_and(|others| !others.0.is_empty());
        let is_same_kind = before.has_tag_of(latest);
        if is_same_kind
            && (before.epoch == latest.epoch || !has_others && order.is_ordered(order.epoch_of(before), epoch))
        {
            return;
        }
        if has_others && is_same_kind && before.is_of_same_phase(latest) {
            self.keep_of_same_phase(order, before, latest, epoch);
        } else {
            self.keep(order, before, latest, epoch);
        }
    }

    /// As `keep`, for successive lanes of the same phase: the other records have already been pruned.
    fn keep_of_same_phase(&mut self, order: &HappensBefore, before: Record, latest: Record, epoch: ThreadEpoch) {
        let Others(others) = &mut **self.others.get_or_insert_default();
        if let Some(latest_three) = others.last_chunk_mut::<{ MAX_PER_PHASE - 1 }>()
            && latest_three.iter().all(|record| record.is_of_same_phase(before) && record.has_tag_of(before))
        {
            // These are all records of the phase.
            let replaced = latest_three.iter().position(|record| record.epoch == latest.epoch).unwrap_or(0);
            latest_three[replaced..].rotate_left(1);
            latest_three[MAX_PER_PHASE - 2] = before;
            return;
        }
        let of_lane = others.iter().position(|record| record.epoch == latest.epoch && record.has_tag_of(latest));
        let replaced = of_lane.or_else(|| {
            let mut beside = others.iter().enumerate().filter(|(_, record)| record.is_of_same_phase(before));
            let first = beside.next()?.0;
            (beside.count() + 3 > MAX_PER_PHASE).then_some(first)
        });
        match replaced {
            Some(replaced) => {
                others.remove(replaced);
                others.push(before);
            }
            None => self.keep(order, before, latest, epoch),
        }
    }

    fn keep(&mut self, order: &HappensBefore, before: Record, latest: Record, epoch: ThreadEpoch) {
        let Others(others) = &mut **self.others.get_or_insert_default();
        others.push(before);
        others.retain(|record| !record.has_tag_of(latest) || !order.is_ordered(order.epoch_of(*record), epoch));
        if others.len() < MAX_CONCURRENT {
            return;
        }
        // Drop a record of the same warp, else of the same block: the ones that remain of it detect most of its races.
        let phase = |record: &Record| order.epoch_of(*record).phase;
        let is_of_block = |record: &Record| phase(record).block == epoch.phase.block;
        let is_of_warp = |record: &Record| is_of_block(record) && phase(record).warp == epoch.phase.warp;
        let oldest_of = |is_of: &dyn Fn(&Record) -> bool, at_least: usize| {
            let first = others.iter().position(is_of)?;
            (others.iter().filter(|record| is_of(record)).count() >= at_least).then_some(first)
        };
        let oldest = oldest_of(&is_of_warp, 2).or_else(|| oldest_of(&is_of_block, 4)).unwrap_or(0);
        others.remove(oldest);
    }
}
