//! The kernels of the steps and puzzles, launched in the submission's process.

use gpu::Device;
use grader::call;

pub use learn::{STEPS, is_matrix, puzzle_size, sizes};

/// Maximum difference from the solution's result: sums in another order are rounded otherwise.
const TOLERANCE: f64 = 1e-3;

/// The result on the submission's simulator, in two schedules.
pub fn result(_: &Device, name: &str, size: usize) -> Result<Vec<f64>, String> {
    result_in_schedules(name, size, 2, 0)
}

/// The result on the submission's simulator in several schedules, which the seed chooses.
pub fn result_in_schedules(name: &str, size: usize, schedules: u32, seed: u64) -> Result<Vec<f64>, String> {
    let expected = learn::result(&Device::simulator(), name, size)?;
    let found: Vec<f64> = call("result", &(name, size, schedules, seed), expected.len())?;
    if found.len() != expected.len() {
        return Err(format!("the result has {} elements, expected {}", found.len(), expected.len()));
    }
    // Not `difference > TOLERANCE`: a NaN must not agree.
    let agrees = |(found, expected): (&f64, &f64)| (found - expected).abs() <= TOLERANCE * expected.abs().max(1.0);
    match found.iter().zip(&expected).position(|pair| !agrees(pair)) {
        None => Ok(found),
        Some(index) => Err(format!("element {index} of the result is {}, expected {}", found[index], expected[index])),
    }
}
