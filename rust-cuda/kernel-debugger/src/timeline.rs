//! Snapshots along a launch. Going back re-executes the launch from one of them.

use cuda_launch::LaunchConfig;
use ptx_interpreter::semantics::LANES;
use ptx_interpreter::{Snapshot, StoppedBlock};

use crate::accesses::LastAccesses;
use crate::lines::Line;
use crate::writers::Writers;

/// A warp, by its block's number and its index in the block.
pub(crate) type Warp = (u32, u32);

/// How often a session takes snapshots, and how much memory they may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotPolicy {
    /// Minimum number of instructions between two snapshots.
    pub interval: u64,
    /// Maximum number of bytes that snapshots copy, per instruction between two snapshots.
    pub bytes_per_instruction: usize,
    /// Maximum size of all snapshots together, in bytes.
    pub max_bytes: usize,
    /// Maximum number of snapshots.
    pub max_count: usize,
}

impl Default for SnapshotPolicy {
    /// Bounds a step back to a few hundred thousand instructions, which take less than 100 ms. The
    /// exceptions are launches with billions of instructions or a large global memory. The
    /// interpreter copies several hundred bytes in the time of one instruction, so snapshots slow
    /// the launch down by a few percent.
    fn default() -> Self {
        Self { interval: 1 << 16, bytes_per_instruction: 32, max_bytes: 384 << 20, max_count: 4096 }
    }
}

/// Position of an observer in a launch, before an instruction.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// Number of instructions issued so far.
    pub(crate) time: u64,
    pub(crate) last_lines: LastLines,
    /// The warp that issued the last instruction.
    pub(crate) last_warp: Warp,
    pub(crate) accesses: LastAccesses,
    pub(crate) writers: Writers,
}

impl Progress {
    /// The progress at the beginning of a launch.
    pub(crate) fn new(config: LaunchConfig) -> Self {
        let (last_lines, accesses) = (LastLines::new(config), LastAccesses::new(config));
        let writers = Writers::new(config);
        Self { time: 0, last_lines, last_warp: (0, 0), accesses, writers }
    }
}

impl Progress {
    /// Size in bytes of the data that it points to.
    fn bytes(&self) -> usize {
        size_of_val(&*self.last_lines.lines) + self.accesses.bytes() + self.writers.bytes()
    }
}

/// The line of each warp's last instruction, for the blocks that may still be running.
#[derive(Clone, Debug)]
pub(crate) struct LastLines {
    /// Number of blocks that run at the same time: a cluster, all of a cooperative launch, or one.
    blocks: u32,
    warps_per_block: usize,
    /// Number of the first running block.
    first: u32,
    /// Indexed by block and warp.
    lines: Vec<LastLine>,
}

/// The line of a warp's last instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum LastLine {
    /// The warp has not executed any instruction.
    #[default]
    NotBegun,
    /// The line of its last instruction, if the PTX names one.
    At(Option<Line>),
}

impl LastLines {
    fn new(config: LaunchConfig) -> Self {
        let blocks = if config.cooperative { u32::MAX } else { u32::from(config.cluster).max(1) };
        let warps_per_block = config.block.count().div_ceil(LANES as u64) as usize;
        Self { blocks, warps_per_block, first: 0, lines: Vec::new() }
    }

    /// Whether a warp has executed an instruction. Its block must not have ended.
    pub(crate) fn has_begun(&self, (block, warp): Warp) -> bool {
        let index = self.index((block, warp));
        block - block % self.blocks == self.first
            && self.lines.get(index).is_some_and(|line| *line != LastLine::NotBegun)
    }

    fn index(&self, (block, warp): Warp) -> usize {
        (block % self.blocks) as usize * self.warps_per_block + warp as usize
    }

    /// Sets the line of a warp's last instruction. Returns whether it differs from the previous
    /// line.
    pub(crate) fn advance(&mut self, (block, warp): Warp, line: Option<Line>) -> bool {
        let first = block - block % self.blocks;
        if first != self.first {
            self.first = first;
            self.lines.clear();
        }
        let index = self.index((block, warp));
        if index >= self.lines.len() {
            self.lines.resize(index + 1, LastLine::NotBegun);
        }
        let line = LastLine::At(line);
        std::mem::replace(&mut self.lines[index], line) != line
    }
}

/// The state of a launch before an instruction, from which it can be resumed.
#[derive(Debug)]
pub(crate) struct Moment {
    pub(crate) progress: Progress,
    pub(crate) snapshot: Snapshot,
    bytes: usize,
}

/// Snapshots of a launch at roughly equal distances, in ascending time. The launch's beginning is
/// not among them.
#[derive(Debug)]
pub(crate) struct Timeline {
    policy: SnapshotPolicy,
    /// Number of instructions between two snapshots.
    interval: u64,
    /// Time of the next snapshot.
    next: u64,
    moments: Vec<Moment>,
    /// Size of all snapshots in bytes.
    bytes: usize,
}

impl Timeline {
    pub(crate) fn new(policy: SnapshotPolicy) -> Self {
        Self { policy, interval: policy.interval, next: policy.interval, moments: Vec::new(), bytes: 0 }
    }

    /// Whether a snapshot is due at this time.
    pub(crate) fn is_due(&self, time: u64) -> bool {
        time >= self.next
    }

    /// Takes a snapshot of a stopped launch. If the host lacks the memory, takes none, and going
    /// back takes longer. Beyond the limits, drops every second snapshot and doubles the distance
    /// between later ones.
    pub(crate) fn add(&mut self, progress: Progress, block: &StoppedBlock<'_>) {
        let time = progress.time;
        match block.snapshot() {
            Ok(snapshot) => {
                let bytes = size_of::<Moment>() + snapshot.host_bytes() + progress.bytes();
                self.interval = self.interval.max((bytes / self.policy.bytes_per_instruction) as u64);
                self.bytes += bytes;
                self.moments.push(Moment { progress, snapshot, bytes });
            }
            Err(_) => self.interval = self.interval.saturating_mul(2),
        }
        while self.bytes > self.policy.max_bytes || self.moments.len() > self.policy.max_count {
            let mut is_kept = true;
            self.moments.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.bytes = self.moments.iter().map(|moment| moment.bytes).sum();
            self.interval = self.interval.saturating_mul(2);
        }
        let last = self.moments.last().map_or(time, |moment| moment.progress.time);
        self.next = last.saturating_add(self.interval).max(time + 1);
    }

    /// The last snapshot before a time. `None` if only the launch's beginning is before it.
    pub(crate) fn before(&self, time: u64) -> Option<&Moment> {
        let count = self.moments.partition_point(|moment| moment.progress.time < time);
        self.moments[..count].last()
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use ptx_interpreter::{Fault, Machine, ObservedAccess, Observer, Options, Step};

    use super::*;

    /// A loop of 3 · 5000 instructions in one warp.
    const LOOP: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry count()\n{
        .reg .pred p; .reg .b32 r; mov.u32 r, 0; AGAIN: add.u32 r, r, 1; setp.lt.u32 p, r, 5000; @p bra AGAIN; ret;\n}";

    /// Takes each snapshot that is due, and then checks the limits.
    struct Taker {
        timeline: Timeline,
        progress: Progress,
        taken: usize,
    }

    impl Observer for Taker {
        fn stops_before(&mut self, _: Step) -> bool {
            self.progress.time += 1;
            self.timeline.is_due(self.progress.time - 1)
        }

        fn stop(&mut self, _: Step, block: &StoppedBlock<'_>) -> ControlFlow<()> {
            let time = self.progress.time - 1;
            self.timeline.add(Progress { time, ..self.progress.clone() }, block);
            self.taken += 1;
            let Timeline { policy, moments, bytes, next, .. } = &self.timeline;
            assert!(*bytes <= policy.max_bytes && moments.len() <= policy.max_count, "{bytes} bytes");
            assert_eq!(*bytes, moments.iter().map(|moment| moment.bytes).sum::<usize>());
            assert!(moments.iter().all(|moment| moment.bytes >= moment.snapshot.host_bytes()));
            assert!(*next > time);
            ControlFlow::Continue(())
        }

        fn fault(&mut self, fault: &Fault, _: &StoppedBlock<'_>) {
            panic!("{fault}");
        }

        fn access(&mut self, _: ObservedAccess) {}
    }

    fn take(policy: SnapshotPolicy) -> Taker {
        let mut machine = Machine::new(LOOP).unwrap();
        machine.allocate(8192).unwrap();
        let config = LaunchConfig::new(1, 32);
        let mut taker = Taker { timeline: Timeline::new(policy), progress: Progress::new(config), taken: 0 };
        assert!(machine.observe(Options::default(), "count", config, &[], &mut taker).unwrap());
        taker
    }

    #[test]
    fn snapshots_keep_within_their_limits_at_equal_distances() {
        let unlimited =
            SnapshotPolicy { interval: 10, bytes_per_instruction: 1 << 40, max_bytes: 1 << 30, max_count: 5000 };
        let all = take(unlimited);
        assert_eq!((all.timeline.moments.len(), all.taken), (1500, 1500));
        let [few, small] = [
            SnapshotPolicy { max_count: 100, ..unlimited },
            SnapshotPolicy { max_bytes: all.timeline.bytes / 15, ..unlimited },
        ];
        for policy in [few, small] {
            let Taker { timeline, taken, .. } = take(policy);
            assert!((50..=100).contains(&timeline.moments.len()), "{}", timeline.moments.len());
            assert!(taken < 500, "{taken} taken");
            let times: Vec<u64> = timeline.moments.iter().map(|moment| moment.progress.time).collect();
            assert_eq!(times[0], timeline.interval);
            assert!(times.windows(2).all(|pair| pair[1] - pair[0] == timeline.interval), "{times:?}");
            assert!(times.last().unwrap() + 2 * timeline.interval > 15_000);
            let before = |time| timeline.before(time).map(|moment| moment.progress.time);
            assert_eq!(
                (before(times[0]), before(times[0] + 1), before(times[1])),
                (None, Some(times[0]), Some(times[0]))
            );
        }
    }

    #[test]
    fn large_snapshots_are_taken_less_often_and_too_large_ones_not_kept() {
        let policy = SnapshotPolicy { interval: 10, bytes_per_instruction: 8, max_bytes: 1 << 30, max_count: 5000 };
        let Taker { timeline, .. } = take(policy);
        // Each snapshot copies 8 KiB of global memory and its set of initialized bytes.
        assert!(timeline.interval > 9216 / 8 && timeline.bytes < 9 * 15_000, "every {}", timeline.interval);
        assert!(timeline.moments.len() > 5);
        let none = take(SnapshotPolicy { bytes_per_instruction: usize::MAX, max_bytes: 9000, ..policy });
        assert!(none.timeline.moments.is_empty() && none.taken < 12, "{} taken", none.taken);
    }
}
