// Some lanes of a warp as a group, on a GPU and in the simulator; both `warp` modules include this file.

/// Lanes of a warp that work together: a [`tile`], or those of a mask ([`lanes`]). An operation waits for all of them that have not
/// exited, and for no others; each of them must reach it with the same group. Their ranks count from 0, from the lowest lane on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    mask: u32,
    /// The lowest lane, if they follow one another.
    first: Option<u32>,
}

/// The thread's group of `size` lanes, one of the 32 / `size` that follow one another in its warp.
///
/// # Panics
/// If `size` is not 1, 2, 4, 8, 16 or 32.
#[inline(always)]
#[track_caller]
pub fn tile(size: u32) -> Lanes {
    assert!(size.is_power_of_two() && size <= 32, "a tile has 1, 2, 4, 8, 16 or 32 lanes");
    let first = lane_id() & !(size - 1);
    Lanes { mask: u32::MAX >> (32 - size) << first, first: Some(first) }
}

/// The lanes whose bits `mask` has, of which the thread's is one.
#[inline(always)]
pub fn lanes(mask: u32) -> Lanes {
    Lanes { mask, first: None }
}

/// The lanes of the warp that the block has: all 32, or fewer in the last warp of a block that is not made of whole warps.
#[inline(always)]
pub fn whole() -> Lanes {
    let dim = crate::thread::block_dim();
    let rest = dim.x * dim.y * dim.z - crate::block::thread() / 32 * 32;
    Lanes { mask: if rest >= 32 { u32::MAX } else { !(u32::MAX << rest) }, first: Some(0) }
}

impl Lanes {
    /// The lanes: bit i is lane i of the warp.
    #[inline(always)]
    pub fn mask(self) -> u32 {
        self.mask
    }

    /// The number of lanes.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)] // A group has the thread's lane.
    pub fn len(self) -> u32 {
        self.mask.count_ones()
    }

    /// The number of lanes of the group below the thread's.
    #[inline(always)]
    pub fn rank(self) -> u32 {
        match self.first {
            Some(first) => lane_id() - first,
            None => (self.mask & !(u32::MAX << lane_id())).count_ones(),
        }
    }

    /// The lane of this rank.
    #[inline(always)]
    fn lane_of(self, rank: u32) -> u32 {
        match self.first {
            Some(first) => first + rank,
            None => {
                let mut rest = self.mask;
                let mut below = 0;
                while below < rank {
                    rest &= rest - 1;
                    below += 1;
                }
                rest.trailing_zeros()
            }
        }
    }

    /// Waits for the group. The accesses to memory of its lanes before it are ordered before this lane's after it.
    #[inline(always)]
    #[track_caller]
    pub fn sync(self) {
        sync_within(self.mask);
    }

    /// The `value` of the lane of this rank, modulo the number of lanes.
    #[inline(always)]
    #[track_caller]
    pub fn shuffle<T: Shuffled>(self, value: T, rank: u32) -> T {
        shuffle_within(self.mask, value, self.lane_of(rank % self.len()))
    }

    /// The `value` of the lane whose rank is `delta` less; the lowest `delta` lanes keep their own.
    #[inline(always)]
    #[track_caller]
    pub fn shuffle_up<T: Shuffled>(self, value: T, delta: u32) -> T {
        let rank = self.rank();
        self.shuffle(value, if rank >= delta { rank - delta } else { rank })
    }

    /// The `value` of the lane whose rank is `delta` more; the highest `delta` lanes keep their own.
    #[inline(always)]
    #[track_caller]
    pub fn shuffle_down<T: Shuffled>(self, value: T, delta: u32) -> T {
        let rank = self.rank();
        self.shuffle(value, if delta < self.len() - rank { rank + delta } else { rank })
    }

    /// The lanes of the group whose `predicate` holds: bit i is lane i of the warp, 0 if it has exited.
    #[inline(always)]
    #[track_caller]
    pub fn ballot(self, predicate: bool) -> u32 {
        ballot_within(self.mask, predicate)
    }

    /// Whether `predicate` holds for any lane of the group.
    #[inline(always)]
    #[track_caller]
    pub fn any(self, predicate: bool) -> bool {
        self.ballot(predicate) != 0
    }

    /// Whether `predicate` holds for all lanes of the group that have not exited.
    #[inline(always)]
    #[track_caller]
    pub fn all(self, predicate: bool) -> bool {
        self.ballot(!predicate) == 0
    }

    /// The lanes of the group whose value equals this one's: bit i is lane i of the warp, 0 if it has exited.
    #[inline(always)]
    #[track_caller]
    pub fn match_any<T: WarpInteger>(self, value: T) -> u32 {
        match_within(self.mask, value)
    }

    /// What `combine` makes of all values, in every lane of the group, whose lanes have not exited.
    ///
    /// A tree: the lane of rank i takes the value of rank i + 16, then 8, 4, 2 and 1, where there is one; then all take that of
    /// rank 0.
    #[inline(always)]
    #[track_caller]
    fn reduce<T: Shuffled>(self, value: T, combine: impl Fn(T, T) -> T) -> T {
        let (rank, length) = (self.rank(), self.len());
        let mut sum = value;
        let mut distance = 16;
        while distance > 0 {
            if distance < length {
                let other = self.shuffle_down(sum, distance);
                if distance < length - rank {
                    sum = combine(sum, other);
                }
            }
            distance /= 2;
        }
        self.shuffle(sum, 0)
    }

    /// The sum of all values, in every lane of the group.
    #[inline(always)]
    #[track_caller]
    pub fn reduce_add<T: WarpValue>(self, value: T) -> T {
        self.reduce(value, T::plus)
    }

    /// The maximum of all values, in every lane of the group.
    #[inline(always)]
    #[track_caller]
    pub fn reduce_max<T: WarpValue>(self, value: T) -> T {
        self.reduce(value, T::larger)
    }

    /// The minimum of all values, in every lane of the group.
    #[inline(always)]
    #[track_caller]
    pub fn reduce_min<T: WarpValue>(self, value: T) -> T {
        self.reduce(value, T::smaller)
    }

    /// The sum of the values of this lane and those of lower ranks.
    #[inline(always)]
    #[track_caller]
    pub fn inclusive_scan_add<T: WarpValue>(self, value: T) -> T {
        let rank = self.rank();
        let mut sum = value;
        let mut distance = 1;
        while distance < self.len() {
            let below = self.shuffle_up(sum, distance);
            if rank >= distance {
                sum = below.plus(sum);
            }
            distance *= 2;
        }
        sum
    }

    /// The sum of the values of lower ranks, `zero` in the lane of rank 0.
    #[inline(always)]
    #[track_caller]
    pub fn exclusive_scan_add<T: WarpValue>(self, value: T, zero: T) -> T {
        let below = self.shuffle_up(self.inclusive_scan_add(value), 1);
        if self.rank() == 0 { zero } else { below }
    }
}
