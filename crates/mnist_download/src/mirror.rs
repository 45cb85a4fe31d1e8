//! The download of one file from one mirror. Only this module uses the HTTP client.

use std::fs::File;
use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

use super::error::MirrorFailure;
use super::{BUFFER_BYTES, DownloadEvent, Downloader, RemoteFile};

/// The HTTP client, shared by all requests of one [`Downloader::fetch_all`].
pub(super) struct Client<'a> {
    settings: &'a Downloader,
    agent: ureq::Agent,
}

/// The error of an attempt. After a mirror's failure, the next mirror may help; after a failed
/// write, it cannot.
pub(super) enum ReceiveError {
    Mirror(MirrorFailure),
    Write(io::Error),
}

impl From<MirrorFailure> for ReceiveError {
    fn from(failure: MirrorFailure) -> Self {
        Self::Mirror(failure)
    }
}

impl<'a> Client<'a> {
    pub(super) fn new(settings: &'a Downloader) -> Self {
        let mut config = ureq::Agent::config_builder()
            .timeout_resolve(Some(settings.connect_timeout))
            .timeout_connect(Some(settings.connect_timeout))
            .timeout_recv_response(Some(settings.stall_timeout))
            // Every read and write of the socket restarts these timeouts, so they detect a stall. timeout_recv_body
            // limits the whole body and would fail for a slow but steady mirror.
            .timeout_per_read(Some(settings.stall_timeout))
            .timeout_per_write(Some(settings.stall_timeout));
        if !settings.proxy_from_environment {
            config = config.proxy(None);
        }
        #[cfg(windows)]
        {
            use ureq::tls::{RootCerts, TlsConfig, TlsProvider};
            let system = TlsConfig::builder().provider(TlsProvider::NativeTls).root_certs(RootCerts::PlatformVerifier);
            config = config.tls_config(system.build());
        }
        Self { settings, agent: config.build().new_agent() }
    }

    /// Copies the file from one mirror to `target` and checks it; returns the number of bytes.
    pub(super) fn receive(
        &self,
        mirror: &str,
        file: &RemoteFile,
        target: &mut File,
        progress: &mut dyn FnMut(DownloadEvent<'_>),
    ) -> Result<u64, ReceiveError> {
        let url = format!("{}/{}", mirror.trim_end_matches('/'), file.name);
        let response = self.agent.get(&url).call().map_err(|error| self.request_failure(error))?;
        let body = response.into_body();
        let total = body.content_length();
        progress(DownloadEvent::Started { mirror, total });
        let mut reader = body.into_reader();
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut received = 0;
        loop {
            if received.max(total.unwrap_or(0)) > self.settings.size_limit {
                return Err(MirrorFailure::TooLarge { limit: self.settings.size_limit }.into());
            }
            let count = reader.read(&mut buffer).map_err(|error| self.body_failure(error.into(), received, total))?;
            if count == 0 {
                break;
            }
            received += count as u64;
            hasher.update(&buffer[..count]);
            target.write_all(&buffer[..count]).map_err(ReceiveError::Write)?;
            progress(DownloadEvent::Received { received, total });
        }
        let found = hex::encode(hasher.finalize());
        if !found.eq_ignore_ascii_case(file.sha256) {
            return Err(MirrorFailure::WrongContent { found, expected: file.sha256 }.into());
        }
        Ok(received)
    }

    fn body_failure(&self, error: ureq::Error, received: u64, total: Option<u64>) -> MirrorFailure {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset, UnexpectedEof};
        if let ureq::Error::Io(io_error) = &error
            && matches!(io_error.kind(), ConnectionAborted | ConnectionReset | UnexpectedEof)
        {
            return MirrorFailure::CutOff { received, total };
        }
        self.request_failure(error)
    }

    fn request_failure(&self, error: ureq::Error) -> MirrorFailure {
        use ureq::Timeout;
        match error {
            ureq::Error::StatusCode(status) => MirrorFailure::HttpStatus(status),
            ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
                MirrorFailure::NoConnection(self.settings.connect_timeout)
            }
            ureq::Error::Timeout(_) => MirrorFailure::Stalled(self.settings.stall_timeout),
            other => MirrorFailure::Request(Box::new(other)),
        }
    }
}
