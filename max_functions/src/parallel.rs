use std::mem::MaybeUninit;

use kernels_cpu::maximum::{Stores, maximum};
use kernels_cpu::{InstructionSet, caches, memory};
use ndarray::{Array2, ArrayRef2};
use rayon::prelude::*;

use crate::ShapeMismatch;

/// Elements per task: enough to amortize the overhead of a task.
const ELEMENTS_PER_TASK: usize = 32 * 1024;

/// Bytes of a core's L2 cache on current servers.
const L2_BYTES: usize = 2 << 20;

/// Computes the element-wise maximum in parallel, on rayon's current thread pool. It replaces the
/// homework's `max_numba`. `a`, `b` and the result are *M* × *N*.
///
/// Bound: memory bandwidth. The kernel writes the result to uninitialized memory, so each cache
/// line is written only once. Results larger than the caches are written with non-temporal stores
/// ([`kernels_cpu::maximum`]), and large results are in huge pages ([`kernels_cpu::memory`]).
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
    // Row-major matrices are not copied, but views with other strides are.
    let (a, b) = (a.as_standard_layout(), b.as_standard_layout());
    let [a_values, b_values] = [&a, &b].map(|matrix| matrix.as_slice().expect("the standard layout is row-major"));

    let mut result = memory::vec_with_capacity(a.len());
    let cells = &mut result.spare_capacity_mut()[..a.len()];
    let (set, stores) =
        (InstructionSet::detect(), stores_for(a.len(), rayon::current_num_threads(), caches::l3_victim_cache_bytes()));
    // report: begin max_rayon
    cells
        .par_chunks_mut(ELEMENTS_PER_TASK)
        .zip(a_values.par_chunks(ELEMENTS_PER_TASK))
        .zip(b_values.par_chunks(ELEMENTS_PER_TASK))
        .for_each(|((cells, a), b): ((&mut [MaybeUninit<i32>], _), _)| maximum(set, a, b, cells, stores));
    // report: end max_rayon
    // SAFETY: the shapes are equal, so `cells`, `a_values` and `b_values` have the same length and
    // the zipped chunks cover every cell. `maximum` initializes every element of its chunk.
    unsafe { result.set_len(a.len()) };
    match Array2::from_shape_vec(a.dim(), result) {
        Ok(result) => Ok(result),
        Err(error) => unreachable!("the result has the length of a: {error}"),
    }
}

/// Chooses non-temporal stores if a thread's part of the operands and the result exceeds its core's
/// L2, and all of them exceed an L3 victim cache of `l3_victim_bytes` (0 without one). If the
/// system maps a result's memory at every call, it is stored through the cache: page faults have
/// just brought its lines there.
fn stores_for(elements: usize, threads: usize, l3_victim_bytes: usize) -> Stores {
    let result = elements * size_of::<i32>();
    let exceeds_caches = 3 * (result / threads) > L2_BYTES && 3 * result > l3_victim_bytes;
    if exceeds_caches && result <= memory::MMAP_THRESHOLD_MAX { Stores::Streaming } else { Stores::Cached }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part2_results_between_l2_and_newly_mapped_memory_are_streamed() {
        assert_eq!(stores_for(250 * 250, 1, 0), Stores::Cached);
        assert_eq!(stores_for(500 * 500, 1, 0), Stores::Streaming);
        assert_eq!(stores_for(500 * 500, 2, 0), Stores::Cached);
        assert_eq!(stores_for(1000 * 1000, 2, 0), Stores::Streaming);
        assert_eq!(stores_for(4000 * 4000, 1, 0), Stores::Cached);
    }

    #[test]
    fn part2_results_that_fit_an_l3_victim_cache_are_not_streamed() {
        let l3 = 32 << 20;
        assert_eq!(stores_for(500 * 500, 1, l3), Stores::Cached);
        assert_eq!(stores_for(1000 * 1000, 2, l3), Stores::Cached);
        assert_eq!(stores_for(2000 * 2000, 1, l3), Stores::Streaming);
        assert_eq!(stores_for(2000 * 2000, 2, l3), Stores::Streaming);
        assert_eq!(stores_for(4000 * 4000, 2, l3), Stores::Cached);
    }
}
