use std::mem::MaybeUninit;

use kernels_cpu::InstructionSet;
use kernels_cpu::maximum::maximum;
use ndarray::{Array2, ArrayRef2};
use rayon::prelude::*;

use crate::ShapeMismatch;

/// Elements that one task takes: enough that starting a task costs little beside its work.
const ELEMENTS_PER_TASK: usize = 32 * 1024;

/// The element-wise maximum in parallel, on rayon's current thread pool: the place of the homework's `max_numba`.
/// `a`, `b` and the result are *M* × *N*.
///
/// The result's memory is written once, by the kernel, and never cleared before: the work is bound by memory.
///
/// # Errors
/// If the shapes of `a` and `b` differ.
///
/// ```
/// use ndarray::array;
/// let maximum = max_functions::max_rayon(&array![[1, 7], [255, 0]], &array![[3, 2], [9, 0]])?;
/// assert_eq!(maximum, array![[3, 7], [255, 0]]);
/// # Ok::<(), max_functions::ShapeMismatch>(())
/// ```
#[allow(unsafe_code)]
pub fn max_rayon(a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Result<Array2<i32>, ShapeMismatch> {
    ShapeMismatch::check(a.dim(), b.dim())?;
    // No copy for matrices that lie row by row in memory; views with other strides are copied first.
    let (a, b) = (a.as_standard_layout(), b.as_standard_layout());
    let (Some(a_values), Some(b_values)) = (a.as_slice(), b.as_slice()) else { return crate::max_cpu(&a, &b) };

    let mut result = Array2::<i32>::uninit(a.dim());
    let Some(cells) = result.as_slice_mut() else { return crate::max_cpu(&a, &b) };
    let set = InstructionSet::detect();
    cells
        .par_chunks_mut(ELEMENTS_PER_TASK)
        .zip(a_values.par_chunks(ELEMENTS_PER_TASK))
        .zip(b_values.par_chunks(ELEMENTS_PER_TASK))
        .for_each(|((cells, a), b): ((&mut [MaybeUninit<i32>], _), _)| maximum(set, a, b, cells));
    // SAFETY: `cells`, `a_values` and `b_values` have the same length, since the shapes are equal, so the zipped chunks
    // cover every cell, and `maximum` initialises every element of the chunk it is given.
    Ok(unsafe { result.assume_init() })
}
