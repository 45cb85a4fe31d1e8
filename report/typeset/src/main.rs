//! Reads a document from stdin and writes the report made from it to stdout, both as JSON.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use typeset::document::{Document, File, Report};

const HELP: &str = "\
Typesets a report. `cargo run -p report` builds this program and starts it: there is no need to do so by hand.

It reads a document as JSON on stdin, and writes a JSON object with the PDF file, in base64, and its number of pages on stdout.

Usage: typeset [--html]

Options:
  --html  Also write the report as one self-contained HTML page";

/// Exit code for invalid input, as in all programs of the repository.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let done = match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => report(false).and_then(|report| written(report.as_bytes())),
        ["--html"] => report(true).and_then(|report| written(report.as_bytes())),
        ["--help" | "-h"] => written(format!("{HELP}\n").as_bytes()),
        _ => Err(format!("{arguments:?} are not its arguments: see --help")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // stderr may be closed.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(BAD_INPUT)
        }
    }
}

/// Makes the report for the document on stdin, as JSON.
fn report(with_html: bool) -> Result<String, String> {
    let mut input = String::new();
    io::stdin().read_to_string(&mut input).map_err(|error| format!("cannot read the document: {error}"))?;
    let document: Document =
        serde_json::from_str(&input).map_err(|error| format!("stdin has no document of report: {error}"))?;
    let pdf = typeset::pdf(&document).map_err(|error| error.to_string())?;
    let html = with_html.then(|| typeset::html(&document)).transpose().map_err(|error| error.to_string())?;
    let report = Report { pdf: File(pdf.bytes), pages: pdf.pages, html };
    serde_json::to_string(&report).map_err(|error| error.to_string())
}

fn written(bytes: &[u8]) -> Result<(), String> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| format!("cannot write to stdout: {error}"))
}
