//! answers.md: the times of programs in tables, which are replaced at each measurement, and the student's explanations, which are not.

use std::fs;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::thread::available_parallelism;

use anyhow::{Context, Result, bail};
use whole_files::write_atomically;

use crate::CHECK_FAILED;
use crate::part::Part;
use crate::printed::{counted, note, say};
use crate::tested::cargo;

/// The file's name in the workspace.
pub(crate) const FILE: &str = "answers.md";
/// A place for an explanation.
pub(crate) const BLANK: &str = "(your explanation)";
const TEMPLATE: &str = include_str!("answers.md");
/// The programs that are timed, and what follows "CPU" and "Rayon" in the lines that are taken.
const PROGRAMS: [(&str, &str); 3] = [("max_functions", ""), ("matmul_functions", ""), ("filters", " 5×5")];
const THREADS: [usize; 4] = [1, 2, 4, 8];

/// Times the programs, and writes their tables.
pub(crate) fn measure(root: &Path, parts: &[Part]) -> Result<ExitCode> {
    let is_there = |(package, _): &(&str, &str)| parts.iter().any(|part| part.package == *package);
    let programs: Vec<(&str, &str)> = PROGRAMS.into_iter().filter(is_there).collect();
    if programs.is_empty() {
        let packages = PROGRAMS.map(|(package, _)| package).join(", ");
        bail!("this workspace has no program that is timed, which are {packages}");
    }
    let file = root.join(FILE);
    let mut text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            sections(&parts.iter().map(|part| part.package).collect::<Vec<_>>())
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {FILE}")),
    };
    let mut code = ExitCode::SUCCESS;
    for (package, what) in programs {
        match table(root, package, what)? {
            Ok(table) => {
                say!("{package}\n{table}");
                text = with_table(&text, package, &table);
            }
            Err(reason) => {
                note!("{package} is not timed: {reason}");
                code = ExitCode::from(CHECK_FAILED);
            }
        }
    }
    write_atomically(&file, text.as_bytes()).with_context(|| format!("cannot write {FILE}"))?;
    if code == ExitCode::SUCCESS {
        say!("The times are in {FILE}: write your explanations there, then cargo hand-in.");
    }
    Ok(code)
}

/// The template's sections of these packages.
fn sections(packages: &[&str]) -> String {
    let mut sections = TEMPLATE.split("<!-- part: ");
    let mut text = sections.next().unwrap_or_default().to_owned();
    for (package, section) in sections.filter_map(|section| section.split_once(" -->\n")) {
        if packages.contains(&package) {
            text.push_str(section);
        }
    }
    text
}

/// The times for each number of threads as a table, or the reason why there are none.
fn table(root: &Path, package: &str, what: &str) -> Result<Result<String, String>> {
    let cores = available_parallelism().map_or(1, usize::from);
    let mut table = format!(
        "Measured on a machine with {}.\n\n| threads | CPU | Rayon | speed-up |\n|---|---|---|---|\n",
        counted(cores, "core")
    );
    for threads in THREADS {
        let threads = threads.to_string();
        let mut command = cargo(root);
        command.args(["run", "--quiet", "-p", package, "--", "-c", &threads]).stderr(Stdio::piped());
        let output = command.output().context("cannot start cargo")?;
        let printed = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            let mut lines = printed.lines().chain(errors.lines());
            let reason = lines.find(|line| line.starts_with("[-]") || line.starts_with("error"));
            return Ok(Err(reason.unwrap_or("it fails").to_owned()));
        }
        let [cpu, rayon] = ["CPU", "Rayon"].map(|version| format!("{version}{what}"));
        let speed_up = format!("Speed-up {rayon} over {cpu}");
        let times: Option<Vec<&str>> = [cpu, rayon, speed_up].iter().map(|label| value(&printed, label)).collect();
        let Some(times) = times else { return Ok(Err("it prints no times".to_owned())) };
        table.push_str(&format!("| {threads} | {} |\n", times.join(" | ")));
    }
    Ok(Ok(table))
}

/// The value in a line such as "[*] CPU: 144.9 µs (median 174.0 µs, n = 20)".
fn value<'a>(printed: &'a str, label: &str) -> Option<&'a str> {
    let start = format!("[*] {label}: ");
    let line = printed.lines().find_map(|line| line.strip_prefix(&start))?;
    Some(line.split(" (").next().unwrap_or(line))
}

/// The text with the package's table in place of its previous one; at the end, if the marks of that are gone.
fn with_table(text: &str, package: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- measured: {package} -->\n"), format!("<!-- end of {package} -->"));
    let found = text.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    match found {
        Some((before, after)) => format!("{before}{begin}{table}{end}{after}"),
        None => format!("{}\n\n## {package}\n\n{begin}{table}{end}\n", text.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_replaces_its_table_and_nothing_else() {
        let blank = sections(&["max_functions"]);
        assert!(blank.contains("## Part 2") && !blank.contains("## Part 3"), "{blank}");
        let written = blank.replace(BLANK, "The bus is full.");
        let first = with_table(&written, "max_functions", "| 1 |\n");
        let second = with_table(&first, "max_functions", "| 2 |\n");
        assert_eq!(second, first.replace("| 1 |", "| 2 |"));
        assert_eq!(first.replace("| 1 |\n", ""), written);
        let appended = with_table("My own words\n", "max_functions", "| 1 |\n");
        assert!(appended.starts_with("My own words\n\n## max_functions\n"), "{appended}");
        assert_eq!(with_table(&appended, "max_functions", "| 1 |\n"), appended);
    }

    #[test]
    fn times_are_read_from_a_programs_output() {
        let printed = "[+] All tests passed\n[*] CPU: 144.9 µs (median 174.0 µs, n = 20)\n";
        assert_eq!((value(printed, "CPU"), value(printed, "Rayon")), (Some("144.9 µs"), None));
    }
}
