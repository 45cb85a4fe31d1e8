//! What `cargo test --workspace` compiles is not compiled again for a single program: the packages
//! agree on the features of their shared dependencies (crates/unified-features).

// On other systems, the dependencies have other features.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;

use serde_json::Value;

const PROGRAMS: [&str; 9] = [
    "distributed_functions",
    "max_functions",
    "matmul_functions",
    "activation_functions",
    "filters",
    "neural-net",
    "compute-shader",
    "report",
    "xtask",
];

/// What Cargo would compile for a command. Each unit has a hash, which covers its dependencies'
/// hashes, and a description.
fn units(arguments: &[&str]) -> Vec<(u64, String)> {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--unit-graph", "-Zunstable-options", "--offline"])
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let graph: Value = serde_json::from_slice(&output.stdout).unwrap();
    let units = graph["units"].as_array().unwrap();
    let mut hashes = vec![None; units.len()];
    for unit in 0..units.len() {
        hash(unit, units, &mut hashes);
    }
    let in_words = |unit: &Value| format!("{} {} {}", unit["pkg_id"], unit["target"]["name"], unit["features"]);
    hashes.into_iter().flatten().zip(units.iter().map(in_words)).collect()
}

fn hash(unit: usize, units: &[Value], hashes: &mut [Option<u64>]) -> u64 {
    if let Some(hash) = hashes[unit] {
        return hash;
    }
    let mut dependencies: Vec<u64> = units[unit]["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|dependency| hash(dependency["index"].as_u64().unwrap() as usize, units, hashes))
        .collect();
    dependencies.sort_unstable();
    // The profile's name is "test" for tests and "dev" otherwise, but the settings are the same.
    let mut profile = units[unit]["profile"].clone();
    profile.as_object_mut().unwrap().remove("name");
    let mut hasher = DefaultHasher::new();
    for part in ["pkg_id", "target", "mode", "platform", "features"] {
        units[unit][part].to_string().hash(&mut hasher);
    }
    (profile.to_string(), dependencies).hash(&mut hasher);
    *hashes[unit].insert(hasher.finish())
}

#[test]
fn a_program_needs_nothing_that_the_workspace_has_not_compiled() {
    let workspace: BTreeSet<u64> =
        units(&["test", "--workspace", "--no-run"]).into_iter().map(|(hash, _)| hash).collect();
    for program in PROGRAMS {
        for command in [&["build", "-p", program][..], &["test", "--no-run", "-p", program]] {
            let units = units(command);
            assert!(units.iter().any(|(_, unit)| unit.contains(&format!("{program}#"))), "{program}: {units:?}");
            let again: Vec<String> =
                units.into_iter().filter(|(hash, _)| !workspace.contains(hash)).map(|(_, unit)| unit).collect();
            assert!(
                again.is_empty(),
                "{command:?} compiles {} units again. Add the features that these lack to crates/unified-features:\n{}",
                again.len(),
                again.join("\n")
            );
        }
    }
}

#[test]
fn other_features_are_noticed() {
    let workspace: BTreeSet<u64> =
        units(&["test", "--workspace", "--no-run"]).into_iter().map(|(hash, _)| hash).collect();
    let with_sanitizer = units(&["build", "-p", "max_functions", "--features", "gpu/sanitizer"]);
    assert!(with_sanitizer.iter().any(|(hash, _)| !workspace.contains(hash)));
}
