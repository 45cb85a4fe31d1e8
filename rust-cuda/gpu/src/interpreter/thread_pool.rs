//! Host threads that run a launch's blocks.

use ptx_interpreter::Executor;
use rayon::prelude::*;

/// The current thread pool. A call may have to wait for another launch's calls to free a thread, so
/// calls must not wait for each other.
pub(super) struct ThreadPool;

impl Executor for ThreadPool {
    fn workers(&self) -> usize {
        rayon::current_num_threads()
    }

    fn run(&self, workers: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..workers).into_par_iter().for_each(work);
    }
}

/// Dedicated threads for one launch, such as a cooperative one, whose calls may wait for each
/// other.
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
