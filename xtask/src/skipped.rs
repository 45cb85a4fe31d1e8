//! `cargo xtask skipped`: the tests that a run skipped, and whether each may be.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use test_skips::{Need, Skip};
use timing::program::CHECK_FAILED;
use timing::say;

/// What to read.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The file that `SKIPPED_TESTS` named while the tests ran
    file: PathBuf,
    /// A list of the needs for which tests may be skipped, one a line; `#` begins a comment
    #[arg(long, value_name = "FILE")]
    allowed: Option<PathBuf>,
    /// One more such need
    #[arg(long, value_name = "NEED", value_parser = need)]
    allow: Vec<Need>,
}

/// Prints the count of skipped tests for each need. With a list or `--allow`, every other need is a failure.
///
/// # Errors
/// If a file cannot be read, or is something else.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let skips = test_skips::read(&options.file)
        .with_context(|| format!("cannot read the skipped tests in {}", options.file.display()))?;
    say!("{}", test_skips::summary(&skips));
    let mut allowed = options.allow.clone();
    match &options.allowed {
        Some(list) => allowed.extend(listed(list)?),
        None if allowed.is_empty() => return Ok(ExitCode::SUCCESS),
        None => {}
    }
    let refused = skips.iter().filter(|skip| !allowed.contains(&skip.need)).collect::<Vec<_>>();
    for Skip { need, test, reason } in &refused {
        say!("[-] {test} must not be skipped, since {need} is not on the list: {reason}");
    }
    Ok(if refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// The needs that a file lists.
fn listed(file: &Path) -> Result<Vec<Need>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut needs = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let name = line.split('#').next().unwrap_or_default().trim();
        if !name.is_empty() {
            needs.push(need(name).map_err(|error| anyhow!("{}:{number}: {error}", file.display()))?);
        }
    }
    Ok(needs)
}

fn need(name: &str) -> Result<Need, String> {
    Need::ALL.into_iter().find(|need| need.to_string() == name).ok_or_else(|| {
        let names = Need::ALL.map(|need| need.to_string());
        format!("{name:?} is no need of a test: use one of {}", names.join(", "))
    })
}
