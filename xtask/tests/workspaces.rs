//! Cargo reads lints, patches and profiles only from a workspace's own manifest, so each workspace
//! repeats them. These tests compare them, and the versions of crates in the lock files.

#[path = "../src/workspace.rs"]
mod workspace;

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use self::workspace::Workspace;

fn read(workspace: Workspace, name: &str) -> Table {
    let file = workspace.folder().join(name);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The value at a path of keys.
fn at<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (last, tables) = path.split_last()?;
    tables.iter().try_fold(table, |table, key| table.get(*key)?.as_table())?.get(*last)
}

/// A crate in a lock file.
struct Locked {
    name: String,
    version: String,
    /// Whether it comes from outside this repository.
    is_external: bool,
}

fn locked(workspace: Workspace) -> Vec<Locked> {
    let lock = read(workspace, "Cargo.lock");
    let text = |package: &Value, key: &str| package.get(key).and_then(Value::as_str).map(str::to_owned);
    let packages = at(&lock, &["package"]).unwrap().as_array().unwrap().iter();
    packages
        .map(|package| Locked {
            name: text(package, "name").unwrap(),
            version: text(package, "version").unwrap(),
            is_external: text(package, "source").is_some(),
        })
        .collect()
}

/// The names of a workspace's packages: its own and its members'.
fn members(workspace: Workspace) -> BTreeSet<String> {
    let manifest = read(workspace, "Cargo.toml");
    let name = |manifest: &Table| at(manifest, &["package", "name"]).map(|name| name.as_str().unwrap().to_owned());
    let listed = at(&manifest, &["workspace", "members"]).into_iter().flat_map(|members| members.as_array().unwrap());
    let of_members =
        listed.map(|member| name(&read(workspace, &format!("{}/Cargo.toml", member.as_str().unwrap()))).unwrap());
    of_members.chain(name(&manifest)).collect()
}

/// The settings of the dev profile, without other packages' settings and with those for `package`.
fn dev_settings(manifest: &Table, package: &str, is_member: bool) -> Table {
    let profile = at(manifest, &["profile", "dev"]).unwrap().as_table().unwrap();
    let mut settings = profile.clone();
    settings.remove("package");
    let of_all = (!is_member).then_some("*");
    for name in of_all.into_iter().chain([package]) {
        if let Some(more) = at(profile, &["package", name]) {
            settings.extend(more.as_table().unwrap().clone());
        }
    }
    settings
}

#[test]
fn manifests_repeat_what_cargo_reads_from_each() {
    let root = read(Workspace::Homework, "Cargo.toml");
    for workspace in Workspace::ALL {
        let manifest = read(workspace, "Cargo.toml");
        assert_eq!(at(&manifest, &["workspace", "package"]), at(&root, &["workspace", "package"]), "{workspace:?}");
        let lints = |manifest: &Table| {
            let mut lints = at(manifest, &["workspace", "lints"]).unwrap().as_table().unwrap().clone();
            // Only one crate of the homework needs it.
            lints["rust"].as_table_mut().unwrap().remove("unexpected_cfgs");
            lints
        };
        assert_eq!(lints(&manifest), lints(&root), "{workspace:?}");
        if locked(workspace).iter().any(|package| package.name == "find_cuda_helper") {
            let patch = at(&manifest, &["patch", "crates-io", "find_cuda_helper", "path"]);
            let path =
                patch.unwrap_or_else(|| panic!("{workspace:?} does not patch find_cuda_helper")).as_str().unwrap();
            let expected = Workspace::Toolchain.folder().join("find_cuda_helper").canonicalize().unwrap();
            assert_eq!(workspace.folder().join(path).canonicalize().unwrap(), expected, "{workspace:?}");
        }
    }
}

/// Otherwise, code that two workspaces need would be compiled twice and timed differently. Fuzzing
/// has its own checks.
#[test]
fn a_crate_is_compiled_alike_in_every_workspace() {
    let mut known = BTreeMap::<String, (Workspace, Table)>::new();
    let mut compared = 0;
    for workspace in Workspace::ALL.into_iter().filter(|workspace| *workspace != Workspace::Fuzz) {
        let (manifest, members) = (read(workspace, "Cargo.toml"), members(workspace));
        let names: BTreeSet<String> = locked(workspace).into_iter().map(|package| package.name).collect();
        for name in names {
            let settings = dev_settings(&manifest, &name, members.contains(&name));
            match known.get(&name) {
                Some((first, of_first)) => {
                    assert_eq!(
                        &settings, of_first,
                        "{name} in {workspace:?} and in {first:?}: see [profile.dev.package]"
                    );
                    compared += 1;
                }
                None => drop(known.insert(name, (workspace, settings))),
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

/// The part of a version that Cargo's compatibility depends on: 1 for 1.2.3, 0.2 for 0.2.3, 0.0.3
/// for 0.0.3.
fn compatible(version: &str) -> &str {
    let mut end = 0;
    for part in version.split('.') {
        end += part.len();
        if part != "0" {
            break;
        }
        end += 1;
    }
    &version[..end.min(version.len())]
}

/// The fingerprint of committed PTX includes their versions. When they change, it must be compiled again.
const OF_PTX: [&str; 2] = ["zerocopy", "zerocopy-derive"];

#[test]
fn lock_files_have_the_same_version_of_a_crate() {
    let is_compared = |package: &Locked| package.is_external && !OF_PTX.contains(&package.name.as_str());
    assert_eq!(["1.2.3", "0.2.3", "0.0.3"].map(compatible), ["1", "0.2", "0.0.3"]);
    let mut known = BTreeMap::<(String, String), (Workspace, String)>::new();
    for workspace in Workspace::ALL.into_iter().filter(|workspace| *workspace != Workspace::Fuzz) {
        for Locked { name, version, .. } in locked(workspace).into_iter().filter(is_compared) {
            let key = (name.clone(), compatible(&version).to_owned());
            let (first, of_first) = known.entry(key).or_insert((workspace, version.clone()));
            assert_eq!(&version, of_first, "{name} in the Cargo.lock of {workspace:?} and of {first:?}");
        }
    }
    assert!(known.len() > 300, "{}", known.len());
}
