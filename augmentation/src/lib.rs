//! Assignment 2: distorted copies of images of digits, prepared by worker threads while a network trains on earlier
//! ones.
//!
//! [`rotate`], [`shift`], [`skew`] and [`add_noise`] are the assignment's functions on images of 28 × 28 pixels from 0 to 1;
//! [`process_image`] calls them one after another with random arguments. A [`Worker`] does that with the jobs of a
//! [`Queue`] of many writers. [`Distortion::apply`] and [`in_order`] are for training: an image is interpolated once, and
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

/// The image, turned by an angle in degrees around its centre, against the clock. Pixels are interpolated bilinearly;
/// what comes from outside is 0.
pub fn rotate(image: &Image, degrees: f32) -> Image {
    warp(image, Map::rotation(degrees))
}

/// The image, moved by `dx` columns to the *left* and `dy` rows *up*: pixel (row, column) is that of (row + dy,
/// column + dx); what comes from outside is 0.
pub fn shift(image: &Image, dx: i32, dy: i32) -> Image {
    warp(image, Map::shift(dx as f32, dy as f32))
}

/// The image with each row moved to the left by `tilt` times its number: pixel (row, column) is that of
/// (row, column + row · tilt); what comes from outside is 0.
///
/// The assignment rounds column + row · tilt to an integer. Here the two pixels around it are interpolated, so that the
/// rows of a stroke do not jump; where it is an integer, both are the same.
pub fn skew(image: &Image, tilt: f32) -> Image {
    warp(image, Map::skew(tilt))
}

/// The image with a value uniform in [−noise, +noise] added to each pixel; sums below 0 become 0, those above 1 become 1.
pub fn add_noise(image: &Image, noise: f32, rng: &mut impl Rng) -> Image {
    image.map(|pixel| (pixel + within(noise, rng)).clamp(0.0, 1.0))
}

/// The image after [`rotate`], [`shift`], [`add_noise`] and [`skew`], one after another, each with random arguments up to
/// `largest`; shifts are whole pixels.
pub fn process_image(image: &Image, largest: &Distortion, rng: &mut impl Rng) -> Image {
    let rotated = rotate(image, within(largest.degrees, rng));
    let pixels = largest.pixels.abs() as i32;
    let shifted = shift(&rotated, rng.random_range(-pixels..=pixels), rng.random_range(-pixels..=pixels));
    let noisy = add_noise(&shifted, within(largest.noise, rng).abs(), rng);
    skew(&noisy, within(largest.tilt, rng))
}

/// A random value, uniform from −`largest` to `largest`.
fn within(largest: f32, rng: &mut impl Rng) -> f32 {
    largest * (2.0 * rng.random::<f32>() - 1.0)
}

/// The generator of the image with a number in a training run.
fn rng_of(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

/// The largest distortions of a random one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distortion {
    /// Rotation to either side, in degrees.
    pub degrees: f32,
    /// Shift in each direction, in pixels.
    pub pixels: f32,
    /// Tilt to either side.
    pub tilt: f32,
    /// Noise, added or subtracted.
    pub noise: f32,
}

impl Default for Distortion {
    /// Enough for a network to gain by it, not so much that a digit becomes another. Without noise, which has no zeros
    /// left that a network's first layer could skip.
    fn default() -> Self {
        Self { degrees: 12.0, pixels: 2.0, tilt: 0.15, noise: 0.0 }
    }
}

impl Distortion {
    /// A random distortion of an image of bytes, where 255 is 1. It is a function of the seed and the image's number in
    /// a training run, whichever thread computes it. Rotation, skew and shift are one map, so that a pixel is
    /// interpolated once; the shift is any part of a pixel.
    ///
    /// # Panics
    /// If one of the images does not have [`PIXELS`] pixels.
    pub fn apply(&self, image: &[u8], out: &mut [u8], seed: u64, number: u64) {
        let mut rng = rng_of(seed, number);
        let image: &[u8; PIXELS] = image.try_into().expect("an image of a digit");
        let mut to = |largest: f32| within(largest, &mut rng);
        let (degrees, dx, dy, tilt) = (to(self.degrees), to(self.pixels), to(self.pixels), to(self.tilt));
        // The skew moves the middle row, too.
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
