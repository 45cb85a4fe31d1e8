use std::mem::MaybeUninit;

use kernels_cpu::{InstructionSet, greyscale, memory, tanh};
use rayon::prelude::*;

use crate::LengthMismatch;

/// Elements that one task takes: enough that starting a task costs little beside its work.
const ELEMENTS_PER_TASK: usize = 32 * 1024;

/// [`normalize`](crate::normalize) in parallel, on rayon's current thread pool, to the same bits.
pub fn normalize_rayon(values: &[f32]) -> Vec<f32> {
    let set = InstructionSet::detect();
    collect(values.len(), |first, out| greyscale::normalize(set, &values[first..][..out.len()], out))
}

/// [`weigh`](crate::weigh) in parallel, on rayon's current thread pool, to the same bits.
///
/// # Errors
/// If there are not as many weights as values.
pub fn weigh_rayon(values: &[f32], weights: &[f32]) -> Result<Vec<f32>, LengthMismatch> {
    LengthMismatch::check(values, weights)?;
    let set = InstructionSet::detect();
    Ok(collect(values.len(), |first, out| {
        greyscale::weigh(set, &values[first..][..out.len()], &weights[first..][..out.len()], out);
    }))
}

/// The hyperbolic tangent of each value in parallel, on rayon's current thread pool, within 3 units in the last place.
pub fn activate_rayon(values: &[f32]) -> Vec<f32> {
    let set = InstructionSet::detect();
    collect(values.len(), |first, out| tanh::tanh(set, &values[first..][..out.len()], out))
}

/// All three steps in one pass and in parallel, on rayon's current thread pool: tanh(x / 255 · w) within 5 units in the
/// last place.
///
/// Two ideas. What lies between the steps stays in registers: 12 bytes are moved for each element instead of 28. And the
/// hyperbolic tangent has no branch and one exponential ([`kernels_cpu::tanh`]), where the definition has four.
///
/// # Errors
/// If there are not as many weights as values.
///
/// ```
/// let activated = activation_functions::fused_rayon(&[0.0, 255.0], &[0.5, 0.5])?;
/// assert!(activated[0] == 0.0 && (activated[1] - 0.462_117_2).abs() < 1e-6);
/// # Ok::<(), activation_functions::LengthMismatch>(())
/// ```
pub fn fused_rayon(values: &[f32], weights: &[f32]) -> Result<Vec<f32>, LengthMismatch> {
    LengthMismatch::check(values, weights)?;
    let set = InstructionSet::detect();
    Ok(collect(values.len(), |first, out| {
        let (values, weights) = (&values[first..][..out.len()], &weights[first..][..out.len()]);
        greyscale::normalize_weigh_activate(set, values, weights, out);
    }))
}

/// A new vector that `kernel` writes piece by piece, each piece once, into memory that is not cleared before; `kernel`
/// gets a piece's first index and the piece, and initialises all of it.
#[allow(unsafe_code)]
fn collect(length: usize, kernel: impl Fn(usize, &mut [MaybeUninit<f32>]) + Sync) -> Vec<f32> {
    let mut result = memory::vec_with_capacity(length);
    let cells = &mut result.spare_capacity_mut()[..length];
    cells.par_chunks_mut(ELEMENTS_PER_TASK).enumerate().for_each(|(task, out)| kernel(task * ELEMENTS_PER_TASK, out));
    // SAFETY: the chunks cover the first `length` cells, and each of the callers' kernels initialises the chunk it is given.
    unsafe { result.set_len(length) };
    result
}
