//! Workers of the interpreter in rayon's thread pool.

use ptx_interpreter::Executor;
use rayon::prelude::*;

/// The current thread pool.
pub(super) struct ThreadPool;

impl Executor for ThreadPool {
    fn workers(&self) -> usize {
        rayon::current_num_threads()
    }

    fn run(&self, workers: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..workers).into_par_iter().for_each(work);
    }
}
