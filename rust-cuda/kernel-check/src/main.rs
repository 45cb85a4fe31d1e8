//! Checks a kernel launch in PTX from any compiler, without a GPU: for a terminal, an editor and
//! CI.

mod arguments;
mod sarif;

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use kernel_check::location::Locations;
use kernel_check::{check, json, text};
use ptx_interpreter::syntax::printable;

use arguments::Arguments;

/// Exit code for a launch with a fault.
const FAULT: u8 = 1;
/// Exit code for an unusable command line, file or launch.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            let _closed = writeln!(io::stderr(), "error: {}", printable(&error.to_string()));
            ExitCode::from(BAD_INPUT)
        }
    }
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let Some(arguments) = Arguments::parse()? else { return Ok(ExitCode::SUCCESS) };
    let outputs = [&arguments.json, &arguments.sarif];
    for path in outputs.into_iter().flatten().filter(|path| !is_standard_output(path)) {
        whole_files::require_writable(path).map_err(|error| unwritable(path, &error))?;
    }
    let (ptx, launch) = arguments.launch()?;
    let locations = Locations::new(&arguments.source_root, &ptx);
    let outcome = check::check(&launch, arguments.options(&launch), locations)
        .map_err(|error| format!("{}: {error}", arguments.source().display()))?;
    if !outputs.into_iter().flatten().any(|path| is_standard_output(path)) {
        print(&text::describe(&outcome, arguments.fidelity))?;
    }
    if let Some(path) = &arguments.json {
        write(path, &json::document(&outcome)?)?;
    }
    if let Some(path) = &arguments.sarif {
        write(path, &sarif::document(&outcome)?)?;
    }
    Ok(if outcome.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FAULT) })
}

fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    if is_standard_output(path) {
        return print(text);
    }
    whole_files::write_atomically(path, text.as_bytes()).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be written: {error}", path.display())
}

/// Prints to stdout. A closed pipe, as with `| head`, is not an error: the exit code still tells
/// whether there is a fault.
fn print(text: &str) -> Result<(), String> {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}
