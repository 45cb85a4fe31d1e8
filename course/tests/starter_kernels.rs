//! Checks that `cargo profile` and `cargo debug` show a student's own kernels in the workspace that
//! `cargo course starter` writes.
//!
//! The test compiles for minutes: `cargo test --manifest-path course/Cargo.toml --test
//! starter_kernels -- --ignored`.

#[path = "support/starter.rs"]
mod starter;

use std::process::Command;

use starter::cargo;
use test_support::{Need, skip};

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
    let written = Command::new(env!("CARGO_BIN_EXE_course"))
        .args(["starter", "--solutions", "--part", "2,3"])
        .arg(&workspace)
        .output()
        .unwrap();
    assert!(written.status.success(), "{written:?}");
    let kernel = workspace.join("max_functions/src/kernel.rs");
    let source = std::fs::read_to_string(&kernel).unwrap();
    let line_of = |text: &str| source.lines().position(|line| line.contains(text)).unwrap() + 1;

    let (code, text) = cargo(&workspace, &["profile", "max_kernel"]);
    assert!(code == Some(0), "{text}");
    let write = line_of("out.set(i, if");
    assert!(
        text.contains(&format!("max_functions/src/kernel.rs:{write} [1.00 × least]  out.set(i, if a[i]")),
        "{text}"
    );
    // For functions of other crates, the calling line is shown.
    assert!(!text.contains("nvptx"), "{text}");
    let (code, text) = cargo(&workspace, &["profile", "matmul_kernel", "--lines", "30"]);
    assert!(code == Some(0) && text.contains("sum += x[i * columns + k] * x[j * columns + k];"), "{text}");
    assert!(text.contains("matmul_functions/src/kernel.rs:"), "{text}");

    let page = folder.path().join("page.html");
    let page_path = page.to_str().unwrap();
    let (code, text) = cargo(&workspace, &["debug", "matmul_kernel", "--record", page_path]);
    assert!(code == Some(0) && text.contains("block (0, 0, 0) of matmul_kernel"), "{text}");
    assert!(page.exists());

    // Without the guard, a thread of the last block writes past the end.
    std::fs::write(&kernel, source.replace("if i < out.len() {", "if true {")).unwrap();
    let (code, text) = cargo(&workspace, &["debug", "max_kernel", "--record", page_path]);
    let fault = format!("(max_functions/src/kernel.rs:{write}:");
    assert!(
        code == Some(0) && text.contains("fault: kernel max_kernel, block (2, 0, 0), thread (400, 0, 0)"),
        "{text}"
    );
    assert!(text.contains(&fault), "{text}");

    std::fs::write(&kernel, source.replace("out.set", "teaching_tests::not_written!(\"max_kernel\"); out.set"))
        .unwrap();
    let (code, text) = cargo(&workspace, &["debug", "max_kernel"]);
    assert!(code == Some(2) && text.contains("error: not written yet: max_kernel"), "{text}");
    let (code, text) = cargo(&workspace, &["profile", "min_kernel"]);
    let known = "error: there is no kernel min_kernel here: choose one of max_kernel, matmul_kernel";
    assert!(code == Some(2) && text.contains(known), "{text}");
}
