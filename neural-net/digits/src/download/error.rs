//! Why a download fails: here, or at a mirror.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why not all files could be brought into the directory.
///
/// The messages of the I/O variants name the path; the cause is their
/// [`source`](Error::source).
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// The directory is not there and cannot be made.
    #[error("cannot create the directory {}", path.display())]
    CreateDirectory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that is there cannot be checked.
    #[error("cannot read {}", path.display())]
    ReadFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written, for example because the disk is full.
    #[error("cannot write {}", path.display())]
    WriteFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No mirror delivered a file.
    #[error(
        "cannot download {name}: {}; try again later, or put the file into {} by hand",
        attempts_line(attempts),
        directory.display()
    )]
    AllMirrorsFailed {
        /// The file's name.
        name: &'static str,
        /// Where it should have gone.
        directory: PathBuf,
        /// What went wrong at each mirror, in the order they were tried.
        attempts: Vec<FailedAttempt>,
    },
}

/// A mirror that was tried in vain.
#[derive(Debug, thiserror::Error)]
#[error("{mirror} ({failure})")]
pub struct FailedAttempt {
    /// The mirror's base URL.
    pub mirror: String,
    /// What went wrong.
    pub failure: MirrorFailure,
}

/// What went wrong at one mirror.
#[derive(Debug, thiserror::Error)]
pub enum MirrorFailure {
    /// It answered with an error, such as 404.
    #[error("HTTP status {0}")]
    HttpStatus(u16),
    /// It could not be reached in time.
    #[error("no connection within {0:?}")]
    NoConnection(Duration),
    /// It fell silent.
    #[error("no data for {0:?}")]
    Stalled(Duration),
    /// The connection ended before the file did.
    #[error("cut off after {received}{} bytes", of_total(*total))]
    CutOff {
        /// Bytes that came.
        received: u64,
        /// Of how many, where that is known.
        total: Option<u64>,
    },
    /// More came than a file of MNIST has.
    #[error("larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// Something else came.
    #[error("wrong content: SHA-256 {found:.12}… instead of {expected:.12}…")]
    WrongContent {
        /// The SHA-256 of what came.
        found: String,
        /// The SHA-256 of the file.
        expected: &'static str,
    },
    /// Whatever else keeps a request from its answer: an unknown host, a refused connection, an untrusted certificate.
    #[error(transparent)]
    Request(Box<dyn Error + Send + Sync>),
}

/// All failures in one line, in the order of the attempts.
fn attempts_line(attempts: &[FailedAttempt]) -> String {
    if attempts.is_empty() {
        return "no mirror is configured".to_string();
    }
    attempts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The total that a number of received bytes is set against, where it is known.
fn of_total(total: Option<u64>) -> String {
    total.map(|total| format!(" of {total}")).unwrap_or_default()
}
