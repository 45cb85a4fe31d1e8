//! The order in which a launch's threads run on a device that runs them one after the other, and the search for an order that shows
//! a bug.
//!
//! A GPU runs blocks and warps in any order. A [`Schedule`] is one of them: the order in which they start, and the places where a
//! warp gives way to all others. Such priorities with few changes find most bugs of a depth that small programs have (Burckhardt et
//! al., A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs, ASPLOS 2010).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::split_mix::SplitMix;

/// The order in which a launch's blocks, and each block's warps or threads, start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StartOrder {
    /// By ascending number.
    #[default]
    Ascending,
    /// By descending number.
    Descending,
    /// A permutation that this number chooses.
    Shuffled(u64),
}

impl StartOrder {
    /// Number of what starts as the `position`-th of `count`, both counted from 0. `of` distinguishes orders of the same launch, such
    /// as those of the blocks and of a block's warps.
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
                // A step that has no divisor in common with the count reaches every number.
                while greatest_common_divisor(step, count) != 1 {
                    step += 1;
                }
                ((u128::from(position) * u128::from(step) + u128::from(start)) % u128::from(count)) as u64
            }
        }
    }

    /// Whether the threads of a warp that diverge or access one place atomically run by descending number.
    pub fn reverses_lanes(self) -> bool {
        match self {
            Self::Ascending => false,
            Self::Descending => true,
            Self::Shuffled(seed) => mix(seed) & 1 == 1,
        }
    }
}

/// An order in which a launch's threads run. Its text, as in `descending@3,17`, has all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Schedule {
    /// The order in which they start; later ones run when all earlier ones wait, have ended or have given way.
    pub start: StartOrder,
    /// The synchronising accesses before which a thread gives way to all others, by their ascending numbers from 1 in the order in
    /// which the launch makes them.
    pub switches: Arc<[u64]>,
}

impl Schedule {
    /// By descending number.
    pub fn descending() -> Self {
        Self { start: StartOrder::Descending, switches: Arc::default() }
    }

    /// " (order: …)", which the message of a fault ends with; empty for the default.
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

/// A text that is no schedule.
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

/// Counts the synchronising accesses of a launch.
#[derive(Clone, Debug)]
pub struct Switches {
    schedule: Arc<[u64]>,
    /// Index of the next switch.
    next: usize,
    accesses: u64,
}

impl Switches {
    /// Before a launch's first access.
    pub fn new(schedule: &Schedule) -> Self {
        Self { schedule: Arc::clone(&schedule.switches), next: 0, accesses: 0 }
    }

    /// Counts a synchronising access that is about to be made, and returns whether the thread gives way before it.
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

/// A search for a schedule in which a launch has a fault: its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Maximum number of runs, those of the ascending and the descending order among them. What shrinks a schedule with a fault comes
    /// on top.
    pub runs: u32,
    /// Maximum seconds, after which no other run begins; `u32::MAX` for no limit.
    pub seconds: u32,
    /// Chooses the schedules after the first two.
    pub seed: u64,
}

impl Search {
    /// The ascending order alone.
    pub const ONE: Self = Self { runs: 1, seconds: u32::MAX, seed: 0 };
    /// The ascending and the descending order.
    pub const TWO: Self = Self { runs: 2, ..Self::ONE };

    /// Runs a launch that has no fault in the default order in one other order after the other, `run` with each, until one has a fault
    /// or the budget is spent; `run` returns the number of synchronising accesses that it has counted. Returns the first schedule with
    /// a fault, shrunk as long as `is_same` finds the fault of a simpler one the same, and the fault.
    pub fn search<F>(
        self,
        mut run: impl FnMut(&Schedule) -> Result<u64, F>,
        is_same: impl Fn(&F, &F) -> bool,
    ) -> Option<(Schedule, F)> {
        // Where there is no clock, as in a browser, the number of runs is the limit.
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

    /// Schedule `number` for a launch that makes about this number of synchronising accesses: few changes of priority by turns with
    /// many.
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

/// The simplest schedule with the same fault that some tries find: fewer switches, and an order that needs no seed.
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
    // The default order has no fault.
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

/// A hash of 64 bits.
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
        // A bug that shows whenever a thread gives way at access 40, and never without.
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
