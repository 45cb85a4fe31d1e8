mod cells;
mod panels;
mod stripes;

use kernels_cpu::memory;
use ndarray::{Array2, ArrayRef2};

use crate::Element;
use cells::SharedCells;
use panels::Panels;

/// Cache lines in a row of a panel: what the widest tile takes.
const LINES_OF_PANEL: usize = 2;

/// Columns of Xᵀ that are packed together.
const fn panel_columns<F: Element>() -> usize {
    LINES_OF_PANEL * F::LINE
}

/// X·Xᵀ in parallel, on rayon's current thread pool: if `x` is *M* × *N*, the result is *M* × *M*.
///
/// Five ideas. Xᵀ is packed into panels of columns, so that tiles of sums can stay in registers while they run down a
/// panel; as Xᵀ is both the right matrix and the left one transposed, a tile reads both its operands from panels, front to
/// back ([`kernels_cpu::product::product_of_panels`]). A panel is cut into blocks of rows that stay in the cache; between
/// two blocks the sums wait in a small buffer that stays there too, not in the result, which is far larger and where each
/// row lies elsewhere. Only the lower triangle is computed, since the result is symmetric: half the arithmetic. The upper
/// triangle is mirrored from it, panel by panel, by the same task: its cells are fetched while the panel's are computed, since
/// the product leaves the memory idle, and the transpose stays in registers ([`kernels_cpu::transpose`]).
///
/// Each element is one sum in ascending k, so that the result does not depend on the number of threads, nor on the blocks.
///
/// Roofline: *M*²·*N* floating-point operations, so arithmetic decides. Measured on one core of a Sapphire Rapids server
/// whose peak is 171 · 10⁹ operations a second in f32 and half of it in f64, 784 × 128 takes at least 460 µs in f32 and
/// 919 µs in f64.
///
/// ```
/// use ndarray::array;
/// let x = array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!(matmul_functions::matmul_transpose_rayon(&x), array![[5.0, 11.0], [11.0, 25.0]]);
/// ```
pub fn matmul_transpose_rayon<F: Element>(x: &ArrayRef2<F>) -> Array2<F> {
    F::product_with_transpose(x)
}

#[allow(unsafe_code)]
pub(crate) fn product_with_transpose<F: Element>(x: &ArrayRef2<F>) -> Array2<F> {
    let (size, depth) = x.dim();
    let x = x.as_standard_layout();
    let rows: Vec<&[F]> =
        x.outer_iter().map(|row| row.to_slice().expect("the standard layout is row by row")).collect();
    let panels = Panels::pack(&rows, depth);

    let mut result = memory::vec_with_capacity(size * size);
    let cells = SharedCells { first: result.spare_capacity_mut().as_mut_ptr(), size };
    // SAFETY: the cells are this call's alone, and the panels are those of `size` rows.
    unsafe { stripes::multiply(&panels, &cells) };
    // SAFETY: there is room for size² elements, and all were written.
    unsafe { result.set_len(size * size) };
    match Array2::from_shape_vec((size, size), result) {
        Ok(result) => result,
        Err(error) => unreachable!("there are size² elements: {error}"),
    }
}
