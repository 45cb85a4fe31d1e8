//! Given: the assignment's filters, as rows of coefficients; `array![…]` of ndarray, or `ndarray::arr2(&SOBEL)`, makes a matrix of one.

use ndarray::{Array2, arr2};

/// Sobel's filter: differences of columns, smoothed over three rows.
pub const SOBEL: [[f32; 3]; 3] = [[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]];

/// Scharr's filter, whose response depends less on an edge's direction.
pub const SCHARR: [[f32; 3]; 3] = [[3.0, 0.0, -3.0], [10.0, 0.0, -10.0], [3.0, 0.0, -3.0]];

/// Five rows and three columns.
pub const SOBEL_5X3: [[f32; 3]; 5] =
    [[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]];

/// Five rows and five columns.
pub const SOBEL_5X5: [[f32; 5]; 5] = [
    [1.0, 0.0, 0.0, 0.0, -1.0],
    [2.0, 0.0, 0.0, 0.0, -2.0],
    [1.0, 0.0, 0.0, 0.0, -1.0],
    [2.0, 0.0, 0.0, 0.0, -2.0],
    [1.0, 0.0, 0.0, 0.0, -1.0],
];

/// The sum of a pixel's eight neighbours: no filter for edges.
pub const NEIGHBOURS: [[f32; 3]; 3] = [[1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]];

/// Makes the matrix of a filter.
type Make = fn() -> Array2<f32>;

/// The four filters for edges, with their names.
pub const EDGES: [(&str, Make); 4] = [
    ("sobel", || arr2(&SOBEL)),
    ("scharr", || arr2(&SCHARR)),
    ("sobel_5x3", || arr2(&SOBEL_5X3)),
    ("sobel_5x5", || arr2(&SOBEL_5X5)),
];
