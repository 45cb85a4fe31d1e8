use std::mem::MaybeUninit;

use kernels_cpu::maximum::{Stores, maximum};
use kernels_cpu::{InstructionSet, caches, memory};
use ndarray::{Array2, ArrayRef2};
use rayon::prelude::*;

use crate::ShapeMismatch;

/// Elements that one task takes: enough that starting a task costs little beside its work.
const ELEMENTS_PER_TASK: usize = 32 * 1024;

/// Bytes that a core's own cache (the second level) holds on today's servers.
const CACHE_OF_A_CORE: usize = 2 << 20;

/// The element-wise maximum in parallel, on rayon's current thread pool: the place of the homework's `max_numba`.
/// `a`, `b` and the result are *M* × *N*.
///
/// The result's memory is written once, by the kernel, and never cleared before: the work is bound by memory. Results that
/// outgrow the caches are written past them ([`kernels_cpu::maximum`]), and large ones lie in large pages
/// ([`kernels_cpu::memory`]).
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
    let [a_values, b_values] = [&a, &b].map(|matrix| matrix.as_slice().expect("the standard layout is row by row"));

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
    // SAFETY: `cells`, `a_values` and `b_values` have the same length, since the shapes are equal, so the zipped chunks
    // cover every cell, and `maximum` initialises every element of the chunk it is given.
    unsafe { result.set_len(a.len()) };
    match Array2::from_shape_vec(a.dim(), result) {
        Ok(result) => Ok(result),
        Err(error) => unreachable!("there are as many elements as in a: {error}"),
    }
}

/// Past the cache where a thread's share of the operands and the result is more than its core's cache holds, and all of them
/// more than a third level of so many bytes that takes what the cores push out. Not where the result's memory is always new: its
/// lines are in the cache when they are written.
fn stores_for(elements: usize, threads: usize, l3_victim_cache_bytes: usize) -> Stores {
    let result = elements * size_of::<i32>();
    let outgrows_the_caches = 3 * (result / threads) > CACHE_OF_A_CORE && 3 * result > l3_victim_cache_bytes;
    if outgrows_the_caches && result <= memory::ALWAYS_NEW { Stores::Streaming } else { Stores::Cached }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part2_results_are_streamed_between_the_cache_and_new_memory() {
        assert_eq!(stores_for(250 * 250, 1, 0), Stores::Cached);
        assert_eq!(stores_for(500 * 500, 1, 0), Stores::Streaming);
        assert_eq!(stores_for(500 * 500, 2, 0), Stores::Cached);
        assert_eq!(stores_for(1000 * 1000, 2, 0), Stores::Streaming);
        assert_eq!(stores_for(4000 * 4000, 1, 0), Stores::Cached);
    }

    #[test]
    fn part2_results_stay_in_a_third_level_that_takes_what_the_cores_push_out() {
        let third_level = 32 << 20;
        assert_eq!(stores_for(500 * 500, 1, third_level), Stores::Cached);
        assert_eq!(stores_for(1000 * 1000, 2, third_level), Stores::Cached);
        assert_eq!(stores_for(2000 * 2000, 1, third_level), Stores::Streaming);
        assert_eq!(stores_for(2000 * 2000, 2, third_level), Stores::Streaming);
        assert_eq!(stores_for(4000 * 4000, 2, third_level), Stores::Cached);
    }
}
