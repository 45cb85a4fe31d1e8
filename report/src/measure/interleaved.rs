//! Interleaved timing of several versions (round-robin): a transient disturbance affects all of them.

use std::num::NonZeroUsize;

use rayon::ThreadPool;
use timing::seconds_of_repeats;

use super::MeasureError;
use crate::Times;
use crate::figures::OnThreads;

/// A version to time.
pub(crate) struct Version<'a> {
    name: &'static str,
    repeats: NonZeroUsize,
    threads: usize,
    run: Box<dyn FnMut(NonZeroUsize) -> Vec<f64> + 'a>,
    seconds: Vec<f64>,
}

impl<'a> Version<'a> {
    /// Times `work` on a pool. Its result is dropped outside the timed span.
    pub(crate) fn new<R>(
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

/// Times all versions round-robin for `rounds` rounds. Returns the times in the order of `versions`.
pub(crate) fn time_interleaved(rounds: usize, mut versions: Vec<Version>) -> Result<Vec<OnThreads>, MeasureError> {
    for _ in 0..rounds {
        for version in &mut versions {
            let seconds = (version.run)(version.repeats);
            version.seconds.extend(seconds);
        }
    }
    versions.into_iter().map(Version::times).collect()
}

/// Times `one` version and `ladders` of versions by ascending number of threads, all interleaved.
/// Returns the times of `one` and of the ladders.
pub(crate) fn one_and_ladders<const N: usize>(
    rounds: usize,
    one: Version,
    ladders: [Vec<Version>; N],
) -> Result<(Times, [Vec<OnThreads>; N]), MeasureError> {
    let lengths = ladders.each_ref().map(Vec::len);
    let versions = std::iter::once(one).chain(ladders.into_iter().flatten()).collect();
    let mut times = time_interleaved(rounds, versions)?.into_iter();
    let first = times.next().ok_or(MeasureError::NoTime { version: "nothing" })?.times;
    Ok((first, lengths.map(|length| times.by_ref().take(length).collect())))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn versions_are_interleaved_on_their_own_pools() {
        let pools = [1, 3].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
        let calls = Mutex::new(Vec::new());
        let version = |pool| {
            let calls = &calls;
            Version::new("version", NonZeroUsize::MIN, pool, move || {
                calls.lock().unwrap().push(rayon::current_num_threads());
                std::thread::sleep(std::time::Duration::from_micros(1));
            })
        };
        let times = time_interleaved(2, vec![version(&pools[0]), version(&pools[1])]).unwrap();
        assert_eq!(times.iter().map(|on| (on.threads, on.times.repeats)).collect::<Vec<_>>(), [(1, 2), (3, 2)]);
        // One warm-up and one repeat each, over two rounds.
        assert_eq!(*calls.lock().unwrap(), [1, 1, 3, 3, 1, 1, 3, 3]);
    }
}
