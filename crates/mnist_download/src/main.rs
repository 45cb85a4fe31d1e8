//! Downloads MNIST's four files to the directory where the programs look for them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use digits::download_directory;
use indicatif::{ProgressBar, ProgressStyle};
use mnist_download::{DownloadEvent, Downloader, MNIST_FILES, RemoteFile};

/// Download MNIST's four files; existing files with the right checksum are kept
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Directory of the files [default: the user's cache directory]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Mirror to download from instead of the two default ones; may be repeated
    #[arg(long, value_name = "URL")]
    mirror: Vec<String>,
}

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| {
        let directory = download_directory(arguments.directory.as_deref());
        download(&directory, &arguments.mirror)?;
        command_line::say!("MNIST is in {}", directory.display());
        Ok(ExitCode::SUCCESS)
    })
}

/// Downloads the files. Shows a progress bar on stderr if it is a terminal, otherwise prints lines.
fn download(directory: &Path, mirrors: &[String]) -> Result<()> {
    let mut downloader = Downloader::default();
    if !mirrors.is_empty() {
        downloader.mirrors = mirrors.to_vec();
    }
    let template = "{msg} {wide_bar} {bytes} of {total_bytes}, {eta} left";
    let bar = ProgressBar::no_length();
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut report = |file: &RemoteFile, event: DownloadEvent| {
        let name = file.name;
        let say = |line: String| bar.suspend(|| command_line::note!("{line}"));
        match event {
            DownloadEvent::AlreadyPresent => say(format!("{name}: exists already")),
            DownloadEvent::WrongContentPresent { .. } => {
                say(format!("{name}: exists with a wrong checksum; downloading it again"));
            }
            DownloadEvent::Started { mirror, total } => {
                bar.reset();
                bar.set_message(name);
                bar.set_length(total.unwrap_or(0));
                if bar.is_hidden() {
                    say(format!("{name}: downloading from {mirror}"));
                }
            }
            DownloadEvent::Received { received, .. } => bar.set_position(received),
            DownloadEvent::MirrorFailed(attempt) => say(format!("{name}: {attempt}")),
            DownloadEvent::Finished { received } => say(format!("{name}: {received} bytes, checksum correct")),
        }
    };
    let fetched = downloader.fetch_all(&MNIST_FILES, directory, &mut report);
    bar.finish_and_clear();
    fetched?;
    Ok(())
}
