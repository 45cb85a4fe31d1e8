//! Names of source files that are the same on every machine.

use std::path::{Path, PathBuf};

use crate::BuilderError;
use crate::files::canonical;
use crate::manifest::Manifest;

/// Maps the paths of source files to names relative to their crates.
pub(crate) struct SourceNames {
    /// The directory that the compiler's relative paths are based on.
    workspace: String,
    /// Each crate's directory, ending in `/`, and its package name. Longer paths come first.
    crates: Vec<(String, String)>,
    /// The package name of the kernel crate.
    own: String,
}

impl SourceNames {
    /// The names for the kernel crate, which must be first, and its path dependencies.
    pub(crate) fn new(crates: &[Manifest]) -> Result<Self, BuilderError> {
        let kernels = &crates[0];
        let mut known = Vec::new();
        for found in crates {
            // The compiler may name a directory by its canonical path or by one with links.
            for folder in [found.directory.clone(), canonical(&found.directory)?] {
                known.push((format!("{}/", normalized(&folder)), found.package.clone()));
            }
        }
        // A crate may be nested in another crate's directory, so the longest match must be found
        // first.
        known.sort_by_key(|(folder, _)| std::cmp::Reverse(folder.len()));
        let workspace = normalized(kernels.workspace_directory());
        Ok(Self { workspace, crates: known, own: kernels.package.clone() })
    }

    #[cfg(test)]
    pub(crate) fn for_tests(workspace: &str, crates: &[(&str, &str)]) -> Self {
        let known = crates.iter().map(|(folder, package)| (format!("{folder}/"), (*package).to_owned())).collect();
        Self { workspace: workspace.to_owned(), crates: known, own: crates[0].1.to_owned() }
    }

    /// Whether the file belongs to the kernel crate.
    pub(crate) fn is_own(&self, path: &str) -> bool {
        self.in_crate(&self.absolute(path)).is_some_and(|(package, _)| package == self.own)
    }

    /// Whether the file belongs to the kernel crate or to one of its path dependencies.
    pub(crate) fn is_known(&self, path: &str) -> bool {
        self.in_crate(&self.absolute(path)).is_some()
    }

    /// `PACKAGE/relative/path` for a file in a known crate. For other files, such as those in
    /// `core`, the path from the parent of its last `src` directory: `core/src/ptr/mut_ptr.rs`.
    pub(crate) fn stable(&self, path: &str) -> String {
        let given = path;
        let path = self.absolute(path);
        if let Some((package, rest)) = self.in_crate(&path) {
            return format!("{package}/{rest}");
        }
        // Paths in the standard library begin with /rustc/, which is not an absolute path on
        // Windows.
        if Path::new(given).is_relative() && !given.starts_with('/') {
            // A registry crate's file, relative to its own directory.
            return normalized(Path::new(given));
        }
        let parts: Vec<_> = path.split('/').collect();
        let folder = parts.iter().rposition(|&part| part == "src").and_then(|src| src.checked_sub(1));
        parts[folder.unwrap_or(parts.len() - 1)..].join("/")
    }

    /// The path as an absolute path. Relative paths start at the workspace.
    pub(crate) fn absolute(&self, path: &str) -> String {
        normalized(&Path::new(&self.workspace).join(path))
    }

    fn in_crate<'a>(&'a self, path: &'a str) -> Option<(&'a str, &'a str)> {
        self.crates.iter().find_map(|(folder, package)| Some((package.as_str(), path.strip_prefix(folder)?)))
    }
}

/// The path with `/` on every system and without `..`.
fn normalized(path: &Path) -> String {
    let mut parts = Vec::new();
    let text = PathBuf::from(path).to_string_lossy().replace('\\', "/");
    for part in text.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> SourceNames {
        SourceNames::for_tests("/checkout", &[("/checkout/kernels", "my-kernels"), ("/checkout/gpu/std", "gpu_std")])
    }

    #[test]
    fn files_of_crates_are_named_by_their_package() {
        for (path, name) in [
            ("kernels/src/a/b.rs", "my-kernels/src/a/b.rs"),
            ("/checkout/kernels/src/lib.rs", "my-kernels/src/lib.rs"),
            ("kernels/../gpu/std/src/./lib.rs", "gpu_std/src/lib.rs"),
            ("gpu\\std\\src\\lib.rs", "gpu_std/src/lib.rs"),
        ] {
            assert_eq!(names().stable(path), name);
            assert_eq!(names().is_own(path), name.starts_with("my-kernels"), "{path}");
        }
    }

    #[test]
    fn other_files_are_named_from_the_parent_of_src() {
        for (path, name) in [
            ("/usr/lib/rustlib/src/rust/library/core/src/ptr/mut_ptr.rs", "core/src/ptr/mut_ptr.rs"),
            ("/rustc/0123abc/library/core/src/../../stdarch/crates/core_arch/src/mod.rs", "core_arch/src/mod.rs"),
            ("/packages/registry/src/an-index/libm-0.2.15/src/exp.rs", "libm-0.2.15/src/exp.rs"),
            ("kernels-2/src/lib.rs", "kernels-2/src/lib.rs"),
            ("/elsewhere/build.rs", "build.rs"),
            ("<inline asm>", "<inline asm>"),
        ] {
            assert_eq!(names().stable(path), name);
            assert!(!names().is_own(path), "{path}");
        }
    }
}
