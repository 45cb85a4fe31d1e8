//! hw1.zip contains exactly the homework's files.

use std::io::Cursor;
use std::process::Command;

use report::archive::{CRATES, archive, files, workspace};
use test_skips::{Need, skip};

#[test]
fn the_archive_has_only_the_sources_and_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, name).unwrap();
    };
    let mut expected = Vec::new();
    for name in CRATES {
        for file in
            ["Cargo.toml", "src/lib.rs", "src/deep/er.rs", "tests/promise.rs", "benches/time.rs", "examples/show.rs"]
        {
            write(&format!("{name}/{file}"));
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
            write(&format!("{name}/{file}"));
        }
    }
    write("neural-net/src/lib.rs");
    write("hw1.pdf");
    expected.sort();
    expected.push("hw1.pdf".to_owned());

    let bytes = archive(folder.path(), b"%PDF-the report").unwrap();
    assert_eq!(bytes, archive(folder.path(), b"%PDF-the report").unwrap(), "equal files give equal bytes");
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let names: Vec<String> = (0..zip.len()).map(|index| zip.by_index(index).unwrap().name().to_owned()).collect();
    assert_eq!(names, expected);
    let content = std::io::read_to_string(zip.by_name("utils/src/lib.rs").unwrap()).unwrap();
    assert_eq!(content, "utils/src/lib.rs");
    let report = std::io::read_to_string(zip.by_name("hw1.pdf").unwrap()).unwrap();
    assert_eq!(report, "%PDF-the report");
}

#[test]
fn the_workspaces_sources_are_those_in_git() {
    let mut command = Command::new("git");
    command.args(["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "--"]).args(CRATES);
    let output = command.current_dir(workspace()).output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        return skip(
            Need::Git,
            "the sources are not compared with git's list: this is not a checkout, or git is missing",
        );
    };
    let mut known: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    known.retain(|name| workspace().join(name).exists());
    known.sort();
    assert_eq!(files(&workspace()).unwrap(), known);
}

#[test]
fn a_missing_crate_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = archive(folder.path(), b"").unwrap_err().to_string();
    assert!(error.contains("utils") && error.contains("run this from the workspace's sources"), "{error}");
}
