//! A C program on the driver API.

use std::path::{Path, PathBuf};
use std::process::Command;

use test_support::{Need, skip};

use crate::{emulated, file, text};

/// `driver_api.c`, as [`compiled_from`] makes it.
pub(crate) fn compiled(test: &str) -> Option<PathBuf> {
    compiled_from("driver_api.c", test)
}

/// A program, compiled for a test and linked with the library; None if there is no compiler.
fn compiled_from(source: &str, test: &str) -> Option<PathBuf> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{source}-{test}-{}", std::process::id()));
    let library = Command::new(env!("CARGO_BIN_EXE_cuda-emulate")).arg("library").output().expect("the runner starts");
    let library = String::from_utf8(library.stdout).unwrap();
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let flags = std::env::var("CFLAGS").unwrap_or_default();
    let output = Command::new(compiler)
        .args(flags.split_whitespace())
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
        .arg(&program)
        .arg(file(source))
        .arg(library.trim())
        .output()
        .ok()?;
    assert!(output.status.success(), "{}", text(&output));
    Some(program)
}

#[test]
fn a_c_program_gets_cudas_results_and_errors() {
    let Some(program) = compiled("results") else {
        return skip(Need::Cc, "it needs a C compiler for Linux, by the name in CC, else cc");
    };
    let output = emulated(&["--like-a-gpu"], &program, &[]);
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("all calls returned what they should"), "{said}");
    assert_eq!(said.matches("cuMipmappedArrayCreate is not supported").count(), 1, "{said}");
    assert!(said.contains("copy 1 of a batch of 3: CUDA_ERROR_INVALID_VALUE"), "{said}");
    assert!(
        said.contains("CUDA_ERROR_ILLEGAL_ADDRESS in the launch of far (grid (1, 1, 1), block (1, 1, 1))"),
        "{said}"
    );
    assert!(said.contains("writes 4 bytes at ") && said.contains("[out-of-bounds]"), "{said}");
    assert!(said.contains(" 1 fault\n"), "{said}");
    assert!(said.ends_with("  PTX line 33: error: out-of-bounds in far\n"), "{said}");
    std::fs::remove_file(program).unwrap();
}

#[test]
fn a_program_goes_on_after_faults() {
    let Some(program) = compiled("keeps-going") else {
        return skip(Need::Cc, "it needs a C compiler for Linux, by the name in CC, else cc");
    };
    for options in [&[][..], &["--keep-going"], &["--orders", "3"]] {
        let output = emulated(options, &program, &["keep-going"]);
        let said = text(&output);
        assert!(said.contains("all calls returned what they should"), "{options:?}: {said}");
        assert_eq!(output.status.code(), Some(1), "{options:?}: {said}");
        // The launch that repeats a fault is counted.
        assert_eq!(said.matches("in the launch of far ").count(), 1, "{options:?}: {said}");
        assert!(said.contains(" 2 faults\n"), "{options:?}: {said}");
        let summary = "  PTX line 33: error: out-of-bounds in far: 3 times in 2 launches\n  PTX line 38: error: trap in stops: 5 times\n";
        assert!(said.ends_with(summary), "{options:?}: {said}");
    }
    std::fs::remove_file(program).unwrap();
}

#[test]
fn equal_launches_without_an_effect_and_buffers_that_are_not_freed_are_told() {
    let Some(program) = compiled("again") else {
        return skip(Need::Cc, "it needs a C compiler for Linux, by the name in CC, else cc");
    };
    let output = emulated(&[], &program, &["again"]);
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("note: add has been launched 1000 times with the same arguments, and the last two "),
        "{said}"
    );
    assert!(said.ends_with("  1 buffer of the device, 1000 bytes together, not freed at the end\n"), "{said}");
    std::fs::remove_file(program).unwrap();
}

#[test]
fn a_program_is_told_what_its_functions_and_memory_need() {
    let Some(program) = compiled_from("resources.c", "answers") else {
        return skip(Need::Cc, "it needs a C compiler for Linux, by the name in CC, else cc");
    };
    let output = emulated(&["--multiprocessors", "132"], &program, &[]);
    let said = text(&output);
    assert!(output.status.success() && said.contains("all answers are right"), "{said}");
    assert!(said.contains("launch of empty: blocks of (129, 1, 1) threads; it was compiled for 128"), "{said}");
    std::fs::remove_file(program).unwrap();
}

#[test]
fn kernels_access_the_memory_of_another_device_if_their_context_may() {
    let Some(program) = compiled("peers") else {
        return skip(Need::Cc, "it needs a C compiler for Linux, by the name in CC, else cc");
    };
    let output = emulated(&["--like-a-gpu", "--devices", "sm_90,sm_75"], &program, &["peers"]);
    let said = text(&output);
    assert!(output.status.success() && said.contains("all calls returned what they should"), "{said}");
    assert!(said.contains("[out-of-bounds]"), "{said}");
    std::fs::remove_file(program).unwrap();
}

#[test]
fn the_runtime_librarys_functions_do_what_nvidias_do() {
    let Some(program) = compiled_from("runtime_api.c", "runtime") else {
        return skip(Need::Cc, "it needs a C compiler for Linux, by the name in CC, else cc");
    };
    for (library, version) in [(&[][..], "13050"), (&["libcudart.so.12"], "12090"), (&["libcudart.so.13"], "13050")] {
        let output = emulated(&["--like-a-gpu", "--devices", "sm_90,sm_75"], &program, library);
        let said = text(&output);
        assert!(output.status.success() && said.contains("all calls returned what they should"), "{said}");
        assert!(said.contains(&format!("runtime {version}\n")), "{library:?}: {said}");
        assert!(said.contains("cudaGraphicsUnregisterResource is not supported"), "{said}");
        assert!(said.contains(" 1 fault\n") && said.contains("error: out-of-bounds in far\n"), "{said}");
    }
    std::fs::remove_file(program).unwrap();
}

#[test]
fn arrays_are_copied_to_and_from_in_one_two_and_three_dimensions() {
    let Some(program) = compiled_from("arrays.c", "copies") else {
        return skip(Need::Cc, "it needs a C compiler for Linux, by the name in CC, else cc");
    };
    let output = emulated(&[], &program, &[]);
    let said = text(&output);
    assert!(output.status.success() && said.contains("all copies are right"), "{said}");
    std::fs::remove_file(program).unwrap();
}

#[test]
fn kernels_fetch_from_textures_and_access_surfaces() {
    let Some(program) = compiled_from("textures.c", "fetches") else {
        return skip(Need::Cc, "it needs a C compiler for Linux, by the name in CC, else cc");
    };
    for options in [&[][..], &["--strict", "--uninitialised", "error"], &["--no-races"]] {
        let output = emulated(options, &program, &[]);
        let said = text(&output);
        assert!(output.status.success() && said.contains("all fetches are right"), "{options:?}: {said}");
    }
    for (how, result, says) in [
        ("destroyed", 719, "which no texture object has [image-object]"),
        ("other", 719, "which no texture object has: it is of the other kind [image-object]"),
        ("outside", 719, "reads 4 bytes at byte 16 of row 0 of layer 1 of a surface of 16 bytes × 3 rows × 2 layers"),
        ("freed", 700, "of global memory: the array of 4 × 3 × 2 texels"),
    ] {
        let said = text(&emulated(&["--like-a-gpu"], &program, &[how]));
        assert!(said.contains(&format!("the result is {result}")) && said.contains(says), "{how}: {said}");
    }
    std::fs::remove_file(program).unwrap();
}
