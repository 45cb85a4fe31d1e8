use ndarray::ArrayView2;

/// A named kernel of the assignment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filter {
    /// The filter's name, which is also its picture's name.
    pub name: &'static str,
    columns: usize,
    values: &'static [f32],
}

impl Filter {
    /// The coefficients.
    pub fn kernel(&self) -> ArrayView2<'static, f32> {
        let rows = self.values.len() / self.columns;
        ArrayView2::from_shape((rows, self.columns), self.values).expect("the constants are whole rows")
    }
}

/// Sobel's filter: differences between columns, smoothed over three rows.
#[rustfmt::skip]
pub const SOBEL: Filter = Filter { name: "sobel", columns: 3, values: &[
    1.0, 0.0, -1.0,
    2.0, 0.0, -2.0,
    1.0, 0.0, -1.0,
] };

/// Scharr's filter. Its response depends less on an edge's direction.
#[rustfmt::skip]
pub const SCHARR: Filter = Filter { name: "scharr", columns: 3, values: &[
     3.0, 0.0,  -3.0,
    10.0, 0.0, -10.0,
     3.0, 0.0,  -3.0,
] };

/// The assignment's filter with five rows and three columns.
#[rustfmt::skip]
pub const SOBEL_5X3: Filter = Filter { name: "sobel_5x3", columns: 3, values: &[
    1.0, 0.0, -1.0,
    2.0, 0.0, -2.0,
    1.0, 0.0, -1.0,
    2.0, 0.0, -2.0,
    1.0, 0.0, -1.0,
] };

/// The assignment's filter with five rows and five columns.
#[rustfmt::skip]
pub const SOBEL_5X5: Filter = Filter { name: "sobel_5x5", columns: 5, values: &[
    1.0, 0.0, 0.0, 0.0, -1.0,
    2.0, 0.0, 0.0, 0.0, -2.0,
    1.0, 0.0, 0.0, 0.0, -1.0,
    2.0, 0.0, 0.0, 0.0, -2.0,
    1.0, 0.0, 0.0, 0.0, -1.0,
] };

/// The sum of a pixel's eight neighbors, a blur rather than an edge filter.
#[rustfmt::skip]
pub const NEIGHBOURS: Filter = Filter { name: "neighbours", columns: 3, values: &[
    1.0, 1.0, 1.0,
    1.0, 0.0, 1.0,
    1.0, 1.0, 1.0,
] };

/// The four edge filters, for [`sobel_operator`](crate::sobel_operator).
pub const EDGES: [Filter; 4] = [SOBEL, SCHARR, SOBEL_5X3, SOBEL_5X5];
