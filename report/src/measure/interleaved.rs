//! Versions that take turns, so that what disturbs the machine for a while disturbs all of them.

use std::num::NonZeroUsize;

use rayon::ThreadPool;
use timing::seconds_of_repeats;

use super::MeasureError;
use crate::Times;
use crate::figures::OnThreads;

/// A version that is timed.
pub(super) struct Version<'a> {
    name: &'static str,
    repeats: NonZeroUsize,
    threads: usize,
    run: Box<dyn FnMut(NonZeroUsize) -> Vec<f64> + 'a>,
    seconds: Vec<f64>,
}

impl<'a> Version<'a> {
    /// `work`, on a pool; what it returns is dropped outside the timed span.
    pub(super) fn new<R>(
        name: &'static str,
        repeats: NonZeroUsize,
        pool: &'a ThreadPool,
        mut work: impl FnMut() -> R + Send + 'a,
    ) -> Self {
        let run = Box::new(move |repeats| pool.install(|| seconds_of_repeats(repeats, &mut work)));
        Self { name, repeats, threads: pool.current_num_threads(), run, seconds: Vec::new() }
    }

    fn times(self) -> Result<OnThreads, MeasureError> {
        let times = Times::of(self.seconds).ok_or(MeasureError::NoTime { version: self.name })?;
        Ok(OnThreads { threads: self.threads, times })
    }
}

/// Times all versions in turn, round by round; the times are in their order.
pub(super) fn take_turns(rounds: usize, mut versions: Vec<Version>) -> Result<Vec<OnThreads>, MeasureError> {
    for _ in 0..rounds {
        for version in &mut versions {
            let seconds = (version.run)(version.repeats);
            version.seconds.extend(seconds);
        }
    }
    versions.into_iter().map(Version::times).collect()
}

/// Times one version that runs on the first pool, and others on each pool: the first one's times, and the others' by rising
/// number of threads.
pub(super) fn one_and_ladders<const N: usize>(
    rounds: usize,
    one: Version,
    ladders: [Vec<Version>; N],
) -> Result<(Times, [Vec<OnThreads>; N]), MeasureError> {
    let lengths = ladders.each_ref().map(Vec::len);
    let versions = std::iter::once(one).chain(ladders.into_iter().flatten()).collect();
    let mut times = take_turns(rounds, versions)?.into_iter();
    let first = times.next().ok_or(MeasureError::NoTime { version: "nothing" })?.times;
    Ok((first, lengths.map(|length| times.by_ref().take(length).collect())))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn versions_take_turns_on_their_own_pools() {
        let pools = [1, 3].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
        let calls = Mutex::new(Vec::new());
        let version = |pool| {
            let calls = &calls;
            Version::new("version", NonZeroUsize::MIN, pool, move || {
                calls.lock().unwrap().push(rayon::current_num_threads());
                std::thread::sleep(std::time::Duration::from_micros(1));
            })
        };
        let times = take_turns(2, vec![version(&pools[0]), version(&pools[1])]).unwrap();
        assert_eq!(times.iter().map(|on| (on.threads, on.times.repeats)).collect::<Vec<_>>(), [(1, 2), (3, 2)]);
        // A warm-up and a repeat each, in two rounds.
        assert_eq!(*calls.lock().unwrap(), [1, 1, 3, 3, 1, 1, 3, 3]);
    }
}
