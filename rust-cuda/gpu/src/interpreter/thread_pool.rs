//! The host's threads that run a launch's blocks.

use ptx_interpreter::Executor;
use rayon::prelude::*;

/// The current thread pool. A call may wait until another launch's calls have left a thread of the pool, so no call may wait for another.
pub(super) struct ThreadPool;

impl Executor for ThreadPool {
    fn workers(&self) -> usize {
        rayon::current_num_threads()
    }

    fn run(&self, workers: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..workers).into_par_iter().for_each(work);
    }
}

/// Threads for one launch, whose calls may wait for each other: those of a cooperative one.
pub(super) struct OwnThreads;

impl Executor for OwnThreads {
    fn workers(&self) -> usize {
        rayon::current_num_threads()
    }

    fn run(&self, workers: usize, work: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            for number in 1..workers {
                scope.spawn(move || work(number));
            }
            work(0);
        });
    }
}
