//! Names for source files that are the same on every machine.

use std::path::{Path, PathBuf};

use crate::BuilderError;
use crate::files::canonical;
use crate::manifest::Manifest;

/// Knows the folders of the crates that the PTX is made from.
pub(crate) struct SourceNames {
    /// What the compiler's relative paths start from.
    workspace: String,
    /// Each crate's folder, ending in `/`, and its package's name; the kernel crate's come first.
    crates: Vec<(String, String)>,
    /// The package of the kernels.
    own: String,
}

impl SourceNames {
    /// For the kernel crate, which is the first, and its path dependencies.
    pub(crate) fn new(crates: &[Manifest]) -> Result<Self, BuilderError> {
        let kernels = &crates[0];
        let mut known = Vec::new();
        for found in crates {
            // A build may know a folder by a path with links in it, or by the one without.
            for folder in [found.directory.clone(), canonical(&found.directory)?] {
                known.push((format!("{}/", straight(&folder)), found.package.clone()));
            }
        }
        // A crate may lie in the folder of another.
        known.sort_by_key(|(folder, _)| std::cmp::Reverse(folder.len()));
        let workspace = straight(kernels.workspace_directory());
        Ok(Self { workspace, crates: known, own: kernels.package.clone() })
    }

    #[cfg(test)]
    pub(crate) fn for_tests(workspace: &str, crates: &[(&str, &str)]) -> Self {
        let known = crates.iter().map(|(folder, package)| (format!("{folder}/"), (*package).to_owned())).collect();
        Self { workspace: workspace.to_owned(), crates: known, own: crates[0].1.to_owned() }
    }

    /// Whether the kernel crate has the file.
    pub(crate) fn is_own(&self, path: &str) -> bool {
        self.in_crate(&self.absolute(path)).is_some_and(|(package, _)| package == self.own)
    }

    /// `PACKAGE/path/in/it` for a file of a known crate. Of others, as those of `core`, the path begins with the folder
    /// in which its last `src` lies: `core/src/ptr/mut_ptr.rs`.
    pub(crate) fn stable(&self, path: &str) -> String {
        let path = self.absolute(path);
        if let Some((package, rest)) = self.in_crate(&path) {
            return format!("{package}/{rest}");
        }
        let parts: Vec<_> = path.split('/').collect();
        let folder = parts.iter().rposition(|&part| part == "src").and_then(|src| src.checked_sub(1));
        parts[folder.unwrap_or(parts.len() - 1)..].join("/")
    }

    fn absolute(&self, path: &str) -> String {
        straight(&Path::new(&self.workspace).join(path))
    }

    fn in_crate<'a>(&'a self, path: &'a str) -> Option<(&'a str, &'a str)> {
        self.crates.iter().find_map(|(folder, package)| Some((package.as_str(), path.strip_prefix(folder)?)))
    }
}

/// The path with `/` on every system and without `..`.
fn straight(path: &Path) -> String {
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
    fn other_files_are_named_without_the_place_of_their_crate() {
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
