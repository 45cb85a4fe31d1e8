//! The augmentation's functions, for the judge.

mod drive;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use augmentation::{
    Closed, Distortion, Image, Job, PIXELS, Queue, Worker, add_noise, augmented, process_image, rng_of, rotate, shift,
    skew,
};
use judging::Functions;

/// An image of the judge.
fn image(pixels: Vec<f32>) -> Result<Image, String> {
    pixels.try_into().map_err(|_| "an image has 28 × 28 pixels".to_owned())
}

fn distortion((degrees, pixels, noise, tilt): (f32, i32, f32, f32)) -> Distortion {
    Distortion { degrees, pixels, noise, tilt }
}

/// The numbers of a [`Distortion`].
type Largest = (f32, i32, f32, f32);

/// How many more threads than before this process has at once while `run` runs, and after it.
fn more_threads(run: impl FnOnce()) -> [usize; 2] {
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
        run();
        // A thread that was joined may still be seen for a moment.
        let rest = (0..100).map(|_| {
            std::thread::sleep(Duration::from_millis(1));
            threads()
        });
        let rest = rest.min().unwrap_or_default();
        is_done.store(true, Ordering::Relaxed);
        let most = most.join().unwrap_or_default();
        [most, rest].map(|count| count.saturating_sub(before))
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
