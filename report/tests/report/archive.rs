//! Archives contain exactly the hand-in's files and their dependencies.

use std::ffi::OsStr;
use std::io::Cursor;
use std::path::Path;
use std::process::Command;

use report::archive::{HandIn, archive, files, workspace};
use test_support::{Need, skip};

/// Cargo.toml and Cargo.lock of a workspace in which max_functions depends on `support`, and nothing on `other`.
const MANIFEST: &str = r#"[workspace]
members = ["utils", "max_functions", "matmul_functions", "support", "other", "tests-only"]
[workspace.dependencies]
support = { path = "deep/support" }
tests-only = { path = "tests-only" }
rayon = "1"
typst = "0.15"
# About another crate.
[profile.dev]
opt-level = 3
[profile.dev.package]
"*".opt-level = 0
rayon.opt-level = 3
other.opt-level = 0
"#;
const LOCK: &str = r#"# Generated.
version = 4

[[package]]
name = "matmul_functions"
version = "0.1.0"

[[package]]
name = "max_functions"
version = "0.1.0"
dependencies = [
 "support",
]

[[package]]
name = "other"
version = "0.1.0"
dependencies = [
 "rayon 1.11.0",
]

[[package]]
name = "rayon"
version = "1.11.0"
source = "registry"

[[package]]
name = "rayon"
version = "1.12.0"
source = "registry"

[[package]]
name = "support"
version = "0.1.0"
dependencies = [
 "rayon 1.12.0",
 "tests-only",
]

[[package]]
name = "tests-only"
version = "0.1.0"

[[package]]
name = "utils"
version = "0.1.0"
"#;
const SUPPORT: &str = r#"[package]
name = "support"
[dependencies]
rayon.workspace = true
[dev-dependencies]
tests-only.workspace = true
"#;

#[test]
fn the_archive_has_only_the_homework_and_what_it_is_built_from() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let mut expected: Vec<String> =
        ["Cargo.lock", "Cargo.toml", "README.md", "hw1.pdf", "rust-toolchain.toml"].map(str::to_owned).to_vec();
    for name in HandIn::HOMEWORK1.crates {
        for file in
            ["Cargo.toml", "src/lib.rs", "src/deep/er.rs", "tests/promise.rs", "benches/time.rs", "examples/show.rs"]
        {
            write(&format!("{name}/{file}"), file);
            expected.push(format!("{name}/{file}"));
        }
        for file in [
            "target/debug/junk.rs",
            "src/lib.rs~",
            "src/.lib.rs.swp",
            "src/.hidden.rs",
            "src/notes.tmp",
            "secret.env",
            "Cargo.lock",
        ] {
            write(&format!("{name}/{file}"), file);
        }
    }
    for file in ["src/lib.rs", "build.rs", "build/settings.rs", "ptx/kernels.ptx"] {
        write(&format!("deep/support/{file}"), file);
        expected.push(format!("deep/support/{file}"));
    }
    expected.push("deep/support/Cargo.toml".to_owned());
    for (file, text) in [
        ("Cargo.toml", MANIFEST),
        ("Cargo.lock", LOCK),
        ("rust-toolchain.toml", "[toolchain]"),
        ("deep/support/Cargo.toml", SUPPORT),
        ("deep/support/tests/promise.rs", ""),
        ("deep/support/src/.hidden.rs", ""),
        ("other/src/lib.rs", ""),
        ("tests-only/src/lib.rs", ""),
        ("hw1.pdf", "old"),
    ] {
        write(file, text);
    }
    expected.sort();

    let pack = |pdf: &[u8]| archive(HandIn::HOMEWORK1, folder.path(), pdf);
    let bytes = pack(b"%PDF-the report").unwrap();
    assert_eq!(bytes, pack(b"%PDF-the report").unwrap(), "equal files give equal bytes");
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let names: Vec<String> = (0..zip.len()).map(|index| zip.by_index(index).unwrap().name().to_owned()).collect();
    assert_eq!(names, expected);
    let mut content = |name: &str| std::io::read_to_string(zip.by_name(name).unwrap()).unwrap();
    assert_eq!(content("utils/src/lib.rs"), "src/lib.rs");
    assert_eq!(content("hw1.pdf"), "%PDF-the report");
    assert!(!content("deep/support/Cargo.toml").contains("tests-only"));
    let manifest = content("Cargo.toml");
    let has =
        ["\"deep/support\"", "support = {", "rayon = \"1\"", "opt-level = 3", "\"*\".opt-level", "rayon.opt-level"];
    let has_not = ["other", "tests-only", "typst", "#"];
    assert!(has.into_iter().all(|text| manifest.contains(text)), "{manifest}");
    assert!(!has_not.into_iter().any(|text| manifest.contains(text)), "{manifest}");
    let lock = content("Cargo.lock");
    assert!(lock.starts_with("# Generated.\nversion = 4\n\n[[package]]\nname = \"matmul_functions\"\n"), "{lock}");
    assert!(lock.contains("version = \"1.12.0\"") && !lock.contains("version = \"1.11.0\""), "{lock}");

    write("Cargo.lock", &LOCK.replace("name = \"utils\"", "name = \"tools\""));
    let error = pack(b"").unwrap_err().to_string();
    assert!(error.contains("Cargo.lock: it has no package utils"), "{error}");
}

/// Unpacks an archive into `folder` and returns cargo's output, which must report success. Returns
/// `None`, and skips the test, if a library is missing.
#[track_caller]
fn cargo_in_archive(hand_in: HandIn, folder: &Path, arguments: &[&OsStr]) -> Option<String> {
    let bytes = archive(hand_in, &workspace(), b"%PDF-the report").unwrap();
    zip::ZipArchive::new(Cursor::new(bytes)).unwrap().extract(folder).unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).arg("--offline").current_dir(folder);
    // The archive's reader does not have this workspace's compiler settings, such as CI's lints.
    for name in ["RUSTC_WORKSPACE_WRAPPER", "RUSTC_WRAPPER", "RUSTFLAGS"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() && stderr.contains("--offline") {
        skip(Need::Network, "an archive is not looked at: cargo lacks a library, and must not download it");
        return None;
    }
    assert!(output.status.success(), "{}: {stderr}", hand_in.report);
    Some(stderr)
}

/// Each archive, in a separate folder, is a workspace that cargo builds. The folders never change,
/// so a second run finds its dependencies compiled. The archives share them.
#[test]
#[ignore = "compiles all that the homework depends on"]
fn the_archives_build_by_themselves() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hw1-target");
    for hand_in in HandIn::ALL {
        let folder = target.with_file_name(hand_in.report.trim_end_matches(".pdf"));
        if folder.exists() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
        let arguments = ["check".as_ref(), "--target-dir".as_ref(), target.as_os_str()];
        let Some(stderr) = cargo_in_archive(hand_in, &folder, &arguments) else { return };
        assert!(!stderr.contains("warning"), "{}: {stderr}", hand_in.report);
    }
}

/// Cargo finds each package of an archive and all its dependencies.
#[test]
fn the_archives_are_workspaces() {
    let folder = tempfile::tempdir().unwrap();
    for hand_in in HandIn::ALL {
        let folder = folder.path().join(hand_in.report);
        if cargo_in_archive(hand_in, &folder, &["tree".as_ref(), "--workspace".as_ref()]).is_none() {
            return;
        }
    }
}

#[test]
fn the_workspaces_sources_are_those_in_git() {
    for hand_in in HandIn::ALL {
        let mut command = Command::new("git");
        command.args(["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "--"]);
        let output = command.args(hand_in.crates).current_dir(workspace()).output();
        let Some(output) = output.ok().filter(|output| output.status.success()) else {
            return skip(
                Need::Git,
                "the sources are not compared with git's list: this is not a checkout, or git is missing",
            );
        };
        let mut known: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
        known.retain(|name| workspace().join(name).exists());
        known.sort();
        assert_eq!(files(hand_in, &workspace()).unwrap(), known);
    }
}

#[test]
fn a_missing_crate_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = archive(HandIn::HOMEWORK1, folder.path(), b"").unwrap_err().to_string();
    assert!(error.contains("utils") && error.contains("run this from the workspace's sources"), "{error}");
}
