//! Ways to pass images between threads and through distortions, for the report to time. They are
//! here because this crate is optimized in every profile.

use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::sync::Mutex;

use crate::{Distortion, Image, Job, PIXELS, Queue, Worker, process_image, rng_of};

/// Capacity of the queues, in images.
const ROOM: NonZeroUsize = NonZeroUsize::new(64).expect("64 is not 0");
/// Number of threads that write to a queue or a pipe.
pub const WRITERS: usize = 2;

/// Runs the assignment's functions one after another, `count` times. Returns the last result.
pub fn one_by_one(image: &Image, count: usize, largest: &Distortion, seed: u64) -> Image {
    let mut rng = rng_of(seed, 0);
    (0..count).fold(*image, |_, _| process_image(image, largest, &mut rng))
}

/// Applies the same distortions with [`Distortion::apply`]. Returns the last result.
pub fn by_one_map(image: &[u8; PIXELS], count: usize, largest: &Distortion, seed: u64) -> [u8; PIXELS] {
    let mut out = *image;
    (0..count as u64).for_each(|number| largest.apply(image, &mut out, seed, number));
    out
}

/// Sends `count` images from [`WRITERS`] threads to this one through a [`Queue`]. Returns how many
/// arrived unchanged.
pub fn through_queue(image: &Image, count: usize) -> usize {
    let queue = Queue::new(ROOM);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let queue = &queue;
            scope.spawn(move || share(writer, count).try_for_each(|_| queue.put(*image)));
        }
        (0..count).filter(|_| queue.get().is_some_and(|got| got == *image)).count()
    })
}

/// Does the same through a system pipe, as between processes: an image is sent as bytes, and a lock
/// keeps the writers apart.
///
/// # Errors
/// If the system has no pipe, or it fails.
pub fn through_pipe(image: &Image, count: usize) -> io::Result<usize> {
    let (mut reader, writer) = io::pipe()?;
    let pipe = &Mutex::new(writer);
    // If reading fails, the reader is dropped with the closure, and the writers fail too.
    std::thread::scope(move |scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                share(writer, count).try_for_each(|_| {
                    let bytes: Vec<u8> = image.iter().flat_map(|pixel| pixel.to_le_bytes()).collect();
                    pipe.lock().map_err(|_| io::ErrorKind::Other)?.write_all(&bytes)
                })
            });
        }
        let (mut bytes, mut arrived) = ([0; PIXELS * size_of::<f32>()], 0);
        for _ in 0..count {
            reader.read_exact(&mut bytes)?;
            let (pixels, _) = bytes.as_chunks();
            let got: Vec<f32> = pixels.iter().map(|pixel| f32::from_le_bytes(*pixel)).collect();
            arrived += usize::from(got == image);
        }
        Ok(arrived)
    })
}

/// Passes `count` images through workers that serve a queue. Returns how many were distorted.
pub fn by_workers(image: &Image, count: usize, workers: NonZeroUsize, largest: &Distortion, seed: u64) -> usize {
    let (jobs, results) = (Queue::new(ROOM), Queue::new(ROOM));
    let worker = Worker { jobs: &jobs, results: &results, largest: *largest, seed };
    std::thread::scope(|scope| {
        (0..workers.get()).for_each(|_| drop(scope.spawn(|| worker.run())));
        scope.spawn(|| {
            let mut numbers = 0..count as u64;
            let put = numbers.try_for_each(|number| jobs.put(Job { number, image: *image, label: 0 }));
            jobs.close();
            put
        });
        (0..count).filter(|_| results.get().is_some()).count()
    })
}

/// The numbers of a writer's images.
fn share(writer: usize, count: usize) -> std::iter::StepBy<std::ops::Range<usize>> {
    (writer..count).step_by(WRITERS)
}
