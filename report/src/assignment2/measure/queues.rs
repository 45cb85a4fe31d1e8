//! Times workers that serve a queue, and ways to pass an image between threads.

use std::num::NonZeroUsize;
use std::time::Instant;

use augmentation::{Distortion, Image, PIXELS, ways};
use neural_net::preset::Preset;

use super::Plan;
use super::training::Trained;
use crate::Times;
use crate::assignment2::Augmentation;
use crate::figures::OnThreads;
use crate::measure::MeasureError;

/// Number of images per timed call: a few milliseconds.
const IMAGES: usize = 500;

/// A version to time: its name, and a call.
type Version<'a> = (&'static str, Box<dyn Fn() -> Result<(), MeasureError> + 'a>);

/// Adds the times of passing an image to those of training. The versions alternate.
pub(super) fn measure(plan: &Plan, trained: Trained) -> Result<Augmentation, MeasureError> {
    let bytes: [u8; PIXELS] = trained.image[..].try_into().map_err(MeasureError::training)?;
    let image: Image = bytes.map(|byte| f32::from(byte) / 255.0);
    let (largest, seed) = (Distortion { noise: 0.1, ..Distortion::default() }, plan.seed);
    let all_of = |version, arrived: usize| match arrived {
        IMAGES => Ok(()),
        _ => Err(MeasureError::Wrong { version, difference: format!("{arrived} of {IMAGES} images arrived") }),
    };
    let mut versions: Vec<Version> = vec![
        (
            "process_image",
            Box::new(|| {
                std::hint::black_box(ways::one_by_one(&image, IMAGES, &largest, seed));
                Ok(())
            }),
        ),
        (
            "Distortion::apply",
            Box::new(|| {
                std::hint::black_box(ways::by_one_map(&bytes, IMAGES, &largest, seed));
                Ok(())
            }),
        ),
        ("the queue", Box::new(|| all_of("the queue", ways::through_queue(&image, IMAGES)))),
        ("a pipe", Box::new(|| all_of("a pipe", ways::through_pipe(&image, IMAGES).map_err(MeasureError::training)?))),
    ];
    let first_worker = versions.len();
    for workers in plan.workers().iter().filter_map(|&workers| NonZeroUsize::new(workers)) {
        let (image, largest) = (&image, &largest);
        let call = move || all_of("Worker::run", ways::by_workers(image, IMAGES, workers, largest, seed));
        versions.push(("Worker::run", Box::new(call)));
    }
    let mut seconds = vec![Vec::new(); versions.len()];
    for round in 0..=plan.rounds() {
        for ((_, version), seconds) in versions.iter().zip(&mut seconds) {
            let start = Instant::now();
            version()?;
            let of_image = start.elapsed().as_secs_f64() / IMAGES as f64;
            // The first round is a warm-up.
            seconds.extend((round > 0).then_some(of_image));
        }
    }
    let names = versions.iter().map(|(name, _)| *name);
    let times = names.zip(seconds).map(|(version, seconds)| Times::of(seconds).ok_or(MeasureError::NoTime { version }));
    let times = times.collect::<Result<Vec<Times>, _>>()?;
    let serving = plan.workers().iter().zip(&times[first_worker..]);
    let serving = serving.map(|(&threads, &times)| OnThreads { threads, times }).collect();
    let Trained { data, is_mnist, batch, images, plain, alone, workers, accuracies, same_bits, .. } = trained;
    let [plain_accuracies, augmented_accuracies] = accuracies;
    Ok(Augmentation {
        data,
        is_mnist,
        sizes: Preset::Homework.sizes(),
        batch,
        images,
        plain,
        alone,
        workers,
        plain_accuracies,
        augmented_accuracies,
        same_bits,
        one_by_one: times[0],
        one_map: times[1],
        queue: times[2],
        pipe: times[3],
        serving,
    })
}
