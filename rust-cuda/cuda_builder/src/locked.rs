//! The versions of registry crates that affect the PTX, from Cargo.lock.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use crate::BuilderError;
use crate::files::read_text;
use crate::manifest::Manifest;

/// The registry and git crates that the kernels depend on, with version and checksum, as sorted
/// lines; empty without a Cargo.lock. Excludes dependencies of the macro crates in `crates`.
pub(crate) fn locked_dependencies(crates: &[Manifest]) -> Result<String, BuilderError> {
    let path = crates[0].lock_path();
    if !path.is_file() {
        return Ok(String::new());
    }
    let text = read_text(&path)?;
    let lock: Table = text.parse().map_err(|error: toml::de::Error| BuilderError::Manifest {
        path,
        reason: error.to_string().trim_end().to_owned(),
    })?;
    Ok(of_lock(&lock, crates))
}

/// A package of the lock file: its name and its version.
type Id<'a> = (&'a str, &'a str);

fn of_lock(lock: &Table, crates: &[Manifest]) -> String {
    let mut packages: BTreeMap<Id<'_>, &Table> = BTreeMap::new();
    for package in lock.get("package").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table) {
        packages.insert((text_of(package, "name"), text_of(package, "version")), package);
    }
    let mut pending: Vec<Id<'_>> = Vec::new();
    for found in crates.iter().filter(|found| !found.is_proc_macro()) {
        let own =
            packages.iter().find(|((name, _), package)| *name == found.package && !package.contains_key("source"));
        let Some((_, own)) = own else { continue };
        let direct = found.registry_dependencies();
        pending.extend(dependencies(own, &packages).into_iter().filter(|(name, _)| direct.contains(*name)));
    }
    let mut locked = BTreeSet::new();
    while let Some(id) = pending.pop() {
        if locked.insert(id) {
            pending.extend(packages.get(&id).map(|package| dependencies(package, &packages)).unwrap_or_default());
        }
    }
    let line = |id: &Id<'_>| {
        format!("{} {} {}\n", id.0, id.1, packages.get(id).map_or("", |package| text_of(package, "checksum")))
    };
    locked.iter().map(line).collect()
}

/// The dependencies of a package. The lock file adds their versions if there are several.
fn dependencies<'a>(package: &'a Table, packages: &BTreeMap<Id<'a>, &'a Table>) -> Vec<Id<'a>> {
    let listed = package.get("dependencies").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let id = |listed: &'a str| {
        let mut words = listed.split(' ');
        let name = words.next()?;
        let version = words.next();
        packages
            .keys()
            .find(|(other, found)| *other == name && version.is_none_or(|version| version == *found))
            .copied()
    };
    listed.filter_map(id).collect()
}

fn text_of<'a>(table: &'a Table, key: &str) -> &'a str {
    table.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::replace_file;

    const LOCK: &str = r#"
version = 4
[[package]]
name = "half"
version = "2.4.0"
source = "registry"
checksum = "aa"
dependencies = ["cfg-if"]
[[package]]
name = "cfg-if"
version = "1.0.0"
source = "registry"
checksum = "bb"
[[package]]
name = "libm"
version = "0.1.0"
source = "registry"
checksum = "cc"
[[package]]
name = "libm"
version = "0.2.0"
source = "registry"
checksum = "dd"
[[package]]
name = "toml"
version = "1.0.0"
source = "registry"
checksum = "ee"
[[package]]
name = "kernels"
version = "0.1.0"
dependencies = ["half", "libm 0.2.0", "toml"]
"#;
    const MANIFEST: &str = "[package]\nname = \"kernels\"\n[dependencies]\nhalf = \"2\"\nmath = { package = \"libm\", version = \"0.2\" }\n\
        [build-dependencies]\ntoml = \"1\"\n";

    fn locked(lock: &str) -> String {
        let directory = tempfile::tempdir().unwrap();
        replace_file(&directory.path().join("Cargo.toml"), MANIFEST).unwrap();
        if !lock.is_empty() {
            replace_file(&directory.path().join("Cargo.lock"), lock).unwrap();
        }
        locked_dependencies(&[Manifest::load(directory.path()).unwrap()]).unwrap()
    }

    #[test]
    fn versions_and_checksums_of_what_the_kernels_use_are_listed() {
        assert_eq!(locked(LOCK), "cfg-if 1.0.0 bb\nhalf 2.4.0 aa\nlibm 0.2.0 dd\n");
        assert_eq!(locked(&LOCK.replace("\"dd\"", "\"ff\"")), "cfg-if 1.0.0 bb\nhalf 2.4.0 aa\nlibm 0.2.0 ff\n");
        // Packages used only by build scripts, and another version of the same crate, do not affect
        // the result.
        assert_eq!(locked(&LOCK.replace("\"ee\"", "\"ff\"").replace("\"cc\"", "\"ff\"")), locked(LOCK));
        assert_eq!(locked(""), "");
    }
}
