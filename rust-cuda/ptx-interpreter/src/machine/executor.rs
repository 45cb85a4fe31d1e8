//! The host threads on which a launch's blocks run.

/// Runs the workers of a launch. Each worker executes some of its blocks.
///
/// The interpreter itself starts no threads, so it also runs on platforms without them.
pub trait Executor {
    /// Maximum number of concurrent workers that the launch uses.
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
