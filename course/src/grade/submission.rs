//! The sources of a submission, from an archive or a folder. Only `PACKAGE/src/….rs` is read.

mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use command_line::{counted, printable_line};

use self::tree::{Entry, Kind, Opened, Tree};
use crate::starter::{Assignment, Part, VENDOR, files_below, read_text};
use crate::workspace_root;

/// This project's crates that its own parts are built from, in addition to the crates that every
/// submission gets.
pub(super) const KERNELS: [&str; 2] = ["crates/kernels-cpu", "kernels-gpu"];

/// File with the students' explanations.
const ANSWERS: &str = "answers.md";

/// Limits of a submission: number of files, bytes per file, and total bytes.
const MAX_FILES: usize = 200;
const MAX_BYTES: u64 = 1 << 20;
const MAX_ALL: u64 = 8 << 20;
/// Maximum nesting depth of brackets in a source, because the stacks of the compiler and the grader
/// are limited. The homework needs ten.
pub(super) const MAX_BRACKETS: usize = 200;
/// Maximum length of a name in bytes, as in most file systems.
const MAX_NAME: usize = 255;
/// Maximum number of folders above a crate, and of path components from the crate's folder down.
const MAX_FOLDERS: usize = 6;
const MAX_NAMES: usize = 8;
/// Maximum number of archives in a submission that are opened, and of paths listed in a message.
const MAX_ARCHIVES: usize = 10;
const MAX_SHOWN: usize = 6;

/// The files that are read from a submission.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sources {
    /// Sources by path in the workspace, such as `max_functions/src/trivial.rs`.
    pub(super) files: BTreeMap<PathBuf, String>,
    /// Build scripts and cargo settings, which are skipped.
    pub(super) ignored: Vec<PathBuf>,
    /// One sentence for each other skipped file.
    pub(super) notes: Vec<String>,
    /// Text of answers.md, which no test grades.
    pub(super) answers: Option<String>,
    pub(super) form: Form,
    /// Packages with an unreadable file, and the reason. Their other files are skipped.
    pub(super) unreadable: BTreeMap<&'static str, String>,
}

/// The project layout of a submission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// The starter's workspace.
    #[default]
    Starter,
    /// This project's own crates. The submission contains [`KERNELS`] unchanged, and its parts are
    /// built from them.
    Project,
}

/// Files of a part: paths and texts.
pub(super) type PartFiles = Vec<(PathBuf, String)>;

impl Sources {
    /// Whether the submission has a source of a part.
    pub(super) fn has(&self, part: Part) -> bool {
        self.files.keys().any(|path| path.starts_with(part.package()))
    }

    /// Returns the sources of a part; none if the submission does not have it, or if one of its
    /// files is unreadable.
    pub(super) fn of(&self, part: Part) -> PartFiles {
        let files = self.files.iter().filter(|(path, _)| path.starts_with(part.package()));
        files.map(|(path, text)| (path.clone(), text.clone())).collect()
    }

    /// Adds a file. An unreadable file makes its package unreadable.
    ///
    /// # Errors
    /// If the submission exceeds a limit.
    fn add(&mut self, path: PathBuf, content: Opened<'_>) -> Result<(), String> {
        if self.files.len() == MAX_FILES {
            return Err(format!("it has more than {MAX_FILES} source files"));
        }
        let text = match text_of(content) {
            Ok(text) => text,
            Err(Unreadable::TooLarge) => return Err(too_large(&path)),
            Err(Unreadable::NoText(reason)) => {
                self.cannot_read(&path, &reason);
                return Ok(());
            }
        };
        let all: u64 = self.files.values().map(|text| text.len() as u64).sum();
        if all + text.len() as u64 > MAX_ALL {
            return Err(too_large(&path));
        }
        if let Some(line) = too_deep(&text) {
            self.cannot_read(&path, &format!(", line {line}: brackets in more than {MAX_BRACKETS} others"));
        }
        if is_no_name(&path) {
            // The message shows the reason but not the name.
            self.cannot_read(
                &path.iter().take(2).collect::<PathBuf>(),
                ": a file in it has a name that is too long or has a control character",
            );
        }
        if self.files.insert(path.clone(), text).is_some() {
            self.cannot_read(&path, ": it is there twice");
        }
        Ok(())
    }

    fn cannot_read(&mut self, path: &Path, reason: &str) {
        let reason = printable_line(&format!("{}{reason}", path.display())).into_owned();
        let package = Part::ALL.iter().map(|part| part.package()).find(|package| path.starts_with(package));
        match package {
            // The programs are given and not compiled.
            _ if path.ends_with("src/main.rs") => self.notes.push(reason),
            Some(package) => drop(self.unreadable.entry(package).or_insert(reason)),
            None => {}
        }
    }
}

/// Whether a component of the path is too long for a file system.
fn is_no_name(path: &Path) -> bool {
    path.iter().any(|name| name.len() > MAX_NAME || name.as_encoded_bytes().iter().any(u8::is_ascii_control))
}

/// Returns the line of the first bracket nested in more than [`MAX_BRACKETS`] others.
fn too_deep(text: &str) -> Option<usize> {
    use rustc_lexer::TokenKind::{CloseBrace, CloseBracket, CloseParen, OpenBrace, OpenBracket, OpenParen};
    let (mut depth, mut at) = (0_usize, 0);
    for token in rustc_lexer::tokenize(text, rustc_lexer::FrontmatterAllowed::No) {
        match token.kind {
            OpenBrace | OpenBracket | OpenParen => depth += 1,
            CloseBrace | CloseBracket | CloseParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_BRACKETS {
            return Some(text[..at].matches('\n').count() + 1);
        }
        at += token.len as usize;
    }
    None
}

fn too_large(path: &Path) -> String {
    format!("{}: the sources are larger than {} MiB", printable_line(&path.to_string_lossy()), MAX_ALL >> 20)
}

/// Why a file is skipped.
#[derive(Debug, PartialEq, Eq)]
enum Unreadable {
    TooLarge,
    /// Text that follows the file's name in the message.
    NoText(String),
}

/// Reads a source file's text, without a byte order mark.
fn text_of(content: Opened<'_>) -> Result<String, Unreadable> {
    let no_text = |reason: &dyn std::fmt::Display| Unreadable::NoText(format!(": {reason}"));
    let mut bytes = Vec::new();
    content.map_err(|error| no_text(&error))?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|e| no_text(&e))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Unreadable::TooLarge);
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map_err(|error| {
        let (bytes, at) = (error.as_bytes(), error.utf8_error().valid_up_to());
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let is_utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
        let what =
            if is_utf16 { "the file is UTF-16".to_owned() } else { format!("byte {:#04x} is not UTF-8", bytes[at]) };
        Unreadable::NoText(format!(", line {line}: {what}: save the file as UTF-8"))
    })
}

/// A source file of the homework in a submission.
struct Source<'a> {
    /// Folders that contain the package.
    root: &'a [String],
    package: &'static str,
    /// Path in the workspace.
    path: PathBuf,
}

/// Returns the source that an entry is, or `None` if the entry does not belong to the assignment.
fn source_of(names: &[String], assignment: Assignment) -> Option<Source<'_>> {
    let parts = assignment.parts().iter();
    let package = |name: &str| parts.clone().map(|part| part.package()).find(|package| *package == name);
    let start =
        names.windows(2).take(MAX_FOLDERS + 1).position(|pair| package(&pair[0]).is_some() && pair[1] == "src")?;
    let below = &names[start..];
    let is_source = below.len() >= 3 && below.len() <= MAX_NAMES && below.last()?.ends_with(".rs");
    let source = Source { root: &names[..start], package: package(&names[start])?, path: below.iter().collect() };
    is_source.then_some(source)
}

/// The sources of [`KERNELS`], by the last components of their paths.
fn kernels_of_project() -> BTreeMap<Vec<String>, PathBuf> {
    let root = workspace_root();
    let files = KERNELS.iter().flat_map(|folder| files_below(&root.join(folder).join("src")).unwrap_or_default());
    let names = |file: &Path| {
        let names = file.strip_prefix(root).unwrap_or(file).iter().map(|name| name.to_string_lossy().into_owned());
        names.skip_while(|name| name == "crates").collect()
    };
    files.map(|file| (names(&file), file)).collect()
}

/// Whether cargo would run the file while compiling, or the file would change what cargo runs.
fn is_script(names: &[String]) -> bool {
    let path: PathBuf = names.iter().collect();
    path.ends_with("build.rs") && !names.iter().any(|name| name == "src")
        || path.ends_with(".cargo/config.toml")
        || path.ends_with(".cargo/config")
}

/// Copies of a package in a submission: the depth and name of the folder that contains each copy,
/// and its sources.
type Copies<'a> = BTreeMap<(usize, &'a [String]), Vec<(PathBuf, &'a Entry)>>;

/// The files of a submission that are read.
#[derive(Default)]
struct Choice<'a> {
    files: Vec<(PathBuf, &'a Entry)>,
    ignored: Vec<&'a Entry>,
    /// The sources of [`KERNELS`], each with the project's own file.
    kernels: Vec<(PathBuf, &'a Entry)>,
    /// The topmost answers.md.
    answers: Option<&'a Entry>,
    notes: Vec<String>,
}

impl<'a> Choice<'a> {
    /// Chooses the topmost copy of each package. Of two copies at equal depth, the first by name
    /// wins.
    fn of(entries: &'a [Entry], assignment: Assignment) -> Self {
        let is_answers =
            |entry: &&Entry| entry.kind == Kind::File && entry.names.last().is_some_and(|name| name == ANSWERS);
        let answers = entries.iter().filter(is_answers).min_by_key(|entry| (entry.names.len(), &entry.names));
        let mut choice = Self { answers, ..Self::default() };
        let mut copies: BTreeMap<&str, Copies<'_>> = BTreeMap::new();
        // This project's own crates are also graded, but only for the first assignment.
        let kernels = if assignment == Assignment::One { kernels_of_project() } else { BTreeMap::new() };
        for entry in entries {
            // The starter contains some of these in its folder of given crates.
            let is_given = entry.names.iter().any(|name| name == VENDOR);
            let of_project = (0..entry.names.len()).find_map(|start| kernels.get(&entry.names[start..]));
            if let (Some(file), Kind::File, false) = (of_project, entry.kind, is_given) {
                choice.kernels.push((file.clone(), entry));
                continue;
            }
            match source_of(&entry.names, assignment) {
                Some(source) if entry.kind == Kind::File => {
                    let copies = copies.entry(source.package).or_default();
                    copies.entry((source.root.len(), source.root)).or_default().push((source.path, entry));
                }
                Some(_) if entry.kind == Kind::Link => {
                    choice.notes.push(format!("{}: it is a link, and is not taken", entry.shown()));
                }
                _ if entry.kind != Kind::Outside && is_script(&entry.names) => {
                    choice.ignored.push(entry);
                }
                _ => {}
            }
        }
        let (mut roots, mut beside, mut others) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for part in assignment.parts() {
            let package = part.package();
            let mut copies = copies.remove(package).unwrap_or_default().into_iter();
            let Some(((depth, root), files)) = copies.next() else { continue };
            choice.files.extend(files);
            roots.entry(shown(root)).or_insert_with(Vec::new).push(package);
            for ((other_depth, other), _) in copies {
                match other_depth == depth {
                    true => beside.entry((shown(root), shown(other))).or_insert_with(Vec::new).push(package),
                    false => others.push(format!("{}/{package}", shown(other))),
                }
            }
        }
        let beside = beside.into_iter().map(|((root, other), packages)| {
            format!("{root} and {other} both have {}; {root} counts", packages.join(", "))
        });
        let beside: Vec<String> = beside.collect();
        choice.notes.extend((!beside.is_empty()).then(|| beside.join("; ")));
        if !others.is_empty() {
            choice.notes.push(format!("not taken, since a copy nearer the top counts: {}", listed(&others, "folder")));
        }
        if roots.len() > 1 {
            let roots = roots.into_iter().map(|(root, packages)| format!("{} in {root}", packages.join(", ")));
            choice.notes.push(format!("the crates are in several folders: {}", roots.collect::<Vec<_>>().join("; ")));
        }
        choice
    }

    /// Reads the files.
    fn sources(self, tree: &mut Tree) -> Result<Sources, String> {
        let mut sources = Sources { notes: self.notes, ..Sources::default() };
        let wanted: Vec<&Entry> = self
            .files
            .iter()
            .chain(&self.kernels)
            .map(|(_, entry)| *entry)
            .chain(self.ignored.iter().copied())
            .chain(self.answers)
            .collect();
        let kernels: BTreeMap<&[String], &PathBuf> =
            self.kernels.iter().map(|(file, entry)| (entry.names.as_slice(), file)).collect();
        let (mut as_given, mut same) = (Vec::new(), BTreeSet::new());
        let paths: BTreeMap<&[String], &PathBuf> =
            self.files.iter().map(|(path, entry)| (entry.names.as_slice(), path)).collect();
        tree.read(&wanted, &mut |entry, content| match paths.get(entry.names.as_slice()) {
            Some(path) => sources.add((*path).clone(), content),
            None if let Some(file) = kernels.get(entry.names.as_slice()) => {
                let is_same = text_of(content)
                    .is_ok_and(|text| read_text(file).is_ok_and(|projects| projects == text.replace("\r\n", "\n")));
                same.extend(is_same.then(|| (*file).clone()));
                Ok(())
            }
            None if self.answers == Some(entry) => {
                match text_of(content) {
                    Ok(text) => sources.answers = Some(text),
                    Err(Unreadable::TooLarge) => sources.notes.push(format!("{ANSWERS} is larger than 1 MiB")),
                    Err(Unreadable::NoText(reason)) => sources.notes.push(format!("{ANSWERS}{reason}")),
                }
                Ok(())
            }
            None => {
                as_given.extend(text_of(content).is_ok_and(|text| is_given(&text)).then(|| entry.names.clone()));
                Ok(())
            }
        })?;
        let ignored = self.ignored.iter().filter(|entry| !as_given.contains(&entry.names));
        sources.ignored = ignored.map(|entry| entry.names.iter().collect()).collect();
        if !kernels.is_empty() {
            let are_same = same.len() == kernels_of_project().len();
            let (form, which) = match are_same {
                true => (Form::Project, "this project's"),
                false => (Form::Starter, "not this project's, and not taken"),
            };
            sources.form = form;
            sources.notes.push(format!("its kernels-cpu and kernels-gpu are {which}"));
        }
        let is_folder = |path: &&PathBuf| sources.files.keys().any(|other| other != *path && other.starts_with(path));
        let both: Vec<PathBuf> = sources.files.keys().filter(is_folder).cloned().collect();
        both.iter().for_each(|path| sources.cannot_read(path, ": it is both a file and a folder"));
        let unreadable = &sources.unreadable;
        sources.files.retain(|path, _| !unreadable.keys().any(|package| path.starts_with(package)));
        Ok(sources)
    }
}

/// Whether a settings file is the starter's.
fn is_given(text: &str) -> bool {
    read_text(&workspace_root().join("course/starter/config.toml"))
        .is_ok_and(|given| given == text.replace("\r\n", "\n"))
}

/// Name of a folder in a submission.
fn shown(root: &[String]) -> String {
    match root {
        [] => "the top folder".to_owned(),
        _ => printable_line(&root.join("/")).into_owned(),
    }
}

/// Lists the first names, and how many more there are.
fn listed(names: &[String], noun: &str) -> String {
    match names.len().checked_sub(MAX_SHOWN) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {}", names[..MAX_SHOWN].join(", "), counted(more, &format!("more {noun}"))),
    }
}

/// Describes the files of a submission without sources.
fn contents(entries: &[Entry]) -> String {
    let name = |entry: &Entry| match entry.kind {
        Kind::File => entry.shown(),
        Kind::Link => format!("{} (a link)", entry.shown()),
        Kind::Outside => format!("{} (which leads out of it)", entry.shown()),
    };
    match entries {
        [] => "no files".to_owned(),
        [one] => name(one),
        [one, other] => format!("{} and {}", name(one), name(other)),
        [one, other, rest @ ..] => format!("{}, {} and {}", name(one), name(other), counted(rest.len(), "more file")),
    }
}

/// Message about a submission without sources of the assignment.
fn no_sources(assignment: Assignment) -> String {
    let packages: Vec<&str> = assignment.parts().iter().map(|part| part.package()).collect();
    format!("no sources {}/src/….rs", packages.join("/src/….rs or "))
}

/// Whether a file has the extension of an archive rather than of a table or a page.
pub(super) fn has_name_of_archive(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    ["zip", "tar", "tgz", "gz"].into_iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// Reads a submission of an assignment, or the archive that it contains.
///
/// # Errors
/// The reason, in one line.
pub(super) fn read(path: &Path, assignment: Assignment) -> Result<Sources, String> {
    let mut tree = Tree::open(path)?;
    let entries = tree.entries()?;
    let choice = Choice::of(&entries, assignment);
    if !choice.files.is_empty() {
        return choice.sources(&mut tree);
    }
    let mut of_first: Option<(String, Sources)> = None;
    let (mut others, mut reasons) = (Vec::new(), Vec::new());
    for archive in tree.archives(&entries)?.iter().take(MAX_ARCHIVES) {
        let name = archive.shown();
        match of_archive(&mut tree, archive, assignment) {
            Ok(sources) if of_first.is_none() => of_first = Some((name, sources)),
            Ok(_) => others.push(name),
            Err(reason) => reasons.push(reason),
        }
    }
    match (of_first, reasons.first()) {
        (Some((name, mut sources)), _) => {
            if !others.is_empty() {
                sources.notes.push(format!("not taken, since {name} counts: {}", listed(&others, "archive")));
            }
            Ok(sources)
        }
        (None, Some(reason)) => Err(reason.clone()),
        (None, None) => Err(format!("{}; it has {}", no_sources(assignment), contents(&entries))),
    }
}

/// Reads an archive inside a submission. Archives inside that archive are not read.
fn of_archive(outer: &mut Tree, archive: &Entry, assignment: Assignment) -> Result<Sources, String> {
    let name = archive.shown();
    let mut read = || {
        let mut tree = outer.open_archive(archive)?;
        let entries = tree.entries()?;
        let choice = Choice::of(&entries, assignment);
        match choice.files.is_empty() {
            true => Err(format!("{}; it has {}", no_sources(assignment), contents(&entries))),
            false => choice.sources(&mut tree),
        }
    };
    let named = |reason: String| if reason.starts_with(&name) { reason } else { format!("{name}: {reason}") };
    read().map_err(named)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use tempfile::TempDir;
    use zip::write::{SimpleFileOptions, ZipWriter};

    use super::*;

    fn read(path: &Path) -> Result<Sources, String> {
        super::read(path, Assignment::One)
    }

    const SOURCE: &str = "max_functions/src/trivial.rs";

    fn names(path: &str) -> Vec<String> {
        path.split('/').map(str::to_owned).collect()
    }

    /// Creates a ZIP file.
    fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, content) in files {
            archive.start_file(*name, SimpleFileOptions::default()).unwrap();
            archive.write_all(content).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    /// Creates a folder with one file.
    fn with_file(name: &str, content: &[u8]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
        folder
    }

    fn read_zip(files: &[(&str, &[u8])]) -> Result<Sources, String> {
        read(&with_file("homework.zip", &zip(files)).path().join("homework.zip"))
    }

    fn paths(sources: &Sources) -> Vec<&str> {
        sources.files.keys().map(|path| path.to_str().unwrap()).collect()
    }

    #[test]
    fn grade_knows_submissions_of_this_projects_own_crates() {
        let kernels = kernels_of_project();
        assert!(kernels.len() > 20, "{kernels:?}");
        let texts: Vec<(String, String)> = kernels
            .iter()
            .map(|(names, file)| (format!("hw1/{}", names.join("/")), read_text(file).unwrap()))
            .collect();
        let read_with = |kernels: &[(String, String)]| {
            let source = ("hw1/max_functions/src/trivial.rs", &b"a"[..]);
            let kernels = kernels.iter().map(|(name, text)| (name.as_str(), text.as_bytes()));
            read_zip(&kernels.chain([source]).collect::<Vec<_>>()).unwrap()
        };
        let sources = read_with(&texts);
        assert_eq!(sources.form, Form::Project);
        assert_eq!(sources.notes, ["its kernels-cpu and kernels-gpu are this project's"]);
        assert_eq!(paths(&sources), [SOURCE]);
        let not_taken = ["its kernels-cpu and kernels-gpu are not this project's, and not taken"];
        let mut changed = texts.clone();
        changed[7].1.push(' ');
        for kernels in [&texts[1..], &changed] {
            let sources = read_with(kernels);
            assert_eq!(sources.form, Form::Starter);
            assert_eq!(sources.notes, not_taken);
        }
        assert!(read_with(&[]).notes.is_empty());
        let of_starter: Vec<(String, String)> =
            texts.iter().map(|(name, text)| (name.replace("hw1/", "hw1/vendor/"), text.clone())).collect();
        let sources = read_with(&of_starter);
        assert_eq!((sources.form, sources.notes), (Form::Starter, Vec::new()));
    }

    #[test]
    fn grade_reads_the_answers_nearest_the_top() {
        let with = |files: &[(&str, &[u8])]| {
            let sources = read_zip(&[&[(SOURCE, &b"a"[..])], files].concat()).unwrap();
            assert_eq!(paths(&sources), [SOURCE]);
            (sources.answers, sources.notes)
        };
        assert_eq!(with(&[]), (None, Vec::new()));
        let deep = ("old/answers.md", &b"old"[..]);
        assert_eq!(with(&[deep]), (Some("old".to_owned()), Vec::new()));
        assert_eq!(with(&[deep, ("answers.md", b"new")]), (Some("new".to_owned()), Vec::new()));
        let (answers, notes) = with(&[("answers.md", b"a\n\xe9")]);
        assert_eq!(answers, None);
        assert!(notes[0].starts_with("answers.md, line 2: byte 0xe9 is not UTF-8"), "{notes:?}");
    }

    #[test]
    fn grade_takes_only_sources_of_the_homework() {
        for (path, expected) in [
            ("max_functions/src/trivial.rs", Some("max_functions/src/trivial.rs")),
            ("homework/utils/src/deep/lists.rs", Some("utils/src/deep/lists.rs")),
            ("1/2/3/4/5/6/utils/src/lists.rs", Some("utils/src/lists.rs")),
            ("1/2/3/4/5/6/7/utils/src/lists.rs", None),
            ("utils/utils/src/lists.rs", Some("utils/src/lists.rs")),
            ("max_functions/build.rs", None),
            ("max_functions/Cargo.toml", None),
            ("max_functions/tests/public.rs", None),
            ("max_functions/src/data.bin", None),
            ("other/src/lib.rs", None),
            ("filters/src/sobel.rs", None),
        ] {
            let names = names(path);
            let found = source_of(&names, Assignment::One).map(|source| source.path);
            assert_eq!(found, expected.map(PathBuf::from), "{path}");
            assert_eq!(source_of(&names, Assignment::Two).is_some(), path.starts_with("filters"), "{path}");
        }
    }

    #[test]
    fn grade_names_the_scripts_that_it_does_not_take() {
        for (path, expected) in [
            ("max_functions/build.rs", true),
            ("homework/.cargo/config.toml", true),
            ("max_functions/src/build.rs", false),
            ("max_functions/Cargo.toml", false),
        ] {
            assert_eq!(is_script(&names(path)), expected, "{path}");
        }
    }

    #[test]
    fn grade_limits_what_it_reads() {
        let mut sources = Sources::default();
        assert!(sources.add("utils/src/a.rs".into(), Ok(&mut &b"fn f() {}"[..])).is_ok());
        assert!(
            sources.add("utils/src/b.rs".into(), Ok(&mut std::io::repeat(b' '))).unwrap_err().contains("larger than")
        );
        assert!(sources.add("utils/src/a.rs".into(), Ok(&mut &b""[..])).is_ok());
        assert!(sources.unreadable["utils"].contains("twice"));
    }

    #[test]
    fn grade_reads_utf8_only_and_names_the_line_of_another_byte() {
        let text = |bytes: &[u8]| text_of(Ok(&mut &bytes[..]));
        assert_eq!(text(b"\xef\xbb\xbfmod a;\r\n"), Ok("mod a;\r\n".to_owned()));
        for (bytes, expected) in [
            (&b"fn f() {}\r\n\r\n// gr\xfc\xdfe"[..], ", line 3: byte 0xfc is not UTF-8: save the file as UTF-8"),
            (b"\xff\xfef\0n\0", ", line 1: the file is UTF-16: save the file as UTF-8"),
            (b"\xfe\xff\0f\0n", ", line 1: the file is UTF-16: save the file as UTF-8"),
        ] {
            assert_eq!(text(bytes), Err(Unreadable::NoText(expected.to_owned())));
        }
    }

    #[test]
    fn grade_loses_only_the_part_with_an_unreadable_file() {
        let sources = read_zip(&[
            (SOURCE, b"fn f() {}"),
            ("matmul_functions/src/main.rs", b"// \xe4"),
            ("matmul_functions/src/lib.rs", b"fn f() {}"),
            ("utils/src/lib.rs", b"mod lists;"),
            ("utils/src/lists.rs", b"\n// \xe4"),
        ])
        .unwrap();
        assert_eq!(paths(&sources), ["matmul_functions/src/lib.rs", SOURCE]);
        let reason = "utils/src/lists.rs, line 2: byte 0xe4 is not UTF-8: save the file as UTF-8";
        assert_eq!(sources.unreadable, [("utils", reason.to_owned())].into());
        assert_eq!(
            sources.notes,
            ["matmul_functions/src/main.rs, line 1: byte 0xe4 is not UTF-8: save the file as UTF-8"]
        );
    }

    #[test]
    fn grade_loses_only_the_part_with_deep_brackets() {
        let deep = |depth| format!("fn f() {{}}\nfn g() {}1{}", "(".repeat(depth), ")".repeat(depth));
        let sources =
            read_zip(&[(SOURCE, deep(500_000).as_bytes()), ("utils/src/lists.rs", deep(100).as_bytes())]).unwrap();
        assert_eq!(paths(&sources), ["utils/src/lists.rs"]);
        let reason = format!("{SOURCE}, line 2: brackets in more than 200 others");
        assert_eq!(sources.unreadable, [("max_functions", reason)].into());
        let texts = format!("/* {0} */ const X: &str = \"{0}\"; const Y: &str = r#\"{0}\"#; // {0}", "(".repeat(1000));
        assert_eq!(too_deep(&texts), None);
        assert_eq!(too_deep(&"()[]{}".repeat(1000)), None);
    }

    #[test]
    fn grade_loses_only_the_part_with_a_name_that_no_file_can_have() {
        let long = format!("max_functions/src/{}.rs", "a".repeat(300));
        for (name, reason) in [
            (&*long, "max_functions/src: a file in it has a name that is too long or has a control character"),
            (
                "max_functions/src/a\0.rs",
                "max_functions/src: a file in it has a name that is too long or has a control character",
            ),
            ("max_functions/src/trivial.rs/b.rs", "max_functions/src/trivial.rs: it is both a file and a folder"),
        ] {
            let sources = read_zip(&[(SOURCE, b""), (name, b""), ("utils/src/lists.rs", b"")]).unwrap();
            assert_eq!(paths(&sources), ["utils/src/lists.rs"], "{name}");
            assert_eq!(sources.unreadable, [("max_functions", reason.to_owned())].into(), "{name}");
        }
    }

    /// A control character in a name must not reach the teacher's terminal. U+009B starts a command
    /// like ESC and `[`.
    #[test]
    fn grade_escapes_control_characters_in_messages() {
        for name in ["max_functions/src/a\x1b[31m.rs", "max_functions/src/a\u{9b}31m.rs"] {
            for text in [&b"\xff"[..], b"fn f() {", &vec![b' '; MAX_BYTES as usize + 1]] {
                let message = match read_zip(&[(SOURCE, b""), (name, text), ("utils/src/lists.rs", b"")]) {
                    Ok(sources) => {
                        let findings = crate::grade::findings::find(&sources);
                        sources.unreadable.into_values().chain(findings).collect()
                    }
                    Err(message) => message,
                };
                assert!(!message.contains(char::is_control), "{message:?}");
                assert!(message.contains("max_functions/src"), "{message:?}");
            }
        }
    }

    #[test]
    fn grade_takes_the_copy_nearest_the_top() {
        let sources = read_zip(&[
            ("hw/backup/max_functions/src/trivial.rs", b"old"),
            ("hw/max_functions/src/trivial.rs", b"new"),
            ("hw/z/old/max_functions/src/trivial.rs", b"old"),
        ])
        .unwrap();
        assert_eq!(sources.files, [(SOURCE.into(), "new".to_owned())].into());
        let note = "not taken, since a copy nearer the top counts: hw/backup/max_functions, hw/z/old/max_functions";
        assert_eq!(sources.notes, [note]);
    }

    #[test]
    fn grade_takes_the_first_of_two_copies_in_equal_depth() {
        let sources = read_zip(&[
            ("b/max_functions/src/trivial.rs", b"b"),
            ("a/max_functions/src/trivial.rs", b"a"),
            ("a/utils/src/lists.rs", b"a"),
            ("b/utils/src/lists.rs", b"b"),
            ("b/utils/src/zeros.rs", b"b"),
        ])
        .unwrap();
        assert!(sources.files.values().all(|text| text == "a"), "{sources:?}");
        assert_eq!(paths(&sources), [SOURCE, "utils/src/lists.rs"]);
        assert_eq!(sources.notes, ["a and b both have utils, max_functions; a counts"]);
        let sources =
            read_zip(&[("part1/utils/src/lists.rs", b"a"), ("part2/max_functions/src/trivial.rs", b"b")]).unwrap();
        assert_eq!(paths(&sources), [SOURCE, "utils/src/lists.rs"]);
        assert_eq!(sources.notes, ["the crates are in several folders: utils in part1; max_functions in part2"]);
    }

    #[test]
    fn grade_reads_the_archive_in_a_folder_or_archive() {
        let inner = zip(&[("hw1/homework/max_functions/src/trivial.rs", b"fn f() {}"), ("__MACOSX/._hw1", b"\xff")]);
        for name in ["homework.zip", "a/b/HOMEWORK.ZIP", "homework"] {
            let moodle = with_file(name, &inner);
            std::fs::write(moodle.path().join("hw1.docx"), zip(&[("word/document.xml", b"")])).unwrap();
            let sources = read(moodle.path()).unwrap();
            assert_eq!((paths(&sources), &sources.notes[..]), (vec![SOURCE], &[][..]), "{name}");
            assert_eq!(paths(&read_zip(&[(name, &inner), ("hw1.pdf", b"%PDF")]).unwrap()), [SOURCE], "{name}");
        }
        let sources = read_zip(&[("2.zip", &inner), ("1.zip", &inner)]).unwrap();
        assert_eq!(sources.notes, ["not taken, since 1.zip counts: 2.zip"]);
        let twice = zip(&[("homework.zip", &inner)]);
        let reason = read_zip(&[("outer.zip", &twice)]).unwrap_err();
        assert_eq!(reason, format!("outer.zip: {}; it has homework.zip", no_sources(Assignment::One)));
    }

    #[test]
    fn grade_reads_tar_files_without_links() {
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(9);
        header.set_mode(0o644);
        tar.append_data(&mut header.clone(), "./homework/max_functions/src/trivial.rs", &b"fn f() {}"[..]).unwrap();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        tar.append_link(&mut header, "homework/utils/src/lists.rs", "/etc/passwd").unwrap();
        let tar = tar.into_inner().unwrap();
        let mut compressed = Vec::new();
        flate2::read::GzEncoder::new(&tar[..], flate2::Compression::fast()).read_to_end(&mut compressed).unwrap();
        for (name, content) in [("homework.tar", &tar), ("homework.tar.gz", &compressed), ("homework.zip", &compressed)]
        {
            let folder = with_file(name, content);
            for path in [folder.path(), &folder.path().join(name)] {
                let sources = read(path).unwrap();
                assert_eq!(paths(&sources), [SOURCE], "{name}");
                assert_eq!(sources.notes, ["homework/utils/src/lists.rs: it is a link, and is not taken"], "{name}");
            }
        }
        let damaged = with_file("homework.tgz", &compressed[..compressed.len() / 2]);
        assert!(read(damaged.path()).unwrap_err().starts_with("homework.tgz: "), "{:?}", read(damaged.path()));
    }

    #[test]
    fn grade_counts_no_files_of_a_build() {
        let build: Vec<String> = (0..20_001).map(|i| format!("homework/target/debug/{i}.o")).collect();
        let mut files: Vec<(&str, &[u8])> = build.iter().map(|name| (name.as_str(), &b""[..])).collect();
        files.push(("homework/utils/src/lists.rs", b"fn f() {}"));
        assert_eq!(paths(&read_zip(&files).unwrap()), ["utils/src/lists.rs"]);
        let many: Vec<String> = (0..20_001).map(|i| format!("homework/{i}.o")).collect();
        let files: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), &b""[..])).collect();
        assert_eq!(read_zip(&files).unwrap_err(), "it has more than 20000 files");
    }

    /// A ZIP file that lists `count` empty files, all at the same offset at its beginning.
    fn zip_of_empty_files(count: u32) -> Vec<u8> {
        let mut bytes = b"PK\x03\x04".to_vec();
        bytes.resize(31, 0);
        bytes[26] = 1;
        bytes[30] = b'a';
        let start = bytes.len() as u64;
        for index in 0..count {
            let mut header = b"PK\x01\x02".to_vec();
            header.resize(46, 0);
            header[28] = 8;
            bytes.extend(header);
            bytes.extend(format!("{index:08x}").bytes());
        }
        let (end, count) = (bytes.len() as u64, u64::from(count));
        // The ZIP64 end of central directory record, its locator, and an end record that refers to
        // it for all values.
        bytes.extend(b"PK\x06\x06\x2c\0\0\0\0\0\0\0\x2d\0\x2d\0\0\0\0\0\0\0\0\0");
        bytes.extend([count, count, end - start, start].map(u64::to_le_bytes).concat());
        bytes.extend(b"PK\x06\x07\0\0\0\0");
        bytes.extend(end.to_le_bytes());
        bytes.extend(b"\x01\0\0\0PK\x05\x06\0\0\0\0");
        bytes.extend([0xff; 12]);
        bytes.extend([0, 0]);
        bytes
    }

    #[test]
    fn grade_does_not_read_an_archive_that_lists_millions_of_files() {
        let folder = with_file("few.zip", &zip_of_empty_files(3));
        let few = read(&folder.path().join("few.zip")).unwrap_err();
        assert!(few.ends_with("; it has 00000000, 00000001 and 1 more file"), "{few}");
        let bytes = zip_of_empty_files(2_000_000);
        let folder = with_file("many.zip", &bytes);
        let expected = "many.zip: it lists more than 200000 files: ask for the sources alone";
        assert_eq!(read(&folder.path().join("many.zip")).unwrap_err(), expected);
        // The same holds inside another archive, and inside the folder that Moodle creates.
        assert_eq!(read(folder.path()).unwrap_err(), expected);
        assert_eq!(read_zip(&[("many.zip", &bytes)]).unwrap_err(), expected);
    }

    #[test]
    fn grade_limits_what_an_archive_unpacks_to() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("homework.tgz");
        let encoder = flate2::write::GzEncoder::new(File::create(&file).unwrap(), flate2::Compression::fast());
        let mut tar = tar::Builder::new(encoder);
        let mut header = tar::Header::new_gnu();
        header.set_size(257 << 20);
        tar.append_data(&mut header, "zeros", std::io::repeat(0).take(257 << 20)).unwrap();
        tar.into_inner().unwrap().finish().unwrap();
        assert_eq!(read(&file).unwrap_err(), "unpacked, it is larger than 256 MiB");
    }

    #[test]
    fn grade_says_what_it_found_in_place_of_sources() {
        for (files, expected) in [
            (
                &["hw1.pdf", "hw1/homework/README.md", "z1", "z2", "z3"][..],
                "hw1/homework/README.md, hw1.pdf and 3 more files",
            ),
            (&["a", "b", "c"], "a, b and 1 more file"),
            (&["b", "a"], "a and b"),
            (&["a\nb"], r"a\nb"),
            (&["__MACOSX/._a", ".DS_Store"], "no files"),
            (&["../utils/src/lists.rs"], "../utils/src/lists.rs (which leads out of it)"),
        ] {
            let files: Vec<(&str, &[u8])> = files.iter().map(|name| (*name, &b"x"[..])).collect();
            assert_eq!(read_zip(&files).unwrap_err(), format!("{}; it has {expected}", no_sources(Assignment::One)));
        }
        for (name, content, expected) in [
            ("homework.7z", &b"7z\xbc\xaf\x27\x1c"[..], "a 7z archive: ask for a ZIP file"),
            ("homework.rar", b"Rar!", "a RAR archive: ask for a ZIP file"),
            ("hw1.txt", b"text", "neither a folder nor an archive: ask for a ZIP file"),
            ("broken.zip", b"PK\x03\x04 and no more", "broken.zip: invalid Zip archive: "),
        ] {
            let reason = read(&with_file(name, content).path().join(name)).unwrap_err();
            assert!(reason.starts_with(expected), "{reason}");
        }
        let moodle = with_file("homework.7z", b"7z\xbc\xaf\x27\x1c");
        assert_eq!(read(moodle.path()).unwrap_err(), "homework.7z: a 7z archive: ask for a ZIP file");
        assert_eq!(
            read(tempfile::tempdir().unwrap().path()).unwrap_err(),
            format!("{}; it has no files", no_sources(Assignment::One))
        );
    }

    #[test]
    fn grade_lists_settings_that_are_not_those_given() {
        let given = read_text(&workspace_root().join("course/starter/config.toml")).unwrap();
        let own = format!("{given}[target.'cfg(all())']\nrunner = \"true\"\n");
        for (settings, is_listed) in [(given.clone(), false), (given.replace('\n', "\r\n"), false), (own, true)] {
            let folder = tempfile::tempdir().unwrap();
            for (name, text) in [(".cargo/config.toml", &*settings), ("utils/src/lists.rs", "")] {
                let file = folder.path().join(name);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, text).unwrap();
            }
            assert_eq!(!read(folder.path()).unwrap().ignored.is_empty(), is_listed, "{settings}");
        }
    }
}
