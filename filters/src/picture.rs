//! Pictures: reads JPEG and PNG files in gray, writes gray PNG files, and draws a picture.

mod drawing;
mod files;

use ndarray::{Array2, ArrayRef2};

pub use drawing::drawing;
pub use files::{MAX_SIDE, PictureError, read_grey, write_png};

/// Converts a result to gray pixels: 0 is black and the largest absolute value white. NaN is black,
/// an infinity white.
///
/// ```
/// use ndarray::array;
/// assert_eq!(filters::picture::to_grey(&array![[0.0, -2.0, 4.0]]), array![[0, 128, 255]]);
/// ```
pub fn to_grey(result: &ArrayRef2<f32>) -> Array2<u8> {
    let finite = result.iter().map(|value| value.abs()).filter(|value| value.is_finite());
    let largest = finite.fold(0.0, f32::max).max(f32::MIN_POSITIVE);
    // The conversion saturates, and NaN becomes 0.
    result.mapv(|value| (value.abs() / largest * 255.0).round() as u8)
}
