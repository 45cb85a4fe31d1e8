//! A file's text in UTF-8: gzip is decompressed, and other encodings are decoded.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use encoding_rs::UTF_8;
use encoding_rs_io::DecodeReaderBytesBuilder;
use flate2::bufread::MultiGzDecoder;

use super::error::CsvProblem;
use super::{detect, foreign};
use crate::Encoding;

/// Magic number of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Number of bytes at the start of a file that reveal its format and, if they suffice, its
/// encoding. A pipe cannot be read again, so they decide its encoding.
const HEAD: u64 = 1 << 16;
const HEAD_OF_PIPE: u64 = 1 << 20;

/// Maximum number of nested compressions.
const MAX_GZIP: usize = 4;

/// An open file, its decompressor, its decoder and its progress.
pub(super) struct Source {
    bytes: Box<dyn Read + Send>,
    compressions: usize,
    encoding: Encoding,
    basis: Basis,
    progress: Progress,
    file: File,
    state: FileState,
}

/// Why a text is assumed to have its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// The file has a byte order mark.
    Mark,
    /// The encoding is declared, known from an earlier pass, or the text is a sheet.
    Known,
    /// The encoding was guessed from the whole file, or from the start of a pipe.
    Guess,
    /// The first bytes are UTF-8.
    Assumption,
}

/// Bytes of the file, before decompression.
struct Progress {
    done: Arc<AtomicU64>,
    total: u64,
}

/// Length and modification time. They reveal changes of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct FileState {
    length: u64,
    modified: Option<SystemTime>,
}

impl Source {
    /// Opens a file. Gzip is recognized by its content, not by the file's name. The encoding comes
    /// from a byte order mark, or else from `known`, or else from the text. `unless_utf8` replaces
    /// a guess.
    ///
    /// # Errors
    /// If the file cannot be read, or has another format than CSV.
    pub(super) fn open(
        path: &Path,
        known: Option<Encoding>,
        unless_utf8: Option<Encoding>,
    ) -> Result<Self, CsvProblem> {
        let Opened { mut bytes, compressions, file, state, done } = Opened::of(path)?;
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        let mut head = Vec::new();
        let length = if is_file { HEAD } else { HEAD_OF_PIPE };
        (&mut bytes).take(length).read_to_end(&mut head).map_err(|error| problem(error, compressions > 0))?;
        foreign::check(&head)?;
        let marked = encoding_rs::Encoding::for_bom(&head).map(|(encoding, _)| Encoding(encoding));
        let (encoding, basis) = match (marked, known) {
            (Some(encoding), _) => (encoding, Basis::Mark),
            (None, Some(encoding)) => (encoding, Basis::Known),
            (None, None) if !detect::may_be_other(&head) => (Encoding::default(), Basis::Assumption),
            (None, None) if is_file => (Self::detected(path, unless_utf8)?, Basis::Guess),
            (None, None) => (detect::encoding(&*head, unless_utf8), Basis::Guess),
        };
        let whole = Cursor::new(head).chain(bytes);
        let bytes: Box<dyn Read + Send> = match encoding.0 == UTF_8 {
            true => Box::new(whole),
            false => {
                Box::new(DecodeReaderBytesBuilder::new().encoding(Some(encoding.0)).bom_override(true).build(whole))
            }
        };
        let progress = Progress { done, total: state.length };
        Ok(Self { bytes, compressions, encoding, basis, progress, file, state })
    }

    /// The text of a workbook's sheet. `file` is the open workbook, and `state` its state when it
    /// was read.
    ///
    /// # Errors
    /// If the file cannot be opened again.
    pub(super) fn of_sheet(text: &Arc<[u8]>, file: &File, state: FileState) -> Result<Self, CsvProblem> {
        let file = file.try_clone().map_err(CsvProblem::Io)?;
        let bytes = Box::new(Cursor::new(Arc::clone(text)));
        // The file has already been read.
        let progress = Progress { done: Arc::new(AtomicU64::new(1)), total: 1 };
        Ok(Self { bytes, compressions: 0, encoding: Encoding::default(), basis: Basis::Known, progress, file, state })
    }

    /// The encoding of a file's text, guessed from the whole text.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub(super) fn detected(path: &Path, unless_utf8: Option<Encoding>) -> Result<Encoding, CsvProblem> {
        Ok(detect::encoding(Opened::of(path)?.bytes, unless_utf8))
    }

    /// Appends up to `max` bytes to `buffer`; fewer only at the end of the file. If an error
    /// occurs, the bytes read before it are in `buffer`.
    pub(super) fn read(&mut self, buffer: &mut Vec<u8>, max: usize) -> Result<usize, CsvProblem> {
        buffer.reserve(max);
        (&mut self.bytes).take(max as u64).read_to_end(buffer).map_err(|error| problem(error, self.compressions > 0))
    }

    /// The encoding of the file's text.
    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Why the text is assumed to have this encoding.
    pub(super) fn basis(&self) -> Basis {
        self.basis
    }

    /// How many times the file is compressed.
    pub(super) fn compressions(&self) -> usize {
        self.compressions
    }

    /// The fraction of the file read so far, 0 … 1; 0 for a pipe, since its length is unknown.
    pub(super) fn fraction(&self) -> f32 {
        match self.progress.total {
            0 => 0.0,
            total => (self.progress.done.load(Ordering::Relaxed) as f64 / total as f64).min(1.0) as f32,
        }
    }

    /// Whether the file can be read a second time; false for a pipe.
    pub(super) fn is_repeatable(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.is_file())
    }

    /// The file's state when it was opened.
    pub(super) fn state(&self) -> FileState {
        self.state
    }

    /// Whether the file was modified since it was opened; false for a pipe.
    pub(super) fn has_changed(&self) -> bool {
        self.is_repeatable() && !self.file.metadata().is_ok_and(|metadata| FileState::of(&metadata) == self.state)
    }
}

/// A file's bytes, decompressed.
struct Opened {
    bytes: Box<dyn Read + Send>,
    compressions: usize,
    file: File,
    state: FileState,
    /// Number of bytes read from the file.
    done: Arc<AtomicU64>,
}

impl Opened {
    fn of(path: &Path) -> Result<Self, CsvProblem> {
        let open = |error: io::Error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::InvalidFilename if foreign::is_of_windows(path) => CsvProblem::WindowsPath,
            ErrorKind::NotFound => CsvProblem::Missing,
            ErrorKind::IsADirectory => CsvProblem::Directory,
            _ => CsvProblem::Io(error),
        };
        // Depending on the system, a directory fails to open or fails to read.
        if path.is_dir() {
            return Err(CsvProblem::Directory);
        }
        let file = File::open(path).map_err(open)?;
        let metadata = file.metadata().map_err(open)?;
        let done = Arc::new(AtomicU64::new(0));
        let counted = Counted { file: file.try_clone().map_err(open)?, done: done.clone() };
        let (mut bytes, mut compressions): (Box<dyn Read + Send>, _) = (Box::new(counted), 0);
        loop {
            let mut first = Vec::with_capacity(GZIP.len());
            let read = (&mut bytes).take(GZIP.len() as u64).read_to_end(&mut first);
            read.map_err(|error| if compressions == 0 { open(error) } else { problem(error, true) })?;
            let is_gzip = first == GZIP && compressions < MAX_GZIP;
            let whole = Cursor::new(first).chain(bytes);
            if !is_gzip {
                return Ok(Self { bytes: Box::new(whole), compressions, file, state: FileState::of(&metadata), done });
            }
            bytes = Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole)));
            compressions += 1;
        }
    }
}

/// The problem behind a failed read.
fn problem(error: io::Error, is_gzip: bool) -> CsvProblem {
    match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof if is_gzip => {
            CsvProblem::Gzip(error)
        }
        ErrorKind::IsADirectory => CsvProblem::Directory,
        _ => CsvProblem::Io(error),
    }
}

impl FileState {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { length: metadata.len(), modified: metadata.modified().ok() }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }
}

/// A reader that counts the bytes read from a file.
pub(super) struct Counted {
    pub(super) file: File,
    pub(super) done: Arc<AtomicU64>,
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.done.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
