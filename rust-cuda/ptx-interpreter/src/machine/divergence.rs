//! Divergence and reconvergence of a warp's lanes.
//!
//! When lanes diverge at a branch, each side becomes a [`Path`]. They reconverge at a
//! [`ReconvergencePoint`] at the branch's immediate postdominator. A path that arrives there waits
//! for the others, but not for lanes that have exited. Paths run round-robin in time slices, so
//! lanes that wait for others of their own warp make progress. GPUs since sm_70 do the same, and
//! their compilers place convergence barriers at the same points. Lanes at a reconvergence point
//! may wait for others in a loop. They resume without the others after some slices, or once the
//! others are found to spin: the waiting lanes may hold the lock that the others spin on.

/// Lanes at the same instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) pc: usize,
    pub(super) mask: u32,
    /// Index of the path's reconvergence point.
    pub(super) point: Option<usize>,
    pub(super) state: PathState,
}

/// Whether a path can run and, if not, what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathState {
    Ready,
    /// Waits at the block's barrier of this number.
    AtBarrier(u8),
    /// Waits at the cluster's barrier.
    AtClusterBarrier,
    /// Waits at a warp-level operation until all lanes of this mask arrive.
    AtWarpOperation(u32),
}

/// An instruction at which paths reconverge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ReconvergencePoint {
    pc: usize,
    /// The lanes that have arrived or are still expected.
    expected: u32,
    arrived: u32,
    /// Index of the enclosing reconvergence point.
    outer: Option<usize>,
    /// Whether arriving lanes resume without waiting for the others.
    abandoned: bool,
}

/// The paths of a warp and the points where they reconverge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Divergence {
    pub(super) paths: Vec<Path>,
    points: Vec<ReconvergencePoint>,
    /// Indices of reusable `points`.
    free: Vec<usize>,
    /// Whether the other paths keep their order when one ends.
    keeps_order: bool,
}

impl Divergence {
    /// Size of the paths and points in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.paths) + size_of_val(&*self.points) + size_of_val(&*self.free)
    }

    /// The next instruction of each lane that has not exited, or the one where it waits. Yields the
    /// instruction, its lanes, and whether they can run.
    pub(super) fn places(&self) -> impl Iterator<Item = (usize, u32, bool)> {
        let waiting = self.points.iter().filter(|point| point.arrived != 0);
        let waiting = waiting.map(|point| (point.pc, point.arrived, false));
        self.paths.iter().map(|path| (path.pc, path.mask, path.state == PathState::Ready)).chain(waiting)
    }

    /// Puts all lanes of `mask` on one path at the first instruction.
    pub(super) fn start(&mut self, mask: u32) {
        self.paths.clear();
        self.points.clear();
        self.free.clear();
        self.keeps_order = false;
        self.paths.push(Path { pc: 0, mask, point: None, state: PathState::Ready });
    }

    /// Puts each of these lanes on its own path at the first instruction. The first lane runs
    /// first.
    pub(super) fn start_separately(&mut self, lanes: impl Iterator<Item = u32>) {
        self.start(0);
        self.paths.clear();
        self.keeps_order = true;
        self.paths.extend(lanes.map(|lane| Path { pc: 0, mask: 1 << lane, point: None, state: PathState::Ready }));
    }

    /// Index of the instruction at which the path waits for others. `usize::MAX` if there is none.
    #[inline]
    pub(super) fn reconvergence_pc(&self, path: usize) -> usize {
        self.paths[path].point.map_or(usize::MAX, |point| self.points[point].pc)
    }

    /// Splits a path. The lanes of each mask continue at the instruction paired with it, and
    /// reconverge at `reconvergence`.
    pub(super) fn diverge(&mut self, path: usize, paths: &[(u32, usize)], reconvergence: Option<usize>) {
        let Path { mask, point: outer, state, .. } = self.paths[path];
        let point = match (reconvergence, outer) {
            // The path already leads to this point.
            (Some(pc), Some(outer)) if self.points[outer].pc == pc => Some(outer),
            (Some(pc), outer) => {
                Some(self.new_point(ReconvergencePoint { pc, expected: mask, arrived: 0, outer, abandoned: false }))
            }
            (None, outer) => outer,
        };
        let mut paths = paths.iter().filter(|(mask, _)| *mask != 0);
        if let Some(&(mask, pc)) = paths.next() {
            self.paths[path] = Path { pc, mask, point, state };
        }
        self.paths.extend(paths.map(|&(mask, pc)| Path { pc, mask, point, state }));
    }

    /// Ends a path at its reconvergence point. Once all lanes have arrived, one path resumes from there.
    pub(super) fn arrive(&mut self, path: usize) {
        let Path { mask, point, .. } = self.paths[path];
        let Some(index) = point else { return };
        let point = &mut self.points[index];
        if point.abandoned {
            point.expected &= !mask;
            self.paths[path] = Path { pc: point.pc, mask, point: point.outer, state: PathState::Ready };
        } else {
            point.arrived |= mask;
            self.paths.swap_remove(path);
        }
        self.reconverge_if_complete(index);
    }

    /// Abandons the innermost reconvergence point at which lanes wait for the path. Those lanes
    /// resume without it. Returns whether there were any.
    pub(super) fn stop_waiting_for(&mut self, path: usize) -> bool {
        let mut next = self.paths[path].point;
        while let Some(point) = next {
            if self.points[point].arrived != 0 {
                self.points[point].abandoned = true;
                self.resume(point);
                return true;
            }
            next = self.points[point].outer;
        }
        false
    }

    /// Calls [`stop_waiting_for`](Self::stop_waiting_for) for the first runnable path that lanes
    /// wait for.
    pub(super) fn stop_waiting(&mut self) -> bool {
        let is_ready = |divergence: &Self, path: usize| divergence.paths[path].state == PathState::Ready;
        (0..self.paths.len()).any(|path| is_ready(self, path) && self.stop_waiting_for(path))
    }

    /// Resumes the lanes that have arrived at a point.
    fn resume(&mut self, point: usize) {
        let ReconvergencePoint { pc, expected, arrived, outer, .. } = self.points[point];
        self.points[point].expected = expected & !arrived;
        self.points[point].arrived = 0;
        self.paths.push(Path { pc, mask: arrived, point: outer, state: PathState::Ready });
    }

    /// Resumes the lanes that wait at an instruction which `ends` them, such as a return at the end
    /// of a kernel. GPUs do not make lanes wait there for the others. Returns whether there were
    /// any.
    pub(super) fn resume_at(&mut self, ends: impl Fn(usize) -> bool) -> bool {
        let mut any = false;
        for point in 0..self.points.len() {
            let ReconvergencePoint { pc, arrived, .. } = self.points[point];
            if arrived != 0 && ends(pc) {
                self.points[point].abandoned = true;
                self.resume(point);
                any = true;
            }
        }
        any
    }

    /// Removes lanes that have exited the kernel, and the path if no lanes are left on it. Returns
    /// whether the path remains.
    pub(super) fn exit(&mut self, path: usize, lanes: u32) -> bool {
        let Path { mask, point, .. } = &mut self.paths[path];
        *mask &= !lanes;
        let (stays, mut next) = (*mask != 0, *point);
        if !stays && self.keeps_order {
            self.paths.remove(path);
        } else if !stays {
            self.paths.swap_remove(path);
        }
        while let Some(point) = next {
            next = self.points[point].outer;
            self.points[point].expected &= !lanes;
            self.reconverge_if_complete(point);
        }
        stays
    }

    /// Resumes the lanes at a point as one path if all have arrived.
    fn reconverge_if_complete(&mut self, point: usize) {
        let ReconvergencePoint { pc, expected, arrived, outer, .. } = self.points[point];
        if expected != arrived {
            return;
        }
        // A free point never completes: it expects lanes, and none arrive.
        self.points[point] =
            ReconvergencePoint { pc: usize::MAX, expected: u32::MAX, arrived: 0, outer: None, abandoned: false };
        self.free.push(point);
        if arrived == 0 {
            return;
        }
        match outer {
            // Nested branches may reconverge at the same instruction.
            Some(outer) if self.points[outer].pc == pc => {
                self.points[outer].arrived |= arrived;
                self.reconverge_if_complete(outer);
            }
            _ => self.paths.push(Path { pc, mask: arrived, point: outer, state: PathState::Ready }),
        }
    }

    fn new_point(&mut self, point: ReconvergencePoint) -> usize {
        match self.free.pop() {
            Some(index) => {
                self.points[index] = point;
                index
            }
            None => {
                self.points.push(point);
                self.points.len() - 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(divergence: &Divergence) -> Vec<(usize, u32)> {
        divergence.paths.iter().map(|path| (path.pc, path.mask)).collect()
    }

    #[test]
    fn both_paths_reconverge_after_the_branch() {
        let mut divergence = Divergence::default();
        divergence.start(0b1111);
        divergence.diverge(0, &[(0b0011, 5), (0b1100, 1)], Some(9));
        assert_eq!(at(&divergence), [(5, 0b0011), (1, 0b1100)]);
        assert_eq!(divergence.reconvergence_pc(0), 9);
        divergence.arrive(0);
        assert_eq!(at(&divergence), [(1, 0b1100)]);
        divergence.arrive(0);
        assert_eq!(at(&divergence), [(9, 0b1111)]);
        assert_eq!(divergence.reconvergence_pc(0), usize::MAX);
    }

    #[test]
    fn lanes_that_leave_a_loop_one_by_one_share_one_reconvergence_point() {
        let mut divergence = Divergence::default();
        divergence.start(0b111);
        divergence.diverge(0, &[(0b110, 2), (0b001, 9)], Some(9));
        divergence.arrive(1);
        divergence.diverge(0, &[(0b100, 2), (0b010, 9)], Some(9));
        divergence.arrive(1);
        assert_eq!(at(&divergence), [(2, 0b100)]);
        assert_eq!(divergence.points.len(), 1);
        divergence.arrive(0);
        assert_eq!(at(&divergence), [(9, 0b111)]);
    }

    #[test]
    fn lanes_do_not_wait_for_lanes_that_exit() {
        let mut divergence = Divergence::default();
        divergence.start(0b1111);
        divergence.diverge(0, &[(0b0011, 5), (0b1100, 1)], Some(9));
        divergence.arrive(0);
        assert!(divergence.exit(0, 0b0100));
        assert_eq!(at(&divergence), [(1, 0b1000)]);
        assert!(!divergence.exit(0, 0b1000));
        assert_eq!(at(&divergence), [(9, 0b0011)]);
    }

    #[test]
    fn nested_branches_with_one_reconvergence_pc_reconverge_once() {
        let mut divergence = Divergence::default();
        divergence.start(0b1111);
        divergence.diverge(0, &[(0b0011, 5), (0b1100, 1)], Some(9));
        // The first path diverges again and reconverges at 7 before it continues to 9.
        divergence.diverge(0, &[(0b0001, 6), (0b0010, 6)], Some(7));
        assert_eq!(at(&divergence), [(6, 0b0001), (1, 0b1100), (6, 0b0010)]);
        divergence.arrive(2);
        divergence.arrive(0);
        assert_eq!(at(&divergence), [(1, 0b1100), (7, 0b0011)]);
        divergence.arrive(0);
        divergence.arrive(0);
        assert_eq!(at(&divergence), [(9, 0b1111)]);
    }

    #[test]
    fn waiting_lanes_resume_without_a_path_that_never_arrives() {
        let mut divergence = Divergence::default();
        divergence.start(0b1111);
        divergence.diverge(0, &[(0b0111, 2), (0b1000, 9)], Some(9));
        divergence.arrive(1);
        assert!(divergence.stop_waiting_for(0));
        assert_eq!(at(&divergence), [(2, 0b0111), (9, 0b1000)]);
        assert_eq!(divergence.reconvergence_pc(1), usize::MAX);
        // Lanes that arrive later don't wait either.
        divergence.diverge(0, &[(0b0110, 2), (0b0001, 9)], Some(9));
        divergence.arrive(2);
        assert_eq!(at(&divergence), [(2, 0b0110), (9, 0b1000), (9, 0b0001)]);
        divergence.arrive(0);
        assert_eq!(at(&divergence), [(9, 0b0110), (9, 0b1000), (9, 0b0001)]);
        assert_eq!(divergence.free, [0]);
    }

    #[test]
    fn paths_without_a_common_postdominator_do_not_reconverge() {
        let mut divergence = Divergence::default();
        divergence.start(0b11);
        divergence.diverge(0, &[(0b01, 5), (0b10, 1)], None);
        assert_eq!(at(&divergence), [(5, 0b01), (1, 0b10)]);
        assert!(!divergence.exit(0, 0b01));
        assert_eq!(at(&divergence), [(1, 0b10)]);
    }
}
