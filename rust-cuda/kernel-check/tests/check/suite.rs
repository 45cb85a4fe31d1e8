//! `docs/check_suite.py` on a folder of two launches.

use std::path::Path;
use std::process::Command;

use test_support::{Need, skip};

use crate::support::{CLEAN, Folder, RACY};

#[test]
fn a_suites_labels_are_compared_with_the_reports() {
    let folder = Folder::of(&[CLEAN, RACY]);
    for (kernel, label) in [("clean", "none"), ("racy", "race")] {
        let text = format!(
            r#"{{"ptx": "kernels.ptx", "kernel": "{kernel}", "block": [64, 1, 1],
                "arguments": [{{"name": "out", "type": "u32", "shape": [64], "values": "unwritten", "length": false}}]}}"#
        );
        folder.write(&format!("{kernel}.json"), &text);
        folder.write(&format!("{kernel}.expected"), label);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/check_suite.py");
    let run = || {
        let mut command = Command::new("python3");
        command.arg(&script).arg(folder.path()).args(["--kernel-check", env!("CARGO_BIN_EXE_kernel-check")]);
        let output = command.args(["--orders", "3"]).output().ok()?;
        Some((output.status.code(), String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")))
    };
    let Some((code, table)) = run() else { return skip(Need::Numpy, "no python3") };
    let expected = "      expected          race          none   other fault   not checked\n\
                    \x20         race             1             0             0             0\n\
                    \x20         none             0             1             0             0\n";
    assert_eq!((code, &*table), (Some(0), expected));
    folder.write("clean.expected", "race");
    let (code, table) = run().unwrap();
    assert_eq!((code, table.lines().next()), (Some(1), Some("clean: expected race, reported none: ''")));
}
