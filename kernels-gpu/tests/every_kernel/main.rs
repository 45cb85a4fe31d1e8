//! Every kernel of kernels-gpu, compiled for every architecture, agrees with its source and its reference; and edited
//! PTX does not.

mod bytes;
mod device;
mod edits;
mod hand_edits;
mod of_the_page;
mod run;
mod small;
mod table;
mod text;
mod training;

use std::collections::BTreeSet;
use std::time::Instant;

use cuda_std::{PtxVariant, Search, simulator};
use device::{Gpu, Interpreter, Simulator};
use gpu::DeviceChoice;
use kernels_gpu::PTX;
use ptx_interpreter::{Machine, Options};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rayon::prelude::*;
use table::{Case, ENTRIES, Entry, is_checked_elsewhere};
use test_support::{Need, skip};
use text::module_of;
use training::training_case;

/// Whether the PTX is older than the kernels; the calling test is then recorded as skipped.
#[track_caller]
fn is_stale() -> bool {
    let reason = PTX.iter().find_map(PtxVariant::staleness);
    reason.inspect(|reason| skip(Need::Ptx, &format!("stale PTX: {reason}"))).is_some()
}

#[test]
fn every_kernel_of_the_ptx_is_in_the_table() {
    if is_stale() {
        return;
    }
    let table: BTreeSet<&str> = ENTRIES.iter().map(|entry| entry.kernel).collect();
    assert_eq!(table.len(), ENTRIES.len(), "a kernel is in the table twice");
    for ptx in PTX {
        let machine = Machine::new(ptx.text()).unwrap();
        assert_eq!(machine.refused().next(), None);
        let compiled = machine.kernels().filter(|kernel| !is_checked_elsewhere(kernel));
        let table: BTreeSet<&str> =
            ENTRIES.iter().filter(|entry| entry.is_in(&ptx)).map(|entry| entry.kernel).collect();
        assert_eq!(compiled.collect::<BTreeSet<&str>>(), table, "each kernel needs an entry in tests/kernels/table.rs");
    }
}

/// Compares a case on the simulator with the reference, and each PTX with the simulator.
fn check(entry: &Entry, case: &Case, check_races: bool) {
    let fail = |error: String| panic!("{} of {case:?}: {error}", entry.kernel);
    let search = if check_races { Search::TWO } else { Search::ONE };
    let options = simulator::Options { check_races, search, ..Default::default() };
    let simulated = (entry.on_simulator)(&mut Simulator { options }, case).unwrap_or_else(fail);
    assert!(
        (entry.agrees)(&simulated, &(entry.reference)(case)),
        "{} of {case:?} on the simulator differs from the reference",
        entry.kernel
    );
    for ptx in PTX.iter().filter(|ptx| entry.is_in(ptx)) {
        let search = if check_races { Search::TWO } else { Search::ONE };
        let options = Options { check_races, same_value_races_are_faults: true, search, ..Default::default() };
        let mut interpreter = Interpreter::new(&module_of(ptx.text(), entry.kernel), options).unwrap();
        let interpreted = (entry.on_interpreter)(&mut interpreter, case).unwrap_or_else(fail);
        let variant = ptx.compute_capability();
        assert!(
            (entry.is_same)(&interpreted, &simulated),
            "{} of {case:?}, PTX {variant:?}: differs from the source's result",
            entry.kernel
        );
    }
}

/// A number from the environment.
fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is no number: {value}")))
}

/// Random cases of each kernel: `KERNEL_CASES`, or three.
fn check_random(small: bool) {
    let (seed, cases) = (test_support::seed(11), variable("KERNEL_CASES").unwrap_or(3));
    for entry in ENTRIES {
        // A case of the training kernels takes seconds.
        let cases = if entry.kernel.starts_with("network_train_") { cases.div_ceil(4) } else { cases };
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let start = Instant::now();
        for _ in 0..cases {
            check(entry, &(entry.random_case)(&mut random, small), small);
        }
        println!("{}: {cases} cases in {:.2} s", entry.kernel, start.elapsed().as_secs_f64());
    }
}

#[test]
fn kernels_on_random_shapes_agree_between_source_and_ptx() {
    if is_stale() {
        return;
    }
    check_random(false);
}

#[test]
fn kernels_on_small_random_shapes_have_no_races() {
    if is_stale() {
        return;
    }
    check_random(true);
}

#[test]
fn kernels_on_boundary_shapes_agree_and_have_no_races() {
    if is_stale() {
        return;
    }
    // The longest first.
    ENTRIES.par_iter().rev().for_each(|entry| {
        let start = Instant::now();
        entry.boundary_cases.iter().for_each(|case| check(entry, &case(), true));
        println!("{}: boundary cases in {:.2} s", entry.kernel, start.elapsed().as_secs_f64());
    });
}

/// Each kernel's smallest boundary case, in many orders of its blocks and warps: as many as `KERNEL_ORDERS` says, or 1000; of the
/// kernels whose names begin with `KERNEL_ORDERS_OF`. The kernels that train do two steps, of few samples.
#[test]
#[ignore = "takes minutes"]
fn no_kernel_has_a_fault_in_a_thousand_orders() {
    let runs = variable("KERNEL_ORDERS").unwrap_or(1000) as u32;
    let names = std::env::var("KERNEL_ORDERS_OF").unwrap_or_default();
    let kernels: Vec<_> = ENTRIES
        .iter()
        .filter(|entry| entry.kernel.starts_with(&names))
        .flat_map(|entry| PTX.iter().filter(|ptx| entry.is_in(ptx)).map(move |ptx| (entry, ptx)))
        .collect();
    // The longest first.
    kernels.into_par_iter().rev().for_each(|(entry, ptx)| {
        let search = Search { runs, seconds: u32::MAX, seed: 1 };
        let options = Options { same_value_races_are_faults: true, search, ..Default::default() };
        let mut interpreter = Interpreter::new(&module_of(ptx.text(), entry.kernel), options).unwrap();
        let start = Instant::now();
        let case = match entry.kernel {
            // Three warps have samples.
            kernel if kernel.starts_with("network_train_small") => training_case(33, 40, 1),
            kernel if kernel.starts_with("network_train_") => training_case(2, 3, 1),
            _ => entry.boundary_cases[0](),
        };
        let result = (entry.on_interpreter)(&mut interpreter, &case);
        result.unwrap_or_else(|error| panic!("{} of {case:?}: {error}", entry.kernel));
        println!("{}: {runs} orders in {:.2} s", entry.kernel, start.elapsed().as_secs_f64());
    });
}

/// Whether the bytes of a GPU's result are the interpreter's, or its floats are within `error` of them if that is not 0.
fn agrees_with_the_interpreter(result: &[u8], interpreted: &[u8], error: f32) -> bool {
    if error == 0.0 { result == interpreted } else { table::is_within(result, interpreted, error) }
}

/// The interpreter is exact about everything but speed: a GPU computes the same bits from the same PTX.
#[test]
fn every_kernel_has_the_interpreters_bits_on_a_gpu_if_there_is_one() {
    if is_stale() || !gpu_testing::require_gpu() {
        return;
    }
    let mut on_gpu = Gpu(gpu::Device::open(DeviceChoice::Cuda, &PTX).unwrap());
    let ptx = on_gpu.0.ptx().expect("a GPU has loaded PTX");
    let mut wrong = Vec::new();
    for entry in ENTRIES.iter().filter(|entry| entry.is_in(&ptx)) {
        let mut random = ChaCha8Rng::seed_from_u64(test_support::seed(13));
        let boundary = entry.boundary_cases.iter().map(|case| case());
        let cases: Vec<Case> = boundary.chain((0..6).map(|_| (entry.random_case)(&mut random, false))).collect();
        for case in &cases {
            let fail = |error: String| panic!("{} of {case:?}: {error}", entry.kernel);
            let options = Options { check_races: false, ..Default::default() };
            let mut interpreter = Interpreter::new(&module_of(ptx.text(), entry.kernel), options).unwrap();
            let interpreted = (entry.on_interpreter)(&mut interpreter, case).unwrap_or_else(fail);
            let result = (entry.on_gpu)(&mut on_gpu, case).unwrap_or_else(fail);
            if !agrees_with_the_interpreter(&result, &interpreted, entry.gpu_error) {
                let first = result.chunks(4).zip(interpreted.chunks(4)).position(|(a, b)| a != b);
                wrong.push(format!("{} of {case:?}: the first other word is {first:?}", entry.kernel));
            }
        }
        println!("{}: {} cases, errors of {} allowed", entry.kernel, cases.len(), entry.gpu_error);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_kernel_without_an_approximate_instruction_must_have_the_interpreters_bits() {
    for ptx in PTX.iter().filter(|_| !is_stale()) {
        let text_of = |kernel: &str| {
            let entry = ptx.text().split(".visible .entry ").find(|entry| entry.starts_with(&format!("{kernel}(")));
            entry.unwrap_or_else(|| panic!("{kernel}")).split("\n}").next().unwrap_or_default()
        };
        for entry in ENTRIES.iter().filter(|entry| entry.is_in(ptx)) {
            let text = text_of(entry.kernel);
            // Products of f64 are multiply-adds in the order of k.
            let has_rounded_products = text.lines().any(|line| line.contains("mma.sync") && !line.contains(".f64.f64"));
            let is_approximate = text.contains(".approx") || has_rounded_products;
            assert_eq!(entry.gpu_error != 0.0, is_approximate, "{}", entry.kernel);
        }
    }
    let near = [1.0_f32, f32::NAN, f32::INFINITY].map(f32::to_le_bytes).concat();
    let other = [1.0 + f32::EPSILON, f32::NAN, f32::INFINITY].map(f32::to_le_bytes).concat();
    assert!(agrees_with_the_interpreter(&near, &other, 2e-7) && !agrees_with_the_interpreter(&near, &other, 1e-7));
    assert!(!agrees_with_the_interpreter(&near, &other, 0.0) && agrees_with_the_interpreter(&near, &near, 0.0));
    assert!(!agrees_with_the_interpreter(&near, &near[4..], 1.0));
}
