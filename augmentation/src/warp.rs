//! Affine maps of an image.

use crate::{Image, PIXELS, SIDE};

/// Where a pixel comes from: the source's row and column are linear functions of the result's row
/// and column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Map {
    /// The source's row: coefficients of row and column, and a constant.
    row: [f32; 3],
    /// The source's column.
    column: [f32; 3],
}

impl Map {
    /// Rotates counterclockwise by an angle around the center; rows count downwards.
    pub(crate) fn rotation(degrees: f32) -> Self {
        let (sin, cos) = libm::sincosf(degrees.to_radians());
        let centre = (SIDE - 1) as f32 / 2.0;
        Self { row: [cos, sin, centre - centre * (cos + sin)], column: [-sin, cos, centre - centre * (cos - sin)] }
    }

    /// Moves by `dx` columns to the left and `dy` rows up.
    pub(crate) fn shift(dx: f32, dy: f32) -> Self {
        Self { row: [1.0, 0.0, dy], column: [0.0, 1.0, dx] }
    }

    pub(crate) fn skew(tilt: f32) -> Self {
        Self { row: [1.0, 0.0, 0.0], column: [tilt, 1.0, 0.0] }
    }

    /// The map that applies `self` first and `later` second.
    pub(crate) fn after(self, later: Self) -> Self {
        // `later` maps a pixel to its source, which `self` then looks up.
        let through = |[by_row, by_column, constant]: [f32; 3]| {
            let [row, column] = [later.row, later.column];
            let of = |i: usize| by_row * row[i] + by_column * column[i];
            [of(0), of(1), of(2) + constant]
        };
        Self { row: through(self.row), column: through(self.column) }
    }
}

/// Rows and columns of an image with a border of zeros: one row before it and two after it.
const BORDERED: usize = SIDE + 3;

/// The mapped image, interpolated bilinearly. Everything outside the image is 0.
pub(crate) fn warp(image: &Image, map: Map) -> Image {
    let mut bordered = [0.0; BORDERED * BORDERED];
    for (row, pixels) in image.chunks_exact(SIDE).enumerate() {
        let start = (row + 1) * BORDERED + 1;
        bordered[start..start + SIDE].copy_from_slice(pixels);
    }
    // The result fades to 0 within the border and between the border and the image.
    let clamp = |place: f32| (place + 1.0).clamp(0.0, (SIDE + 1) as f32);
    let mut out = [0.0; PIXELS];
    for (row, pixels) in out.chunks_exact_mut(SIDE).enumerate() {
        let start = |[by_row, _, constant]: [f32; 3]| by_row * row as f32 + constant;
        let (row_start, column_start) = (start(map.row), start(map.column));
        for (column, pixel) in pixels.iter_mut().enumerate() {
            let y = clamp(row_start + map.row[1] * column as f32);
            let x = clamp(column_start + map.column[1] * column as f32);
            let (top, left) = (y as usize, x as usize);
            let (down, right) = (y - top as f32, x - left as f32);
            let place = top * BORDERED + left;
            let [a, b] = [bordered[place], bordered[place + 1]];
            let [c, d] = [bordered[place + BORDERED], bordered[place + BORDERED + 1]];
            let (above, below) = (a + right * (b - a), c + right * (d - c));
            *pixel = above + down * (below - above);
        }
    }
    out
}
