//! Workers.

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

/// A worker: any number of them, each on a thread of its own, take jobs from one queue and put the results into another.
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
    /// Where jobs come from.
    pub jobs: &'a Queue<Job>,
    /// Where results go.
    pub results: &'a Queue<Job>,
    /// The largest arguments of the distortions.
    pub largest: Distortion,
    /// Seed of the distortions. With it, a result is a function of its job alone, whichever worker computes it.
    pub seed: u64,
}

impl Worker<'_> {
    /// Serves the queue of jobs with [`process_image`]; returns when that queue is closed and empty, or the queue of
    /// results is closed.
    pub fn run(&self) {
        while let Some(Job { number, image, label }) = self.jobs.get() {
            let image = process_image(&image, &self.largest, &mut rng_of(self.seed, number));
            if self.results.put(Job { number, image, label }).is_err() {
                break;
            }
        }
    }
}
