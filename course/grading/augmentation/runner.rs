//! The augmentation's functions, for the judge.

mod drive;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use augmentation::{
    Closed, Distortion, Image, Job, PIXELS, Queue, Worker, add_noise, augmented, process_image, rng_of, rotate, shift,
    skew,
};
use grader::Functions;

/// An image of the judge.
fn image(pixels: Vec<f32>) -> Result<Image, String> {
    pixels.try_into().map_err(|_| "an image has 28 × 28 pixels".to_owned())
}

fn distortion((degrees, pixels, noise, tilt): (f32, i32, f32, f32)) -> Distortion {
    Distortion { degrees, pixels, noise, tilt }
}

/// The numbers of a [`Distortion`].
type Largest = (f32, i32, f32, f32);

/// Maximum wait for the end of a thread that was joined: the system may show it for a while.
const ENDING: Duration = Duration::from_secs(30);

/// The number that Linux gives to a new thread: one after the other, in a sandbox's own space of processes.
fn next_thread() -> Option<usize> {
    let link = std::thread::spawn(|| std::fs::read_link("/proc/thread-self")).join().ok()?.ok()?;
    link.file_name()?.to_str()?.parse().ok()
}

/// How many threads start while `run` runs, `usize::MAX` if that cannot be found out; how many more than before there are at once, as
/// far as they are seen; and how many more after it.
fn more_threads(run: impl FnOnce()) -> [usize; 3] {
    let threads = || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let before = threads() + 1;
        let most = scope.spawn(|| {
            let mut most = 0;
            while !is_done.load(Ordering::Relaxed) {
                most = most.max(threads());
                std::thread::sleep(Duration::from_micros(100));
            }
            most
        });
        let first = next_thread();
        run();
        let started = next_thread().zip(first).and_then(|(last, first)| last.checked_sub(first + 1));
        let end = Instant::now();
        let mut rest = threads();
        while rest > before && end.elapsed() < ENDING {
            std::thread::sleep(Duration::from_millis(1));
            rest = threads();
        }
        is_done.store(true, Ordering::Relaxed);
        let most = most.join().unwrap_or_default();
        [started.unwrap_or(usize::MAX), most.saturating_sub(before), rest.saturating_sub(before)]
    })
}

fn main() -> std::io::Result<()> {
    Functions::default()
        .with("rotate", |(pixels, degrees): (Vec<f32>, f32)| Ok(rotate(&image(pixels)?, degrees).to_vec()))
        .with("shift", |(pixels, dx, dy): (Vec<f32>, i32, i32)| Ok(shift(&image(pixels)?, dx, dy).to_vec()))
        .with("skew", |(pixels, tilt): (Vec<f32>, f32)| Ok(skew(&image(pixels)?, tilt).to_vec()))
        .with("noisy", |(pixels, noise, seed): (Vec<f32>, f32, u64)| {
            Ok(drive::noisy(&image(pixels)?, noise, seed).to_vec())
        })
        .with("processed", |(pixels, largest, seed): (Vec<f32>, Largest, u64)| {
            Ok(drive::processed(&image(pixels)?, &distortion(largest), seed).to_vec())
        })
        .with("passed", |(writers, items, room): (usize, usize, NonZeroUsize)| Ok(drive::passed(writers, items, room)))
        .with("full_queue", |(): ()| Ok(drive::full_queue()))
        .with("served", |(count, workers, largest, seed): (u64, usize, Largest, u64)| {
            let done = drive::served(count, workers, distortion(largest), seed);
            Ok(done.into_iter().map(|(number, image)| (number, image.to_vec())).collect::<Vec<_>>())
        })
        .with("augmented", |(images, workers, largest, seed): (Vec<Vec<f32>>, NonZeroUsize, Largest, u64)| {
            let images = images.into_iter().map(image).collect::<Result<Vec<Image>, String>>()?;
            let made = augmented(&images, workers, distortion(largest), seed);
            Ok(made.iter().map(|image| image.to_vec()).collect::<Vec<_>>())
        })
        .with("threads of augmented", |(images, workers): (usize, NonZeroUsize)| {
            let images = vec![[0.5; PIXELS]; images];
            let largest = Distortion { degrees: 10.0, pixels: 2, noise: 0.1, tilt: 0.1 };
            Ok(more_threads(|| drop(augmented(&images, workers, largest, 1))))
        })
        .serve()
}
