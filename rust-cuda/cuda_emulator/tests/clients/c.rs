//! A C program on the driver API.

use std::path::{Path, PathBuf};
use std::process::Command;

use test_support::{Need, skip};

use crate::{emulated, file, text};

/// Compiles `driver_api.c` with [`compiled_from`].
pub(crate) fn compiled(test: &str) -> Option<PathBuf> {
    compiled_from("driver_api.c", test)
}

/// Compiles a program for a test and links it with the library; None if there is no compiler.
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
        // A launch that repeats an error is only counted.
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

#[test]
fn an_asynchronous_order_shows_what_lacks_a_synchronisation() {
    let Some(program) = compiled_from("asynchronous.c", "orders") else {
        return skip(Need::Cc, "it needs a C compiler for Linux, by the name in CC, else cc");
    };
    let run = |seed: u32, how: &str| {
        let output = emulated(&["--like-a-gpu", "--async-order", &seed.to_string()], &program, &[how]);
        (output.status.success(), text(&output), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (how, as_without, other) in [
        ("pinned", "the device has 1\n", "the device has 2\n"),
        ("freed", "the result is 0\n", "the result is 700\n"),
        ("default", "the host has 2\n", "the host has 1\n"),
        ("freed-copy", "the result is 0, then 0\n", "the result is 700, then 0\n"),
    ] {
        assert!(run(0, how).1.contains(as_without), "{how}");
        let said: Vec<String> = (1..=8).map(|seed| run(seed, how).1).collect();
        assert!(said.iter().all(|said| said.contains(as_without) || said.contains(other)), "{how}: {said:?}");
        assert!(said.iter().any(|said| said.contains(as_without)), "{how}");
        let changed = said.iter().find(|said| said.contains(other)).unwrap_or_else(|| panic!("{how}: {said:?}"));
        match how {
            "freed" => assert!(changed.contains("[use-after-free]"), "{changed}"),
            "freed-copy" => assert!(changed.contains("a copy that was queued in a stream runs after"), "{changed}"),
            _ => {}
        }
    }
    for seed in 1..=50 {
        let (succeeds, said, errors) = run(seed, "all");
        assert!(succeeds && said.contains("all results are right"), "{seed}: {said}");
        assert!(errors.starts_with(&format!("CUDA emulator: async order {seed}\n")), "{errors}");
    }
    // The same seed gives the same order each time.
    assert_eq!(run(5, "freed").1, run(5, "freed").1);
    std::fs::remove_file(program).unwrap();
}

#[test]
fn what_is_pending_at_the_end_of_a_process_is_checked() {
    let Some(program) = compiled_from("asynchronous.c", "exit") else {
        return skip(Need::Cc, "it needs a C compiler for Linux, by the name in CC, else cc");
    };
    for seed in ["0", "1", "2", "3", "4", "5", "6"] {
        let output = emulated(&["--async-order", seed], &program, &["exit"]);
        let said = text(&output);
        assert!(said.contains("error: out-of-bounds in increment") && !said.contains("not freed"), "{seed}: {said}");
        assert_eq!(output.status.code(), Some(1), "{seed}: {said}");
    }
    std::fs::remove_file(program).unwrap();
}

#[test]
fn correct_programs_have_the_same_results_in_asynchronous_orders() {
    for (source, arguments, result) in [
        ("driver_api.c", &[][..], "all calls returned what they should"),
        ("driver_api.c", &["peers"], "all calls returned what they should"),
        ("runtime_api.c", &[], "all calls returned what they should"),
        ("arrays.c", &[], "all copies are right"),
        ("textures.c", &[], "all fetches are right"),
    ] {
        let Some(program) = compiled_from(source, "asynchronous") else {
            return skip(Need::Cc, "it needs a C compiler for Linux, by the name in CC, else cc");
        };
        for seed in ["1", "2", "3", "4", "5", "6", "7", "8"] {
            let options = ["--like-a-gpu", "--devices", "sm_90,sm_75", "--async-order", seed];
            let output = emulated(&options, &program, arguments);
            let said = text(&output);
            assert!(output.status.success() && said.contains(result), "{source}, {seed}: {said}");
        }
        std::fs::remove_file(program).unwrap();
    }
}

#[test]
fn kernels_copy_boxes_of_tensors() {
    let Some(program) = compiled_from("tensors.c", "boxes") else {
        return skip(Need::Cc, "it needs a C compiler for Linux, by the name in CC, else cc");
    };
    for options in [&[][..], &["--strict", "--uninitialised", "error"], &["--no-races"]] {
        let output = emulated(options, &program, &[]);
        let said = text(&output);
        assert!(output.status.success() && said.contains("all boxes are right"), "{options:?}: {said}");
        assert_eq!(said.matches("interleaved layouts are not supported").count(), 1, "{said}");
    }
    for (how, result, says) in [
        ("opaque", 719, "are no tensor map: make one with cuTensorMapEncodeTiled, and pass it to the kernel as "),
        ("large", 700, "writes 16 bytes at "),
    ] {
        let said = text(&emulated(&["--like-a-gpu"], &program, &[how]));
        assert!(said.contains(&format!("the result is {result}")) && said.contains(says), "{how}: {said}");
    }
    std::fs::remove_file(program).unwrap();
}
