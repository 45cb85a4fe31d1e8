//! Assignment 2: distorted copies of digit images, prepared by worker threads while a network
//! trains on earlier ones.
//!
//! [`rotate`], [`shift`], [`skew`] and [`add_noise`] are the assignment's functions on images of 28
//! × 28 pixels between 0 and 1. [`process_image`] calls them one after another with random
//! arguments. A [`Worker`] does this for the jobs in a [`Queue`] with many writers.
//! [`Distortion::apply`] and [`in_order`] are for training: an image is interpolated only once, and
//! one reader takes the workers' results in order.

mod queue;
mod warp;
pub mod ways;
mod worker;

use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};

pub use queue::{Closed, Queue, in_order};
use warp::{Map, warp};
pub use worker::{Job, Worker};

/// Rows and columns of an image.
pub const SIDE: usize = 28;
/// Pixels of an image.
pub const PIXELS: usize = SIDE * SIDE;

/// An image: pixels from 0 to 1, row by row.
pub type Image = [f32; PIXELS];

/// Rotates the image around its center by an angle in degrees, counterclockwise. Pixels are
/// interpolated bilinearly; pixels outside the image count as 0.
pub fn rotate(image: &Image, degrees: f32) -> Image {
    warp(image, Map::rotation(degrees))
}

/// Moves the image by `dx` columns to the *left* and `dy` rows *up*: pixel (row, column) of the
/// result is pixel (row + dy, column + dx) of the image. Pixels outside the image count as 0.
pub fn shift(image: &Image, dx: i32, dy: i32) -> Image {
    warp(image, Map::shift(dx as f32, dy as f32))
}

/// Moves each row to the left by `tilt` times its index: pixel (row, column) of the result is pixel
/// (row, column + row · tilt) of the image. Pixels outside the image count as 0.
///
/// The assignment rounds column + row · tilt to an integer. Here, the two pixels around it are
/// interpolated, so the rows of a stroke do not jump. If it is an integer, both definitions agree.
pub fn skew(image: &Image, tilt: f32) -> Image {
    warp(image, Map::skew(tilt))
}

/// Adds a value uniform in [−noise, +noise] to each pixel. Sums are clamped to the range from 0 to 1.
pub fn add_noise(image: &Image, noise: f32, rng: &mut impl Rng) -> Image {
    image.map(|pixel| (pixel + within(noise, rng)).clamp(0.0, 1.0))
}

/// Applies [`rotate`], [`shift`], [`add_noise`] and [`skew`] one after another, each with random
/// arguments up to `largest`. Shifts are whole pixels.
pub fn process_image(image: &Image, largest: &Distortion, rng: &mut impl Rng) -> Image {
    let rotated = rotate(image, within(largest.degrees, rng));
    let pixels = largest.pixels.abs() as i32;
    let shifted = shift(&rotated, rng.random_range(-pixels..=pixels), rng.random_range(-pixels..=pixels));
    let noisy = add_noise(&shifted, within(largest.noise, rng).abs(), rng);
    skew(&noisy, within(largest.tilt, rng))
}

/// A random value, uniform between −`largest` and `largest`.
fn within(largest: f32, rng: &mut impl Rng) -> f32 {
    largest * (2.0 * rng.random::<f32>() - 1.0)
}

/// The random number generator for the image with the given number in a training run.
fn rng_of(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

/// The maximum parameters of a random distortion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distortion {
    /// Rotation in either direction, in degrees.
    pub degrees: f32,
    /// Shift in each direction, in pixels.
    pub pixels: f32,
    /// Tilt in either direction.
    pub tilt: f32,
    /// Noise, added or subtracted.
    pub noise: f32,
}

impl Default for Distortion {
    /// Large enough for a network to benefit, but too small to turn a digit into another one. There
    /// is no noise, since it would leave no zeros for a network's first layer to skip.
    fn default() -> Self {
        Self { degrees: 12.0, pixels: 2.0, tilt: 0.15, noise: 0.0 }
    }
}

impl Distortion {
    /// Distorts an image of bytes (255 means 1) at random. The distortion is a function of the seed
    /// and the image's number in a training run, whichever thread computes it. Rotation, skew and
    /// shift form one map, so a pixel is interpolated only once. The shift may be a fraction of a
    /// pixel.
    ///
    /// # Panics
    /// If one of the images does not have [`PIXELS`] pixels.
    pub fn apply(&self, image: &[u8], out: &mut [u8], seed: u64, number: u64) {
        let mut rng = rng_of(seed, number);
        let image: &[u8; PIXELS] = image.try_into().expect("an image of a digit");
        let mut to = |largest: f32| within(largest, &mut rng);
        let (degrees, dx, dy, tilt) = (to(self.degrees), to(self.pixels), to(self.pixels), to(self.tilt));
        // The skew also moves the middle row.
        let centred = Map::shift(dx - tilt * (SIDE - 1) as f32 / 2.0, dy);
        let map = Map::rotation(degrees).after(Map::skew(tilt)).after(centred);
        let mut warped = warp(&image.map(f32::from), map);
        if self.noise > 0.0 {
            warped = add_noise(&warped.map(|pixel| pixel / 255.0), self.noise, &mut rng).map(|pixel| 255.0 * pixel);
        }
        assert_eq!(out.len(), PIXELS, "an image of a digit");
        out.iter_mut().zip(warped).for_each(|(out, pixel)| *out = (pixel + 0.5) as u8);
    }
}
