//! Chooses between one thread and a thread team, by a cost model and by measurement.
//!
//! **Model.** A step takes time T on one thread and s · T + k · m on a team. Here, s is the largest
//! fraction of the work that one member has ([`Split::relative_time`]), m is the time of a barrier,
//! and k is the number of barriers per step. Starting the team's threads takes time t once. T, m
//! and t are measured on the machine that trains. The team with the shortest predicted time is
//! tried if it saves more than t.
//!
//! **Measurement.** While another program occupies a member's core, all members wait, and a team
//! may be slower than one thread. A team therefore starts only on idle cores, if the operating
//! system reports them. It runs for as long as each block of its steps takes less time than on one
//! thread. After that, one thread continues for a pause, which doubles with every failure. The
//! results do not depend on the choice, since the weights have the same bits for any number of
//! members.

use std::time::{Duration, Instant};

use super::split::Split;
use crate::Architecture;

/// The time of a block of steps to compare. It is as long as an operating system's usual time
/// slice, so a block shows whether the members run simultaneously.
const BLOCK: Duration = Duration::from_millis(4);
/// The time of the first steps on one thread, from which the first team is chosen.
const FIRST_BLOCK: Duration = Duration::from_millis(1);
/// Minimum number of steps of a block.
const MIN_STEPS: u32 = 4;
/// The pause on one thread after a team's first failure: two blocks.
const FIRST_PAUSE: Duration = Duration::from_millis(8);
/// The longest pause on one thread before a team is tried again.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// Number of barriers to measure.
const MEETINGS: u32 = 200;
/// Maximum time for this measurement.
const MAX_MEASUREMENT: Duration = Duration::from_millis(1);

/// The number of threads of a training run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// As many of the threads in rayon's current pool as make training faster.
    Fastest,
    /// As many as have work, up to this number, even if that is slower. For tests and measurements.
    Exactly(usize),
}

/// The current choice and the measurements behind it.
#[derive(Debug)]
pub(super) struct Pace {
    threads: Threads,
    /// Seconds per step on one thread, once measured.
    alone: Option<f64>,
    /// The end of the last pause.
    team_from: Option<Instant>,
    /// Whether the current steps on one thread end with the pause, that is, whether a team is possible.
    ends_with_pause: bool,
    /// The length of the next pause.
    pause: Duration,
    /// The steps of the current block.
    block: Block,
    /// How long the current team has been faster than one thread.
    lasted: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Block {
    steps: u32,
    time: Duration,
}

impl Block {
    fn seconds_per_step(self) -> f64 {
        self.time.as_secs_f64() / f64::from(self.steps.max(1))
    }

    fn is_over(self, time: Duration) -> bool {
        self.time >= time && self.steps >= MIN_STEPS
    }
}

/// The remaining work of a call, for the choice of a team.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remaining<'a> {
    pub(super) architecture: &'a Architecture,
    pub(super) batch_size: usize,
    pub(super) steps: usize,
    /// The fraction of nonzero inputs, if zeros are skipped.
    pub(super) nonzero_share: Option<f64>,
}

impl Remaining<'_> {
    /// The split between at most `members` members, with barriers that take `meeting` seconds.
    fn split(&self, members: usize, meeting: f64) -> Split {
        Split::of_batch(self.architecture, self.batch_size, members, self.nonzero_share.is_some(), meeting)
    }

    /// The first layer's forward pass as a fraction of a step's multiply-adds. Each layer has one
    /// forward pass and one pass for its gradients. All layers except the first also have a
    /// backward pass.
    fn first_layer(&self) -> f64 {
        let sizes = self.architecture.sizes();
        let first = sizes[0] as f64 * self.nonzero_share.unwrap_or(1.0) * sizes[1] as f64;
        let others: f64 = sizes[1..].windows(2).map(|pair| (pair[0] * pair[1]) as f64).sum();
        first / (2.0 * first + 3.0 * others)
    }
}

impl Pace {
    pub(super) fn new(threads: Threads) -> Self {
        Self {
            threads,
            alone: None,
            team_from: None,
            ends_with_pause: false,
            pause: FIRST_PAUSE,
            block: Block::default(),
            lasted: Duration::ZERO,
        }
    }

    /// The split of the next steps.
    pub(super) fn next_split(&mut self, remaining: Remaining) -> Split {
        self.block = Block::default();
        self.lasted = Duration::ZERO;
        let whole = Split::whole(remaining.architecture);
        let max = match self.threads {
            Threads::Exactly(members) => {
                let members = Split::members_for(remaining.batch_size, members);
                let meeting = measure_team(members).map_or(0.0, |team| team.meeting);
                return remaining.split(members, meeting);
            }
            // More members than cores would have to share cores.
            Threads::Fastest => {
                rayon::current_num_threads().min(std::thread::available_parallelism().map_or(1, usize::from))
            }
        };
        let largest = Split::members_for(remaining.batch_size, max);
        self.ends_with_pause = largest > 1;
        let Some(alone) = self.alone else { return whole };
        if !self.ends_with_pause || self.team_from.is_some_and(|start| Instant::now() < start) {
            return whole;
        }
        let most = largest.min(team::idle_cores().unwrap_or(usize::MAX));
        // All sizes up to four, then powers of two: neighboring sizes of larger teams divide the
        // work almost equally.
        let sizes = (2..=most).filter(|&size| size <= 4 || size.is_power_of_two() || size == most);
        let saved = |size: usize| {
            let team = measure_team(size)?;
            let split = remaining.split(size, team.meeting);
            let work = split.relative_time(remaining.batch_size, remaining.first_layer()) * alone;
            let step = work + split.meetings() as f64 * team.meeting;
            Some(((alone - step) * remaining.steps as f64 - team.start, split))
        };
        let best = sizes.filter_map(saved).max_by(|a, b| a.0.total_cmp(&b.0));
        match best {
            Some((saved, split)) if saved > 0.0 => split,
            _ => {
                self.pause_teams();
                whole
            }
        }
    }

    /// Counts a step that took `time`. Returns whether the next steps may have a different split.
    pub(super) fn after_step(&mut self, members: usize, time: Duration) -> bool {
        if matches!(self.threads, Threads::Exactly(_)) {
            return false;
        }
        self.block.steps += 1;
        self.block.time += time;
        match self.alone {
            None if members == 1 && self.block.is_over(FIRST_BLOCK) => {
                self.alone = Some(self.block.seconds_per_step());
                self.ends_with_pause
            }
            Some(alone) if members > 1 => {
                if !self.block.is_over(BLOCK) {
                    return false;
                }
                let is_slower = self.block.seconds_per_step() > alone;
                if is_slower {
                    self.pause_teams();
                } else {
                    self.lasted += self.block.time;
                    if self.lasted > 8 * self.pause {
                        self.pause = FIRST_PAUSE;
                    }
                }
                self.block = Block::default();
                is_slower
            }
            _ => {
                if self.block.is_over(BLOCK) {
                    self.alone = Some(self.block.seconds_per_step());
                    self.block = Block::default();
                }
                self.ends_with_pause && self.team_from.is_some_and(|start| Instant::now() >= start)
            }
        }
    }

    /// Pauses teams and continues with one thread, longer each time.
    fn pause_teams(&mut self) {
        self.team_from = Some(Instant::now() + self.pause);
        self.pause = (2 * self.pause).min(MAX_PAUSE);
    }

    /// Handles a failure to start a team's threads.
    pub(super) fn without_threads(&mut self) {
        match self.threads {
            Threads::Exactly(_) => self.threads = Threads::Exactly(1),
            Threads::Fastest => self.pause_teams(),
        }
    }
}

/// Seconds to start a team, and for one of its barriers.
#[derive(Clone, Copy, Debug)]
struct TeamTimes {
    start: f64,
    meeting: f64,
}

/// Measures a team that only waits at barriers, for at most a millisecond. `None` if its threads
/// cannot be started.
fn measure_team(members: usize) -> Option<TeamTimes> {
    let start = Instant::now();
    let meet = |leader: &team::Member| {
        leader.wait().ok()?;
        let (start, mut meetings) = (Instant::now(), 0_u32);
        while meetings < MEETINGS && start.elapsed() < MAX_MEASUREMENT {
            // Doubles the number, plus one. Otherwise, reading the clock, which takes as long as a
            // barrier, would dominate.
            let more = meetings + 1;
            for _ in 0..more {
                leader.wait().ok()?;
            }
            meetings += more;
        }
        Some((start.elapsed(), meetings))
    };
    let (time, meetings) = team::run(members, meet, |member| while member.wait().is_ok() {}).ok()??;
    let start = start.elapsed().saturating_sub(time).as_secs_f64();
    Some(TeamTimes { start, meeting: time.as_secs_f64() / f64::from(meetings.max(1)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pace that has measured 100 µs for a step on one thread.
    fn measured() -> Pace {
        Pace { alone: Some(100e-6), ends_with_pause: true, ..Pace::new(Threads::Fastest) }
    }

    /// Counts a team's steps until they may have a different split, for at most a second.
    fn steps_of_team(pace: &mut Pace, micros: u64) -> Option<u64> {
        (1..=1_000_000 / micros).find(|_| pace.after_step(2, Duration::from_micros(micros)))
    }

    #[test]
    fn part1_a_faster_team_goes_on_and_a_slower_one_ends_after_a_block() {
        assert_eq!(steps_of_team(&mut measured(), 60), None);
        assert_eq!(steps_of_team(&mut measured(), 200), Some(20));
        // A step that took a second is not yet a block.
        assert_eq!(steps_of_team(&mut measured(), 100_000), Some(u64::from(MIN_STEPS)));
    }

    #[test]
    fn part1_pauses_double_until_a_team_has_been_faster_for_long() {
        let mut pace = measured();
        for expected in [2, 4, 8] {
            let (before, pause) = (Instant::now(), pace.pause);
            steps_of_team(&mut pace, 200);
            assert_eq!(pace.pause, expected * FIRST_PAUSE);
            assert!(pace.team_from.is_some_and(|end| end >= before + pause));
        }
        assert_eq!(steps_of_team(&mut pace, 60), None);
        assert_eq!(pace.pause, FIRST_PAUSE);
        for _ in 0..20 {
            pace.pause_teams();
        }
        assert_eq!(pace.pause, MAX_PAUSE);
    }

    #[test]
    fn part1_the_first_block_on_one_thread_is_measured() {
        let mut pace = Pace { ends_with_pause: true, ..Pace::new(Threads::Fastest) };
        let steps = (1..).find(|_| pace.after_step(1, Duration::from_micros(50)));
        assert_eq!((steps, pace.alone), (Some(20), Some(50e-6)));
    }

    #[test]
    fn part1_an_exact_number_of_threads_never_changes() {
        let mut pace = Pace::new(Threads::Exactly(3));
        assert!((0..100).all(|_| !pace.after_step(3, Duration::from_secs(1))));
        pace.without_threads();
        assert_eq!(pace.threads, Threads::Exactly(1));
    }

    #[test]
    fn part1_one_thread_has_no_team() {
        let architecture =
            Architecture::new(vec![4, 3], crate::Activation::Sigmoid, crate::Activation::Sigmoid).unwrap();
        let remaining = Remaining { architecture: &architecture, batch_size: 16, steps: 1000, nonzero_share: None };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let mut pace = measured();
        assert_eq!(pool.install(|| pace.next_split(remaining)).members, 1);
        assert!(!pace.ends_with_pause && !pace.after_step(1, Duration::from_secs(1)));
        assert_eq!(Pace::new(Threads::Exactly(2)).next_split(remaining).members, 2);
    }
}
