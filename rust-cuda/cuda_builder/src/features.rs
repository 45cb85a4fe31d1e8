//! Features of the kernel crate. Kernels are compiled with the features of the host's build, so all
//! devices run the same kernels.

use std::collections::BTreeSet;
use std::path::Path;

use crate::files::canonical;
use crate::manifest::Manifest;

/// Enabled features of the kernel crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Features {
    /// The enabled features other than the default ones.
    pub(crate) names: Vec<String>,
    /// Whether the default features are enabled.
    pub(crate) has_default: bool,
}

impl Features {
    /// The features that a builder lists. If the kernel crate's own build script is running, also
    /// those that cargo runs it with.
    pub(crate) fn of(kernels: &Manifest, listed: &[String]) -> Self {
        let is_own_script = std::env::var_os("CARGO_CFG_TARGET_ARCH").is_some()
            && std::env::var_os("CARGO_MANIFEST_DIR").is_some_and(|own| is_same(Path::new(&own), &kernels.directory));
        match is_own_script {
            true => Self::of_build(kernels, listed, |variable| std::env::var_os(variable).is_some()),
            false => Self { names: listed.to_vec(), has_default: true },
        }
    }

    /// The same for a build script. `is_set` returns whether cargo has set an environment variable.
    ///
    /// A build with only the default features gives the same result as `listed` outside a build
    /// script.
    fn of_build(kernels: &Manifest, listed: &[String], is_set: impl Fn(&str) -> bool) -> Self {
        let host_only = kernels.host_only_features();
        let is_enabled = |name: &&str| {
            is_set(&format!("CARGO_FEATURE_{}", name.to_uppercase().replace('-', "_"))) && !host_only.contains(*name)
        };
        let enabled: BTreeSet<&str> = kernels.features().filter(is_enabled).collect();
        let default = kernels.features_enabled_by(["default"]);
        let expected = kernels.features_enabled_by(listed.iter().map(String::as_str).chain(["default"]));
        let has_default = default.iter().all(|name| enabled.contains(name) || host_only.contains(*name));
        let is_added = |name: &&&str| match has_default {
            true => !expected.contains(*name),
            false => **name != "default" && !listed.iter().any(|listed| listed == **name),
        };
        let added = enabled.iter().filter(is_added).map(|name| (*name).to_owned());
        Self { names: listed.iter().cloned().chain(added).collect(), has_default }
    }
}

fn is_same(a: &Path, b: &Path) -> bool {
    canonical(a).is_ok_and(|a| canonical(b).is_ok_and(|b| a == b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::replace_file;

    const FEATURES: &str = "
[features]
default = [\"tiled\"]
tiled = []
wide-rows = [\"tiled\", \"gpu/wide\"]
cli = []
[package.metadata.cuda_builder]
host_only_features = [\"cli\"]
";

    fn of_build(manifest: &str, listed: &[&str], enabled: &[&str]) -> (Vec<String>, bool) {
        let directory = tempfile::tempdir().unwrap();
        let text = format!("[package]\nname = \"k\"\nedition = \"2024\"\n{manifest}");
        replace_file(&directory.path().join("Cargo.toml"), &text).unwrap();
        let kernels = Manifest::load(directory.path()).unwrap();
        let listed: Vec<String> = listed.iter().map(|name| (*name).to_owned()).collect();
        let is_set = |variable: &str| enabled.iter().any(|name| variable == format!("CARGO_FEATURE_{name}"));
        let Features { names, has_default } = Features::of_build(&kernels, &listed, is_set);
        (names, has_default)
    }

    #[test]
    fn kernels_have_the_features_of_the_build() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (listed, enabled, expected, has_default) in [
            (&[][..], &["DEFAULT", "TILED"][..], &[][..], true),
            (&[], &["DEFAULT", "TILED", "CLI"], &[], true),
            (&[], &["DEFAULT", "TILED", "WIDE_ROWS"], &["wide-rows"], true),
            (&["wide-rows"], &["DEFAULT", "TILED"], &["wide-rows"], true),
            (&["wide-rows"], &["DEFAULT", "TILED", "WIDE_ROWS"], &["wide-rows"], true),
            (&[], &[], &[], false),
            (&[], &["CLI"], &[], false),
            (&[], &["TILED", "WIDE_ROWS"], &["tiled", "wide-rows"], false),
            (&["wide-rows"], &["TILED"], &["wide-rows", "tiled"], false),
        ] {
            assert_eq!(of_build(FEATURES, listed, enabled), (names(expected), has_default), "{listed:?} {enabled:?}");
        }
        assert_eq!(of_build("", &[], &[]), (Vec::new(), true));
    }
}
