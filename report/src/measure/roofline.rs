//! Measures the processor's roofs: read bandwidth, and the rate of multiply-adds in registers.

use kernels_cpu::InstructionSet;
use kernels_cpu::roofline::{multiply_adds, sum_of_reads};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::interleaved::{Version, time_interleaved};
use super::{MeasureError, Plan};
use crate::figures::Roofs;

/// Elements read per task, as in a task of the maximum.
const ELEMENTS_PER_TASK: usize = 32 * 1024;
/// Steps of multiply-adds per thread: about a millisecond.
const STEPS: u64 = 400_000;

/// Measures both roofs on each pool. The data to read are the maximum's operands.
pub(super) fn measure(plan: &Plan, pools: &[ThreadPool], a: &[i32], b: &[i32]) -> Result<Vec<Roofs>, MeasureError> {
    let set = InstructionSet::detect();
    let reading = pools.iter().map(|pool| {
        Version::new("reading", plan.repeats(), pool, || {
            let parts = a.par_chunks(ELEMENTS_PER_TASK).zip(b.par_chunks(ELEMENTS_PER_TASK));
            parts.map(|(a, b)| sum_of_reads(set, a, b)).reduce(|| 0, i32::wrapping_add)
        })
    });
    let arithmetic = pools.iter().map(|pool| {
        Version::new("multiply-adds", plan.repeats(), pool, move || {
            pool.broadcast(|_| multiply_adds(set, std::hint::black_box(0.5), std::hint::black_box(1.0), STEPS))
        })
    });
    let mut times = time_interleaved(plan.rounds(), reading.chain(arithmetic).collect())?.into_iter();
    let reading: Vec<_> = times.by_ref().take(pools.len()).collect();
    let (_, operations) = multiply_adds(set, 0.5, 1.0, 1);
    let roofs = |(reading, arithmetic): (crate::figures::OnThreads, crate::figures::OnThreads)| Roofs {
        threads: reading.threads,
        reading: reading.times,
        bytes: (size_of_val(a) + size_of_val(b)) as f64,
        arithmetic: arithmetic.times,
        operations: (operations * STEPS) as f64 * arithmetic.threads as f64,
    };
    Ok(reading.into_iter().zip(times).map(roofs).collect())
}
