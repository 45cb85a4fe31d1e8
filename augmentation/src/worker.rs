//! Worker threads that distort images.

use crate::{Distortion, Image, Queue, process_image, rng_of};

/// An image to distort, or a distorted one.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its number in a training run, which determines the distortion.
    pub number: u64,
    /// Its pixels.
    pub image: Image,
    /// The digit that it shows.
    pub label: u8,
}

/// A worker. Any number of them, each on its own thread, take jobs from one queue and put the
/// results into another.
///
/// ```
/// # use std::num::NonZeroUsize;
/// # use augmentation::{Distortion, Job, PIXELS, Queue, Worker};
/// let (jobs, results) = (Queue::new(NonZeroUsize::MIN), Queue::new(NonZeroUsize::MIN));
/// let worker = Worker { jobs: &jobs, results: &results, largest: Distortion::default(), seed: 0 };
/// std::thread::scope(|scope| {
///     scope.spawn(|| worker.run());
///     jobs.put(Job { number: 0, image: [0.0; PIXELS], label: 7 }).unwrap();
///     assert_eq!(results.get().unwrap().label, 7);
///     jobs.close();
/// });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Worker<'a> {
    /// The queue to take jobs from.
    pub jobs: &'a Queue<Job>,
    /// The queue to put results into.
    pub results: &'a Queue<Job>,
    /// The largest arguments of the distortions.
    pub largest: Distortion,
    /// Seed of the distortions. It makes a result depend only on its job, whichever worker computes it.
    pub seed: u64,
}

impl Worker<'_> {
    /// Serves the job queue with [`process_image`]. Returns when that queue is closed and empty, or
    /// when the result queue is closed.
    pub fn run(&self) {
        while let Some(Job { number, image, label }) = self.jobs.get() {
            let image = process_image(&image, &self.largest, &mut rng_of(self.seed, number));
            if self.results.put(Job { number, image, label }).is_err() {
                break;
            }
        }
    }
}
