//! The environment of the outer build, in which a build script runs, does not affect the compilation of the kernels.
//!
//! The environment belongs to a process, so these tests rerun this program as a build script.
#![cfg(unix)]

mod support;

use std::process::{Command, Output};

use cuda_builder::CudaBuilder;
use support::Sandbox;

#[test]
#[ignore = "the other tests run it"]
fn build_script() {
    let Ok(kernels) = std::env::var("BUILD_SCRIPT_KERNELS") else { return };
    // Only the environment sets the toolchain and the target directory.
    CudaBuilder::new(kernels).committed("ptx/missing.ptx").build().unwrap_or_else(|error| error.fail_build());
}

fn run_build_script(sandbox: &Sandbox, environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    // With one thread, as on one core, libtest begins the first line with the test's name.
    command.args(["--exact", "build_script", "--ignored", "--nocapture", "--test-threads=2"]);
    command.current_dir(sandbox.path("kernels"));
    command.env("BUILD_SCRIPT_KERNELS", ".").env("OUT_DIR", sandbox.path("out"));
    command.envs(environment.iter().copied()).output().unwrap()
}

fn run_with_fake_toolchain(sandbox: &Sandbox, environment: &[(&str, &str)]) -> String {
    let rustc = sandbox.fake_toolchain("toolchain").rustc;
    let named = [("CUDA_BUILDER_RUSTC", rustc.to_str().unwrap())];
    let output = run_build_script(sandbox, &[environment, &named].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_compilation_sees_none_of_the_outer_builds_variables() {
    let sandbox = Sandbox::new();
    let outer = [
        ("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-cpu=native"),
        ("CARGO_PROFILE_RELEASE_DEBUG", "2"),
        ("CARGO_MAKEFLAGS", "--jobserver-fds=3,4"),
        ("CARGO_NET_OFFLINE", "true"),
        ("RUSTC_WRAPPER", "a-wrapper"),
        ("RUSTFLAGS", "-Cdebuginfo=2"),
        ("LD_LIBRARY_PATH", "/another/toolchain/lib"),
        ("TARGET", "x86_64-unknown-linux-gnu"),
        ("OPT_LEVEL", "0"),
    ];
    run_with_fake_toolchain(&sandbox, &outer);
    let seen = sandbox.read("toolchain/called-with-environment");
    let value = |name: &str| seen.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    for name in ["RUSTC_WRAPPER", "RUSTFLAGS", "LD_LIBRARY_PATH", "TARGET", "OPT_LEVEL", "OUT_DIR", "CARGO_PKG_NAME"] {
        assert_eq!(value(name), None, "{name}");
    }
    assert_eq!(value("CARGO_MAKEFLAGS"), Some("--jobserver-fds=3,4"));
    assert_eq!(value("CARGO_NET_OFFLINE"), Some("true"));
    assert_eq!(value("CARGO_PROFILE_RELEASE_DEBUG"), Some("full"));
    assert_eq!(value("RUSTC_BOOTSTRAP"), Some("1"));
    assert_eq!(value("RUSTC"), sandbox.path("toolchain/bin/rustc").to_str());
    let flags: Vec<_> = value("CARGO_ENCODED_RUSTFLAGS").unwrap().split('\x1f').collect();
    assert!(flags.contains(&"-Ctarget-cpu=sm_75") && flags.contains(&"-Cpanic=abort"), "{flags:?}");
    assert!(!flags.contains(&"-Ctarget-cpu=native"), "{flags:?}");
}

#[test]
fn the_kernels_are_compiled_in_out_dir_for_the_gpu() {
    let sandbox = Sandbox::new();
    run_with_fake_toolchain(&sandbox, &[]);
    let arguments = sandbox.read("toolchain/called-with-arguments");
    let arguments: Vec<_> = arguments.lines().collect();
    let target_directory = sandbox.path("out/nvptx");
    for pair in [["--target", "nvptx64-nvidia-cuda"], ["--target-dir", target_directory.to_str().unwrap()]] {
        assert!(arguments.windows(2).any(|words| words == pair), "{arguments:?}");
    }
    assert!(!arguments.contains(&"--locked"), "there is no Cargo.lock");
    assert!(sandbox.path("out/nvptx/tiny_kernels.sm_75.ptx").is_file());
}

#[test]
fn with_a_lock_file_cargo_runs_locked() {
    let sandbox = Sandbox::new();
    sandbox.write("kernels/Cargo.lock", "");
    run_with_fake_toolchain(&sandbox, &[]);
    assert!(sandbox.read("toolchain/called-with-arguments").lines().any(|argument| argument == "--locked"));
}

#[test]
fn directives_for_cargo_have_the_watched_paths_and_the_warning() {
    let sandbox = Sandbox::new();
    let stdout = run_with_fake_toolchain(&sandbox, &[]);
    let kernels = sandbox.path("kernels");
    for expected in [
        format!("cargo::rerun-if-changed={}", kernels.join("Cargo.toml").display()),
        format!("cargo::rerun-if-changed={}", kernels.join("src").display()),
        format!("cargo::rerun-if-changed={}", kernels.display()),
        "cargo::rerun-if-env-changed=CUDA_BUILDER_RUSTC".to_owned(),
        "cargo::rerun-if-env-changed=PTX_STRICT".to_owned(),
        "cargo::warning=tiny-kernels: the PTX for sm_75 (ptx/missing.ptx): the committed file is missing; \
         built with rustc 9.9.9 (fake), LLVM 99.0. `PTX_UPDATE=1 cargo build` refreshes it"
            .to_owned(),
    ] {
        assert!(stdout.lines().any(|line| line == expected), "no {expected:?} in\n{stdout}");
    }
}

#[test]
fn every_line_of_an_error_is_passed_to_cargo() {
    let sandbox = Sandbox::new();
    let nowhere = ("CUDA_BUILDER_RUSTC", "/nowhere/rustc");
    let output = run_build_script(&sandbox, &[nowhere, ("PTX_STRICT", "1")]);
    assert_eq!(output.status.code(), Some(1));
    let stdout = String::from_utf8(output.stdout).unwrap();
    let errors: Vec<_> = stdout.lines().filter_map(|line| line.strip_prefix("cargo::error=")).collect();
    assert_eq!(errors.len(), 6, "{stdout}");
    assert_eq!(errors[1], "  - CUDA_BUILDER_RUSTC (/nowhere/rustc): it does not exist");
    assert!(errors[3].contains("rustup component add rust-src"));
    // If not strict, there is one warning.
    let output = run_build_script(&sandbox, &[nowhere, ("PTX_STRICT", "0")]);
    assert_eq!(output.status.code(), Some(0));
    let stdout = String::from_utf8(output.stdout).unwrap();
    let warnings: Vec<_> = stdout.lines().filter_map(|line| line.strip_prefix("cargo::warning=")).collect();
    assert_eq!(warnings.len(), 1, "{stdout}");
    assert!(warnings[0].starts_with("tiny-kernels: the PTX is stale, and no toolchain"), "{stdout}");
}

#[test]
fn a_kernel_crates_own_build_script_does_not_recurse() {
    let sandbox = Sandbox::new();
    let output = run_build_script(&sandbox, &[("TARGET", "nvptx64-nvidia-cuda")]);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains("cargo::error=the build script is run for the GPU's target"), "{stdout}");
}
