//! Redraws scanned digits with the page's pen. Drawings and MNIST's images differ in line width,
//! which says nothing about how much a drawing looks like a digit.

use crate::drawing::{Drawing, PIXELS, SIDE};

/// Width and height of the grid for thinning a line: two cells per pixel.
const GRID: usize = 2 * SIDE;
/// Minimum ink of a cell that is part of a line.
const INK: f32 = 100.0;

/// The cells of lines. There are none beyond the grid's edges.
type Cells = Vec<bool>;

/// Redraws an image (0 for the background and 255 for ink) with all its lines as wide as the page's
/// pen. Lines are thinned to one cell, and the pen draws along the remaining cells.
pub fn redraw(image: &[u8; PIXELS]) -> [u8; PIXELS] {
    let cells = thinned(enlarged(image));
    let points = || (0..GRID * GRID).filter(|&at| cells[at]).map(|at| [at % GRID, at / GRID]);
    let place = |point: [usize; 2]| point.map(|cell| cell as f32 / GRID as f32);
    let limit = |first: f32, choose: fn(f32, f32) -> f32| {
        [0, 1].map(|axis| points().map(|point| place(point)[axis]).fold(first, choose))
    };
    let mut drawing = Drawing::within(limit(f32::INFINITY, f32::min), limit(f32::NEG_INFINITY, f32::max));
    for [x, y] in points() {
        // Draws lines to the neighbors that follow in the grid, and a dot, for a cell without neighbors.
        drawing.line(place([x, y]), place([x, y]));
        let others = [(1, 0), (-1, 1), (0, 1), (1, 1)].map(|(right, down)| neighbour([x, y], right, down));
        for other in others.into_iter().flatten().filter(|&[x, y]| cells[y * GRID + x]) {
            drawing.line(place([x, y]), place(other));
        }
    }
    drawing.image()
}

fn neighbour([x, y]: [usize; 2], right: isize, down: isize) -> Option<[usize; 2]> {
    let moved = |place: usize, by| place.checked_add_signed(by).filter(|&place| place < GRID);
    Some([moved(x, right)?, moved(y, down)?])
}

/// Enlarges the image to the grid by bilinear interpolation.
fn enlarged(image: &[u8; PIXELS]) -> Cells {
    let pixel = |column: isize, row: isize| {
        let is_inside = (0..SIDE as isize).contains(&column) && (0..SIDE as isize).contains(&row);
        if is_inside { f32::from(image[row as usize * SIDE + column as usize]) } else { 0.0 }
    };
    let ink = |at: usize| {
        let [column, row] = [at % GRID, at / GRID].map(|cell| (cell / 2) as isize);
        // A cell's center is a quarter of a pixel from its pixel's center, towards one neighbor on
        // each axis.
        let [right, down] = [at % GRID, at / GRID].map(|cell| if cell % 2 == 0 { -1 } else { 1 });
        0.5625 * pixel(column, row)
            + 0.1875 * (pixel(column + right, row) + pixel(column, row + down))
            + 0.0625 * pixel(column + right, row + down)
    };
    (0..GRID * GRID).map(|at| ink(at) > INK).collect()
}

/// Thins the lines to a width of one cell along their middle.
///
/// Source: T. Y. Zhang, C. Y. Suen, "A fast parallel algorithm for thinning digital patterns", 1984.
fn thinned(mut cells: Cells) -> Cells {
    loop {
        let mut is_thin = true;
        for half in 0..2 {
            let ink = || (0..GRID * GRID).filter(|&at| cells[at]);
            let removed: Vec<usize> = ink().filter(|&at| is_edge(&cells, at, half)).collect();
            // All four cells of a square are edges. If nothing else is left, it is a dot and must remain.
            if removed.len() == ink().count() {
                return cells;
            }
            is_thin &= removed.is_empty();
            removed.into_iter().for_each(|at| cells[at] = false);
        }
        if is_thin {
            return cells;
        }
    }
}

/// Whether a cell of a line may be removed: it is at an edge (bottom or right in the first half of
/// a pass, top or left in the second) and neither ends nor connects a line.
fn is_edge(cells: &Cells, at: usize, half: usize) -> bool {
    // Clockwise from above.
    const AROUND: [(isize, isize); 8] = [(0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)];
    let around = AROUND
        .map(|(right, down)| neighbour([at % GRID, at / GRID], right, down).is_some_and(|[x, y]| cells[y * GRID + x]));
    let [above, _, right, _, below, _, left, _] = around;
    let count = around.iter().filter(|is_ink| **is_ink).count();
    let starts = (0..8).filter(|&index| !around[index] && around[(index + 1) % 8]).count();
    let is_at_side = match half {
        0 => !(right && below && (above || left)),
        _ => !(above && left && (right || below)),
    };
    (2..=6).contains(&count) && starts == 1 && is_at_side
}
