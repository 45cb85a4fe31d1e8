//! The bytes of a file, unpacked if they are packed.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use flate2::bufread::MultiGzDecoder;

use super::CsvProblem;

/// What the first bytes of a gzip file are.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A file that is being read.
pub(super) struct Source {
    bytes: Box<dyn Read + Send>,
    packed: bool,
    progress: Progress,
    file: File,
    state: FileState,
}

/// How far a file is read.
struct Progress {
    done: Arc<AtomicU64>,
    total: u64,
}

/// What tells that somebody wrote to a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct FileState {
    length: u64,
    modified: Option<SystemTime>,
}

impl Source {
    /// Opens a file; its content tells whether it is packed, not its name.
    pub(super) fn open(path: &Path) -> Result<Self, CsvProblem> {
        let open = |error: io::Error| match error.kind() {
            ErrorKind::NotFound => CsvProblem::Missing,
            ErrorKind::IsADirectory => CsvProblem::Directory,
            _ => CsvProblem::Io(error),
        };
        // Some systems do not open folders, others do not read them.
        if path.is_dir() {
            return Err(CsvProblem::Directory);
        }
        let file = File::open(path).map_err(open)?;
        let metadata = file.metadata().map_err(open)?;
        let done = Arc::new(AtomicU64::new(0));
        let mut counted = Counted { file: file.try_clone().map_err(open)?, done: done.clone() };
        let mut first = Vec::with_capacity(GZIP.len());
        (&mut counted).take(GZIP.len() as u64).read_to_end(&mut first).map_err(open)?;
        let packed = first == GZIP;
        let whole = Cursor::new(first).chain(counted);
        let bytes: Box<dyn Read + Send> = match packed {
            true => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole))),
            false => Box::new(whole),
        };
        let progress = Progress { done, total: metadata.len() };
        Ok(Self { bytes, packed, progress, file, state: FileState::of(&metadata) })
    }

    /// Adds up to `most` bytes to `buffer`; fewer only at the end or where an error is, which comes after what could be
    /// read before it.
    pub(super) fn read(&mut self, buffer: &mut Vec<u8>, most: usize) -> Result<usize, CsvProblem> {
        buffer.reserve(most);
        (&mut self.bytes).take(most as u64).read_to_end(buffer).map_err(|error| match error.kind() {
            ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof if self.packed => {
                CsvProblem::Gzip(error)
            }
            ErrorKind::IsADirectory => CsvProblem::Directory,
            _ => CsvProblem::Io(error),
        })
    }

    /// The share of the file that is read, 0 … 1; 0 of a pipe, whose length nobody knows.
    pub(super) fn share(&self) -> f32 {
        match self.progress.total {
            0 => 0.0,
            total => (self.progress.done.load(Ordering::Relaxed) as f64 / total as f64).min(1.0) as f32,
        }
    }

    /// Whether the file can be opened and read a second time, as a pipe cannot.
    pub(super) fn is_repeatable(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.is_file())
    }

    /// The file as it was when it was opened.
    pub(super) fn state(&self) -> FileState {
        self.state
    }

    /// Whether somebody wrote to the file since it was opened.
    pub(super) fn has_changed(&self) -> bool {
        self.is_repeatable() && !self.file.metadata().is_ok_and(|metadata| FileState::of(&metadata) == self.state)
    }
}

impl FileState {
    fn of(metadata: &Metadata) -> Self {
        Self { length: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// A file that counts what is read of it.
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
