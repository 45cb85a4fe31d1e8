//! The augmentation's functions, called in the submission's process.

use std::num::NonZeroUsize;

use grader::{call, value};

pub use augmentation::{Distortion, Image, PIXELS, SIDE};

/// An image of the submission.
fn image(pixels: Vec<f32>) -> Result<Image, String> {
    pixels.try_into().map_err(|_| "its result is no image of 28 × 28 pixels".to_owned())
}

fn numbers(largest: &Distortion) -> (f32, i32, f32, f32) {
    (largest.degrees, largest.pixels, largest.noise, largest.tilt)
}

pub fn rotate(of: &Image, degrees: f32) -> Image {
    value(call("rotate", &(of.as_slice(), degrees), PIXELS).and_then(image))
}

pub fn shift(of: &Image, dx: i32, dy: i32) -> Image {
    value(call("shift", &(of.as_slice(), dx, dy), PIXELS).and_then(image))
}

pub fn skew(of: &Image, tilt: f32) -> Image {
    value(call("skew", &(of.as_slice(), tilt), PIXELS).and_then(image))
}

pub fn noisy(of: &Image, noise: f32, seed: u64) -> Image {
    value(call("noisy", &(of.as_slice(), noise, seed), PIXELS).and_then(image))
}

pub fn processed(of: &Image, largest: &Distortion, seed: u64) -> Image {
    value(call("processed", &(of.as_slice(), numbers(largest), seed), PIXELS).and_then(image))
}

pub fn passed(writers: usize, items: usize, room: NonZeroUsize) -> (Vec<(usize, usize)>, [usize; 2]) {
    value(call("passed", &(writers, items, room), 2 * writers * items))
}

pub fn full_queue() -> (usize, Vec<u32>, bool, Vec<Option<u32>>) {
    value(call("full_queue", &(), 0))
}

pub fn served(count: u64, workers: usize, largest: Distortion, seed: u64) -> Vec<(u64, Image)> {
    let done: Vec<(u64, Vec<f32>)> =
        value(call("served", &(count, workers, numbers(&largest), seed), count as usize * PIXELS));
    value(done.into_iter().map(|(number, pixels)| Ok((number, image(pixels)?))).collect())
}

pub fn augmented(images: &[Image], workers: NonZeroUsize, largest: Distortion, seed: u64) -> Vec<Image> {
    let elements = images.len() * PIXELS;
    let images: Vec<&[f32]> = images.iter().map(|image| image.as_slice()).collect();
    let made: Vec<Vec<f32>> = value(call("augmented", &(images, workers, numbers(&largest), seed), elements));
    value(made.into_iter().map(image).collect())
}
