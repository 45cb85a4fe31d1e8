//! The order in which a sequential device runs a launch's threads, and the search for an order that
//! exposes a bug.
//!
//! A GPU runs blocks and warps in any order. A [`Schedule`] is one such order: how they start, and
//! where a warp yields to all others. Such priorities with few changes find most bugs of the low
//! depth typical of small programs (Burckhardt et al., A Randomized Scheduler with Probabilistic
//! Guarantees of Finding Bugs, ASPLOS 2010).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::split_mix::SplitMix;

/// The order in which a launch's blocks, and the warps or threads in each block, start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StartOrder {
    /// In ascending order.
    #[default]
    Ascending,
    /// In descending order.
    Descending,
    /// A permutation chosen by this number.
    Shuffled(u64),
}

impl StartOrder {
    /// The number of the item that starts in `position` out of `count`, both counted from 0. `of`
    /// distinguishes the orders within a launch, such as the blocks' order and the order of a
    /// block's warps.
    ///
    /// # Panics
    /// If `position` is not less than `count`.
    pub fn nth(self, position: u64, count: u64, of: u64) -> u64 {
        assert!(position < count, "position {position} of {count}");
        match self {
            Self::Ascending => position,
            Self::Descending => count - 1 - position,
            Self::Shuffled(seed) => {
                let start = mix(seed ^ mix(of)) % count;
                let mut step = mix(start ^ mix(seed ^ of)) % count;
                // A step that is coprime to the count reaches every number.
                while greatest_common_divisor(step, count) != 1 {
                    step += 1;
                }
                ((u128::from(position) * u128::from(step) + u128::from(start)) % u128::from(count)) as u64
            }
        }
    }

    /// Whether the threads of a warp run in descending order when they diverge or access one
    /// location atomically.
    pub fn reverses_lanes(self) -> bool {
        match self {
            Self::Ascending => false,
            Self::Descending => true,
            Self::Shuffled(seed) => mix(seed) & 1 == 1,
        }
    }
}

/// An order in which a launch's threads run. Its text, such as `descending@3,17`, describes it
/// completely.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Schedule {
    /// The start order. Later blocks and warps run when all earlier ones wait, have finished or
    /// have yielded.
    pub start: StartOrder,
    /// The synchronizing accesses before which a thread yields to all others, as ascending numbers
    /// from 1 in the launch's access order.
    pub switches: Arc<[u64]>,
}

impl Schedule {
    /// The descending order.
    pub fn descending() -> Self {
        Self { start: StartOrder::Descending, switches: Arc::default() }
    }

    /// " (order: …)", the suffix of an error message; empty for the default order.
    pub fn in_message(&self) -> String {
        if self.is_default() { String::new() } else { format!(" (order: {self})") }
    }

    /// Whether it is the default: ascending, without switches.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.start {
            StartOrder::Ascending => f.write_str("ascending")?,
            StartOrder::Descending => f.write_str("descending")?,
            StartOrder::Shuffled(seed) => write!(f, "shuffled:{seed}")?,
        }
        for (index, switch) in self.switches.iter().enumerate() {
            write!(f, "{}{switch}", if index == 0 { '@' } else { ',' })?;
        }
        Ok(())
    }
}

/// The text is not a valid schedule.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "`{0}` is no order: write ascending, descending or shuffled:SEED, and after it @ and ascending numbers from 1, as in descending@3,17"
)]
pub struct ScheduleError(String);

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let error = || ScheduleError(text.chars().filter(|character| !character.is_control()).take(60).collect());
        let (start, switches) = match text.split_once('@') {
            Some((start, switches)) => (start, Some(switches)),
            None => (text, None),
        };
        let start = match start.split_once(':') {
            None if start == "ascending" => StartOrder::Ascending,
            None if start == "descending" => StartOrder::Descending,
            Some(("shuffled", seed)) => StartOrder::Shuffled(seed.parse().map_err(|_| error())?),
            _ => return Err(error()),
        };
        let numbers = switches.into_iter().flat_map(|switches| switches.split(','));
        let switches: Vec<u64> = numbers.map(str::parse).collect::<Result<_, _>>().map_err(|_| error())?;
        if !switches.is_sorted_by(|a, b| a < b) || switches.first() == Some(&0) {
            return Err(error());
        }
        Ok(Self { start, switches: switches.into() })
    }
}

/// Counts a launch's synchronizing accesses.
#[derive(Clone, Debug)]
pub struct Switches {
    schedule: Arc<[u64]>,
    /// Index of the next switch.
    next: usize,
    accesses: u64,
}

impl Switches {
    /// The state before a launch's first access.
    pub fn new(schedule: &Schedule) -> Self {
        Self { schedule: Arc::clone(&schedule.switches), next: 0, accesses: 0 }
    }

    /// Counts an upcoming synchronizing access, and returns whether the thread yields before it.
    pub fn gives_way(&mut self) -> bool {
        self.accesses += 1;
        let is_due = self.schedule.get(self.next) == Some(&self.accesses);
        self.next += usize::from(is_due);
        is_due
    }

    /// Number of accesses counted.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }
}

/// The budget for a search for a schedule in which a launch fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Maximum number of runs, including the ascending and descending orders but not the runs that
    /// shrink a failing schedule.
    pub runs: u32,
    /// Maximum number of seconds, after which no further run starts; `u32::MAX` for no limit.
    pub seconds: u32,
    /// The seed for the schedules after the first two.
    pub seed: u64,
}

impl Search {
    /// Only the ascending order.
    pub const ONE: Self = Self { runs: 1, seconds: u32::MAX, seed: 0 };
    /// The ascending and the descending order.
    pub const TWO: Self = Self { runs: 2, ..Self::ONE };

    /// Runs a launch that succeeds in the default order in other orders until one fails or the
    /// budget is spent. `run` runs one order and returns the number of synchronizing accesses that
    /// it counted. Returns the first failing schedule and its error. The schedule is shrunk as long
    /// as `is_same` holds for a simpler schedule's error.
    pub fn search<F>(
        self,
        mut run: impl FnMut(&Schedule) -> Result<u64, F>,
        is_same: impl Fn(&F, &F) -> bool,
    ) -> Option<(Schedule, F)> {
        // Without a clock, as in a browser, only the number of runs limits the search.
        let begun = (self.seconds < u32::MAX).then(Instant::now);
        let mut accesses = 0;
        for number in 1..self.runs {
            let is_late = |begun: Instant| begun.elapsed() >= Duration::from_secs(self.seconds.into());
            if begun.is_some_and(is_late) {
                return None;
            }
            let schedule = self.schedule(number, accesses);
            match run(&schedule) {
                Ok(counted) => accesses = counted.max(accesses),
                Err(fault) => return Some(shrink(schedule, fault, run, is_same)),
            }
        }
        None
    }

    /// Schedule `number` for a launch with about this number of synchronizing accesses. Schedules
    /// alternate between few and many priority changes.
    pub fn schedule(self, number: u32, accesses: u64) -> Schedule {
        let seed = mix(self.seed.wrapping_add(number.into()));
        let start = match number {
            0 => return Schedule::default(),
            1 => return Schedule::descending(),
            _ => StartOrder::Shuffled(seed >> 32),
        };
        let count = if number.is_multiple_of(2) { 1 + seed % 3 } else { 4 + seed % 60 };
        let mut switches: Vec<u64> = match accesses {
            0 => Vec::new(),
            _ => (0..count).map(|index| 1 + mix(seed ^ mix(index + 1)) % accesses).collect(),
        };
        switches.sort_unstable();
        switches.dedup();
        Schedule { start, switches: switches.into() }
    }
}

/// The simplest schedule with the same error found in a few tries: fewer switches, and an order
/// without a seed.
fn shrink<F>(
    schedule: Schedule,
    fault: F,
    mut run: impl FnMut(&Schedule) -> Result<u64, F>,
    is_same: impl Fn(&F, &F) -> bool,
) -> (Schedule, F) {
    let mut best = (schedule, fault);
    let mut try_one = |best: &mut (Schedule, F), candidate: Schedule| {
        let found = run(&candidate).err().filter(|fault| is_same(&best.1, fault));
        let is_found = found.is_some();
        if let Some(fault) = found {
            *best = (candidate, fault);
        }
        is_found
    };
    // The default order does not fail.
    if best.0 == Schedule::descending() || try_one(&mut best, Schedule::descending()) {
        return best;
    }
    let mut length = best.0.switches.len();
    while length > 0 {
        let mut from = 0;
        while from < best.0.switches.len() {
            let to = (from + length).min(best.0.switches.len());
            let switches = [&best.0.switches[..from], &best.0.switches[to..]].concat().into();
            let candidate = Schedule { switches, ..best.0 };
            if !try_one(&mut best, candidate) {
                from = to;
            }
        }
        length /= 2;
    }
    for start in [StartOrder::Ascending, StartOrder::Descending] {
        let switches = Arc::clone(&best.0.switches);
        if !switches.is_empty() && try_one(&mut best, Schedule { start, switches }) {
            break;
        }
    }
    best
}

/// A 64-bit hash.
fn mix(value: u64) -> u64 {
    SplitMix(value).number()
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_order_reaches_each_number_once() {
        for start in [StartOrder::Ascending, StartOrder::Descending, StartOrder::Shuffled(0), StartOrder::Shuffled(77)]
        {
            for count in (1..70).chain([1000, 1024]) {
                let mut numbers: Vec<u64> = (0..count).map(|position| start.nth(position, count, 3)).collect();
                numbers.sort_unstable();
                assert_eq!(numbers, (0..count).collect::<Vec<_>>(), "{start:?}");
            }
        }
        let orders: Vec<Vec<u64>> =
            (0..20).map(|seed| (0..16).map(|nth| StartOrder::Shuffled(seed).nth(nth, 16, 0)).collect()).collect();
        assert!((1..20).all(|other| orders[other] != orders[0]));
    }

    #[test]
    fn a_schedules_text_has_all_of_it() {
        for text in ["ascending", "descending", "shuffled:18446744073709551615", "descending@3,17", "shuffled:5@1"] {
            assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        }
        for text in ["", "upwards", "shuffled", "shuffled:", "shuffled:-1", "ascending:1", "descending@", "ascending@0"]
        {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
        let error = "descending@3,\n3".parse::<Schedule>().unwrap_err().to_string();
        assert!(error.starts_with("`descending@3,3` is no order: write ascending, "), "{error}");
    }

    #[test]
    fn a_thread_gives_way_before_the_accesses_that_the_schedule_names() {
        let mut switches = Switches::new(&"ascending@1,4".parse().unwrap());
        let gives_way: Vec<bool> = (0..6).map(|_| switches.gives_way()).collect();
        assert_eq!(gives_way, [true, false, false, true, false, false]);
        assert_eq!(switches.accesses(), 6);
    }

    #[test]
    fn a_search_shrinks_what_it_finds() {
        let mut runs = 0;
        // A bug that occurs whenever a thread yields at access 40, and never otherwise.
        let found = Search { runs: 400, seconds: u32::MAX, seed: 1 }.search(
            |schedule| {
                runs += 1;
                if schedule.switches.contains(&40) { Err("bug") } else { Ok(64) }
            },
            |a, b| a == b,
        );
        assert_eq!(found.map(|(schedule, _)| schedule.to_string()).as_deref(), Some("ascending@40"));
        assert!(runs < 60, "{runs}");
        assert_eq!(Search::TWO.search(|_| Ok::<_, ()>(9), |_, _| true), None);
        let found = Search::TWO
            .search(|schedule| if schedule.start == StartOrder::Descending { Err(()) } else { Ok(0) }, |_, _| true);
        assert_eq!(found, Some((Schedule::descending(), ())));
    }

    #[test]
    fn schedules_by_one_seed_are_the_same_and_differ_by_number() {
        let search = Search { runs: 100, seconds: u32::MAX, seed: 9 };
        let all: Vec<Schedule> = (0..100).map(|number| search.schedule(number, 1000)).collect();
        assert_eq!(all, (0..100).map(|number| search.schedule(number, 1000)).collect::<Vec<_>>());
        let distinct: std::collections::HashSet<&Schedule> = all.iter().collect();
        assert_eq!(distinct.len(), 100);
        assert!(all[2].switches.len() <= 3 && all[3].switches.len() > 3);
        assert!(search.schedule(5, 0).switches.is_empty());
    }
}
