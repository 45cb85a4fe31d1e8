use rand::{Rng, RngExt};

use crate::{Distortion, Image, PIXELS, SIDE};

/// Pixel (row, column) of an image, 0 outside of it. Given; use it where it helps.
fn pixel(image: &Image, row: i32, column: i32) -> f32 {
    let is_inside = (0..SIDE as i32).contains(&row) && (0..SIDE as i32).contains(&column);
    if is_inside { image[row as usize * SIDE + column as usize] } else { 0.0 }
}

/// The image, turned by an angle in degrees against the clock, around its centre between the four middle pixels, (13.5, 13.5). A pixel of
/// the result comes from a place between four pixels of the image, which are interpolated bilinearly; what comes from outside is 0.
///
/// With x to the right of the centre and y above it, the pixel at (x, y) comes from (x·cos α + y·sin α, y·cos α − x·sin α).
/// `degrees.to_radians().sin_cos()` is the pair (sin α, cos α).
pub fn rotate(image: &Image, degrees: f32) -> Image {
    // write: rotate
    let (sin, cos) = degrees.to_radians().sin_cos();
    let centre = (SIDE - 1) as f32 / 2.0;
    let mut result = [0.0; PIXELS];
    for (index, out) in result.iter_mut().enumerate() {
        let (x, y) = ((index % SIDE) as f32 - centre, centre - (index / SIDE) as f32);
        let (row, column) = (centre - (y * cos - x * sin), centre + (x * cos + y * sin));
        let (top, left) = (row.floor(), column.floor());
        let (down, right) = (row - top, column - left);
        let at = |rows, columns| pixel(image, top as i32 + rows, left as i32 + columns);
        let above = at(0, 0) * (1.0 - right) + at(0, 1) * right;
        let below = at(1, 0) * (1.0 - right) + at(1, 1) * right;
        *out = above * (1.0 - down) + below * down;
    }
    result
    // end
}

/// The image, moved by `dx` columns to the *left* and `dy` rows *up*: pixel (row, column) is that of (row + dy, column + dx); what comes from
/// outside is 0.
pub fn shift(image: &Image, dx: i32, dy: i32) -> Image {
    // write: shift
    let mut result = [0.0; PIXELS];
    for (index, out) in result.iter_mut().enumerate() {
        *out = pixel(image, (index / SIDE) as i32 + dy, (index % SIDE) as i32 + dx);
    }
    result
    // end
}

/// The image with a value uniform in [−noise, +noise] added to each pixel; sums below 0 become 0, those above 1 become 1.
/// `rng.random_range(-noise..=noise)` is such a value, `x.clamp(0.0, 1.0)` the nearest number from 0 to 1.
pub fn add_noise(image: &Image, noise: f32, rng: &mut impl Rng) -> Image {
    // write: add_noise
    image.map(|pixel| (pixel + rng.random_range(-noise..=noise)).clamp(0.0, 1.0))
    // end
}

/// The image with each row moved to the left by `tilt` times its number: pixel (row, column) is that of (row, column + row · tilt), rounded to
/// a whole column; what comes from outside is 0. `x.round() as i32` rounds.
pub fn skew(image: &Image, tilt: f32) -> Image {
    // write: skew
    let mut result = [0.0; PIXELS];
    for (index, out) in result.iter_mut().enumerate() {
        let (row, column) = ((index / SIDE) as i32, (index % SIDE) as i32);
        *out = pixel(image, row, column + (row as f32 * tilt).round() as i32);
    }
    result
    // end
}

/// The image after [`rotate`], [`shift`], [`add_noise`] and [`skew`], one after another, each with arguments that are random up to those of
/// `largest`, to either side. `rng.random_range(-x..=x)` works for integers as well.
pub fn process_image(image: &Image, largest: &Distortion, rng: &mut impl Rng) -> Image {
    // write: process_image
    let Distortion { degrees, pixels, noise, tilt } = *largest;
    let rotated = rotate(image, rng.random_range(-degrees..=degrees));
    let (dx, dy) = (rng.random_range(-pixels..=pixels), rng.random_range(-pixels..=pixels));
    let shifted = shift(&rotated, dx, dy);
    let noisy = add_noise(&shifted, rng.random_range(0.0..=noise), rng);
    skew(&noisy, rng.random_range(-tilt..=tilt))
    // end
}
