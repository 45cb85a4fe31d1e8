//! Given: images, the largest distortions, and the generators of random numbers.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// Rows and columns of an image.
pub const SIDE: usize = 28;
/// Pixels of an image.
pub const PIXELS: usize = SIDE * SIDE;

/// An image: pixels from 0 (black) to 1 (white), row by row. Pixel (row, column) is `image[row * SIDE + column]`.
pub type Image = [f32; PIXELS];

/// The largest distortions of [`process_image`](crate::process_image).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distortion {
    /// Rotation to either side, in degrees.
    pub degrees: f32,
    /// Shift in each direction, in whole pixels.
    pub pixels: i32,
    /// Noise, added or subtracted.
    pub noise: f32,
    /// Tilt to either side.
    pub tilt: f32,
}

/// The generator for an image's random numbers, by the image's number: the same whichever worker has the image.
pub fn rng_of(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}
