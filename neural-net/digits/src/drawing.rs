//! Extracts the digit from a drawing or a photo, in the form of MNIST's images.

mod format;
mod objects;
mod paper;
mod rules;

use ndarray::Array2;

use objects::Found;

/// Gray values 0 … 255, rows × columns, not empty.
type Grey = Array2<u8>;

/// Minimum difference in brightness between ink and paper, on a scale of 0 to 255.
pub const MIN_CONTRAST: u8 = 16;
/// Maximum width and height in pixels of the image to search for the digit. Larger images are
/// shrunk to this size.
const WORKING_SIDE: usize = 1024;

/// The brightness of an image's background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// The brightness of most pixels near the ink.
    #[default]
    Auto,
    /// Dark, as in MNIST.
    Dark,
    /// Light, as on paper.
    Light,
}

/// A digit in MNIST's format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digit {
    /// Rows × columns, 0 for the background and 255 for the digit.
    pub pixels: Array2<u8>,
    /// Whether the drawing is dark on light.
    pub is_inverted: bool,
    /// Whether the digit was scaled and centered.
    pub is_centred: bool,
    /// Number of other objects in the drawing, not counting specks, lines and frames.
    pub other_objects: usize,
}

/// The reason why a drawing has no digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoDigit {
    /// Nothing differs clearly from the background, except specks and lines.
    #[error("nothing is drawn: no digit differs clearly from the background")]
    Blank,
    /// No object has most of the ink.
    #[error("{objects} objects, and none stands out: crop the image to one digit")]
    Many {
        /// Number of objects.
        objects: usize,
    },
}

/// Finds the digit in a drawing and returns it as `side` × `side` pixels, light on dark.
///
/// The object with the most ink is scaled to 20 of 28 pixels and centered by its mass, as in MNIST.
/// If the digit already has that box and center, the drawing keeps its pixels. Ink is whatever is
/// darker than the paper around it, or lighter on dark paper, so shadows are not mistaken for ink.
/// Specks, ruled lines and frames are ignored.
///
/// # Errors
/// If there is no digit, or there are several objects and none stands out.
pub fn find_digit(drawing: Array2<u8>, side: usize, background: Background) -> Result<Digit, NoDigit> {
    let drawing = format::shrunk(drawing, WORKING_SIDE);
    let (ink, is_inverted) = paper::ink(&drawing, background).ok_or(NoDigit::Blank)?;
    let (mask, other_objects) = match objects::find(&ink) {
        Found::Digit { mask, others } => (mask, others),
        Found::Nothing => return Err(NoDigit::Blank),
        Found::Many { objects } => return Err(NoDigit::Many { objects }),
    };
    let drawing = if is_inverted { drawing.mapv(|pixel| 255 - pixel) } else { drawing };
    // A digit in MNIST's format may have parts that look like specks.
    let kept = match other_objects == 0 && format::fits(&drawing, side) {
        true => drawing,
        false => objects::masked(&drawing, &mask),
    };
    let is_centred = !format::fits(&kept, side);
    let pixels = match is_centred {
        false => kept,
        true => format::centred(&objects::normalised(&ink, &mask), side).ok_or(NoDigit::Blank)?,
    };
    Ok(Digit { pixels, is_inverted, is_centred, other_objects })
}
