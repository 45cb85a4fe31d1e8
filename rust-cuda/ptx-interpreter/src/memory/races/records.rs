//! The concurrent accesses of one kind to some bytes, as far as later race detection needs them.

use super::access::{AccessKind, Record, ThreadEpoch};
use super::happens_before::HappensBefore;

/// Maximum number of groups of concurrent accesses of one kind that are kept.
const MAX_CONCURRENT: usize = 16;

/// Accesses of one kind. Either all of them only read, or all write.
///
/// An access that happens before another of them may be dropped if whatever races with it also
/// races with the other. Accesses that happen after the other also happen after it.
#[derive(Clone, Debug, Default)]
pub(super) struct Records<const IS_READ: bool> {
    latest: Option<Record>,
    /// The remaining accesses, in execution order. Most words have none.
    others: Option<Box<Others>>,
}

#[derive(Clone, Debug, Default)]
struct Others(Vec<Group>);

/// Accesses of a warp's lanes by one instruction in one phase.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// The latest of them.
    record: Record,
    /// The lanes: bit i is lane i.
    lanes: u32,
}

impl Group {
    fn new(record: Record) -> Self {
        Self { record, lanes: 1 << record.lane() }
    }

    fn add(&mut self, record: Record) {
        self.record = record;
        self.lanes |= 1 << record.lane();
    }

    /// The accesses that do not happen before another one, highest lane first.
    fn concurrent_with<const IS_READ: bool>(
        self,
        order: &HappensBefore,
        later: ThreadEpoch,
    ) -> impl Iterator<Item = Record> {
        let mut lanes = order.unordered_lanes::<IS_READ>(order.epoch_of(self.record), self.lanes, later);
        std::iter::from_fn(move || {
            (lanes != 0).then(|| {
                let lane = 31 - lanes.leading_zeros();
                lanes &= !(1 << lane);
                self.record.of_lane(lane)
            })
        })
    }
}

impl<const IS_READ: bool> Records<IS_READ> {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.latest.is_none()
    }

    /// The accesses, one for each group of lanes that made them together.
    pub(super) fn latest_of_lanes(&self) -> impl Iterator<Item = Record> {
        self.latest.into_iter().chain(self.others.iter().flat_map(|others| others.0.iter().map(|group| group.record)))
    }

    /// Whether all accesses happen before the current one, also if the lanes of all are shifted up
    /// by the same amount.
    pub(super) fn are_ordered_alike(&self, order: &HappensBefore, epoch: ThreadEpoch) -> bool {
        let mut groups = self.others.iter().flat_map(|others| others.0.iter());
        let is_ordered = |record: Record| order.is_ordered_alike(order.epoch_of(record), epoch);
        self.latest.is_none_or(is_ordered)
            && groups.all(|group| group.lanes == 1 << group.record.lane() && is_ordered(group.record))
    }

    /// Whether any access belongs to this epoch of a thread.
    pub(super) fn has_of(&self, epoch: ThreadEpoch) -> bool {
        let mut groups = self.others.iter().flat_map(|others| others.0.iter());
        let is_of = |record: Record| record.epoch == epoch.number;
        self.latest.is_some_and(is_of)
            || groups.any(|group| group.lanes >> epoch.lane & 1 == 1 && is_of(group.record.of_lane(epoch.lane)))
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.latest = None;
        if let Some(others) = &mut self.others {
            others.0.clear();
        }
    }

    /// The accesses shifted up by this many lanes.
    pub(super) fn of_later_lane(&self, by: u32) -> Self {
        let later = |record: Record| record.of_lane(record.lane() + by);
        let later_group = |group: &Group| Group { record: later(group.record), lanes: group.lanes << by };
        let others = self.others.as_ref().filter(|others| !others.0.is_empty());
        Self {
            latest: self.latest.map(later),
            others: others.map(|others| Box::new(Others(others.0.iter().map(later_group).collect()))),
        }
    }

    /// Adds accesses by lanes of a warp, including `record`. Equivalent to calling `add` for each,
    /// in ascending order.
    pub(super) fn add_lanes(
        &mut self,
        order: &HappensBefore,
        epoch: ThreadEpoch,
        (record, kind): (Record, AccessKind),
        lanes: u32,
    ) {
        let mut rest = lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            let record = record.of_lane(lane);
            self.add(order, epoch.of_lane(lane), record, kind);
            // The accesses of the next lanes join the others' group.
            if rest != 0
                && let (Some(latest), Some(others)) = (&mut self.latest, &mut self.others)
                && let Some(group) = others.0.last_mut().filter(|group| group.record.is_beside(*latest))
            {
                let last = 31 - rest.leading_zeros();
                let before = (rest | 1 << lane) & !(1 << last);
                group.lanes |= before;
                group.record = record.of_lane(31 - before.leading_zeros());
                *latest = record.of_lane(last);
                return;
            }
        }
    }

    /// The records that do not happen before an access, latest first.
    #[inline]
    pub(super) fn concurrent_with(&self, order: &HappensBefore, later: ThreadEpoch) -> impl Iterator<Item = Record> {
        self.concurrent_where(order, later, |_| true)
    }

    /// Like [`concurrent_with`](Self::concurrent_with), restricted to groups in which one record
    /// has a property. Then all records of the group have it.
    #[inline]
    pub(super) fn concurrent_where(
        &self,
        order: &HappensBefore,
        later: ThreadEpoch,
        has: impl Fn(Record) -> bool,
    ) -> impl Iterator<Item = Record> {
        let is_concurrent = |record: Record| !order.is_ordered::<IS_READ>(order.epoch_of(record), later);
        let latest = self.latest.filter(|record| has(*record) && is_concurrent(*record));
        let groups = self.others.iter().flat_map(|others| others.0.iter().rev());
        let groups = groups.filter(move |group| has(group.record));
        latest.into_iter().chain(groups.flat_map(move |group| group.concurrent_with::<IS_READ>(order, later)))
    }

    #[inline]
    pub(super) fn add(&mut self, order: &HappensBefore, epoch: ThreadEpoch, latest: Record, kind: AccessKind) {
        let Some(before) = self.latest.replace(latest) else { return };
        let has_others = self.others.as_ref().is_some_and(|others| !others.0.is_empty());
        if order.lanes_with(latest, before, kind) >> before.lane() & 1 == 1
            && (before.epoch == latest.epoch
                || !has_others && order.is_ordered::<IS_READ>(order.epoch_of(before), epoch))
        {
            return;
        }
        // Successive lanes of one instruction: the other records have already been pruned.
        if let Some(others) = &mut self.others
            && before.is_beside(latest)
            && let Some(group) = others.0.last_mut().filter(|group| group.record.is_beside(before))
        {
            return group.add(before);
        }
        self.keep(order, before, (latest, kind), epoch);
    }

    #[inline(never)]
    fn keep(
        &mut self,
        order: &HappensBefore,
        before: Record,
        (latest, kind): (Record, AccessKind),
        epoch: ThreadEpoch,
    ) {
        let Others(others) = &mut **self.others.get_or_insert_default();
        match others.iter_mut().find(|group| group.record.is_beside(before)) {
            Some(group) => group.add(before),
            None => others.push(Group::new(before)),
        }
        // For another warp, only accesses before a barrier can be ordered, unless the block's
        // accesses are ordered by more than barriers.
        let is_synchronised = order.is_synchronised(epoch.phase.block);
        let may_be_ordered = |group: &Group| {
            let (before, now) = (order.epoch_of(group.record).phase, epoch.phase);
            is_synchronised || before.block == now.block && (before.warp == now.warp || before.barriers < now.barriers)
        };
        if others.iter().any(may_be_ordered) {
            others.retain_mut(|group| {
                let covered = group.lanes & order.lanes_with(latest, group.record, kind);
                let unordered = order.unordered_lanes::<IS_READ>(order.epoch_of(group.record), covered, epoch);
                group.lanes = group.lanes & !covered | unordered;
                group.lanes != 0
            });
        }
        if others.len() < MAX_CONCURRENT {
            return;
        }
        // Drop a group of the same warp, otherwise of the same block. Its remaining groups detect
        // most of its races.
        let (mut of_warp, mut of_block) = ((None, 0), (None, 0));
        for (index, group) in others.iter().enumerate() {
            let phase = order.epoch_of(group.record).phase;
            if phase.block == epoch.phase.block {
                of_block = (of_block.0.or(Some(index)), of_block.1 + 1);
                if phase.warp == epoch.phase.warp {
                    of_warp = (of_warp.0.or(Some(index)), of_warp.1 + 1);
                }
            }
        }
        let oldest_of = |(first, count): (Option<usize>, u32), at_least| first.filter(|_| count >= at_least);
        let oldest = oldest_of(of_warp, 2).or_else(|| oldest_of(of_block, 4)).unwrap_or(0);
        others.remove(oldest);
    }
}
