//! What the page says of a drawing: the digit that it looks most like, or that it looks like none.
//!
//! A network has an output for whatever it sees, and may be near 1 for a smiley. A drawing is therefore also compared with
//! prototypes, averages of similar digits that the network was trained on, all of them drawn with the page's pen.

use crate::drawing::{PIXELS, SIDE};
use crate::network::Activations;

/// Width and height of a thumbnail in cells.
const CELLS: usize = 7;
/// Pixels between the middles of neighbouring cells. A cell reaches to the middles of its neighbours.
const PITCH: f32 = 3.5;
/// The output below which the network itself is not sure.
const SURE: f32 = 0.5;

/// Bytes of a prototype: its digit, and its thumbnail's ink, 0 … 255.
pub(crate) const PROTOTYPE: usize = 1 + CELLS * CELLS;

/// The limit of the distance, a little-endian `f32`, and the prototypes.
static PROTOTYPES: &[u8] = include_bytes!("prototypes.bin");

/// An image in 7 × 7 cells: the ink 0 … 1 around each cell's middle.
pub type Thumbnail = [f32; CELLS * CELLS];

/// How far a drawing is from digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// The digit of the nearest prototype.
    pub digit: usize,
    /// The distance to it. A hundredth of the digits that were held out is farther than 1.
    pub distance: f32,
}

/// What the page says of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does not look like any digit: it is too far from all prototypes.
    NoDigit,
    /// The network's digit is not that of the nearest prototype, or its output is low.
    NotSure,
    /// It looks most like the network's digit.
    Digit,
}

/// The verdict on a drawing with these activations, at this distance from digits.
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

/// The nearest of some prototypes, by the Euclidean distance of thumbnails.
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

/// The thumbnail of an image. A pixel counts by how near it is to a cell's middle, so that an image which is moved by a
/// pixel has almost the same.
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

/// The share of a column's ink in each column of cells, or that of a row. A cell's shares add up to 1, about.
fn shares(place: usize) -> [f32; CELLS] {
    core::array::from_fn(|cell| {
        let middle = PITCH * (cell as f32 + 1.0);
        let gap = place as f32 - middle;
        (1.0 - gap.abs() / PITCH).max(0.0) / PITCH
    })
}
