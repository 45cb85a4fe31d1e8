//! `cargo profile` and `cargo debug` in the workspace that `cargo xtask starter` writes show a student's own kernels.
//!
//! It compiles for minutes: `cargo test -p xtask --test starter_kernels -- --ignored`.

use std::path::Path;
use std::process::{Command, Output};

use test_skips::{Need, skip};

/// Runs a command of cargo in the workspace.
fn cargo(workspace: &Path, arguments: &[&str]) -> (Output, String) {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).current_dir(workspace);
    // The test's own build has set these.
    for (name, _) in std::env::vars_os() {
        let is_of_cargo = name.to_str().is_some_and(|name| name.starts_with("CARGO_") && name != "CARGO_HOME");
        if is_of_cargo {
            command.env_remove(name);
        }
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("starter");
    let output = command.env("CARGO_TARGET_DIR", target).output().unwrap();
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
    (output, text)
}

#[test]
#[ignore = "compiles a starter's workspace and its PTX, for minutes"]
fn a_student_sees_the_own_kernels_counted_and_debugged() {
    let candidates = cuda_builder::toolchain_candidates();
    if cuda_builder::find_toolchain(&candidates, cuda_builder::Arch::Sm75, env!("CARGO_MANIFEST_DIR").as_ref()).is_err()
    {
        return skip(Need::Ptx, "no toolchain compiles PTX");
    }
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("homework");
    let starter = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["starter", "--solutions", "--part", "2,3"])
        .arg(&workspace)
        .output()
        .unwrap();
    assert!(starter.status.success(), "{starter:?}");
    let kernel = workspace.join("max_functions/src/kernel.rs");
    let source = std::fs::read_to_string(&kernel).unwrap();
    let line_of = |text: &str| source.lines().position(|line| line.contains(text)).unwrap() + 1;

    let (output, text) = cargo(&workspace, &["profile", "max_kernel"]);
    assert!(output.status.success(), "{text}");
    let write = line_of("out.set(i, if");
    assert!(
        text.contains(&format!("max_functions/src/kernel.rs:{write} [1.00 × least]  out.set(i, if a[i]")),
        "{text}"
    );
    // Of other crates' functions the line of the call.
    assert!(!text.contains("nvptx"), "{text}");
    let (output, text) = cargo(&workspace, &["profile", "matmul_kernel", "--lines", "30"]);
    assert!(output.status.success() && text.contains("sum += x[i * columns + k] * x[j * columns + k];"), "{text}");
    assert!(text.contains("matmul_functions/src/kernel.rs:"), "{text}");

    let page = folder.path().join("page.html");
    let page_path = page.to_str().unwrap();
    let (output, text) = cargo(&workspace, &["debug", "matmul_kernel", "--record", page_path]);
    assert!(output.status.success() && text.contains("block (0, 0, 0) of matmul_kernel"), "{text}");
    assert!(page.exists());

    // Without the guard a thread of the last block writes behind the end.
    std::fs::write(&kernel, source.replace("if i < out.len() {", "if true {")).unwrap();
    let (output, text) = cargo(&workspace, &["debug", "max_kernel", "--record", page_path]);
    let fault = format!("(max_functions/src/kernel.rs:{write}:");
    assert!(
        output.status.success() && text.contains("fault: kernel max_kernel, block (2, 0, 0), thread (400, 0, 0)"),
        "{text}"
    );
    assert!(text.contains(&fault), "{text}");

    std::fs::write(&kernel, source.replace("out.set", "teaching_tests::not_written!(\"max_kernel\"); out.set"))
        .unwrap();
    let (output, text) = cargo(&workspace, &["debug", "max_kernel"]);
    assert!(output.status.code() == Some(2) && text.contains("error: not written yet: max_kernel"), "{text}");
    let (output, text) = cargo(&workspace, &["profile", "min_kernel"]);
    let known = "error: there is no kernel min_kernel here: choose one of max_kernel, matmul_kernel";
    assert!(output.status.code() == Some(2) && text.contains(known), "{text}");
}
