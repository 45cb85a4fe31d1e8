//! Maps a place to a file and line that an editor can open.

use std::path::{Component, Path, PathBuf};

use ptx_interpreter::{Place, SourcePlace};

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Path with `/`; relative to the root of the sources if the file is below it.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, if it is known.
    pub column: Option<u32>,
}

/// Finds the source files of places.
#[derive(Debug)]
pub struct Locations {
    /// Absolute path of the directory that relative paths start at, with `/`, if the system reports
    /// it.
    root: Option<String>,
    /// Path of the PTX.
    ptx: String,
}

impl Locations {
    /// Finds files for faults in the PTX file `ptx`. Shows paths below `root` relative to it.
    pub fn new(root: &Path, ptx: &Path) -> Self {
        let root = std::path::absolute(root).ok().map(|root| slashed(&normal(&root)));
        let ptx = match (std::path::absolute(ptx), &root) {
            (Ok(absolute), Some(root)) if slashed(&normal(&absolute)).starts_with(&format!("{root}/")) => {
                slashed(&normal(&absolute))
            }
            _ => slashed(ptx),
        };
        let mut locations = Self { root, ptx };
        locations.ptx = locations.relative(&locations.ptx);
        locations
    }

    /// The line to mark. With inlined calls, takes the innermost one in a file below the root: the
    /// user's file rather than a library's. Without line information, takes the line in the PTX.
    pub fn line_to_mark(&self, place: &Place) -> Location {
        let Some(source) = place.source.as_ref().filter(|source| source.line > 0) else {
            return Location { path: self.ptx.clone(), line: place.line, column: None };
        };
        let calls = || {
            let calls = std::iter::successors(Some(source), |source| source.inlined_at.as_deref());
            calls.filter(|source| source.line > 0)
        };
        let is_relative = |source: &&SourcePlace| !is_absolute(&self.relative(&source.file));
        let is_file = |source: &&SourcePlace| {
            let root = self.root.as_ref().map(Path::new);
            is_relative(source) && root.is_some_and(|root| root.join(self.relative(&source.file)).is_file())
        };
        let marked = calls().find(is_file).or_else(|| calls().find(is_relative));
        self.of_source(marked.unwrap_or(source))
    }

    fn of_source(&self, source: &SourcePlace) -> Location {
        let column = (source.column > 0).then_some(source.column);
        Location { path: self.relative(&source.file), line: source.line, column }
    }

    fn relative(&self, path: &str) -> String {
        let path = path.replace('\\', "/");
        let below = self.root.as_ref().and_then(|root| path.strip_prefix(root.as_str())?.strip_prefix('/'));
        match below {
            Some(below) if !below.is_empty() => below.to_owned(),
            _ => path.strip_prefix("./").map_or_else(|| path.clone(), str::to_owned),
        }
    }
}

impl Location {
    /// A URI reference with the path (RFC 3986): relative, or with the scheme `file`.
    pub fn uri(&self) -> String {
        let mut uri = match (self.path.starts_with('/'), is_absolute(&self.path)) {
            (true, _) => "file://".to_owned(),
            (false, true) => "file:///".to_owned(),
            (false, false) => String::new(),
        };
        for byte in self.path.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(byte.into()),
                _ => uri.push_str(&format!("%{byte:02X}")),
            }
        }
        uri
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.path, self.line)?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}

/// Whether a path is absolute on any system. The compiler may have run on another one.
fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

fn slashed(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// An absolute path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            _ => normal.push(component),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(file: &str, line: u32, inlined_at: Option<SourcePlace>) -> SourcePlace {
        SourcePlace { file: file.into(), line, column: 5, inlined_at: inlined_at.map(Box::new) }
    }

    fn location(source: Option<SourcePlace>) -> String {
        let locations = Locations { root: Some("/home/me/kernels".to_owned()), ptx: "out/k.ptx".to_owned() };
        locations.line_to_mark(&Place { line: 9, text: "ret;".into(), source }).to_string()
    }

    #[test]
    fn the_line_to_mark_is_one_of_the_users_files() {
        assert_eq!(location(None), "out/k.ptx:9");
        assert_eq!(location(Some(source("src/k.cu", 0, None))), "out/k.ptx:9");
        assert_eq!(location(Some(source("src/k.cu", 3, None))), "src/k.cu:3:5");
        assert_eq!(location(Some(source("/home/me/kernels/src/k.cu", 3, None))), "src/k.cu:3:5");
        let call = source("/home/me/kernels/src/k.cu", 7, None);
        assert_eq!(location(Some(source("/usr/include/cuda.h", 3, Some(call.clone())))), "src/k.cu:7:5");
        assert_eq!(location(Some(source("src/device.h", 3, Some(call)))), "src/device.h:3:5");
        assert_eq!(location(Some(source("/usr/include/cuda.h", 3, None))), "/usr/include/cuda.h:3:5");
    }

    #[test]
    fn a_file_that_is_there_is_preferred() {
        let root = tempfile::TempDir::new().unwrap();
        std::fs::write(root.path().join("kernel.py"), "").unwrap();
        let locations = Locations::new(root.path(), Path::new("k.ptx"));
        let place = |call| Place { line: 9, text: "ret;".into(), source: Some(source("standard.py", 3, Some(call))) };
        assert_eq!(locations.line_to_mark(&place(source("kernel.py", 7, None))).to_string(), "kernel.py:7:5");
        assert_eq!(locations.line_to_mark(&place(source("other.py", 7, None))).to_string(), "standard.py:3:5");
    }

    #[test]
    fn uris_have_no_character_that_needs_an_escape() {
        let uri = |path: &str| Location { path: path.to_owned(), line: 1, column: None }.uri();
        assert_eq!(uri("src/k.cu"), "src/k.cu");
        assert_eq!(uri("a b/\u{e9}\u{1b}.cu"), "a%20b/%C3%A9%1B.cu");
        assert_eq!(uri("/tmp/k.cu"), "file:///tmp/k.cu");
        assert_eq!(uri("C:/k.cu"), "file:///C%3A/k.cu");
        assert_eq!(uri("a:b.cu"), "file:///a%3Ab.cu");
    }
}
