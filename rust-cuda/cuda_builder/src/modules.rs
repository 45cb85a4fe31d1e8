//! The source files of a crate's library or program, found by following `mod` declarations from its
//! root.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::tokens::{Token, group, is_excluded, length_of_excluded, tokens};

/// Selects the declarations to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modules {
    /// All of them, regardless of their `cfg`.
    All,
    /// Those that a compilation of kernels may include.
    OfKernels,
}

/// The files of all modules reachable from `root`, including that file, sorted. A missing file is
/// ignored: the compiler reports it.
pub(crate) fn files_of_modules(root: &Path, modules: Modules) -> BTreeSet<PathBuf> {
    let mut walk = Walk { modules, found: BTreeSet::new() };
    let directory = root.parent().unwrap_or(root);
    walk.file(root, directory);
    walk.found
}

struct Walk {
    modules: Modules,
    found: BTreeSet<PathBuf>,
}

impl Walk {
    /// Adds a file with submodules in `directory`, if it exists. Returns whether it does.
    fn file(&mut self, path: &Path, directory: &Path) -> bool {
        let Ok(text) = std::fs::read_to_string(path) else { return false };
        let tokens = tokens(&text);
        let is_compiled = self.modules == Modules::All || !is_excluded(&tokens);
        if is_compiled && self.found.insert(path.to_owned()) {
            let beside = path.parent().unwrap_or(path);
            self.declarations(&tokens, beside, directory);
        }
        true
    }

    /// Adds the files of the modules that tokens declare. `beside` is the folder for modules with
    /// `#[path]`, `directory` for all others.
    fn declarations(&mut self, tokens: &[Token<'_>], beside: &Path, directory: &Path) {
        let mut position = 0;
        let mut paths = Vec::new();
        while let [first, behind @ ..] = &tokens[position..] {
            if self.modules == Modules::OfKernels
                && let Some(length) = length_of_excluded(&tokens[position..], |_| false)
            {
                position += length;
                paths.clear();
                continue;
            }
            match (first.text, behind) {
                ("#", [Token { text: "[", .. }, ..]) => {
                    let length = group(behind);
                    paths.extend(named_path(&behind[..length]));
                    position += 1 + length;
                    continue;
                }
                ("mod", [Token { text: "r", .. }, Token { text: "#", .. }, name, Token { text: ";", .. }, ..])
                | ("mod", [name, Token { text: ";", .. }, ..]) => {
                    // The condition of a `cfg_attr` may be true or false.
                    paths.iter().for_each(|path| {
                        let path = beside.join(path);
                        self.file(&path, path.parent().unwrap_or(&path));
                    });
                    let inner = directory.join(name.text);
                    if !self.file(&directory.join(format!("{}.rs", name.text)), &inner) {
                        self.file(&inner.join("mod.rs"), &inner);
                    }
                }
                ("mod", [name, Token { text: "{", .. }, ..]) => {
                    let inner = paths.last().map_or_else(|| directory.join(name.text), |path| beside.join(path));
                    let length = group(&behind[1..]);
                    self.declarations(&behind[2..length], &inner, &inner);
                    position += 1 + length;
                }
                ("include", [Token { text: "!", .. }, Token { text: "(", .. }, path, ..]) => {
                    if let Some(path) = text_of(path) {
                        self.file(&beside.join(path), directory);
                    }
                }
                _ => {}
            }
            if matches!(first.text, ";" | "{" | "}" | "mod") {
                paths.clear();
            }
            position += 1;
        }
    }
}

/// The path in `#[path = "…"]`, also within a `cfg_attr`.
fn named_path<'a>(attribute: &[Token<'a>]) -> Option<&'a str> {
    let path = attribute.windows(3).find(|tokens| tokens[0].text == "path" && tokens[1].text == "=")?;
    text_of(&path[2])
}

/// The text of a literal without escapes.
fn text_of<'a>(token: &Token<'a>) -> Option<&'a str> {
    token.text.strip_prefix('"')?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::replace_file;

    fn found(files: &[(&str, &str)], modules: Modules) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            replace_file(&directory.path().join(name), text).unwrap();
        }
        let found = files_of_modules(&directory.path().join("src/lib.rs"), modules);
        let name = |path: &PathBuf| path.strip_prefix(directory.path()).unwrap().to_string_lossy().replace('\\', "/");
        found.iter().map(name).collect()
    }

    const FILES: [(&str, &str); 14] = [
        (
            "src/lib.rs",
            r#"
//! mod comment;
pub mod a;
pub(crate) mod r#type;
#[cfg(not(target_arch = "nvptx64"))]
pub mod host;
#[cfg(any(test, unix))]
mod tests { mod cases; }
#[path = "../shared/other.rs"]
#[allow(unused)]
mod b;
mod inline {
    fn f() { let x = [0; 3]; }
    mod deep;
    #[path = "named.rs"]
    mod c;
}
const TEXT: &str = "mod text;";
include!("included.rs");
mod missing;
#[cfg_attr(target_arch = "nvptx64", path = "gpu.rs")]
mod d;
"#,
        ),
        ("src/a/mod.rs", "mod x;"),
        ("src/a/x.rs", "mod y;"),
        ("src/a/x/y.rs", ""),
        ("src/type.rs", ""),
        ("src/host.rs", "mod x;"),
        ("src/tests/cases.rs", ""),
        ("shared/other.rs", "mod near;"),
        ("shared/near.rs", "#![cfg(windows)]\nmod far;"),
        ("src/inline/deep.rs", ""),
        ("src/inline/named.rs", ""),
        ("src/included.rs", "fn included() {}"),
        ("src/gpu.rs", ""),
        ("src/main.rs", "mod host;"),
    ];

    #[test]
    fn modules_are_found_as_the_compiler_finds_them() {
        let of_kernels = [
            "src/../shared/other.rs",
            "src/a/mod.rs",
            "src/a/x/y.rs",
            "src/a/x.rs",
            "src/gpu.rs",
            "src/included.rs",
            "src/inline/deep.rs",
            "src/inline/named.rs",
            "src/lib.rs",
            "src/type.rs",
        ];
        assert_eq!(found(&FILES, Modules::OfKernels), of_kernels);
        let all = found(&FILES, Modules::All);
        let more = ["src/../shared/near.rs", "src/host.rs", "src/tests/cases.rs"];
        assert!(more.iter().all(|name| all.contains(&(*name).to_owned())), "{all:?}");
        assert!(!all.contains(&"src/main.rs".to_owned()), "{all:?}");
    }
}
