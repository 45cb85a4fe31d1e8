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
    #[error("cannot create the directory {}", path.display())]
    CreateDirectory { path: PathBuf, source: io::Error },
    #[error("cannot read {}", path.display())]
    ReadFile { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    WriteFile { path: PathBuf, source: io::Error },
    #[error(
        "cannot download {name}: {}; try again later, or put the file into {} by hand",
        attempts_line(attempts),
        directory.display()
    )]
    AllMirrorsFailed { name: &'static str, directory: PathBuf, attempts: Vec<FailedAttempt> },
}

/// A mirror that was tried in vain.
#[derive(Debug, thiserror::Error)]
#[error("{mirror} ({failure})")]
pub struct FailedAttempt {
    pub mirror: String,
    pub failure: MirrorFailure,
}

/// What went wrong at one mirror.
#[derive(Debug, thiserror::Error)]
pub enum MirrorFailure {
    #[error("HTTP status {0}")]
    HttpStatus(u16),
    #[error("no connection within {0:?}")]
    NoConnection(Duration),
    #[error("no data for {0:?}")]
    Stalled(Duration),
    #[error("cut off after {received}{} bytes", of_total(*total))]
    CutOff { received: u64, total: Option<u64> },
    #[error("larger than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("wrong content: SHA-256 {found:.12}… instead of {expected:.12}…")]
    WrongContent { found: String, expected: &'static str },
    /// Whatever else keeps a request from its answer: an unknown host, a refused connection, an
    /// untrusted certificate.
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
