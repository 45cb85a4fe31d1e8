//! The threads of the host on which a launch's blocks run.

/// Runs the workers of a launch, each of which executes some of its blocks.
///
/// The interpreter itself starts no threads, so that it runs where there are none.
pub trait Executor {
    /// Number of workers that run at the same time; the launch uses no more.
    fn workers(&self) -> usize;

    /// Calls `work` once for each number below `workers`, and returns when all calls have returned.
    ///
    /// Blocks of a cooperative launch may wait for blocks of another worker.
    fn run(&self, workers: usize, work: &(dyn Fn(usize) + Sync));
}

/// The calling thread.
pub(super) struct CallingThread;

impl Executor for CallingThread {
    fn workers(&self) -> usize {
        1
    }

    fn run(&self, workers: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..workers).for_each(work);
    }
}
