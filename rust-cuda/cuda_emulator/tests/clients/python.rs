//! Typical student programs in Python, with Numba and cuda-core. `FOREIGN_PYTHON` names a Python
//! that has both.

use std::path::PathBuf;
use std::process::{Command, Output};

use test_support::{Need, path_in, skip};

use crate::{emulated, file, text};

/// The output of a program; None if no Python here can import `module`.
#[track_caller]
fn run(module: &str, options: &[&str], program: &str) -> Option<Output> {
    run_with(module, options, program, &[])
}

/// Like `run`, with arguments for the program.
#[track_caller]
fn run_with(module: &str, options: &[&str], program: &str, arguments: &[&str]) -> Option<Output> {
    let python: PathBuf = path_in("FOREIGN_PYTHON", Need::ForeignPtx)?;
    let imports = Command::new(&python).args(["-c", &format!("import {module}")]).output();
    if !imports.is_ok_and(|output| output.status.success()) {
        skip(Need::ForeignPtx, &format!("$FOREIGN_PYTHON cannot import {module}"));
        return None;
    }
    let program = file("python").join(program);
    let arguments = [&["-W", "ignore", program.to_str().unwrap()], arguments].concat();
    Some(emulated(options, &python, &arguments))
}

#[test]
fn max_kernel_runs_in_1000_blocks_of_1000_threads() {
    let Some(output) = run("numba.cuda", &[], "max_kernel.py") else { return };
    let said = text(&output);
    assert!(output.status.success() && said.contains("CUDA emulator (sm_90, interpreted by the CPU): "), "{said}");
    assert!(
        said.contains("1 kernel, 2 launches, ") && said.contains(" 0 faults\n  max_kernel: 2 launches, "),
        "{said}"
    );
}

#[test]
fn what_kernels_of_a_homework_use_works() {
    for options in [&[][..], &["--devices", "sm_75"], &["--no-races"]] {
        let Some(output) = run("numba.cuda", options, "tiled_product.py") else { return };
        let said = text(&output);
        assert!(output.status.success() && said.contains("all results are right\n"), "{options:?}: {said}");
        assert!(said.contains(" 0 faults\n"), "{options:?}: {said}");
    }
}

#[test]
fn what_numba_brings_works() {
    for options in [&[][..], &["--devices", "sm_75"], &["--no-races"]] {
        let Some(output) = run("numba.cuda", options, "what_numba_brings.py") else { return };
        let said = text(&output);
        let results = "thread 0\nthread 1\nall results are right\n";
        assert!(output.status.success() && said.contains(results), "{options:?}: {said}");
        assert!(said.contains(" 0 faults\n"), "{options:?}: {said}");
    }
}

#[test]
fn a_race_is_reported_at_both_lines_of_python() {
    let Some(output) = run("numba.cuda", &["--like-a-gpu"], "race.py") else { return };
    let said = text(&output);
    assert!(said.contains("CUDA_ERROR_LAUNCH_FAILED in the launch of racing_sum "), "{said}");
    assert!(said.contains("race.py:15: error: kernel racing_sum, block (0, 0, 0), thread (32, 0, 0), "), "{said}");
    assert!(said.contains(": race: reads ") && said.contains("race.py:14:"), "{said}");
    assert!(said.contains("in `out[i] = partial[63 - i]`; 32 in all [race]"), "{said}");
    assert!(said.contains("raised [<CUresult.CUDA_ERROR_LAUNCH_FAILED") && said.contains(" 1 fault\n"), "{said}");
}

#[test]
fn an_access_out_of_bounds_is_reported_at_its_line_of_python() {
    let Some(output) = run("numba.cuda", &["--fail-on-fault"], "bounds.py") else { return };
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("CUDA_ERROR_ILLEGAL_ADDRESS in the launch of shifted "), "{said}");
    assert!(
        said.contains("bounds.py:10: error: ") && said.contains("in `out[i] = values[i + 1]` [out-of-bounds]"),
        "{said}"
    );
}

#[test]
fn cuda_core_compiles_launches_and_replays() {
    let Some(output) = run("cuda.core", &[], "cuda_core.py") else { return };
    let said = text(&output);
    assert!(output.status.success() && said.contains(" all results are right\n"), "{said}");
    assert!(said.contains("1 kernel, 7 launches, "), "{said}");
}

#[test]
fn what_cuda_cpp_builds_on_works() {
    for options in [&[][..], &["--devices", "sm_80"], &["--devices", "sm_75"], &["--no-races"]] {
        let Some(output) = run("cuda.core", options, "cuda_cpp.py") else { return };
        let said = text(&output);
        assert!(output.status.success() && said.contains("all results are right\n"), "{options:?}: {said}");
        assert!(said.contains(" 0 faults\n"), "{options:?}: {said}");
    }
}

#[test]
fn a_copy_that_a_barrier_of_the_block_does_not_wait_for_is_reported() {
    let Some(output) = run_with("cuda.core", &["--like-a-gpu"], "cuda_cpp.py", &["race"]) else { return };
    let said = text(&output);
    assert!(said.contains("CUDA_ERROR_LAUNCH_FAILED in the launch of kernel "), "{said}");
    assert!(said.contains("the asynchronous copy has not been waited for; 1024 in all [race]"), "{said}");
}

#[test]
fn pytest_fails_each_test_in_which_a_kernel_has_a_fault() {
    let Some(python) = path_in("FOREIGN_PYTHON", Need::ForeignPtx) else { return };
    let imports = Command::new(&python).args(["-c", "import numba.cuda, pytest"]).output();
    if !imports.is_ok_and(|output| output.status.success()) {
        return skip(Need::ForeignPtx, "$FOREIGN_PYTHON cannot import numba.cuda and pytest");
    }
    let tests = file("python").join("faults_of_tests.py");
    let arguments = ["-m", "pytest", "-v", "-W", "ignore", "-p", "no:cacheprovider", tests.to_str().unwrap()];
    let output = emulated(&["--pytest"], &python, &arguments);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for (test, outcome) in [
        ("test_wrong", "FAILED"),
        ("test_right", "PASSED"),
        ("test_wrong_again", "FAILED"),
        ("test_of_a_wrong_fixture", "ERROR"),
        ("test_that_fails_by_itself", "FAILED"),
        ("test_after_all", "PASSED"),
    ] {
        assert!(said.contains(&format!("::{test} {outcome}")), "{test}: {said}");
    }
    assert!(said.contains("3 failed, 2 passed, 1 error"), "{said}");
    assert!(said.contains("\n2 launches of this test had a fault:\n"), "{said}");
    assert!(said.contains("AssertionError: as it says"), "{said}");
    // Without the option a test passes despite an error, and the exit code reports it.
    let arguments = [&arguments[..], &["-k", "wrong_again"]].concat();
    let output = emulated(&[], &python, &arguments);
    assert!(text(&output).contains("1 passed") && output.status.code() == Some(1), "{}", text(&output));
}

#[test]
fn numba_links_without_a_warning() {
    let Some(python) = path_in("FOREIGN_PYTHON", Need::ForeignPtx) else { return };
    if !Command::new(&python).args(["-c", "import numba.cuda"]).output().is_ok_and(|output| output.status.success()) {
        return skip(Need::ForeignPtx, "$FOREIGN_PYTHON cannot import numba.cuda");
    }
    let program = "import numba.cuda as cuda\n@cuda.jit\ndef nothing(): pass\nnothing[256, 256](); cuda.synchronize(); print('linked')";
    let output = emulated(&[], &python, &["-W", "error", "-c", program]);
    assert!(output.status.success() && text(&output).contains("linked\n"), "{}", text(&output));
}

#[test]
fn textures_and_surfaces_of_cuda_c_work() {
    for options in [&[][..], &["--devices", "sm_75", "--strict", "--uninitialised", "error"], &["--no-races"]] {
        let Some(output) = run("cuda.core", options, "textures.py") else { return };
        let said = text(&output);
        assert!(output.status.success() && said.contains("all results are right\n"), "{options:?}: {said}");
        assert!(said.contains(" 0 faults\n"), "{options:?}: {said}");
    }
}

#[test]
fn tiles_are_copied_by_tensor_maps_and_multiplied_by_a_warpgroup() {
    for options in [&[][..], &["--strict", "--uninitialised", "error"], &["--no-races"], &["--orders", "3"]] {
        let Some(output) = run("cuda.core", options, "tensor_cores.py") else { return };
        let said = text(&output);
        assert!(output.status.success() && said.contains("all results are right\n"), "{options:?}: {said}");
        assert!(said.contains(" 0 faults\n"), "{options:?}: {said}");
    }
    // Without the wait, the next tile is written while the product reads, and the result is used
    // too early.
    let Some(output) = run_with("cuda.core", &[], "tensor_cores.py", &["race"]) else { return };
    let said = text(&output);
    assert!(said.contains(": race: writes 16 bytes at ") && said.contains(" reads at PTX line "), "{said}");
    assert!(said.contains("which has not been waited for: `wgmma.wait_group` is missing"), "{said}");
    assert!(said.contains(" 2 faults\n"), "{said}");
}
