//! PTX that other compilers generate from this folder's kernels. The correct kernels match their
//! references, and the bugs in the others are reported.
//!
//! clang is `FOREIGN_CLANG` or `clang`. Python with NVRTC, Numba and Triton is `FOREIGN_PYTHON` or
//! `python3`. A test without its compiler prints a line and is skipped. To install all compilers:
//!
//! ```text
//! apt-get install clang
//! pip install numba numba-cuda triton nvidia-cuda-nvrtc-cu12 nvidia-cuda-nvcc-cu12 nvidia-cuda-runtime-cu12 \
//!     nvidia-cuda-cccl-cu12
//! ```

mod bugs;
mod cases;
mod compilers;
mod python;
mod run;
mod suite;

use compilers::Compiled;
use cuda_launch::LaunchConfig;
use ptx_interpreter::{Machine, Options};
use run::Argument::{Buffer, Int, Output};
use run::{Calling, Elements};

/// Errors and wrong results of the correct kernels.
fn problems(compiled: &[Compiled], only: Option<&str>) -> Vec<String> {
    let mut problems = Vec::new();
    for Compiled { name, ptx } in compiled {
        let mut machine = Machine::new(ptx).unwrap_or_else(|error| panic!("{name}: {error}"));
        let untested = machine.kernels().find(|kernel| cases::all().iter().all(|case| case.kernel != *kernel));
        assert_eq!(untested, None, "a kernel without a case");
        for case in cases::all().into_iter().filter(|case| only.is_none_or(|only| case.kernel == only)) {
            let launched =
                run::launch(&mut machine, Options::default(), case.kernel, (case.config, Calling::C), &case.arguments);
            let problem = match launched {
                Err(error) => Some(error.to_string()),
                Ok((_, report)) if report.notes.is_empty() == (case.kernel == "same_value") => {
                    Some(format!("notes: {:?}", report.notes))
                }
                Ok((found, _)) => run::difference(&found, &case.expected()),
            };
            problems.extend(problem.map(|problem| format!("{name}, {}: {problem}", case.kernel)));
        }
    }
    problems
}

#[test]
fn kernels_of_clang() {
    let problems = problems(&compilers::clang("kernels.cu"), None);
    assert!(problems.is_empty(), "{}:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn kernels_of_nvrtc() {
    let problems = problems(&compilers::nvrtc("kernels.cu"), None);
    assert!(problems.is_empty(), "{}:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn the_grid_barrier_of_nvrtc() {
    let x: Vec<i32> = (0..500).collect();
    let arguments =
        [Buffer(Elements::Ints(x)), Output(Elements::Ints(vec![0; 160])), Output(Elements::Ints(vec![0])), Int(500)];
    let committed = compilers::committed("NVRTC", include_str!("ptx/grid.nvrtc.sm_75.ptx"));
    let compiled = compilers::nvrtc("grid.cu");
    for Compiled { name, ptx } in committed.into_iter().chain(compiled) {
        let mut machine = Machine::new(&ptx).unwrap_or_else(|error| panic!("{name}: {error}"));
        let shape = (LaunchConfig::new(5, 32).cooperative(), Calling::C);
        let (found, _) = run::launch(&mut machine, Options::default(), "grid_sum", shape, &arguments)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            found[1..3],
            [Some(Elements::Ints(vec![124_750; 160])), Some(Elements::Ints(vec![124_750]))],
            "{name}"
        );
    }
}

/// Includes a structure with padding.
#[test]
fn committed_kernels_of_clang_and_nvrtc() {
    macro_rules! committed {
        ($($kernel:literal of $compiler:literal),+) => {
            [$(($kernel, compilers::committed($compiler, include_str!(concat!("ptx/", $kernel, ".", $compiler, ".sm_75.ptx"))))),+]
        };
    }
    let compiled = committed!(
        "bitonic_sort" of "clang",
        "compaction" of "clang",
        "heaviest" of "nvrtc",
        "histogram" of "clang",
        "last_block_adds_up" of "nvrtc",
        "prefix_sums_by_shuffles" of "nvrtc"
    );
    for (kernel, compiled) in compiled {
        let problems = problems(&compiled, Some(kernel));
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}
