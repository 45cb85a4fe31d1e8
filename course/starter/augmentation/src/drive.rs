//! Given: calls of the functions with values that the tests know. A thread that panics closes its queue, so that no other one waits for it.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::thread::ScopedJoinHandle;

use crate::{Closed, Distortion, Image, Job, PIXELS, Queue, Worker, add_noise, process_image, rng_of};

/// [`add_noise`] with a seed.
pub fn noisy(image: &Image, noise: f32, seed: u64) -> Image {
    add_noise(image, noise, &mut rng_of(seed, 0))
}

/// [`process_image`] with a seed.
pub fn processed(image: &Image, largest: &Distortion, seed: u64) -> Image {
    process_image(image, largest, &mut rng_of(seed, 0))
}

/// Closes a queue when its thread panics.
struct ClosedByPanic<'a, T>(&'a Queue<T>);

impl<T> Drop for ClosedByPanic<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}

/// Waits for threads, and passes the panic of one on.
fn join<T>(threads: Vec<ScopedJoinHandle<'_, T>>) {
    for thread in threads {
        thread.join().unwrap_or_else(|panic| resume_unwind(panic));
    }
}

/// The pairs (writer, item) that one reader gets from `writers` threads, which put 0, 1 … each; and the greatest length that it has
/// seen, and the last one.
pub fn passed(writers: usize, items: usize, room: NonZeroUsize) -> (Vec<(usize, usize)>, [usize; 2]) {
    let queue = Queue::new(room);
    let (mut got, mut greatest) = (Vec::new(), 0);
    // An item of this thread comes back to it.
    let own = (writers, 0);
    got.extend(queue.put(own).is_ok().then(|| queue.get()).flatten().filter(|item| *item != own));
    std::thread::scope(|scope| {
        let start = |writer| {
            let queue = &queue;
            scope.spawn(move || {
                let _closed = ClosedByPanic(queue);
                (0..items).try_for_each(|item| queue.put((writer, item)))
            })
        };
        let threads = (0..writers).map(start).collect();
        let _closed = ClosedByPanic(&queue);
        for _ in 0..writers * items {
            greatest = greatest.max(queue.length());
            got.extend(queue.get());
        }
        join(threads);
    });
    (got, [greatest, queue.length()])
}

/// What a queue with room for two does when it is full: its length; then a third item waits until one is taken: the items in their
/// order; then it is closed, while a writer waits for room that there is not: whether that writer has had an error, and what the queue
/// still gives.
pub fn full_queue() -> (usize, Vec<u32>, bool, Vec<Option<u32>>) {
    let queue = Queue::new(NonZeroUsize::MIN.saturating_add(1));
    let put = |item| queue.put(item).is_ok();
    let both = [put(1), put(2)];
    let length = queue.length();
    let (mut taken, mut is_refused) = (Vec::new(), false);
    std::thread::scope(|scope| {
        let third = scope.spawn(|| queue.put(3));
        taken.extend(both.iter().filter(|is_put| **is_put).filter_map(|_| queue.get()));
        let third = third.join();
        taken.extend(third.is_ok_and(|third| third == Ok(())).then(|| queue.get()).flatten());
        let again = [put(4), put(5)];
        let sixth = scope.spawn(|| queue.put(6));
        queue.close();
        is_refused = again == [true; 2] && sixth.join().is_ok_and(|sixth| sixth == Err(Closed));
    });
    (length, taken, is_refused, (0..3).map(|_| queue.get()).collect())
}

/// The results of `count` jobs, numbered from 0, of an image that is white in column `number % 28`, by some workers: in the order in which they
/// come. The queue of results is closed at the last.
pub fn served(count: u64, workers: usize, largest: Distortion, seed: u64) -> Vec<(u64, Image)> {
    let room = NonZeroUsize::MIN.saturating_add(3);
    let (jobs, results) = (Queue::new(room), Queue::new(room));
    let worker = Worker { jobs: &jobs, results: &results, largest, seed };
    let mut done = Vec::new();
    std::thread::scope(|scope| {
        let _closed = (ClosedByPanic(&jobs), ClosedByPanic(&results));
        let mut threads: Vec<_> = (0..workers).map(|_| scope.spawn(|| worker.serve())).collect();
        threads.push(scope.spawn(|| {
            let _closed = ClosedByPanic(&jobs);
            for number in 0..count {
                let mut image = [0.0; PIXELS];
                image.iter_mut().skip(number as usize % 28).step_by(28).for_each(|pixel| *pixel = 1.0);
                if jobs.put(Job { number, image }).is_err() {
                    break;
                }
            }
            jobs.close();
        }));
        done.extend((0..count).map_while(|_| results.get()).map(|job| (job.number, job.image)));
        results.close();
        join(threads);
    });
    done
}
