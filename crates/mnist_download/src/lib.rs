//! The download of MNIST's four files from public mirrors, verified by their SHA-256 digests.
//!
//! A file appears under its own name only when it is complete and verified. The body is written to
//! a temporary file in the same directory, hashed at the same time, and renamed over the target at
//! the end. (Only a killed process leaves its temporary file behind; the next download removes it.)
//! Nothing is printed; a callback receives each step as a [`DownloadEvent`].

mod error;
mod mirror;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};
use whole_files::Replacement;

use mirror::{Client, ReceiveError};

pub use error::{DownloadError, FailedAttempt, MirrorFailure};

/// MNIST as published by its authors: training and test images and labels, gzip-compressed IDX files.
pub const MNIST_FILES: [RemoteFile; 4] = [
    RemoteFile {
        name: "train-images-idx3-ubyte.gz",
        sha256: "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    },
    RemoteFile {
        name: "train-labels-idx1-ubyte.gz",
        sha256: "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    },
    RemoteFile {
        name: "t10k-images-idx3-ubyte.gz",
        sha256: "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    },
    RemoteFile {
        name: "t10k-labels-idx1-ubyte.gz",
        sha256: "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    },
];

/// The mirrors of [`MNIST_FILES`], in the order in which they are tried.
pub const MNIST_MIRRORS: [&str; 2] =
    ["https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"];

/// One file to download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteFile {
    /// A plain file name: the last part of the URL and the name in the directory.
    pub name: &'static str,
    /// SHA-256 of the content, 64 hexadecimal digits.
    pub sha256: &'static str,
}

/// The mirrors, timeouts and limits of a download. Plain data, meant for struct update syntax.
///
/// ```no_run
/// use std::{path::Path, time::Duration};
/// use mnist_download::{Downloader, MNIST_FILES};
///
/// let downloader = Downloader { stall_timeout: Duration::from_secs(5), ..Downloader::default() };
/// downloader.fetch_all(&MNIST_FILES, Path::new("data/mnist"), &mut |_file, _progress| {})?;
/// # Ok::<(), mnist_download::DownloadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloader {
    /// Base URLs, `https://` or `http://`, tried in order for each file.
    pub mirrors: Vec<String>,
    /// The timeout for resolving the host name, and separately for connecting, including TLS.
    pub connect_timeout: Duration,
    /// The timeout of one read or write. An attempt fails if a mirror sends no byte for this long.
    /// The headers must be complete within this time; the total time of a body is not limited.
    pub stall_timeout: Duration,
    /// Maximum size of a file in bytes.
    pub size_limit: u64,
    /// Whether `ALL_PROXY`, `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` are used.
    pub proxy_from_environment: bool,
}

/// A step of [`Downloader::fetch_all`] for one file.
#[derive(Debug)]
pub enum DownloadEvent<'a> {
    /// The file already exists with the right content, so nothing is downloaded.
    AlreadyPresent,
    /// The file exists with different content. It stays until the right one is complete.
    WrongContentPresent {
        /// Its SHA-256, 64 hexadecimal digits.
        found: &'a str,
    },
    /// A mirror has answered.
    Started {
        /// The mirror's base URL.
        mirror: &'a str,
        /// The file's size in bytes, if the mirror states it.
        total: Option<u64>,
    },
    /// A part of the body was received.
    Received {
        /// Number of bytes so far.
        received: u64,
        /// The file's size in bytes, if the mirror states it.
        total: Option<u64>,
    },
    /// A mirror failed. The next one is tried, if any.
    MirrorFailed(&'a FailedAttempt),
    /// The file is complete, verified and renamed.
    Finished {
        /// Its size in bytes.
        received: u64,
    },
}

/// The result of [`Downloader::fetch_all`] for one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DownloadOutcome {
    /// The file existed with the right content.
    AlreadyPresent,
    /// The file did not exist and was downloaded.
    Downloaded,
    /// The file existed with different content and was replaced.
    Replaced,
}

impl Default for Downloader {
    /// [`MNIST_MIRRORS`], a connect timeout of 10 s, a stall timeout of 30 s, at most 64 MiB, and
    /// the environment's proxy.
    fn default() -> Self {
        Self {
            mirrors: MNIST_MIRRORS.map(String::from).to_vec(),
            connect_timeout: Duration::from_secs(10),
            stall_timeout: Duration::from_secs(30),
            size_limit: 64 * 1024 * 1024,
            proxy_from_environment: true,
        }
    }
}

impl Downloader {
    /// Downloads all `files` to `directory`, which is created if missing. Returns one outcome per
    /// file, in the same order.
    ///
    /// An existing file with the right digest is kept. Each other file is requested from the
    /// mirrors in order until one delivers it.
    ///
    /// # Errors
    ///
    /// Stops at the first file that no mirror delivers, or that cannot be read or written. The
    /// files before it are complete, so a later call resumes after them. No partial file remains,
    /// and an existing file of that name is untouched.
    pub fn fetch_all(
        &self,
        files: &[RemoteFile],
        directory: &Path,
        progress: &mut dyn FnMut(&RemoteFile, DownloadEvent<'_>),
    ) -> Result<Vec<DownloadOutcome>, DownloadError> {
        whole_files::create_directory(directory)
            .map_err(|source| DownloadError::CreateDirectory { path: directory.to_path_buf(), source })?;
        let client = Client::new(self);
        files.iter().map(|file| self.fetch(&client, file, directory, &mut |event| progress(file, event))).collect()
    }

    fn fetch(
        &self,
        client: &Client<'_>,
        file: &RemoteFile,
        directory: &Path,
        progress: &mut dyn FnMut(DownloadEvent<'_>),
    ) -> Result<DownloadOutcome, DownloadError> {
        let path = directory.join(file.name);
        let outcome = match sha256_of_file(&path)? {
            Some(found) if found.eq_ignore_ascii_case(file.sha256) => {
                progress(DownloadEvent::AlreadyPresent);
                return Ok(DownloadOutcome::AlreadyPresent);
            }
            Some(found) => {
                progress(DownloadEvent::WrongContentPresent { found: &found });
                DownloadOutcome::Replaced
            }
            None => DownloadOutcome::Downloaded,
        };
        let mut attempts = Vec::new();
        for mirror in &self.mirrors {
            let mut replacement = Replacement::begin(&path).map_err(cannot_write(&path))?;
            match client.receive(mirror, file, replacement.file(), progress) {
                Ok(received) => {
                    replacement.commit().map_err(cannot_write(&path))?;
                    progress(DownloadEvent::Finished { received });
                    return Ok(outcome);
                }
                Err(ReceiveError::Write(source)) => return Err(cannot_write(&path)(source)),
                Err(ReceiveError::Mirror(failure)) => {
                    let attempt = FailedAttempt { mirror: mirror.clone(), failure };
                    progress(DownloadEvent::MirrorFailed(&attempt));
                    attempts.push(attempt);
                }
            }
        }
        Err(DownloadError::AllMirrorsFailed { name: file.name, directory: directory.to_path_buf(), attempts })
    }
}

/// The SHA-256 of the file at `path`, or `None` if it does not exist.
fn sha256_of_file(path: &Path) -> Result<Option<String>, DownloadError> {
    let cannot_read = |source| DownloadError::ReadFile { path: path.to_path_buf(), source };
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(cannot_read)?,
    };
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match file.read(&mut buffer).map_err(cannot_read)? {
            0 => return Ok(Some(hex::encode(hasher.finalize()))),
            count => hasher.update(&buffer[..count]),
        }
    }
}

fn cannot_write(path: &Path) -> impl Fn(io::Error) -> DownloadError {
    move |source| DownloadError::WriteFile { path: path.to_path_buf(), source }
}

const BUFFER_BYTES: usize = 64 * 1024;
