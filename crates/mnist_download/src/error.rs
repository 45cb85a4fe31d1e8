//! Errors of a download, on this machine or at a mirror.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The error of [`Downloader::fetch_all`](super::Downloader::fetch_all).
///
/// The messages of the I/O variants name the path; the cause is their [`source`](Error::source).
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// The directory does not exist and cannot be created.
    #[error("cannot create the directory {}", path.display())]
    CreateDirectory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// An existing file cannot be read.
    #[error("cannot read {}", path.display())]
    ReadFile {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file cannot be written, for example because the disk is full.
    #[error("cannot write {}", path.display())]
    WriteFile {
        /// The file.
        path: PathBuf,
        /// The cause.
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
        /// The target directory.
        directory: PathBuf,
        /// The failures, in the order in which the mirrors were tried.
        attempts: Vec<FailedAttempt>,
    },
}

/// A failed download from one mirror.
#[derive(Debug, thiserror::Error)]
#[error("{mirror} ({failure})")]
pub struct FailedAttempt {
    /// The mirror's base URL.
    pub mirror: String,
    /// The cause.
    pub failure: MirrorFailure,
}

/// The cause of a failed download from one mirror.
#[derive(Debug, thiserror::Error)]
pub enum MirrorFailure {
    /// The mirror answered with an error status, such as 404.
    #[error("HTTP status {0}")]
    HttpStatus(u16),
    /// The connect timeout expired.
    #[error("no connection within {0:?}")]
    NoConnection(Duration),
    /// The stall timeout expired.
    #[error("no data for {0:?}")]
    Stalled(Duration),
    /// The connection ended before the file did.
    #[error("cut off after {received}{} bytes", of_total(*total))]
    CutOff {
        /// Number of bytes received.
        received: u64,
        /// The file's size in bytes, if the mirror stated it.
        total: Option<u64>,
    },
    /// The file exceeds the size limit.
    #[error("larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The SHA-256 differs.
    #[error("wrong content: SHA-256 {found:.12}… instead of {expected:.12}…")]
    WrongContent {
        /// The SHA-256 of the received content.
        found: String,
        /// The known SHA-256 of the file.
        expected: &'static str,
    },
    /// Any other error of the request: an unknown host, a refused connection, an untrusted certificate.
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

/// " of TOTAL", or nothing if the total is unknown.
fn of_total(total: Option<u64>) -> String {
    total.map(|total| format!(" of {total}")).unwrap_or_default()
}
