//! Assignment 2: distorted copies of images of digits, prepared by worker threads while a network trains on earlier
//! ones.
//!
//! [`rotate`], [`shift`], [`skew`] and [`add_noise`] are the assignment's functions on images of 28 × 28 pixels from 0 to 1.
//! [`Distortion`] draws a random combination of them. [`in_order`] runs workers that write to a bounded queue, which one
//! reader empties in order.

mod queue;
mod warp;

use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};

pub use queue::in_order;
use warp::{Map, warp};

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

/// The image, moved by `right` columns and `down` rows; what comes from outside is 0.
pub fn shift(image: &Image, right: i32, down: i32) -> Image {
    warp(image, Map::shift(right as f32, down as f32))
}

/// The image with each row moved to the left by `tilt` times its number: pixel (row, column) is that of
/// (row, column + row · tilt), interpolated; what comes from outside is 0.
pub fn skew(image: &Image, tilt: f32) -> Image {
    warp(image, Map::skew(tilt))
}

/// The image with noise, uniform from 0 to `amount`, added to every pixel; the sum is at most 1.
pub fn add_noise(image: &Image, amount: f32, rng: &mut impl Rng) -> Image {
    image.map(|pixel| (pixel + amount * rng.random::<f32>()).min(1.0))
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
    /// Noise.
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
    /// a training run, whichever thread computes it.
    ///
    /// # Panics
    /// If one of the images does not have [`PIXELS`] pixels.
    pub fn apply(&self, image: &[u8], out: &mut [u8], seed: u64, number: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number);
        let image: &[u8; PIXELS] = image.try_into().expect("an image of a digit");
        let mut to = |largest: f32| largest * (2.0 * rng.random::<f32>() - 1.0);
        let (degrees, right, down, tilt) = (to(self.degrees), to(self.pixels), to(self.pixels), to(self.tilt));
        // The skew moves the middle row, too.
        let centred = Map::shift(tilt * (SIDE - 1) as f32 / 2.0 + right, down);
        let map = Map::rotation(degrees).after(Map::skew(tilt)).after(centred);
        let mut warped = warp(&image.map(f32::from), map);
        if self.noise > 0.0 {
            warped = add_noise(&warped.map(|pixel| pixel / 255.0), self.noise, &mut rng).map(|pixel| 255.0 * pixel);
        }
        assert_eq!(out.len(), PIXELS, "an image of a digit");
        out.iter_mut().zip(warped).for_each(|(out, pixel)| *out = (pixel + 0.5) as u8);
    }
}
