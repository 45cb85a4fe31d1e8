use std::num::NonZeroUsize;

use crate::{Distortion, Image, Queue, process_image, rng_of};

/// An image for a worker, or one from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its number, by which its results are told apart.
    pub number: u64,
    /// The image.
    pub image: Image,
}

/// Distorts the images of a queue of jobs, into a queue of results. There may be many on the same queues, each on a thread.
#[derive(Debug)]
pub struct Worker<'a> {
    /// What is to be done.
    pub jobs: &'a Queue<Job>,
    /// What is done: the same numbers.
    pub results: &'a Queue<Job>,
    /// The largest distortions.
    pub largest: Distortion,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl Worker<'_> {
    /// Serves the queue: takes jobs until the queue of jobs is closed and empty, or that of results is closed, and puts the result of each.
    /// The image becomes [`process_image`] of it, with `&mut rng_of(self.seed, job.number)`.
    pub fn run(&self) {
        // write: run
        while let Some(job) = self.jobs.get() {
            let image = process_image(&job.image, &self.largest, &mut rng_of(self.seed, job.number));
            if self.results.put(Job { image, ..job }).is_err() {
                return;
            }
        }
        // end
    }

    /// Given: what a worker's thread does: [`run`](Self::run). If that panics, both queues are closed, so that no other thread waits for this one.
    pub fn serve(&self) {
        struct Closing<'a>(&'a Worker<'a>);
        impl Drop for Closing<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.jobs.close();
                    self.0.results.close();
                }
            }
        }
        let _closing = Closing(self);
        self.run();
    }
}

/// A distorted copy of each image, in their order, by as many [`Worker`]s as `workers` says, which have ended when this returns. An image's
/// number is its index.
///
/// `std::thread::scope(|scope| …)` waits for all threads that were started by `scope.spawn(|| worker.serve())` in it. The queues have room for some
/// images only: who puts the jobs while somebody takes the results?
pub fn augmented(images: &[Image], workers: NonZeroUsize, largest: Distortion, seed: u64) -> Vec<Image> {
    // write: augmented
    let (jobs, results) = (Queue::new(workers), Queue::new(workers));
    let worker = Worker { jobs: &jobs, results: &results, largest, seed };
    let mut distorted = images.to_vec();
    std::thread::scope(|scope| {
        for _ in 0..workers.get() {
            scope.spawn(|| worker.serve());
        }
        scope.spawn(|| {
            for (number, image) in images.iter().enumerate() {
                if jobs.put(Job { number: number as u64, image: *image }).is_err() {
                    break;
                }
            }
            jobs.close();
        });
        for _ in images {
            let Some(Job { number, image }) = results.get() else { break };
            distorted[number as usize] = image;
        }
    });
    distorted
    // end
}
