//! The size and position of a digit in MNIST's images.

use ndarray::{Array2, s};
use resize::{Pixel, Type};
use rgb::FromSlice;

use super::Grey;

/// Side of the box that a digit is scaled into, as a fraction of the image's side: 20 of 28 pixels,
/// as in MNIST.
const BOX_SHARE: f64 = 20.0 / 28.0;
/// Maximum distance in pixels between the center of mass and MNIST's. MNIST's images were moved by
/// whole pixels, so their centers are at most half a pixel off.
const MAX_OFFSET: f64 = 0.55;

/// Shrinks the image so its longer side has at most `max_side` pixels, by averaging square blocks.
/// Rows and columns that do not fill a block are cut off.
pub(super) fn shrunk(image: Grey, max_side: usize) -> Grey {
    let (height, width) = image.dim();
    let side = height.max(width).div_ceil(max_side).min(height).min(width);
    if side == 1 {
        return image;
    }
    let mean = |(row, column): (usize, usize)| {
        let block = image.slice(s![row * side..(row + 1) * side, column * side..(column + 1) * side]);
        (block.iter().map(|&value| u64::from(value)).sum::<u64>() / block.len() as u64) as u8
    };
    Array2::from_shape_fn((height / side, width / side), mean)
}

/// Whether the pixels above 0 have the bounding box and center of mass that MNIST gives a digit in
/// `side` × `side` pixels.
pub(super) fn fits(image: &Grey, side: usize) -> bool {
    if image.dim() != (side, side) {
        return false;
    }
    let Some([rows, columns]) = extent(image) else { return false };
    let box_side = (side as f64 * BOX_SHARE).round() as usize;
    let longer = rows.len().max(columns.len());
    // The longer side of MNIST's digits is 20 pixels, except for one in 5000 with 19.
    (box_side.saturating_sub(1)..=box_side).contains(&longer)
        && centre_of_mass(image).iter().all(|centre| (centre - middle(side)).abs() <= MAX_OFFSET)
}

/// Scales the digit of an image (light on 0) and centers it by its mass in `side` × `side` pixels;
/// `None` if all is 0.
pub(super) fn centred(image: &Grey, side: usize) -> Option<Grey> {
    let [rows, columns] = extent(image)?;
    let digit = scaled(image.slice(s![rows, columns]).to_owned(), side);
    let centre = centre_of_mass(&digit);
    // Move by whole pixels, without leaving the image.
    let place =
        |axis: usize, length: usize| (middle(side) - centre[axis]).round().clamp(0.0, (side - length) as f64) as usize;
    let (height, width) = digit.dim();
    let (top, left) = (place(0, height), place(1, width));
    let mut centred = Array2::zeros((side, side));
    centred.slice_mut(s![top..top + height, left..left + width]).assign(&digit);
    Some(centred)
}

/// The row or column of MNIST's mean center of mass: the middle of pixel 14. Pixel i covers i … i + 1.
fn middle(side: usize) -> f64 {
    (side as f64 + 1.0) / 2.0
}

/// The ranges of the rows and columns with a pixel above 0.
fn extent(image: &Grey) -> Option<[std::ops::Range<usize>; 2]> {
    let inked = || image.indexed_iter().filter(|(_, value)| **value > 0).map(|(place, _)| place);
    let (top, bottom) = (inked().map(|(row, _)| row).min()?, inked().map(|(row, _)| row).max()?);
    let (left, right) = (inked().map(|(_, column)| column).min()?, inked().map(|(_, column)| column).max()?);
    Some([top..bottom + 1, left..right + 1])
}

/// Row and column of the center of mass.
fn centre_of_mass(image: &Grey) -> [f64; 2] {
    let (mut mass, mut moments) = (0.0, [0.0; 2]);
    for ((row, column), &value) in image.indexed_iter() {
        let value = f64::from(value);
        mass += value;
        moments[0] += value * (row as f64 + 0.5);
        moments[1] += value * (column as f64 + 0.5);
    }
    moments.map(|moment| moment / mass)
}

/// Scales a digit that fills its image to the size that it has in an image of `side` × `side` pixels.
fn scaled(digit: Grey, side: usize) -> Grey {
    let (height, width) = digit.dim();
    let scale = side as f64 * BOX_SHARE / width.max(height) as f64;
    let scaled = |length: usize| ((length as f64 * scale).round() as usize).clamp(1, side);
    let (new_height, new_width) = (scaled(height), scaled(width));
    let mut pixels = vec![0_u8; new_height * new_width];
    let digit = digit.as_standard_layout();
    let source = digit.as_slice().expect("an array in standard layout is contiguous");
    resize::new(width, height, new_width, new_height, Pixel::Gray8, Type::Triangle)
        .and_then(|mut resizer| resizer.resize(source.as_gray(), pixels.as_gray_mut()))
        .expect("both images have pixels, and their buffers these sizes");
    // Scaling has made thin strokes darker.
    let brightest = f64::from(pixels.iter().copied().max().unwrap_or(0).max(1));
    pixels.iter_mut().for_each(|pixel| *pixel = (f64::from(*pixel) * 255.0 / brightest) as u8);
    Array2::from_shape_vec((new_height, new_width), pixels).expect("the buffer has this size")
}
