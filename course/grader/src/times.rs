//! Times of calls.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use teaching_tests::Failure;

/// The times of a call, or the minimum of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Wall-clock time from start to end.
    pub wall: Duration,
    /// CPU time of the thread that computed longest. It does not depend on the machine's other
    /// load.
    pub longest_thread: Duration,
}

impl Times {
    /// Longer than any call.
    pub const MAX: Self = Self { wall: Duration::MAX, longest_thread: Duration::MAX };

    /// Takes the smaller value of each time.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self { wall: self.wall.min(other.wall), longest_thread: self.longest_thread.min(other.longest_thread) }
    }

    /// Whether either time is smaller: the other one may be distorted by a busy machine or by
    /// threads outside rayon's pool.
    pub fn is_faster_than(self, other: Self) -> bool {
        self.wall < other.wall || self.longest_thread < other.longest_thread
    }
}

/// Minimum times of two ways to compute something. `times_of_round` measures both, given the number
/// of the round. There are at least three rounds, then more until the first way is faster or
/// `limit` has passed.
///
/// # Errors
/// The error of a round.
pub fn compared(
    limit: Duration,
    times_of_round: impl FnMut(u64) -> Result<[Times; 2], Failure>,
) -> Result<[Times; 2], Failure> {
    let start = Instant::now();
    compared_until(|| start.elapsed() > limit, times_of_round)
}

/// Like [`compared`], but runs until `is_over` instead of for a time limit.
fn compared_until(
    mut is_over: impl FnMut() -> bool,
    mut times_of_round: impl FnMut(u64) -> Result<[Times; 2], Failure>,
) -> Result<[Times; 2], Failure> {
    let (mut best, mut round) = ([Times::MAX; 2], 0);
    while round < 3 || (!best[0].is_faster_than(best[1]) && !is_over()) {
        let [first, second] = times_of_round(round)?;
        best = [best[0].min(first), best[1].min(second)];
        round += 1;
    }
    Ok(best)
}

/// The times of `run` on this thread only.
pub fn times_of(run: impl FnOnce()) -> Times {
    let (start, before) = (Instant::now(), of_thread());
    run();
    Times { wall: start.elapsed(), longest_thread: of_thread().saturating_sub(before) }
}

/// CPU time of this thread.
fn of_thread() -> Duration {
    duration(ClockId::ThreadCPUTime)
}

fn duration(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// CPU times of this thread, of rayon's threads, and of the process.
pub(crate) struct Clocks {
    threads: Vec<Duration>,
    process: Duration,
}

impl Clocks {
    pub(crate) fn read() -> Self {
        let mut threads = rayon::broadcast(|_| of_thread());
        threads.push(of_thread());
        Self { threads, process: duration(ClockId::ProcessCPUTime) }
    }

    /// CPU time that the longest-running thread has used since `self` was read. Threads other than
    /// this one and rayon's count together as one thread.
    pub(crate) fn longest_thread(&self) -> Duration {
        self.longest_thread_until(&Self::read())
    }

    fn longest_thread_until(&self, now: &Self) -> Duration {
        let threads: Vec<Duration> =
            now.threads.iter().zip(&self.threads).map(|(now, then)| now.saturating_sub(*then)).collect();
        let others = now.process.saturating_sub(self.process).saturating_sub(threads.iter().sum());
        threads.into_iter().max().unwrap_or_default().max(others)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hint::black_box;

    use super::*;

    #[test]
    fn rounds_are_compared_until_the_first_way_is_faster_or_the_limit() {
        let of = |milliseconds| Times { wall: Duration::from_millis(milliseconds), ..Times::MAX };
        let faster_at = |first: u64, limit: u64| {
            let rounds = Cell::new(0);
            let best = compared_until(
                || rounds.get() == limit,
                |round| {
                    rounds.set(rounds.get() + 1);
                    Ok([of(if round >= first { 1 } else { 3 }), of(2)])
                },
            );
            (best.unwrap(), rounds.get())
        };
        assert_eq!(faster_at(0, u64::MAX), ([of(1), of(2)], 3));
        assert_eq!(faster_at(5, u64::MAX), ([of(1), of(2)], 6));
        assert_eq!(faster_at(u64::MAX, 20), ([of(3), of(2)], 20));
        assert_eq!(faster_at(u64::MAX, 3), ([of(3), of(2)], 3));
    }

    #[test]
    fn the_longest_thread_has_a_share_of_parallel_work_and_all_of_other_work() {
        let seconds = Duration::from_secs;
        let clocks =
            |threads: [u64; 3], process| Clocks { threads: threads.map(seconds).into(), process: seconds(process) };
        let before = clocks([1, 2, 3], 10);
        let longest = |threads, process| before.longest_thread_until(&clocks(threads, process));
        assert_eq!(longest([5, 6, 7], 22), seconds(4), "each has computed 4 s");
        assert_eq!(longest([1, 14, 3], 22), seconds(12), "one has computed 12 s");
        assert_eq!(longest([1, 2, 3], 22), seconds(12), "another thread has computed 12 s");
        assert_eq!(longest([4, 2, 3], 22), seconds(9), "one has computed 3 s, others 9 s");
        assert_eq!(longest([1, 2, 3], 10), Duration::ZERO);
    }

    /// Checks only minimum times: other tests compute concurrently in the same process.
    #[test]
    fn the_clocks_see_every_thread() {
        /// CPU time of each computation.
        const EACH: Duration = Duration::from_millis(30);
        let compute = |count: u32| {
            let start = of_thread();
            while of_thread() - start < count * EACH {
                (0..1000_u64).for_each(|round| drop(black_box(Box::new(round))));
            }
        };
        rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap().install(|| {
            let before = Clocks::read();
            rayon::broadcast(|_| compute(1));
            let now = Clocks::read();
            assert_eq!(now.threads.len(), 5, "rayon's, and the one that reads");
            let least = now.threads.iter().zip(&before.threads).take(4).map(|(now, then)| *now - *then).min();
            assert!(least.unwrap() >= EACH, "{least:?}, where four took {EACH:?} each");
            let longest_of = |run: &dyn Fn()| {
                let clocks = Clocks::read();
                run();
                clocks.longest_thread()
            };
            assert!(longest_of(&|| compute(4)) >= 4 * EACH);
            let another = longest_of(&|| std::thread::spawn(move || compute(4)).join().unwrap());
            // The process's clock may lag a thread's by a tick.
            assert!(another > 3 * EACH, "{another:?}, where it took {:?}", 4 * EACH);
        });
    }
}
