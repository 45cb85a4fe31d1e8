//! The files of a submission, in a folder, a ZIP file or a tar file. The content decides between
//! these formats, not the name.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use command_line::printable_line;
use flate2::read::GzDecoder;
use zip::ZipArchive;

/// Maximum number of entries that are examined.
const MAX_ENTRIES: usize = 20_000;
/// Maximum number of entries that a ZIP file may list, including those that are not examined, and
/// minimum bytes per entry.
const MAX_LISTED: usize = 200_000;
const MIN_LISTED: u64 = 46;
/// Maximum unpacked bytes of a tar file, and of an archive within another.
const MAX_UNPACKED: u64 = 256 << 20;
/// Maximum depth of a file in a folder.
const MAX_DEPTH: usize = 16;
/// Number of bytes at the beginning of a file that identify its type: one tar block.
const START: usize = 512;

/// Extensions of documents and programs that have the content of a ZIP file.
const OFFICE: [&str; 8] = ["docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "jar"];

/// A folder or an archive.
pub(super) enum Tree {
    Folder {
        root: PathBuf,
        /// The files, in the order of [`Tree::entries`].
        files: Vec<PathBuf>,
    },
    Zip(Box<ZipArchive<BufReader<File>>>),
    Tar {
        file: File,
        is_compressed: bool,
    },
}

/// A file in a [`Tree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Names of the containing folders, and the file's own name.
    pub(super) names: Vec<String>,
    pub(super) kind: Kind,
    /// Position in the archive.
    index: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    /// A link, which may lead anywhere.
    Link,
    /// A path that leads out of the archive.
    Outside,
}

impl Entry {
    /// The path as shown to people.
    pub(super) fn shown(&self) -> String {
        printable_line(&self.names.join("/")).into_owned()
    }
}

/// Content of a file, or the reason why it cannot be read.
pub(super) type Opened<'a> = Result<&'a mut dyn Read, String>;
type TarEntry<'entry, 'content, 'file> = tar::Entry<'entry, &'content mut io::Take<Box<dyn Read + 'file>>>;

/// Type of a file, determined by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Zip,
    Tar,
    CompressedTar,
    /// An archive in an unsupported format.
    OtherArchive(&'static str),
    /// A file that is not an archive.
    Other(&'static str),
}

impl Content {
    /// Detects the type of a file from its name and its first bytes.
    fn of(name: &str, start: &[u8]) -> Self {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default();
        match start {
            _ if OFFICE.contains(&extension.as_str()) => Self::Other("an office document"),
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Self::Zip,
            [0x1f, 0x8b, ..] if is_tar(&decompressed(start)) => Self::CompressedTar,
            [0x1f, 0x8b, ..] => Self::OtherArchive("a gzip file without a tar file in it"),
            _ if is_tar(start) => Self::Tar,
            [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Self::OtherArchive("a 7z archive"),
            [b'R', b'a', b'r', b'!', ..] => Self::OtherArchive("a RAR archive"),
            [b'B', b'Z', b'h', ..] => Self::OtherArchive("a bzip2 archive"),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::OtherArchive("an xz archive"),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::OtherArchive("a zstd archive"),
            _ if extension == "zip" && !start.is_empty() => Self::Zip,
            [b'%', b'P', b'D', b'F', ..] => Self::Other("a PDF file"),
            [] => Self::Other("an empty file"),
            _ => match extension.as_str() {
                "7z" => Self::OtherArchive("a 7z archive"),
                "rar" => Self::OtherArchive("a RAR archive"),
                "rs" => Self::Other("one Rust file"),
                _ => Self::Other("neither a folder nor an archive"),
            },
        }
    }

    fn is_archive(self) -> bool {
        !matches!(self, Self::Other(_))
    }
}

/// Whether this is the first header of a tar file: POSIX and GNU headers have this word at byte
/// 257.
fn is_tar(start: &[u8]) -> bool {
    start.get(257..262) == Some(b"ustar")
}

/// Decompresses the beginning of a gzip file.
fn decompressed(start: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    // The input is truncated, so decompression ends with an error.
    let _ = GzDecoder::new(start).take(START as u64).read_to_end(&mut content);
    content
}

impl Tree {
    /// Opens a submission.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        if path.is_dir() {
            return Ok(Self::Folder { root: path.to_owned(), files: Vec::new() });
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let file = File::open(path).map_err(|error| format!("{}: {error}", printable_line(&name)))?;
        Self::of_file(file, &name)
    }

    /// Opens an archive.
    fn of_file(mut file: File, name: &str) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", printable_line(name));
        let mut start = Vec::new();
        (&mut file).take(4 * START as u64).read_to_end(&mut start).map_err(|error| failed(&error))?;
        file.rewind().map_err(|error| failed(&error))?;
        match Content::of(name, &start) {
            Content::Zip if has_too_many_listed(&mut file).map_err(|error| failed(&error))? => {
                Err(failed(&format!("it lists more than {MAX_LISTED} files: ask for the sources alone")))
            }
            Content::Zip => {
                let archive = ZipArchive::new(BufReader::new(file)).map_err(|error| failed(&error))?;
                Ok(Self::Zip(Box::new(archive)))
            }
            Content::Tar => Ok(Self::Tar { file, is_compressed: false }),
            Content::CompressedTar => Ok(Self::Tar { file, is_compressed: true }),
            Content::OtherArchive(kind) | Content::Other(kind) => Err(format!("{kind}: ask for a ZIP file")),
        }
    }

    /// Files in the tree, sorted, without files added by the operating system or a compiler.
    pub(super) fn entries(&mut self) -> Result<Vec<Entry>, String> {
        let mut entries = match self {
            Self::Folder { root, files } => {
                *files = files_of(root)?;
                let entry = |(index, file): (usize, &PathBuf)| {
                    let path = file.strip_prefix(&*root).unwrap_or(file);
                    let names = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
                    let kind = if file.is_symlink() { Kind::Link } else { Kind::File };
                    Entry { names, kind, index }
                };
                files.iter().enumerate().map(entry).collect()
            }
            Self::Zip(archive) => entries_of_zip(archive)?,
            Self::Tar { .. } => self.entries_of_tar()?,
        };
        entries.retain(|entry| !is_noise(&entry.names));
        entries.sort_by(|a, b| a.names.cmp(&b.names));
        Ok(entries)
    }

    fn entries_of_tar(&mut self) -> Result<Vec<Entry>, String> {
        let mut entries = Vec::new();
        self.each_of_tar(&mut |index, entry| {
            let is_link = entry.header().entry_type().is_symlink() || entry.header().entry_type().is_hard_link();
            let kind = if is_link { Kind::Link } else { Kind::File };
            if is_link || entry.header().entry_type().is_file() {
                let entry = entry_of(&String::from_utf8_lossy(&entry.path_bytes()), kind, index);
                entries.extend((!is_noise(&entry.names)).then_some(entry));
            }
            if entries.len() > MAX_ENTRIES { Err(too_many_entries()) } else { Ok(()) }
        })?;
        Ok(entries)
    }

    /// Calls `take` with the content of each wanted entry, or the reason why it cannot be read.
    pub(super) fn read(
        &mut self,
        wanted: &[&Entry],
        take: &mut dyn FnMut(&Entry, Opened<'_>) -> Result<(), String>,
    ) -> Result<(), String> {
        match self {
            Self::Folder { files, .. } => wanted.iter().try_for_each(|entry| match File::open(&files[entry.index]) {
                Ok(mut file) => take(entry, Ok(&mut file)),
                Err(error) => take(entry, Err(error.to_string())),
            }),
            Self::Zip(archive) => wanted.iter().try_for_each(|entry| match archive.by_index(entry.index) {
                Ok(mut file) => take(entry, Ok(&mut file)),
                Err(error) => take(entry, Err(error.to_string())),
            }),
            Self::Tar { .. } => self.each_of_tar(&mut |index, content| {
                let entry = wanted.iter().find(|entry| entry.index == index);
                entry.map_or(Ok(()), |entry| take(entry, Ok(content)))
            }),
        }
    }

    /// Visits the entries of a tar file, with their positions.
    fn each_of_tar(
        &mut self,
        visit: &mut dyn FnMut(usize, &mut TarEntry<'_, '_, '_>) -> Result<(), String>,
    ) -> Result<(), String> {
        let Self::Tar { file, is_compressed } = self else { return Ok(()) };
        file.rewind().map_err(|error| error.to_string())?;
        let content: Box<dyn Read> = match is_compressed {
            true => Box::new(GzDecoder::new(BufReader::new(file))),
            false => Box::new(BufReader::new(file)),
        };
        let mut content = content.take(MAX_UNPACKED);
        let mut visited = Ok(());
        let read = tar::Archive::new(&mut content).entries().and_then(|entries| {
            for (index, entry) in entries.enumerate() {
                visited = visit(index, &mut entry?);
                if visited.is_err() {
                    break;
                }
            }
            Ok(())
        });
        visited?;
        match (content.limit(), read) {
            (0, _) => Err(too_large()),
            (_, Err(error)) => Err(format!("the tar file is damaged: {}", printable_line(&error.to_string()))),
            (_, Ok(())) => Ok(()),
        }
    }

    /// Entries that are archives by content.
    pub(super) fn archives(&mut self, entries: &[Entry]) -> Result<Vec<Entry>, String> {
        let files: Vec<&Entry> =
            entries.iter().filter(|entry| entry.kind == Kind::File).take(MAX_ENTRIES / 20).collect();
        let mut archives = Vec::new();
        self.read(&files, &mut |entry, content| {
            let mut start = Vec::new();
            if let Ok(content) = content {
                // An unreadable file cannot be opened as an archive anyway.
                let _ = content.take(4 * START as u64).read_to_end(&mut start);
            }
            let name = entry.names.last().map_or("", String::as_str);
            archives.extend(Content::of(name, &start).is_archive().then(|| entry.clone()));
            Ok(())
        })?;
        archives.sort_by(|a, b| a.names.cmp(&b.names));
        Ok(archives)
    }

    /// Opens an archive within this folder or archive.
    pub(super) fn open_archive(&mut self, entry: &Entry) -> Result<Self, String> {
        let name = entry.names.last().map_or("", String::as_str);
        if let Self::Folder { files, .. } = self {
            let file = File::open(&files[entry.index]).map_err(|error| error.to_string())?;
            return Self::of_file(file, name);
        }
        let mut copy = tempfile::tempfile().map_err(|error| error.to_string())?;
        self.read(&[entry], &mut |_, content| {
            let copied =
                io::copy(&mut content?.take(MAX_UNPACKED + 1), &mut copy).map_err(|error| error.to_string())?;
            if copied > MAX_UNPACKED { Err(too_large()) } else { Ok(()) }
        })?;
        copy.rewind().map_err(|error| error.to_string())?;
        Self::of_file(copy, name)
    }
}

fn too_many_entries() -> String {
    format!("it has more than {MAX_ENTRIES} files")
}

fn too_large() -> String {
    format!("unpacked, it is larger than {} MiB", MAX_UNPACKED >> 20)
}

/// Whether a ZIP file lists more than [`MAX_LISTED`] entries. Counts the headers in the file,
/// because the ZIP reader would keep all entries in memory.
fn has_too_many_listed(file: &mut File) -> io::Result<bool> {
    const HEADER: &[u8] = b"PK\x01\x02";
    if file.metadata()?.len() < MAX_LISTED as u64 * MIN_LISTED {
        return Ok(false);
    }
    let (mut bytes, mut headers) = (vec![0; 1 << 20], 0);
    let mut kept = 0;
    loop {
        let read = file.read(&mut bytes[kept..])?;
        let end = kept + read;
        headers += memchr::memmem::find_iter(&bytes[..end], HEADER).count();
        if read == 0 || headers > MAX_LISTED {
            file.rewind()?;
            return Ok(headers > MAX_LISTED);
        }
        // A header may begin at the end of the block.
        kept = end.min(HEADER.len() - 1);
        bytes.copy_within(end - kept..end, 0);
    }
}

/// The files and links below a folder.
fn files_of(root: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut files, mut folders, mut entries) = (Vec::new(), vec![root.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        let failed = |error: io::Error| {
            let name = folder.strip_prefix(root).unwrap_or(&folder).to_string_lossy();
            format!("{}: {error}", printable_line(&name))
        };
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            entries += 1;
            if entries > MAX_ENTRIES {
                return Err(too_many_entries());
            }
            let (kind, path) = (entry.file_type().map_err(failed)?, entry.path());
            let names: Vec<String> = (path.strip_prefix(root).unwrap_or(&path).iter())
                .map(|name| name.to_string_lossy().into_owned())
                .collect();
            if kind.is_dir() {
                // A build folder has more files than the limit allows.
                if !is_noise(&names) && names.len() < MAX_DEPTH {
                    folders.push(path);
                }
            } else if kind.is_file() || kind.is_symlink() {
                files.push(path);
            }
        }
    }
    Ok(files)
}

fn entries_of_zip(archive: &mut ZipArchive<BufReader<File>>) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for index in 0..archive.len() {
        let is_noise = |name| is_noise(&entry_of(name, Kind::File, index).names);
        // A build folder has more files than the limit allows.
        if archive.name_for_index(index).is_some_and(is_noise) {
            continue;
        }
        let entry = archive.by_index_raw(index).map_err(|error| error.to_string())?;
        if !entry.is_dir() {
            let kind = if entry.is_symlink() { Kind::Link } else { Kind::File };
            entries.push(entry_of(entry.name(), kind, index));
        }
        if entries.len() > MAX_ENTRIES {
            return Err(too_many_entries());
        }
    }
    Ok(entries)
}

/// Creates an entry of an archive. Some Windows programs separate names with `\`.
fn entry_of(path: &str, kind: Kind, index: usize) -> Entry {
    let is_windows_path = path.as_bytes().get(1) == Some(&b':');
    let names: Vec<String> =
        path.split(['/', '\\']).filter(|name| !matches!(*name, "" | ".")).map(str::to_owned).collect();
    let leads_out = path.starts_with(['/', '\\']) || is_windows_path || names.iter().any(|name| name == "..");
    let kind = if leads_out { Kind::Outside } else { kind };
    Entry { names, kind, index }
}

/// Whether a file was not made by the student: files from Finder, Explorer and cargo, and version
/// control.
fn is_noise(names: &[String]) -> bool {
    let is_added = |name: &String| {
        name.starts_with("._") || matches!(name.as_str(), "__MACOSX" | ".DS_Store" | "Thumbs.db" | "desktop.ini")
    };
    // A module may be named `target`.
    let before_sources = names.iter().take_while(|name| *name != "src");
    names.iter().any(is_added) || before_sources.clone().any(|name| matches!(name.as_str(), "target" | ".git"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grade_tells_archives_by_their_content() {
        let mut tar = vec![0; START];
        tar[257..262].copy_from_slice(b"ustar");
        let compressed = |content: &[u8]| {
            let mut bytes = Vec::new();
            flate2::read::GzEncoder::new(content, flate2::Compression::fast()).read_to_end(&mut bytes).unwrap();
            bytes
        };
        for (name, start, expected) in [
            ("homework", b"PK\x03\x04".to_vec(), Content::Zip),
            ("homework.ZIP", b"no archive".to_vec(), Content::Zip),
            ("homework.zip", compressed(&tar), Content::CompressedTar),
            ("homework.tgz", compressed(b"text"), Content::OtherArchive("a gzip file without a tar file in it")),
            ("homework.tar", tar, Content::Tar),
            ("homework.zip", b"7z\xbc\xaf\x27\x1c".to_vec(), Content::OtherArchive("a 7z archive")),
            ("homework.RAR", b"old".to_vec(), Content::OtherArchive("a RAR archive")),
            ("hw1.Docx", b"PK\x03\x04".to_vec(), Content::Other("an office document")),
            ("hw1.pdf", b"%PDF-1.7".to_vec(), Content::Other("a PDF file")),
            ("homework.zip", Vec::new(), Content::Other("an empty file")),
        ] {
            assert_eq!(Content::of(name, &start), expected, "{name}");
        }
    }

    #[test]
    fn grade_reads_no_path_that_leads_out_of_the_archive() {
        for (path, expected) in [
            (r"homework\utils\src\lists.rs", Kind::File),
            ("./utils/src/lists.rs", Kind::File),
            ("../utils/src/lists.rs", Kind::Outside),
            ("a/../../utils/src/lists.rs", Kind::Outside),
            ("/utils/src/lists.rs", Kind::Outside),
            (r"C:\utils\src\lists.rs", Kind::Outside),
        ] {
            assert_eq!(entry_of(path, Kind::File, 0).kind, expected, "{path}");
        }
    }

    #[test]
    fn grade_does_not_list_what_systems_and_compilers_add() {
        for (path, expected) in [
            ("__MACOSX/utils/src/._lists.rs", true),
            ("utils/src/._lists.rs", true),
            (".DS_Store", true),
            ("target/debug/build/x.rs", true),
            ("utils/src/target/lists.rs", false),
            ("utils/src/lists.rs", false),
        ] {
            assert_eq!(is_noise(&entry_of(path, Kind::File, 0).names), expected, "{path}");
        }
    }
}
