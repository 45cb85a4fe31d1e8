//! Bugs in CUDA C kernels: the interpreter reports the expected fault at the right source line.

use crate::cases::{fractions, integers};
use crate::compilers::{self, Compiled};
use crate::run::Argument::{self, Buffer, Int, Output};
use crate::run::Elements::{Floats, Ints};
use crate::run::{Calling, launch};
use cuda_launch::{Dim3, LaunchConfig};
use ptx_interpreter::memory::AccessError;
use ptx_interpreter::{FaultKind, Machine, Options};

/// How a bug is detected.
enum Detection {
    /// A fault of this kind.
    Fault(fn(&FaultKind) -> bool),
    /// Only through wrong results: every access is in bounds, initialized and ordered.
    Results,
}

struct Bug {
    kernel: &'static str,
    config: LaunchConfig,
    arguments: Vec<Argument>,
    detection: Detection,
}

fn bug(
    kernel: &'static str,
    (grid, block): (impl Into<Dim3>, impl Into<Dim3>),
    arguments: Vec<Argument>,
    kind: fn(&FaultKind) -> bool,
) -> Bug {
    Bug { kernel, config: LaunchConfig::new(grid, block), arguments, detection: Detection::Fault(kind) }
}

fn is_race(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::Race { .. })
}

fn is_out_of_bounds(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::Access { error: AccessError::OutOfBounds { .. }, .. })
}

fn is_uninitialised(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::Access { error: AccessError::Uninitialised { .. }, .. })
}

fn is_divergence(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::BarrierDivergence { .. })
}

fn all() -> Vec<Bug> {
    let x = |count| Buffer(Ints(integers(count, -1000, 1000)));
    let out = |count| Output(Ints(vec![0; count]));
    let zeros = |count| Buffer(Ints(vec![0; count]));
    let undetected = |kernel, shape: (u32, u32), arguments| Bug {
        detection: Detection::Results,
        ..bug(kernel, shape, arguments, |_| false)
    };
    vec![
        bug("missing_barrier", (1, 64), vec![x(64), out(64)], is_uninitialised),
        bug("missing_second_barrier", (1, 64), vec![x(192), out(64)], is_race),
        bug("missing_barrier_of_a_warp", (1, 32), vec![x(32), out(32)], is_race),
        bug("reduction_without_barriers", (1, 64), vec![x(64), out(1)], is_race),
        bug("off_by_one", (2, 64), vec![x(100), out(100), Int(100)], is_out_of_bounds),
        bug("one_before_the_start", (2, 64), vec![x(100), out(100), Int(100)], is_out_of_bounds),
        bug("shared_array_too_small", (1, 64), vec![x(64), out(64)], is_out_of_bounds),
        Bug {
            config: LaunchConfig { dynamic_shared_bytes: 252, ..LaunchConfig::new(1, 64) },
            ..bug("dynamic_shared_too_small", (1, 64), vec![x(64), out(64)], is_out_of_bounds)
        },
        bug("race_of_blocks", (4, 32), vec![Buffer(Ints(vec![1, 2, 3, 4])), zeros(1)], is_race),
        bug("race_of_threads", (2, 64), vec![x(100), zeros(16), Int(100)], is_race),
        bug("blocks_read_each_other", (2, 64), vec![x(100), Int(100)], is_race),
        bug("uninitialised_shared", (1, 64), vec![Buffer(Ints((0..64).collect())), out(16)], is_uninitialised),
        bug("uninitialised_global", (2, 64), vec![x(100), out(100), Int(100)], is_uninitialised),
        bug("uninitialised_local", (1, 32), vec![x(32), out(32), Int(3)], is_uninitialised),
        bug("divergent_barrier", (1, 64), vec![x(64), out(64)], is_divergence),
        bug("barrier_after_return", (2, 64), vec![x(100), out(100), Int(100)], is_divergence),
        bug("barrier_in_a_loop", (1, 64), vec![Buffer(Ints(vec![3, 5])), out(64)], is_divergence),
        bug("shuffle_of_half_a_warp", (1, 32), vec![x(32), out(32)], |kind| {
            matches!(kind, FaultKind::MissingLanes { .. })
        }),
        bug("misaligned_vector", (1, 4), vec![x(64), Output(Floats(vec![0.0; 4]))], |kind| {
            matches!(kind, FaultKind::Access { error: AccessError::Misaligned { .. }, .. })
        }),
        bug("missing_fence", (4, 32), vec![x(4), out(4), zeros(1), out(1)], is_race),
        bug("endless", (1, 1), vec![zeros(1)], |kind| matches!(kind, FaultKind::WaitsForever { .. })),
        bug("null_pointer", (1, 32), vec![Argument::Null, out(32)], |kind| {
            matches!(kind, FaultKind::Access { error: AccessError::NoAllocation { .. }, .. })
        }),
        bug(
            "transposed_without_padding",
            ((2, 3), (16, 16)),
            vec![Buffer(Floats(fractions(1000))), Output(Floats(vec![0.0; 1000])), Int(40), Int(25)],
            is_race,
        ),
        Bug {
            config: LaunchConfig::new(2, 1).cooperative(),
            ..bug("flag_without_order", (2, 1), vec![zeros(1), zeros(1), out(1)], is_race)
        },
        undetected("wrong_bound", (2, 64), vec![x(100), out(100), Int(100)]),
        undetected("lost_remainder", (1, 32), vec![x(100), out(1), Int(100)]),
        undetected("barrier_that_one_warp_skips_by_luck", (1, 64), vec![x(64), out(64), Int(64)]),
        undetected("index_within_another_row", (1, 31), vec![x(32), out(32)]),
    ]
}

/// The difference from the expected fault of one bug; `None` if there is none.
fn problem(machine: &mut Machine, bug: &Bug) -> Option<String> {
    let source = include_str!("bugs.cu");
    let line = source.lines().position(|line| line.ends_with(&format!("// BUG {}", bug.kernel)));
    let line = line.expect("the bug's line") as u32 + 1;
    let options = Options { block_instructions: 1_000_000, ..Options::default() };
    let launched = launch(machine, options, bug.kernel, (bug.config, Calling::C), &bug.arguments);
    let error = match (launched, &bug.detection) {
        (Ok(_), Detection::Results) => return None,
        (Ok(_), Detection::Fault(_)) => return Some("not detected".to_owned()),
        (Err(error), Detection::Results) => return Some(format!("unexpectedly detected: {error}")),
        (Err(error), Detection::Fault(_)) => error,
    };
    let Detection::Fault(is_expected) = bug.detection else { return None };
    let Some(fault) = error.fault() else { return Some(format!("no fault: {error}")) };
    let place = fault.place.source.as_ref();
    if !is_expected(&fault.kind) {
        return Some(format!("another fault: {fault}"));
    }
    match place {
        None => Some(format!("no line: {fault}")),
        Some(place) if place.line != line => Some(format!("line {}, not {line}: {fault}", place.line)),
        Some(_) => None,
    }
}

fn problems(compiled: &[Compiled]) -> Vec<String> {
    let mut problems = Vec::new();
    for Compiled { name, ptx } in compiled {
        let mut machine = Machine::new(ptx).unwrap_or_else(|error| panic!("{name}: {error}"));
        let untested = machine.kernels().find(|kernel| all().iter().all(|bug| bug.kernel != *kernel));
        assert_eq!(untested, None, "a kernel without a launch");
        for bug in all() {
            if let Some(problem) = problem(&mut machine, &bug) {
                problems.push(format!("{name}, {}: {problem}", bug.kernel));
            }
        }
    }
    problems
}

#[test]
fn of_clang() {
    let problems = problems(&compilers::clang("bugs.cu"));
    assert!(problems.is_empty(), "{}:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn of_nvrtc() {
    let problems = problems(&compilers::nvrtc("bugs.cu"));
    assert!(problems.is_empty(), "{}:\n{}", problems.len(), problems.join("\n"));
}
