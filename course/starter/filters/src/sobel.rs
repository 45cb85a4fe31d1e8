use ndarray::{Array2, ArrayRef2};

use crate::correlation_rayon;

/// The strength of an image's edges: √(Gx² + Gy²) for every pixel, where Gx is the correlation with `filter` and Gy that with the
/// transposed filter. `filter.t()` is the transpose, and `x.sqrt()` the square root of an f32.
pub fn sobel_operator(filter: &ArrayRef2<f32>, image: &ArrayRef2<f32>) -> Array2<f32> {
    // write: sobel_operator
    let mut edges = correlation_rayon(filter, image);
    let vertical = correlation_rayon(&filter.t(), image);
    edges.zip_mut_with(&vertical, |x, &y| *x = (*x * *x + y * y).sqrt());
    edges
    // end
}
