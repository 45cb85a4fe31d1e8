//! The page docs/own-project.md works as written: its files form a package outside this repository,
//! which builds and runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = include_str!("../../docs/own-project.md");

/// The page's files: the first code block after each file name.
fn files() -> Vec<(&'static str, String)> {
    let toolchain = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_string_lossy();
    let file = |name: &'static str| {
        let (_, after) = PAGE.split_once(&format!("\n`{name}`")).unwrap_or_else(|| panic!("the page has no {name}"));
        let (_, block) = after.split_once("\n```").expect("a block of code follows");
        let (_language, code) = block.split_once('\n').expect("the block has lines");
        let (code, _) = code.split_once("\n```").expect("the block ends");
        (name, code.replace("TOOLCHAIN", &toolchain.replace('\\', "/")) + "\n")
    };
    ["Cargo.toml", "build.rs", "src/lib.rs", "src/main.rs"].map(file).to_vec()
}

#[test]
#[ignore = "builds a package and everything it needs"]
fn a_crate_of_kernels_outside_of_the_repository_builds_and_runs() {
    // In the system's temporary folder, so no workspace is above it.
    let folder = std::env::temp_dir().join(format!("own-project-{}", std::process::id()));
    fs::create_dir_all(folder.join("src")).unwrap();
    for (name, text) in files() {
        fs::write(folder.join(name), text).unwrap();
    }
    // The same versions as here, which are already downloaded.
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    fs::copy(lock, folder.join("Cargo.lock")).unwrap();
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("own-project");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet"]).current_dir(&folder).env("CARGO_TARGET_DIR", &target);
    // The test must not depend on the stand-in, this machine's GPU, or the build settings of this
    // workspace's tests.
    command.env("CUDA_DRIVER_LIBRARY", "no-such-libcuda.so.1").env_remove("PTX_STRICT");
    for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER"] {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    let expected = "[12.0, 24.0, 36.0] on the simulator\n";
    assert_eq!(stdout, expected, "{stderr}");
    assert!(PAGE.contains(expected.trim_end()));
}
