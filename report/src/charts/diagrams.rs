//! Diagrams of launches: how blocks and threads map to elements.

use super::{BLUE, Canvas, Chart, ChartError, GREY, LIGHT, ORANGE, Side};

const BLACK: plotters::style::RGBColor = plotters::style::RGBColor(20, 20, 20);
const PALE_BLUE: plotters::style::RGBColor = plotters::style::RGBColor(205, 226, 241);
const PALE_ORANGE: plotters::style::RGBColor = plotters::style::RGBColor(250, 224, 205);

/// The launch of the maximum: 1000 blocks of 1000 threads, one thread per element.
pub(crate) fn launch() -> Result<Chart, ChartError> {
    let svg = Canvas::draw(168, |canvas| {
        canvas.text("grid: 1000 blocks, scheduled on multiprocessors", (8.0, 10.0), Side::Right, 9.5, BLACK)?;
        let blocks = [("block 0", 8.0), ("block 1", 88.0), ("block 2", 168.0), ("…", 248.0), ("block 999", 288.0)];
        for (name, x) in blocks {
            if name == "…" {
                canvas.text(name, (x + 14.0, 34.0), Side::Centre, 11.0, BLACK)?;
                continue;
            }
            let colour = if name == "block 2" { PALE_ORANGE } else { LIGHT };
            canvas.rectangle((x, 20.0), (x + 72.0, 48.0), colour)?;
            canvas.frame((x, 20.0), (x + 72.0, 48.0), GREY)?;
            canvas.text(name, (x + 36.0, 34.0), Side::Centre, 9.5, BLACK)?;
        }
        // One block, enlarged: its threads, in warps of 32.
        canvas.line(&[(168.0, 48.0), (8.0, 70.0)], GREY, 0.75)?;
        canvas.line(&[(240.0, 48.0), (446.0, 70.0)], GREY, 0.75)?;
        canvas.frame((8.0, 70.0), (446.0, 92.0), GREY)?;
        let warps = [("warp 0: threads 0 … 31", 8.0, 140.0), ("warp 1: 32 … 63", 148.0, 110.0), ("…", 258.0, 40.0)];
        for (name, x, width) in warps {
            canvas.line(&[(x + width, 70.0), (x + width, 92.0)], GREY, 0.75)?;
            canvas.text(name, (x + width / 2.0, 81.0), Side::Centre, 9.5, BLACK)?;
        }
        canvas.text("warp 31: 992 … 999 and 24 idle", (372.0, 81.0), Side::Centre, 9.5, BLACK)?;
        // The row that this block computes.
        for (x, line) in [(78.0, 118.0), (203.0, 118.0), (372.0, 118.0)] {
            canvas.arrow((x, 93.0), (x, line), ORANGE)?;
        }
        canvas.rectangle((8.0, 119.0), (446.0, 137.0), PALE_ORANGE)?;
        canvas.frame((8.0, 119.0), (446.0, 137.0), GREY)?;
        let row = "row 2 of the result: elements 2000 … 2999, adjacent threads on adjacent elements";
        canvas.text(row, (227.0, 128.0), Side::Centre, 9.5, BLACK)?;
        let index = "element i = block · 1000 + thread;   out[i] = max(a[i], b[i])";
        canvas.text(index, (227.0, 154.0), Side::Centre, 9.5, BLACK)
    })?;
    let alt =
        "A grid of 1000 blocks; one block's 1000 threads in warps of 32; each thread computes one element of a row";
    Ok(Chart { name: "launch".to_owned(), svg, alt: alt.to_owned() })
}

/// Number of rows and columns of the highest rung's output tile, in single precision.
const TILE: usize = 128;
/// Rows and columns of a thread's register tile.
const CELLS: usize = 4;

/// The order in which the block computes the tiles of the lower triangle of X·Xᵀ, for X of `size`.
pub(crate) fn tiles(size: [usize; 2]) -> Result<Chart, ChartError> {
    let count = size[0].div_ceil(TILE);
    // For sizes other than the homework's, at most ten rows of tiles, to stay legible.
    let shown = count.min(10);
    let side = 168.0 / shown.max(1) as f64;
    let (left, top) = (30.0, 24.0);
    let corner = |row: usize, column: usize| (left + side * column as f64, top + side * row as f64);
    let svg = Canvas::draw(216, |canvas| {
        canvas.text("X·Xᵀ: the lower triangle in tiles, in this order", (left, 11.0), Side::Right, 9.5, BLACK)?;
        let chosen = (shown.saturating_sub(3), 1.min(shown.saturating_sub(1)));
        let mut number = 0;
        for row in 0..shown {
            for column in 0..shown {
                let (from, to) = (corner(row, column), corner(row + 1, column + 1));
                if column <= row {
                    number += 1;
                    canvas.rectangle(from, to, if (row, column) == chosen { ORANGE } else { PALE_BLUE })?;
                    let middle = (0.5 * (from.0 + to.0), 0.5 * (from.1 + to.1));
                    canvas.text(&number.to_string(), middle, Side::Centre, 8.5, BLACK)?;
                } else if (column, row) == chosen {
                    canvas.rectangle(from, to, PALE_ORANGE)?;
                }
                canvas.frame(from, to, GREY)?;
            }
        }
        tile(canvas)
    })?;
    let alt = format!(
        "The result of {0} × {0} in {count} × {count} tiles of {TILE} × {TILE}; one block of 1024 threads computes those of the \
         lower triangle in turn and mirrors them; a thread computes {CELLS} × {CELLS} cells of a tile",
        size[0]
    );
    Ok(Chart { name: "tiles".to_owned(), svg, alt })
}

/// One output tile: the tiles of X that it needs, and a thread's register tile.
fn tile(canvas: &Canvas) -> Result<(), ChartError> {
    let (left, top, side) = (290.0, 74.0, 96.0);
    canvas.text("one tile: 128 × 128 cells", (left + side / 2.0, 11.0), Side::Centre, 9.5, BLACK)?;
    canvas.text("B tile: 16 columns of 128 rows of X", (left + side / 2.0, 30.0), Side::Centre, 8.5, BLACK)?;
    canvas.rectangle((left, 40.0), (left + side, 62.0), PALE_BLUE)?;
    canvas.frame((left, 40.0), (left + side, 62.0), GREY)?;
    canvas.rectangle((left - 34.0, top), (left - 12.0, top + side), PALE_BLUE)?;
    canvas.frame((left - 34.0, top), (left - 12.0, top + side), GREY)?;
    canvas.text("A tile", (left - 23.0, top + side + 10.0), Side::Centre, 8.5, BLACK)?;
    let threads = 8;
    let cell = side / f64::from(threads);
    canvas.rectangle((left, top), (left + side, top + side), PALE_ORANGE)?;
    for line in 0..=threads {
        let at = cell * f64::from(line);
        canvas.line(&[(left + at, top), (left + at, top + side)], GREY, 0.75)?;
        canvas.line(&[(left, top + at), (left + side, top + at)], GREY, 0.75)?;
    }
    let (x, y) = (left + 5.0 * cell, top + 2.0 * cell);
    canvas.rectangle((x, y), (x + cell, y + cell), ORANGE)?;
    canvas.rectangle((x, 40.0), (x + cell, 62.0), BLUE)?;
    canvas.rectangle((left - 34.0, y), (left - 12.0, y + cell), BLUE)?;
    canvas.arrow((x + cell / 2.0, 62.0), (x + cell / 2.0, y), BLUE)?;
    canvas.arrow((left - 12.0, y + cell / 2.0), (x, y + cell / 2.0), BLUE)?;
    let note = ["a thread: 4 × 4 cells,", "their sums in registers", "32 × 32 threads in all"];
    for (line, text) in note.iter().enumerate() {
        let at = (left + side / 2.0, top + side + 10.0 + 12.0 * line as f64);
        canvas.text(text, at, Side::Centre, 8.5, BLACK)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a constant of the highest rung, read from its source because the kernel's
    /// constants are private.
    fn kernel_constant(constant: &str) -> usize {
        let source = include_str!("../../../kernels-gpu/src/product/rung5_double_buffered.rs");
        let value = source.lines().find_map(|line| line.strip_prefix(&format!("const {constant}: "))).unwrap();
        value.split_once(" = ").unwrap().1.trim_end_matches(';').parse().unwrap()
    }

    #[test]
    fn the_tiles_are_those_kernel_constant() {
        let (side, cells, depth) = (kernel_constant("SIDE"), kernel_constant("CELLS"), kernel_constant("DEPTH"));
        assert_eq!((CELLS, TILE), (cells, side * cells));
        assert_eq!(side * side, kernels_gpu::product::THREADS as usize);
        // 784 rows are 7 tiles, which form a triangle of 28.
        let chart = tiles([784, 128]).unwrap();
        assert!(chart.svg.contains(">\n28\n<"), "{}", chart.svg);
        assert!(!chart.svg.contains(">\n29\n<"));
        for text in [
            format!("one tile: {TILE} × {TILE} cells"),
            format!("B tile: {depth} columns of {TILE} rows of X"),
            format!("a thread: {cells} × {cells} cells,"),
            format!("{side} × {side} threads in all"),
        ] {
            assert!(chart.svg.contains(&text), "no {text:?} in {}", chart.svg);
        }
        assert!(chart.alt.contains(&format!("one block of {} threads", side * side)), "{}", chart.alt);
    }
}
