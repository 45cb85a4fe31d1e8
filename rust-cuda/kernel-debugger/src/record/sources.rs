//! The source files of a kernel: their names without this machine's directories, and their text.

use std::path::{Component, Path};

use kernel_launch::named_file;

use super::Options;
use crate::lines::Lines;

/// Maximum size of a source file in a page, in bytes.
const MAX_SOURCE_BYTES: u64 = 1 << 20;

/// The source files of a kernel, in the order of their names in the PTX.
pub(super) struct Sources {
    /// Name in the PTX, shown name, and text if the file exists in the source root.
    files: Vec<(String, String, Option<String>)>,
}

impl Sources {
    pub(super) fn new(lines: &Lines, options: &Options) -> Self {
        let mut names: Vec<String> = Vec::new();
        for pc in 0..lines.instructions() {
            let mut place = lines.place(pc).source.as_ref();
            while let Some(source) = place {
                names.push(source.file.to_string());
                place = source.inlined_at.as_deref();
            }
        }
        names.sort();
        names.dedup();
        let file = |name: String| {
            let (shown, text) = (shown_name(&name), text(options, &name));
            (name, shown, text)
        };
        Self { files: names.into_iter().map(file).collect() }
    }

    /// Shown name and text of each file.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.files.iter().map(|(_, shown, text)| (&**shown, text.as_deref()))
    }

    /// Index of a file by its name in the PTX.
    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.files.binary_search_by(|(file, _, _)| (**file).cmp(name)).ok()
    }

    /// Replaces the names of files in a text by their shown names.
    pub(super) fn shorten(&self, text: &str) -> String {
        let changed = self.files.iter().filter(|(name, shown, _)| name != shown);
        changed.fold(text.to_owned(), |text, (name, shown, _)| text.replace(name, shown))
    }
}

/// A file's shown name. For an absolute path, only the last directory and the file name.
fn shown_name(name: &str) -> String {
    let plain = name.replace('\\', "/");
    let is_absolute = plain.starts_with('/') || plain.get(1..2) == Some(":");
    match plain.rmatch_indices('/').nth(1) {
        Some((index, _)) if is_absolute => plain[index + 1..].to_owned(),
        _ => plain.trim_start_matches('/').to_owned(),
    }
}

fn text(options: &Options, name: &str) -> Option<String> {
    options.sources.get(name).cloned().or_else(|| read_within(&options.source_root, name))
}

/// The text of a file in the source root. Crates of rust-cuda/ may be named without that directory.
/// Never reads a file outside the root, whatever the PTX names.
fn read_within(root: &Path, name: &str) -> Option<String> {
    let path = Path::new(name);
    let within = path.strip_prefix(root).unwrap_or(path);
    let is_within = within.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_within {
        return None;
    }
    let root = root.canonicalize().ok()?;
    [root.join(within), root.join("rust-cuda").join(within)].iter().find_map(|path| {
        let path = path.canonicalize().ok().filter(|path| path.starts_with(&root))?;
        Some(String::from_utf8_lossy(&named_file::read(&path, MAX_SOURCE_BYTES).ok()?).into_owned())
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_out_of_the_source_root_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        for folder in [root.join("src"), root.join("rust-cuda/src"), outside.clone()] {
            fs::create_dir_all(folder).unwrap();
        }
        for file in [outside.join("a.cu"), root.join("src/a.cu"), root.join("rust-cuda/src/b.cu")] {
            fs::write(&file, file.file_name().unwrap().as_encoded_bytes()).unwrap();
        }
        symlink(outside.join("a.cu"), root.join("src/link.cu")).unwrap();
        symlink(&outside, root.join("folder")).unwrap();
        symlink("../src/a.cu", root.join("src/within.cu")).unwrap();
        symlink(&root, folder.path().join("root-by-link")).unwrap();
        for (name, expected) in [
            ("src/a.cu", Some("a.cu")),
            ("src/b.cu", Some("b.cu")),
            ("src/within.cu", Some("a.cu")),
            ("src/link.cu", None),
            ("folder/a.cu", None),
            ("../outside/a.cu", None),
        ] {
            assert_eq!(read_within(&root, name).as_deref(), expected, "{name}");
            assert_eq!(read_within(&folder.path().join("root-by-link"), name).as_deref(), expected, "{name}");
        }
    }
}
