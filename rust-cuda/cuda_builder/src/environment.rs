//! The environment of a build script, which the build inside it must not inherit.

use std::ffi::OsStr;

/// Whether an environment variable belongs to the outer build, which runs the build script, and
/// would change the inner build. The user's network and registry settings are kept. So is the
/// jobserver, to share the cores between both builds.
pub(crate) fn belongs_to_outer_build(name: &OsStr) -> bool {
    const KEPT: [&str; 3] = ["CARGO_HOME", "CARGO_MAKEFLAGS", "RUSTUP_HOME"];
    const KEPT_STARTS: [&str; 5] =
        ["CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_", "CARGO_REGISTRY_", "CARGO_SOURCE_"];
    const REMOVED: [&str; 8] =
        ["DEBUG", "HOST", "LD_LIBRARY_PATH", "NUM_JOBS", "OPT_LEVEL", "OUT_DIR", "PROFILE", "TARGET"];
    const REMOVED_STARTS: [&str; 3] = ["CARGO", "DEP_", "RUST"];
    let name = name.to_string_lossy();
    let starts_with = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    if KEPT.contains(&&*name) || starts_with(&KEPT_STARTS) {
        return false;
    }
    REMOVED.contains(&&*name) || starts_with(&REMOVED_STARTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_outer_build_are_removed_and_user_settings_kept() {
        let removed = [
            "CARGO",
            "CARGO_PKG_NAME",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_TARGET",
            "CARGO_PROFILE_RELEASE_LTO",
            "RUSTC",
            "RUSTFLAGS",
            "RUSTUP_TOOLCHAIN",
            "RUSTC_WRAPPER",
            "TARGET",
            "OUT_DIR",
            "DEP_Z_INCLUDE",
            "LD_LIBRARY_PATH",
        ];
        let kept =
            ["PATH", "HOME", "CARGO_HOME", "CARGO_MAKEFLAGS", "RUSTUP_HOME", "CARGO_NET_OFFLINE", "CARGO_HTTP_PROXY"];
        assert!(removed.iter().all(|name| belongs_to_outer_build(name.as_ref())));
        assert!(!kept.iter().any(|name| belongs_to_outer_build(name.as_ref())));
    }
}
