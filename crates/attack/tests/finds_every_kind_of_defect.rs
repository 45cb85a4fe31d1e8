//! The attack on a reader with one defect of each kind finds each defect once, shrinks its case, and reproduces it. So
//! a count of 0 for another target is meaningful.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// Runs the attack on its own test. Cases are kept in `folder`.
fn attack(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_attack"));
    command.args(["--only", "selftest"]).args(arguments).env("CARGO_TARGET_DIR", folder);
    command.output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Kind, location and trigger word of each defect.
const DEFECTS: [(&str, &str, &str); 8] = [
    ("panic", "crates/attack/src/targets/selftest.rs:", "PANIC"),
    ("panic", "crates/attack/src/targets/selftest.rs:", "OTHER-PANIC"),
    ("panic", "a stack overflow", "OVERFLOW"),
    ("panic", "signal 6", "ABORT"),
    ("hang", "the time limit", "HANG"),
    ("memory", "the memory limit", "MEMORY"),
    ("wrong", "a word is not WRONG", "WRONG"),
    ("wrong", "a message names the file", "NAMELESS"),
];

#[test]
fn each_defect_is_found_once_and_its_case_is_shrunk() {
    let folder = TempDir::new().unwrap();
    let output = attack(folder.path(), &["--cases", "1000", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();

    let counts = &result["targets"]["selftest"];
    let count = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!(count("cases"), 1000);
    let of_kinds = ["panics", "hangs", "memory", "wrong"].map(count);
    assert!(of_kinds.iter().all(|&cases| cases > 0), "{counts}");
    assert_eq!(count("accepted") + count("rejected") + of_kinds.iter().sum::<u64>(), 1000, "each case counts once");
    assert!(count("peak_bytes") < 1 << 20, "a failed allocation does not count as held: {counts}");

    let defects = result["defects"].as_array().unwrap();
    assert_eq!(defects.len(), DEFECTS.len(), "{defects:?}");
    let of_defects: u64 = defects.iter().map(|defect| defect["cases"].as_u64().unwrap()).sum();
    assert_eq!(of_defects, of_kinds.iter().sum::<u64>(), "no case of a defect is lost");
    let mut words: BTreeMap<String, (String, String)> = BTreeMap::new();
    for defect in defects {
        let kept = PathBuf::from(defect["kept"].as_str().unwrap());
        let word = std::fs::read_to_string(&kept).unwrap();
        let text = |key: &str| defect[key].as_str().unwrap().to_owned();
        assert!(std::fs::read_to_string(kept.with_extension("txt")).unwrap().contains("--case"));
        words.insert(word, (text("kind"), text("place")));
    }
    for (kind, place, word) in DEFECTS {
        // A hang is shrunk less than the others, since each try takes the time limit.
        let found = words.iter().find(|(kept, _)| if word == "HANG" { kept.contains(word) } else { *kept == word });
        let Some((_, (found_kind, found_place))) = found else {
            panic!("no kept case consists of {word:?}: {words:?}")
        };
        assert!(found_kind == kind && found_place.starts_with(place), "{word}: {found_kind} at {found_place}");
    }
}

#[test]
fn a_case_is_reproduced_by_its_index_and_by_its_file() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("panic-0.words");
    for (words, code, shown) in [("ABORT\n", 1, "panic: signal 6"), ("word1\n1", 0, "no defect")] {
        std::fs::write(&file, words).unwrap();
        let output = attack(folder.path(), &["--file", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(code));
        assert!(stdout(&output).starts_with(shown), "{}", stdout(&output));
    }

    let all = attack(folder.path(), &["--cases", "200", "--seed", "3", "--json"]);
    let all: Value = serde_json::from_slice(&all.stdout).unwrap();
    let first = &all["defects"][0];
    let case = first["case"].to_string();
    let again = attack(folder.path(), &["--seed", "3", "--case", &case]);
    assert_eq!(again.status.code(), Some(1));
    let expected = format!("{}: {}", first["kind"].as_str().unwrap(), first["place"].as_str().unwrap());
    assert!(stdout(&again).contains(&expected), "{} lacks {expected}", stdout(&again));
}

#[test]
fn without_a_defect_the_exit_code_is_0_and_the_same_seed_gives_the_same_counts() {
    let folder = TempDir::new().unwrap();
    let counts = || {
        let output = attack(folder.path(), &["--cases", "12", "--seed", "2", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        ["cases", "accepted", "rejected"].map(|name| result["targets"]["selftest"][name].as_u64().unwrap())
    };
    let [cases, accepted, rejected] = counts();
    assert!(cases == 12 && accepted > 0 && rejected > 0 && accepted + rejected == 12);
    assert_eq!(counts(), [cases, accepted, rejected]);
}

#[test]
fn bad_options_are_one_line() {
    let folder = TempDir::new().unwrap();
    for (arguments, expected) in [
        (&["--only", "idx", "--case", "1"][..], "name it with --only"),
        (&["--file", "/missing"], "cannot read /missing"),
    ] {
        let output = attack(folder.path(), arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(expected) && stderr.lines().count() == 1, "{stderr}");
    }
}
