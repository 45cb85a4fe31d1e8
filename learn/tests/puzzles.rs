//! Every puzzle is right on the simulator and as PTX, by rustc and by the page's compiler; every wrong version is found at
//! its line.

#[path = "lab/faults.rs"]
mod faults;
#[path = "support/launch.rs"]
mod launch;
mod support;

use gpu::{Device, InterpreterOptions, PtxVariant};
use learn::host::puzzles::{Bug, Kernel, PUZZLES, Puzzle};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::faults::{lines_of, sentences_of};
use crate::launch::{launch, only, sources};
use crate::support::marked_place;

/// Number of random sizes.
const RANDOM_SIZES: usize = 4;

/// The puzzle's own sizes and some random ones.
fn sizes(puzzle: &Puzzle) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(test_support::seed(1));
    let size = |_| match puzzle.kernel.name {
        "map" => 4 * random.random_range(1..20),
        "softmax" => random.random_range(1..=8),
        _ => random.random_range(0..30),
    };
    let random: Vec<usize> = (0..RANDOM_SIZES).map(size).collect();
    puzzle.sizes.iter().copied().chain(random).collect()
}

fn interpreter(variant: &PtxVariant) -> Device {
    Device::interpreter(variant, InterpreterOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn bits(found: Vec<f64>) -> Vec<u64> {
    found.into_iter().map(f64::to_bits).collect()
}

/// The result on a device.
fn result(device: &Device, puzzle: &Puzzle, size: usize) -> Vec<u64> {
    let found = puzzle.kernel.check(device, &(puzzle.case)(size));
    bits(found.unwrap_or_else(|error| panic!("{}, size {size}: {error}", puzzle.kernel.name)))
}

#[test]
fn every_puzzle_is_right_on_the_simulator() {
    for puzzle in &PUZZLES {
        for size in sizes(puzzle) {
            result(&Device::simulator(), puzzle, size);
        }
    }
}

#[test]
fn every_puzzle_has_the_simulators_bits_as_ptx() {
    for variant in gpu_testing::fresh_ptx(&learn::PUZZLES_PTX) {
        let device = interpreter(variant);
        for puzzle in &PUZZLES {
            for size in sizes(puzzle) {
                let expected = result(&Device::simulator(), puzzle, size);
                assert_eq!(result(&device, puzzle, size), expected, "{}, size {size}", puzzle.kernel.name);
            }
        }
    }
}

/// What the sentences of a kind of error have in common. Where a barrier is missing, a read may come before the first write.
fn is_of_kind(error: &str, kind: &str) -> bool {
    let signs: &[&str] = match kind {
        "out of bounds" => &["is outside of"],
        "race" => &["race: ", "is read before it is written"],
        "uninitialized read" => &["is read before it is written", "has never been written"],
        "barrier divergence" => &["barrier divergence: "],
        "missing lanes" => &["lanes missing from", "which has exited the kernel"],
        "wrong result" => &[", expected ", "was never written"],
        _ => panic!("no kind of error: {kind}"),
    };
    signs.iter().any(|sign| error.contains(sign))
}

/// Checks that a wrong version is found with its kind and at its line.
fn is_found(device: &Device, puzzle: &Puzzle, Bug { kernel, kind }: &Bug) -> Result<(), String> {
    let error = kernel.check(device, &(puzzle.case)(puzzle.sizes[0])).expect_err(kernel.name);
    let (file, line) = marked_place(kernel.name);
    let is_at_line = error.contains(&format!("{file}:{line}:")) || *kind == "wrong result";
    match is_at_line && is_of_kind(&error, kind) {
        true => Ok(()),
        false => Err(format!("{}, {kind} at {file}:{line}: {error}", kernel.name)),
    }
}

fn all_are_found(device: &Device) {
    let bugs = PUZZLES.iter().flat_map(|puzzle| puzzle.bugs.iter().map(move |bug| is_found(device, puzzle, bug)));
    let missed: Vec<String> = bugs.filter_map(Result::err).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_bug_is_found_on_the_simulator() {
    all_are_found(&Device::simulator());
}

#[test]
fn every_bug_is_found_as_ptx() {
    for variant in gpu_testing::fresh_ptx(&learn::PUZZLES_PTX) {
        all_are_found(&interpreter(variant));
    }
}

#[test]
fn every_puzzle_has_a_bug_and_few_are_found_by_their_result_alone() {
    let bugs: Vec<&Bug> = PUZZLES.iter().flat_map(|puzzle| puzzle.bugs).collect();
    assert!(PUZZLES.iter().all(|puzzle| !puzzle.bugs.is_empty()));
    assert_eq!(bugs.len(), 30);
    assert!(bugs.iter().filter(|bug| bug.kind == "wrong result").count() <= 8);
}

#[test]
fn every_puzzle_has_one_to_eight_blank_lines() {
    let text = include_str!("../src/puzzles.rs");
    let mut blocks = text.split("    // write: ").skip(1);
    for puzzle in &PUZZLES {
        let block = blocks.next().expect(puzzle.kernel.name);
        let (name, rest) = block.split_once('\n').expect("a line ends");
        let lines = rest.lines().take_while(|line| line.trim() != "// end").count();
        assert_eq!(name, puzzle.kernel.name);
        assert!((1..=8).contains(&lines), "{name}: {lines} lines");
    }
    assert!(blocks.next().is_none());
}

fn answer(request: &Value) -> Value {
    serde_json::from_str(&lab::answer(&request.to_string())).expect("an answer is JSON")
}

/// How the page's compiler and rustc differ for a kernel and a size.
fn difference(kernel: Kernel, puzzle: &Puzzle, size: usize) -> Option<String> {
    let (ptx, names) = (include_str!("../ptx/puzzles.sm_75.ptx"), include_str!("../ptx/puzzles.sm_75.debug"));
    let (ptx, launch) = (only(ptx, kernel.name), launch(kernel.name, &(puzzle.case)(size)));
    let of_rustc =
        answer(&json!({"task": "check", "ptx": ptx, "names": names, "launch": launch, "orders": 2, "seed": 0}));
    let of_page = answer(&json!({"task": "check", "files": sources(), "launch": launch, "orders": 2, "seed": 0}));
    let both = [&of_rustc, &of_page];
    let [rustc_says, page_says] = both.map(sentences_of);
    if let Some(error) = both.iter().find_map(|answer| answer["error"].as_str()) {
        return Some(error.to_owned());
    }
    if of_rustc["sentences"] == json!([]) && of_rustc["buffers"] != of_page["buffers"] {
        return Some("another result".to_owned());
    }
    let [mut rustc, page] = both.map(lines_of);
    // LLVM joins loads of several lines to one without a line.
    rustc.retain(|line| line != "nowhere");
    (rustc != page).then(|| format!("{page:?}, not {rustc:?}:\n    {page_says:?}\n    {rustc_says:?}"))
}

#[test]
fn kernels_compiled_by_the_page_agree_with_rustcs() {
    if !gpu_testing::require_ptx(&learn::PUZZLES_PTX) {
        return;
    }
    let mut differ = Vec::new();
    for puzzle in &PUZZLES {
        for kernel in [puzzle.kernel].into_iter().chain(puzzle.bugs.iter().map(|bug| bug.kernel)) {
            for &size in puzzle.sizes {
                let found = difference(kernel, puzzle, size);
                differ.extend(found.map(|text| format!("{}, size {size}: {text}", kernel.name)));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
