mod cells;
mod panels;
mod stripes;

use kernels_cpu::memory;
use ndarray::{Array2, ArrayRef2};

use crate::MatmulElement;
use cells::SharedCells;
use panels::Panels;

/// Cache lines per row of a panel: the width of the widest register tile.
const LINES_OF_PANEL: usize = 2;

/// Columns of a packed panel (BLIS's nr, and here also mr).
const fn panel_columns<F: MatmulElement>() -> usize {
    LINES_OF_PANEL * F::LINE
}

/// Computes X·Xᵀ in parallel, on rayon's current thread pool. If `x` is *M* × *N*, the result is
/// *M* × *M*.
///
/// Ideas:
/// - Packing: Xᵀ is packed into panels of columns, and register tiles of sums run over these
///   panels. Since A = X and B = Xᵀ, both operands of a tile are packed panels, read contiguously
///   ([`kernels_cpu::product::product_of_panels`]).
/// - Blocking over K: a panel is split into K-blocks that stay in cache. Between two K-blocks, the
///   partial sums also stay in cache, in a small contiguous buffer. In the result itself, rows are
///   far apart.
/// - Symmetry: only the lower triangle is computed, half the arithmetic.
/// - Mirroring: the same task copies each panel of the lower triangle to the upper one, with a
///   transpose in registers ([`kernels_cpu::transpose`]). The target is prefetched during the
///   product, which leaves the memory idle.
///
/// Each element is one sum in ascending k, so the result does not depend on the number of threads
/// or on the blocks.
///
/// Bound: compute. The lower triangle takes *M*²·*N* floating-point operations. docs/performance.md
/// has the roofline.
///
/// ```
/// use ndarray::array;
/// let x = array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!(matmul_functions::matmul_transpose_rayon(&x), array![[5.0, 11.0], [11.0, 25.0]]);
/// ```
pub fn matmul_transpose_rayon<F: MatmulElement>(x: &ArrayRef2<F>) -> Array2<F> {
    F::product_with_transpose(x)
}

#[allow(unsafe_code)]
pub(crate) fn product_with_transpose<F: MatmulElement>(x: &ArrayRef2<F>) -> Array2<F> {
    let (size, depth) = x.dim();
    let x = x.as_standard_layout();
    let rows: Vec<&[F]> = x.outer_iter().map(|row| row.to_slice().expect("the standard layout is row-major")).collect();
    let panels = Panels::pack(&rows, depth);

    let mut result = memory::vec_with_capacity(size * size);
    let cells = SharedCells { first: result.spare_capacity_mut().as_mut_ptr(), size };
    // SAFETY: only this call has access to the cells, and the panels belong to `size` rows.
    unsafe { stripes::multiply(&panels, &cells) };
    // SAFETY: the capacity is at least size² elements, and `multiply` has initialized all of them.
    unsafe { result.set_len(size * size) };
    match Array2::from_shape_vec((size, size), result) {
        Ok(result) => result,
        Err(error) => unreachable!("the result has size² elements: {error}"),
    }
}
