//! The assignment's filters and the edges they find.

use filters::{EDGES, NEIGHBOURS, SOBEL, correlation_rayon, correlation_trivial, factors, sobel_operator};
use ndarray::{Array2, array};

#[test]
fn edges_the_filters_are_the_assignments() {
    let kernels = EDGES.map(|filter| filter.kernel().to_owned());
    assert_eq!(kernels[0], array![[1., 0., -1.], [2., 0., -2.], [1., 0., -1.]]);
    assert_eq!(kernels[1], array![[3., 0., -3.], [10., 0., -10.], [3., 0., -3.]]);
    let strengths = [1.0, 2.0, 1.0, 2.0, 1.0];
    assert_eq!(kernels[2], Array2::from_shape_fn((5, 3), |(u, v)| strengths[u] * [1., 0., -1.][v]));
    assert_eq!(kernels[3], Array2::from_shape_fn((5, 5), |(u, v)| strengths[u] * [1., 0., 0., 0., -1.][v]));
    assert_eq!(NEIGHBOURS.kernel(), array![[1., 1., 1.], [1., 0., 1.], [1., 1., 1.]]);
}

#[test]
fn edges_the_four_filters_are_separable_and_the_neighbours_are_not() {
    for filter in EDGES {
        let (column, row) = factors(&filter.kernel()).unwrap();
        let product = Array2::from_shape_fn((column.len(), row.len()), |(u, v)| column[u] * row[v]);
        assert_eq!(product, filter.kernel(), "{}", filter.name);
    }
    assert_eq!(factors(&NEIGHBOURS.kernel()), None);
}

#[test]
fn edges_the_operator_is_the_root_of_the_sum_of_squares() {
    let image = filters::picture::drawing(70, 90);
    for filter in EDGES {
        let (x, y) = (correlation_trivial(&filter.kernel(), &image), correlation_trivial(&filter.kernel().t(), &image));
        let expected = Array2::from_shape_fn(image.dim(), |at| (x[at] * x[at] + y[at] * y[at]).sqrt());
        assert_eq!(sobel_operator(&filter.kernel(), &image), expected, "{}", filter.name);
        assert_eq!(sobel_operator(&filter.kernel(), &image.mapv(f32::from)), expected, "{}", filter.name);
    }
}

/// A uniform image has no edges inside, and an edge has the same strength in both directions.
#[test]
fn edges_of_a_step_are_along_it() {
    let across = Array2::from_shape_fn((12, 12), |(i, _)| if i < 6 { 10.0_f32 } else { 30.0 });
    let edges = sobel_operator(&SOBEL.kernel(), &across);
    assert_eq!(edges, sobel_operator(&SOBEL.kernel(), &across.t()).t());
    for i in 1..11 {
        let expected = if i == 5 || i == 6 { 80.0 } else { 0.0 };
        assert!((1..11).all(|j| edges[[i, j]] == expected), "{edges}");
    }
    assert_eq!(correlation_rayon(&NEIGHBOURS.kernel(), &across)[[3, 3]], 80.0);
}
