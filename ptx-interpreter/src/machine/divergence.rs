//! Which lanes of a warp are where.
//!
//! A warp's lanes run together as long as they take the same way. Where they part, at a branch, each part becomes a
//! [`Fragment`] of its own, and a [`Join`] says at which instruction they meet again: the branch's immediate
//! postdominator. A fragment that gets there waits for the others; lanes that exit are no longer waited for. Fragments
//! take turns, so that lanes which wait for others of their own warp make progress, as on GPUs since sm_70, whose
//! compilers place such convergence barriers at the same points. Lanes that wait at a join for others which go round and
//! round go on without them in the end: they may hold the lock that the others want.

/// Lanes that are at the same instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    pub(super) pc: usize,
    pub(super) mask: u32,
    /// The join that they are on their way to.
    pub(super) join: Option<usize>,
    pub(super) state: State,
}

/// Whether a fragment can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// At the block's barrier of this number.
    AtBarrier(u8),
    /// At an operation of these lanes, for which not all are here.
    AtWarpOperation(u32),
}

/// A point where fragments meet.
#[derive(Clone, Copy, Debug)]
struct Join {
    pc: usize,
    /// The lanes that are still to come or have come.
    expected: u32,
    arrived: u32,
    /// The join around it.
    outer: Option<usize>,
    /// Whether those who come go on without the others.
    given_up: bool,
}

/// The fragments of a warp.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    pub(super) fragments: Vec<Fragment>,
    joins: Vec<Join>,
    /// Joins that can be used again.
    free: Vec<usize>,
}

impl Fragments {
    /// All lanes of `mask` at the first instruction.
    pub(super) fn start(&mut self, mask: u32) {
        self.fragments.clear();
        self.joins.clear();
        self.free.clear();
        self.fragments.push(Fragment { pc: 0, mask, join: None, state: State::Ready });
    }

    /// The instruction at which the fragment waits for others.
    #[inline]
    pub(super) fn meeting_point(&self, fragment: usize) -> usize {
        self.fragments[fragment].join.map_or(usize::MAX, |join| self.joins[join].pc)
    }

    /// Parts a fragment: the lanes of each mask go to the instruction beside it, and meet again at `meet`.
    pub(super) fn part(&mut self, fragment: usize, ways: &[(u32, usize)], meet: Option<usize>) {
        let Fragment { mask, join: outer, state, .. } = self.fragments[fragment];
        let join = match (meet, outer) {
            // They are on their way there already.
            (Some(pc), Some(outer)) if self.joins[outer].pc == pc => Some(outer),
            (Some(pc), outer) => Some(self.new_join(Join { pc, expected: mask, arrived: 0, outer, given_up: false })),
            (None, outer) => outer,
        };
        let mut ways = ways.iter().filter(|(mask, _)| *mask != 0);
        if let Some(&(mask, pc)) = ways.next() {
            self.fragments[fragment] = Fragment { pc, mask, join, state };
        }
        self.fragments.extend(ways.map(|&(mask, pc)| Fragment { pc, mask, join, state }));
    }

    /// The fragment has come to its join: it ends here, and when all have come one goes on from there.
    pub(super) fn arrive(&mut self, fragment: usize) {
        let Fragment { mask, join, .. } = self.fragments.swap_remove(fragment);
        if let Some(join) = join {
            self.joins[join].arrived |= mask;
            if self.joins[join].given_up {
                self.go_on(join);
            }
            self.complete(join);
        }
    }

    /// Nobody waits any more at the innermost join of the fragment at which lanes wait for it.
    pub(super) fn give_up(&mut self, fragment: usize) {
        let mut next = self.fragments[fragment].join;
        while let Some(join) = next {
            if self.joins[join].arrived != 0 {
                self.joins[join].given_up = true;
                return self.go_on(join);
            }
            next = self.joins[join].outer;
        }
    }

    /// Lets the lanes go on that have come to a join.
    fn go_on(&mut self, join: usize) {
        let Join { pc, expected, arrived, outer, .. } = self.joins[join];
        self.joins[join].expected = expected & !arrived;
        self.joins[join].arrived = 0;
        self.fragments.push(Fragment { pc, mask: arrived, join: outer, state: State::Ready });
    }

    /// Lanes of a fragment have left the kernel; the fragment goes if none is left. Returns whether it stays.
    pub(super) fn exit(&mut self, fragment: usize, lanes: u32) -> bool {
        let Fragment { mask, join, .. } = &mut self.fragments[fragment];
        *mask &= !lanes;
        let (stays, mut next) = (*mask != 0, *join);
        if !stays {
            self.fragments.swap_remove(fragment);
        }
        while let Some(join) = next {
            next = self.joins[join].outer;
            self.joins[join].expected &= !lanes;
            self.complete(join);
        }
        stays
    }

    /// Lets the lanes go on that have met, if all have come.
    fn complete(&mut self, join: usize) {
        let Join { pc, expected, arrived, outer, .. } = self.joins[join];
        if expected != arrived {
            return;
        }
        // What is free never completes.
        self.joins[join] = Join { pc: usize::MAX, expected: u32::MAX, arrived: 0, outer: None, given_up: false };
        self.free.push(join);
        if arrived == 0 {
            return;
        }
        match outer {
            // Nested branches may end at one point.
            Some(outer) if self.joins[outer].pc == pc => {
                self.joins[outer].arrived |= arrived;
                self.complete(outer);
            }
            _ => self.fragments.push(Fragment { pc, mask: arrived, join: outer, state: State::Ready }),
        }
    }

    fn new_join(&mut self, join: Join) -> usize {
        match self.free.pop() {
            Some(index) => {
                self.joins[index] = join;
                index
            }
            None => {
                self.joins.push(join);
                self.joins.len() - 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(fragments: &Fragments) -> Vec<(usize, u32)> {
        fragments.fragments.iter().map(|fragment| (fragment.pc, fragment.mask)).collect()
    }

    #[test]
    fn both_ways_meet_after_the_branch() {
        let mut fragments = Fragments::default();
        fragments.start(0b1111);
        fragments.part(0, &[(0b0011, 5), (0b1100, 1)], Some(9));
        assert_eq!(at(&fragments), [(5, 0b0011), (1, 0b1100)]);
        assert_eq!(fragments.meeting_point(0), 9);
        fragments.arrive(0);
        assert_eq!(at(&fragments), [(1, 0b1100)]);
        fragments.arrive(0);
        assert_eq!(at(&fragments), [(9, 0b1111)]);
        assert_eq!(fragments.meeting_point(0), usize::MAX);
    }

    #[test]
    fn lanes_that_leave_a_loop_one_by_one_share_one_join() {
        let mut fragments = Fragments::default();
        fragments.start(0b111);
        fragments.part(0, &[(0b110, 2), (0b001, 9)], Some(9));
        fragments.arrive(1);
        fragments.part(0, &[(0b100, 2), (0b010, 9)], Some(9));
        fragments.arrive(1);
        assert_eq!(at(&fragments), [(2, 0b100)]);
        assert_eq!(fragments.joins.len(), 1);
        fragments.arrive(0);
        assert_eq!(at(&fragments), [(9, 0b111)]);
    }

    #[test]
    fn nobody_waits_for_lanes_that_exit() {
        let mut fragments = Fragments::default();
        fragments.start(0b1111);
        fragments.part(0, &[(0b0011, 5), (0b1100, 1)], Some(9));
        fragments.arrive(0);
        assert!(fragments.exit(0, 0b0100));
        assert_eq!(at(&fragments), [(1, 0b1000)]);
        assert!(!fragments.exit(0, 0b1000));
        assert_eq!(at(&fragments), [(9, 0b0011)]);
    }

    #[test]
    fn nested_branches_that_end_at_one_point_join_there_once() {
        let mut fragments = Fragments::default();
        fragments.start(0b1111);
        fragments.part(0, &[(0b0011, 5), (0b1100, 1)], Some(9));
        // The first part parts again and meets at 7 before it goes on to 9.
        fragments.part(0, &[(0b0001, 6), (0b0010, 6)], Some(7));
        assert_eq!(at(&fragments), [(6, 0b0001), (1, 0b1100), (6, 0b0010)]);
        fragments.arrive(2);
        fragments.arrive(0);
        assert_eq!(at(&fragments), [(1, 0b1100), (7, 0b0011)]);
        fragments.arrive(0);
        fragments.arrive(0);
        assert_eq!(at(&fragments), [(9, 0b1111)]);
    }

    #[test]
    fn lanes_go_on_without_those_who_never_come() {
        let mut fragments = Fragments::default();
        fragments.start(0b1111);
        fragments.part(0, &[(0b0111, 2), (0b1000, 9)], Some(9));
        fragments.arrive(1);
        fragments.give_up(0);
        assert_eq!(at(&fragments), [(2, 0b0111), (9, 0b1000)]);
        assert_eq!(fragments.meeting_point(1), usize::MAX);
        // Those who come later don't wait either.
        fragments.part(0, &[(0b0110, 2), (0b0001, 9)], Some(9));
        fragments.arrive(2);
        assert_eq!(at(&fragments), [(2, 0b0110), (9, 0b1000), (9, 0b0001)]);
        fragments.arrive(0);
        assert_eq!(at(&fragments), [(9, 0b0001), (9, 0b1000), (9, 0b0110)]);
        assert_eq!(fragments.free, [0]);
    }

    #[test]
    fn ways_that_never_meet_stay_apart() {
        let mut fragments = Fragments::default();
        fragments.start(0b11);
        fragments.part(0, &[(0b01, 5), (0b10, 1)], None);
        assert_eq!(at(&fragments), [(5, 0b01), (1, 0b10)]);
        assert!(!fragments.exit(0, 0b01));
        assert_eq!(at(&fragments), [(1, 0b10)]);
    }
}
