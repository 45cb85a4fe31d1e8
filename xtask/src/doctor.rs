//! `cargo xtask doctor`: lists which of the workspace's requirements this machine meets or lacks,
//! and the command that fixes each.

mod checks;

use std::process::ExitCode;

use anyhow::Result;
use command_line::say;
use serde_json::json;

/// Options of `cargo xtask doctor`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

/// A tool or resource that the workspace can use.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    /// Name shown in the table.
    name: &'static str,
    /// Feature that needs it.
    used_for: &'static str,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Present, with its version or location.
    Found(String),
    /// Absent, with the reason and the fix.
    Missing { reason: String, fix: String },
}

/// Prints the findings. A missing requirement is not a failure, since everything except Rust is optional.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let findings = checks::all();
    if options.json {
        say!("{}", to_json(&findings));
    } else {
        findings.iter().for_each(print);
    }
    Ok(ExitCode::SUCCESS)
}

fn print(finding: &Finding) {
    let Finding { name, used_for, state } = finding;
    match state {
        State::Found(what) => say!("[+] {name:<14} {what}"),
        State::Missing { reason, fix } => {
            say!("[-] {name:<14} {reason}");
            say!("    {:<14} needed for {used_for}; {fix}", "");
        }
    }
}

fn to_json(findings: &[Finding]) -> serde_json::Value {
    let object = findings.iter().map(|finding| {
        let value = match &finding.state {
            State::Found(what) => json!({ "found": what }),
            State::Missing { reason, fix } => json!({ "missing": reason, "fix": fix }),
        };
        (finding.name.to_lowercase().replace(' ', "_"), value)
    });
    object.collect::<serde_json::Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doctor_finds_rust_and_a_fix_for_all_that_is_missing() {
        let findings = checks::all();
        assert!(matches!(&findings[0].state, State::Found(version) if version.starts_with("rustc 1.")), "{findings:?}");
        for finding in &findings {
            if let State::Missing { reason, fix } = &finding.state {
                assert!(!reason.is_empty() && !fix.is_empty() && !reason.contains('\n'), "{finding:?}");
            }
        }
    }

    #[test]
    fn doctor_writes_one_entry_for_each_finding() {
        let found = Finding { name: "Vulkan", used_for: "x", state: State::Found("llvmpipe".to_owned()) };
        let state = State::Missing { reason: "not there".to_owned(), fix: "install it".to_owned() };
        let missing = Finding { name: "GPU driver", used_for: "x", state };
        let expected =
            json!({ "vulkan": { "found": "llvmpipe" }, "gpu_driver": { "missing": "not there", "fix": "install it" } });
        assert_eq!(to_json(&[found, missing]), expected);
    }
}
