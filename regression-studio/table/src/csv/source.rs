//! A file's text in UTF-8: decompressed if it is gzip, and decoded if it has another encoding.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use encoding_rs::UTF_8;
use encoding_rs_io::DecodeReaderBytesBuilder;
use flate2::bufread::MultiGzDecoder;

use super::error::CsvProblem;
use crate::Encoding;

/// Magic number of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Longest byte order mark.
const MARK: usize = 3;

/// An open file, its decompressor, its decoder and its progress.
pub(super) struct Source {
    bytes: Box<dyn Read + Send>,
    is_gzip: bool,
    encoding: Encoding,
    progress: Progress,
    file: File,
    state: FileState,
}

/// Bytes of the file, before decompression.
struct Progress {
    done: Arc<AtomicU64>,
    total: u64,
}

/// Length and modification time, which reveal a change of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct FileState {
    length: u64,
    modified: Option<SystemTime>,
}

impl Source {
    /// Opens a file. Gzip is recognised by its content, not by the file's name. A byte order mark gives the encoding, or
    /// else what is declared.
    pub(super) fn open(path: &Path, declared: Option<Encoding>) -> Result<Self, CsvProblem> {
        let open = |error: io::Error| match error.kind() {
            ErrorKind::NotFound => CsvProblem::Missing,
            ErrorKind::IsADirectory => CsvProblem::Directory,
            _ => CsvProblem::Io(error),
        };
        // Depending on the system, a directory fails to open or to read.
        if path.is_dir() {
            return Err(CsvProblem::Directory);
        }
        let file = File::open(path).map_err(open)?;
        let metadata = file.metadata().map_err(open)?;
        let done = Arc::new(AtomicU64::new(0));
        let mut counted = Counted { file: file.try_clone().map_err(open)?, done: done.clone() };
        let mut first = Vec::with_capacity(GZIP.len());
        (&mut counted).take(GZIP.len() as u64).read_to_end(&mut first).map_err(open)?;
        let is_gzip = first == GZIP;
        let whole = Cursor::new(first).chain(counted);
        let mut bytes: Box<dyn Read + Send> = match is_gzip {
            true => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole))),
            false => Box::new(whole),
        };
        let mut first = Vec::with_capacity(MARK);
        (&mut bytes).take(MARK as u64).read_to_end(&mut first).map_err(|error| problem(error, is_gzip))?;
        let marked = encoding_rs::Encoding::for_bom(&first).map(|(encoding, _)| Encoding(encoding));
        let encoding = marked.or(declared).unwrap_or_default();
        let whole = Cursor::new(first).chain(bytes);
        let bytes: Box<dyn Read + Send> = match encoding.0 == UTF_8 {
            true => Box::new(whole),
            false => {
                Box::new(DecodeReaderBytesBuilder::new().encoding(Some(encoding.0)).bom_override(true).build(whole))
            }
        };
        let progress = Progress { done, total: metadata.len() };
        Ok(Self { bytes, is_gzip, encoding, progress, file, state: FileState::of(&metadata) })
    }

    /// Appends up to `max` bytes to `buffer`, fewer only at the end of the file. On an error, the bytes read before it
    /// are in `buffer`.
    pub(super) fn read(&mut self, buffer: &mut Vec<u8>, max: usize) -> Result<usize, CsvProblem> {
        buffer.reserve(max);
        (&mut self.bytes).take(max as u64).read_to_end(buffer).map_err(|error| problem(error, self.is_gzip))
    }

    /// The encoding of the file's text.
    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The fraction of the file read so far, 0 … 1; 0 for a pipe, whose length is unknown.
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

/// The problem of a read that failed.
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
    fn of(metadata: &Metadata) -> Self {
        Self { length: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// A reader that counts the bytes read from a file.
struct Counted {
    file: File,
    done: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.done.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
