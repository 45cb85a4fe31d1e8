//! `cargo xtask skipped`: counts the tests that a run skipped and checks that each skip is allowed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use command_line::CHECK_FAILED;
use command_line::say;
use test_support::{Need, Skip};

/// Options of `cargo xtask skipped`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The file that `SKIPPED_TESTS` named during the tests
    file: PathBuf,
    /// File with the needs for which tests may be skipped, one per line; `#` begins a comment
    #[arg(long, value_name = "FILE")]
    allowed: Option<PathBuf>,
    /// Need for which tests may be skipped; may be repeated
    #[arg(long, value_name = "NEED", value_parser = need)]
    allow: Vec<Need>,
}

/// Prints the number of skipped tests for each need. With a list or `--allow`, a skip for any other
/// need is a failure.
///
/// # Errors
/// If a file cannot be read, or has a malformed line.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let skips = test_support::read(&options.file)
        .with_context(|| format!("cannot read the skipped tests in {}", options.file.display()))?;
    say!("{}", test_support::summary(&skips));
    let mut allowed = options.allow.clone();
    match &options.allowed {
        Some(list) => allowed.extend(listed(list)?),
        None if allowed.is_empty() => return Ok(ExitCode::SUCCESS),
        None => {}
    }
    let rejected = skips.iter().filter(|skip| !allowed.contains(&skip.need)).collect::<Vec<_>>();
    for Skip { need, test, reason } in &rejected {
        say!("[-] {test} must not be skipped, since {need} is not on the list: {reason}");
    }
    Ok(if rejected.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

/// The needs in a file.
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
        format!("{name:?} is not a test's need: use one of {}", names.join(", "))
    })
}
