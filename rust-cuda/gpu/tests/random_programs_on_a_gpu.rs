//! Random straight-line programs have bitwise identical results on a GPU, in the interpreter and in
//! the reference.

use std::sync::Mutex;

use cuda_std::{GlobalMut, kernel};
use gpu::{Device, DeviceChoice, LaunchConfig, PtxVariant};
use gpu_testing::require_gpu;
use ptx_random_programs::{Program, Target};

/// The host side of the programs' entry. It has the entry's parameters; the body exists only in the
/// PTX.
#[kernel]
pub fn random_program(input: &[u32], output: GlobalMut<u32>) {
    if !input.is_empty() {
        output.set(0, u32::MAX);
    }
}

/// A program's PTX with the static lifetime that a device needs.
fn leaked(compute_capability: (u32, u32), program: &Program) -> &'static [PtxVariant] {
    // Keeps it reachable to prevent reports from leak detectors.
    static KEPT: Mutex<Vec<&'static [PtxVariant]>> = Mutex::new(Vec::new());
    let text = Box::leak(program.ptx().into_boxed_str());
    // SAFETY: a random program computes in registers, and each thread accesses the element at its
    // index in buffers with one element per thread.
    #[allow(unsafe_code)]
    let variant = unsafe { PtxVariant::new(compute_capability, text) };
    let variants = Box::leak(Box::new([variant]));
    KEPT.lock().unwrap().push(variants);
    variants
}

/// Runs a program on a device. Returns how its result differs from the reference, if it does.
fn check(choice: DeviceChoice, program: &Program) -> Option<String> {
    let variants = leaked(program.target().compute_capability(), program);
    let device = Device::open(choice, variants).unwrap_or_else(|error| panic!("{error}"));
    let input = device.buffer_from_slice(&program.input()).unwrap();
    let mut output = device.zeroed::<u32>(program.expected().len()).unwrap();
    let config = LaunchConfig::new(1, Program::THREADS);
    device.launch(&random_program, config, (&input, &mut output)).unwrap_or_else(|error| panic!("{error}"));
    program.difference(&output.to_vec().unwrap_or_else(|error| panic!("{error}")))
}

/// Describes the differences in the first `count` programs.
fn wrong(choice: DeviceChoice, target: Target, count: u64) -> Vec<String> {
    let programs = (0..count).map(|seed| Program::new(seed, target));
    programs.filter_map(|program| check(choice, &program)).collect()
}

/// RANDOM_PROGRAMS sets the number of programs for each target. The default covers every form of
/// instruction.
#[test]
fn random_programs_are_the_same_on_a_gpu_if_there_is_one() {
    if !require_gpu() {
        return;
    }
    // Any variant serves to query the GPU's compute capability.
    let program = Program::new(0, Target::Sm75);
    let variants = leaked((7, 5), &program);
    // Kept open, so the GPU's primary context is not created again for each program.
    let device = Device::open(DeviceChoice::Cuda, variants).unwrap();
    let capability = device.compute_capability().unwrap();
    let count = std::env::var("RANDOM_PROGRAMS").ok().and_then(|count| count.parse().ok());
    let mut differences = Vec::new();
    for target in Target::ALL {
        if target.compute_capability() > capability {
            println!("programs for {target:?} are skipped: the GPU has compute capability {capability:?}");
            continue;
        }
        differences.extend(wrong(DeviceChoice::Cuda, target, count.unwrap_or(Program::for_all_forms(target))));
    }
    assert!(differences.is_empty(), "{} programs differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn random_programs_are_the_same_on_the_interpreter() {
    for target in Target::ALL {
        assert_eq!(wrong(DeviceChoice::Ptx, target, 5), Vec::<String>::new());
    }
}
