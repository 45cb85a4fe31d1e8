//! Decides what the page says about a drawing: which digit it looks most like, or that it looks
//! like none.
//!
//! A network has outputs for any input, and one may be near 1 even for a smiley. A drawing is
//! therefore also compared with prototypes: averages of similar training digits, all drawn with the
//! page's pen.

use crate::drawing::{PIXELS, SIDE};
use crate::network::Activations;

/// Width and height of a thumbnail in cells.
const CELLS: usize = 7;
/// Pixels between the centers of adjacent cells. A cell extends to the centers of its neighbors.
const PITCH: f32 = 3.5;
/// Below this output, the network itself is not sure.
const SURE: f32 = 0.5;

/// Size of a prototype in bytes: its digit, and its thumbnail's ink, 0 … 255.
pub(crate) const PROTOTYPE: usize = 1 + CELLS * CELLS;

/// The limit of the distance, a little-endian `f32`, and the prototypes.
static PROTOTYPES: &[u8] = include_bytes!("prototypes.bin");

/// An image reduced to 7 × 7 cells: the ink 0 … 1 around each cell's center.
pub type Thumbnail = [f32; CELLS * CELLS];

/// How close a drawing is to known digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// The digit of the nearest prototype.
    pub digit: usize,
    /// The distance to it. One in a hundred held-out digits is farther than 1.
    pub distance: f32,
}

/// What the page says about a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does not look like any digit: it is too far from all prototypes.
    NoDigit,
    /// The network's digit differs from the nearest prototype's, or its output is low.
    NotSure,
    /// It looks most like the network's digit.
    Digit,
}

/// The verdict on a drawing, from its activations and its distance from digits.
pub fn verdict(activations: &Activations, nearest: &Nearest) -> Verdict {
    let digit = activations.digit();
    if nearest.distance > 1.0 {
        Verdict::NoDigit
    } else if digit != nearest.digit || activations.outputs[digit] < SURE {
        Verdict::NotSure
    } else {
        Verdict::Digit
    }
}

/// The nearest prototype of an image.
pub fn nearest(image: &[u8; PIXELS]) -> Nearest {
    let (limit, prototypes) = PROTOTYPES.split_first_chunk().expect("the file starts with a float");
    let Nearest { digit, distance } = nearest_of(prototypes, &thumbnail(image));
    Nearest { digit, distance: distance / f32::from_le_bytes(*limit) }
}

/// The nearest of several prototypes, by Euclidean distance between thumbnails.
pub(crate) fn nearest_of(prototypes: &[u8], thumbnail: &Thumbnail) -> Nearest {
    let mut nearest = Nearest { digit: 0, distance: f32::INFINITY };
    for &[digit, ref cells @ ..] in prototypes.as_chunks::<PROTOTYPE>().0 {
        let gaps = cells.iter().zip(thumbnail).map(|(&cell, ink)| f32::from(cell) / 255.0 - ink);
        let square: f32 = gaps.map(|gap| gap * gap).sum();
        if square < nearest.distance {
            nearest = Nearest { digit: digit.into(), distance: square };
        }
    }
    Nearest { distance: libm::sqrtf(nearest.distance), ..nearest }
}

/// The thumbnail of an image. Each pixel is weighted by its distance from a cell's center, so an
/// image moved by one pixel has almost the same thumbnail.
pub fn thumbnail(image: &[u8; PIXELS]) -> Thumbnail {
    let mut cells = [0.0; CELLS * CELLS];
    for (at, &pixel) in image.iter().enumerate().filter(|(_, pixel)| **pixel > 0) {
        let [in_columns, in_rows] = [at % SIDE, at / SIDE].map(shares);
        for (index, cell) in cells.iter_mut().enumerate() {
            *cell += in_columns[index % CELLS] * in_rows[index / CELLS] * f32::from(pixel) / 255.0;
        }
    }
    cells
}

/// The fraction of a column's (or row's) ink that each column (or row) of cells receives. A cell's
/// fractions add up to about 1.
fn shares(place: usize) -> [f32; CELLS] {
    core::array::from_fn(|cell| {
        let middle = PITCH * (cell as f32 + 1.0);
        let gap = place as f32 - middle;
        (1.0 - gap.abs() / PITCH).max(0.0) / PITCH
    })
}
