use ndarray::{Array2, ArrayRef2, Zip};

use crate::{Pixel, correlation_rayon};

/// Computes the strength of an image's edges: √(Gx² + Gy²) for every pixel. Gx is the correlation
/// with `filter`, and Gy the correlation with its transpose. Runs in parallel on rayon's current
/// thread pool.
///
/// ```
/// use ndarray::Array2;
/// // A step between the second and the third column.
/// let image = Array2::from_shape_fn((5, 6), |(_, j)| if j < 2 { 0.0_f32 } else { 1.0 });
/// let edges = filters::sobel_operator(&filters::SOBEL.kernel(), &image);
/// assert_eq!(edges.row(2).to_vec(), [0.0, 4.0, 4.0, 0.0, 0.0, 4.0]);
/// ```
pub fn sobel_operator<P: Pixel>(filter: &ArrayRef2<f32>, image: &ArrayRef2<P>) -> Array2<f32> {
    // report: begin sobel_operator
    let mut edges = correlation_rayon(filter, image);
    let vertical = correlation_rayon(&filter.t(), image);
    magnitude(&mut edges, &vertical);
    edges
    // report: end sobel_operator
}

/// Replaces each x by √(x² + y²).
fn magnitude(x: &mut ArrayRef2<f32>, y: &ArrayRef2<f32>) {
    Zip::from(x).and(y).par_for_each(|x, &y| *x = (*x * *x + y * y).sqrt());
}
