//! Every kernel is right on the simulator and as PTX, except the wrong ones, whose mistake is found at its line.

mod support;

use gpu::{Device, DeviceChoice, InterpreterOptions};
use learn::host::STEPS;
use learn::host::puzzles::PUZZLES;
use teaching_tests::{Failure, for_any};

use crate::support::marked_place;

/// Sizes around those of warps, tiles and blocks.
const SIZES: [usize; 15] = [0, 1, 2, 15, 16, 17, 31, 33, 64, 65, 255, 257, 1023, 1025, 3000];

/// Checks the kernels before and after of each step, for random sizes and those at the edges.
fn all_are_right(device: &Device) -> Result<(), Failure> {
    for step in STEPS {
        let is_right = |size: usize| {
            for version in [step.before, step.after] {
                (version.check)(device, size).map_err(|error| format!("{}, size {size}: {error}", version.name))?;
            }
            Ok(())
        };
        let max_size = if step.is_matrix { 80 } else { 3000 };
        SIZES.into_iter().filter(|&size| size <= max_size).try_for_each(is_right)?;
        for_any(8, 0..max_size, is_right)?;
    }
    Ok(())
}

#[test]
fn every_kernel_is_right_on_the_simulator() -> Result<(), Failure> {
    all_are_right(&Device::simulator())
}

#[test]
fn every_kernel_is_right_as_ptx() -> Result<(), Failure> {
    for variant in gpu_testing::fresh_ptx(&learn::PTX) {
        let device = Device::interpreter(variant, InterpreterOptions::default()).map_err(|error| error.to_string())?;
        all_are_right(&device)?;
    }
    Ok(())
}

/// A GPU's result has the bits of the interpreter's for the same PTX: no kernel here uses an approximate instruction.
#[test]
fn every_kernel_has_the_interpreters_bits_on_a_gpu_if_there_is_one() -> Result<(), Failure> {
    if !gpu_testing::require_gpu() {
        return Ok(());
    }
    let on_gpu = Device::open(DeviceChoice::Cuda, &learn::PTX).map_err(|error| error.to_string())?;
    let ptx = on_gpu.ptx().ok_or("a GPU has loaded PTX")?;
    let interpreter = Device::interpreter(&ptx, InterpreterOptions::default()).map_err(|error| error.to_string())?;
    for step in STEPS {
        for version in [step.before, step.after] {
            for size in SIZES.into_iter().filter(|&size| !step.is_matrix || size <= 80) {
                let bits = |device: &Device| -> Result<Vec<u32>, String> {
                    Ok((version.check)(device, size)?.into_iter().map(f32::to_bits).collect())
                };
                if bits(&on_gpu)? != bits(&interpreter)? {
                    return Err(format!("{}, size {size}: other bits than the interpreter's", version.name).into());
                }
            }
        }
    }
    Ok(())
}

/// The same of the puzzles. It is here since `cargo xtask gpu-check` takes few test programs to a GPU.
#[test]
fn every_puzzle_has_the_interpreters_bits_on_a_gpu_if_there_is_one() -> Result<(), Failure> {
    if !gpu_testing::require_gpu() {
        return Ok(());
    }
    let on_gpu = Device::open(DeviceChoice::Cuda, &learn::PUZZLES_PTX).map_err(|error| error.to_string())?;
    let ptx = on_gpu.ptx().ok_or("a GPU has loaded PTX")?;
    let interpreter = Device::interpreter(&ptx, InterpreterOptions::default()).map_err(|error| error.to_string())?;
    for puzzle in &PUZZLES {
        for &size in puzzle.sizes {
            let bits = |device: &Device| -> Result<Vec<u64>, String> {
                let found = puzzle.kernel.check(device, &(puzzle.case)(size))?;
                Ok(found.into_iter().map(f64::to_bits).collect())
            };
            if bits(&on_gpu)? != bits(&interpreter)? {
                return Err(format!("{}, size {size}: other bits than the interpreter's", puzzle.kernel.name).into());
            }
        }
    }
    Ok(())
}

#[test]
fn every_mistake_is_found_at_its_line() {
    let mut elsewhere = Vec::new();
    for step in STEPS {
        let found = (step.wrong.check)(&Device::simulator(), step.wrong_size);
        let (error, (file, line)) = (found.expect_err(step.wrong.name), marked_place(step.wrong.name));
        let place = format!("{file}:{line}:");
        if !error.contains(&place) {
            elsewhere.push(format!("{}: {place} is not in {error}", step.wrong.name));
        }
    }
    assert!(elsewhere.is_empty(), "{}", elsewhere.join("\n"));
}
