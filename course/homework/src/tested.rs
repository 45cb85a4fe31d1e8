//! A part's public tests, compiled and run, and the first sentence of each failure.

use std::fmt;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::part::Part;
use crate::printed::plain;

/// Time without a finished test after which the rest is stopped.
const LIMIT: Duration = Duration::from_secs(60);

/// What the public tests of a part have shown.
#[derive(Debug)]
pub(crate) struct Tested {
    pub(crate) part: Part,
    /// The compiler's first error, with which no test has run.
    pub(crate) compile_error: Option<String>,
    /// The tests, each with the first sentence of its failure.
    tests: Vec<(String, Result<(), String>)>,
}

impl Tested {
    pub(crate) fn has_passed(&self) -> bool {
        self.compile_error.is_none() && self.tests.iter().all(|(_, result)| result.is_ok())
    }

    /// The number of tests that pass, and of all.
    pub(crate) fn count(&self) -> (usize, usize) {
        (self.tests.iter().filter(|(_, result)| result.is_ok()).count(), self.tests.len())
    }

    /// The function that is to be written or mended first, with its file.
    fn next(&self, root: &Path) -> Option<String> {
        if let Some(error) = &self.compile_error {
            return Some(error.clone());
        }
        let (test, sentence) = self.tests.iter().find_map(|(name, result)| Some((name, result.as_ref().err()?)))?;
        let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
        // "not written yet: the launch in max_gpu", "not written yet: double, for size 1", "max_gpu: c[0][0] is …" or
        // "activate(weigh(normalize)): y[0] is …".
        let function = match sentence.split_once("not written yet: ") {
            Some((_, block)) => block.split(',').next().and_then(|block| block.rsplit(' ').next()).unwrap_or(block),
            None => sentence.split(|letter| !is_letter(letter)).next().unwrap_or_default(),
        };
        Some(match self.part.file_of(root, function) {
            Some(file) => format!("{function} ({})", file.display()),
            None => format!("the test {test} ({}/tests/public.rs)", self.part.package),
        })
    }
}

/// The list of tests, with a heading.
impl fmt::Display for Tested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Part { name, package } = self.part;
        let mut heading = name.chars();
        let first = heading.next().into_iter().flat_map(char::to_uppercase);
        write!(f, "{}{}", first.collect::<String>(), heading.as_str())?;
        if name != package {
            write!(f, ": {package}")?;
        }
        if let Some(error) = &self.compile_error {
            return write!(f, "\n  ✗ it does not compile: {}", plain(error));
        }
        for (name, result) in &self.tests {
            match result {
                Ok(()) => write!(f, "\n  ✓ {name}")?,
                Err(sentence) => write!(f, "\n  ✗ {name}: {}", plain(sentence))?,
            }
        }
        Ok(())
    }
}

/// "9 of 17 tests pass; next: part 1, sigmoid (utils/src/activation.rs)".
pub(crate) fn summary(root: &Path, all: &[Tested]) -> String {
    let (passed, count) = all.iter().map(Tested::count).fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let next = all.iter().find_map(|tested| Some(format!("{}, {}", tested.part.name, tested.next(root)?)));
    match next {
        Some(next) => format!("{passed} of {count} tests pass; next: {next}"),
        None => format!("{passed} of {count} tests pass; next: cargo hand-in"),
    }
}

/// Compiles and runs the public tests of all parts.
///
/// # Errors
/// As [`compile`] and [`run`].
pub(crate) fn all(root: &Path, parts: &[Part]) -> Result<Vec<Tested>> {
    parts.iter().zip(compile(root, parts)?).map(|(part, program)| test_part(root, *part, program)).collect()
}

/// Runs the public tests of a part, with what [`compile`] has returned for it.
///
/// # Errors
/// If the names of the tests cannot be read, or the test program cannot be started.
pub(crate) fn test_part(root: &Path, part: Part, program: Result<PathBuf, String>) -> Result<Tested> {
    let names = part.tests(root)?;
    let (compile_error, results) = match program {
        Ok(program) => (None, execute(&program, &root.join(part.package), &names)?),
        Err(error) => (Some(error), vec![Err("it does not compile".to_owned()); names.len()]),
    };
    Ok(Tested { part, compile_error, tests: names.into_iter().zip(results).collect() })
}

/// Cargo, as this program was started by it.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).stdin(Stdio::null());
    command
}

/// The test program of each part, or the compiler's first error there. Where stderr is a terminal, a line shows what is
/// compiled.
///
/// All at once, so that the parts' dependencies are compiled once, with the features that all of them need.
///
/// # Errors
/// If cargo cannot be started.
pub(crate) fn compile(root: &Path, parts: &[Part]) -> Result<Vec<Result<PathBuf, String>>> {
    let mut command = cargo(root);
    // What `cargo test --no-run` compiles; that stops at the first part that does not compile.
    command.args(["build", "--keep-going", "--message-format=json", "--test", "public"]);
    command.args(parts.iter().flat_map(|part| ["-p", part.package]));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start cargo")?;
    let messages = read_all(child.stdout.take());
    let is_shown = std::io::stderr().is_terminal();
    let mut other_error = None;
    for line in BufReader::new(child.stderr.take().context("cargo's messages are piped")?).lines() {
        let line = line.context("cannot read cargo's messages")?;
        if is_shown {
            let line: String = plain(line.trim()).chars().take(70).collect();
            eprint!("\r\x1b[2K{line}");
        }
        if line.starts_with("error") {
            other_error.get_or_insert(line);
        }
    }
    if is_shown {
        eprint!("\r\x1b[2K");
    }
    let status = child.wait().context("cannot wait for cargo")?;
    let messages = messages.join().unwrap_or_default();
    let messages: Vec<Value> = messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let other_error = other_error.unwrap_or_else(|| format!("cargo ends with {status}"));
    let of = |part: &Part| {
        let manifest = root.join(part.package).join("Cargo.toml");
        let is_of_part = |message: &&Value| message["manifest_path"].as_str().is_some_and(|path| manifest == *path);
        let messages = || messages.iter().filter(is_of_part);
        if let Some(error) = messages().find_map(|message| in_one_line(&message["message"])) {
            return Err(error);
        }
        let mut tests = messages().filter(|message| message["target"]["name"] == "public");
        let program = tests.find_map(|message| message["executable"].as_str());
        program.map(PathBuf::from).ok_or_else(|| other_error.clone())
    };
    Ok(parts.iter().map(of).collect())
}

/// A compiler's error with its place: "utils/src/lists.rs:6: mismatched types". None for a warning.
fn in_one_line(message: &Value) -> Option<String> {
    let text = message["message"].as_str().filter(|_| message["level"] == "error")?;
    let text = text.lines().next().unwrap_or(text);
    let place = message["spans"].as_array()?.iter().find(|span| span["is_primary"] == true);
    let place = place.and_then(|span| Some(format!("{}:{}: ", span["file_name"].as_str()?, span["line_start"])));
    Some(place.unwrap_or_default() + text)
}

/// Reads a stream in a thread of its own, with invalid UTF-8 replaced.
fn read_all(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A stream that breaks off has ended.
        let _read = stream.map(|mut stream| stream.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Runs a test program, and returns the results of the named tests.
fn execute(program: &Path, folder: &Path, names: &[String]) -> Result<Vec<Result<(), String>>> {
    let endless = "it has not ended after a minute: is there a loop without an end?";
    let (mut output, why) = output(program, folder, names.len(), &[])?;
    if why.is_none() {
        // The sentences of failures come at the end, which the unfinished tests have prevented.
        let is_finished =
            |name: &&String| output.iter().filter_map(|line| result(line)).any(|(found, _)| found == *name);
        let unfinished: Vec<&String> = names.iter().filter(|name| !is_finished(name)).collect();
        (output, _) = self::output(program, folder, names.len(), &unfinished)?;
    }
    Ok(results(&output, names, why.as_deref().unwrap_or(endless)))
}

/// The output of a test program without some tests, and how it has ended; `None` if it was stopped at the time limit.
fn output(program: &Path, folder: &Path, tests: usize, skipped: &[&String]) -> Result<(Vec<String>, Option<String>)> {
    let mut command = Command::new(program);
    // All at once: two tests without an end must not keep the others from starting.
    command.arg(format!("--test-threads={}", tests.max(1))).arg("--exact");
    command.args(skipped.iter().flat_map(|name| ["--skip", name]));
    command.current_dir(folder).env("RUST_BACKTRACE", "0");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
    let stdout = child.stdout.take().context("the tests' output is piped")?;
    let errors = read_all(child.stderr.take());
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(stdout).split(b'\n').map_while(Result::ok);
        for line in lines {
            // Nothing is received after the time limit.
            let _sent = sender.send(String::from_utf8_lossy(&line).trim_end().to_owned());
        }
    });
    let (mut output, mut progress) = (Vec::new(), Instant::now());
    let is_late = loop {
        match lines.recv_timeout(LIMIT.saturating_sub(progress.elapsed())) {
            Ok(line) => {
                if result(&line).is_some() {
                    progress = Instant::now();
                }
                output.push(line);
            }
            Err(RecvTimeoutError::Timeout) => break true,
            Err(RecvTimeoutError::Disconnected) => break false,
        }
    };
    if is_late {
        child.kill().context("cannot stop the tests")?;
    }
    let status = child.wait().context("cannot wait for the tests")?;
    if is_late {
        return Ok((output, None));
    }
    let errors = errors.join().unwrap_or_default();
    let last = errors.lines().map(str::trim).rfind(|line| !line.is_empty() && !line.starts_with("error:"));
    Ok((output, Some(last.map_or_else(|| format!("the tests end with {status}"), str::to_owned))))
}

/// A line of libtest about the end of a test: its name, and whether it has passed.
fn result(line: &str) -> Option<(&str, bool)> {
    let (name, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
    Some((name, result.starts_with("ok")))
}

/// The results in libtest's output; a test without one has failed because of `otherwise`.
fn results(output: &[String], names: &[String], otherwise: &str) -> Vec<Result<(), String>> {
    let of = |name: &String| {
        match output.iter().filter_map(|line| result(line)).find(|(found, _)| found == name) {
            Some((_, true)) => return Ok(()),
            Some((_, false)) => {}
            None => return Err(otherwise.to_owned()),
        }
        let heading = format!("---- {name} stdout ----");
        let mut lines = output.iter().skip_while(|line| **line != heading).skip(1);
        let mut lines = lines.by_ref().take_while(|line| !line.starts_with("---- ")).skip_while(|line| {
            let is_first = line.starts_with("Error: ") || line.contains(" panicked at ");
            !is_first
        });
        let first = lines.next().map_or("it fails", String::as_str);
        Err(match (first.strip_prefix("Error: "), first.split_once(" panicked at ")) {
            (Some(sentence), _) => sentence.to_owned(),
            (None, Some((_, place))) => format!("panic at {place} {}", lines.next().map_or("", String::as_str)),
            (None, None) => first.to_owned(),
        })
    };
    names.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 4 tests
test c ... ok
test b ... FAILED
test a ... FAILED

failures:

---- a stdout ----
what a student prints
Error: sigmoid: not written yet: sigmoid

---- b stdout ----

thread 'b' (17) panicked at utils/src/lists.rs:6:5:
index out of bounds: the len is 3 but the index is 7
";

    #[test]
    fn each_failure_is_its_first_sentence() {
        let output: Vec<String> = OUTPUT.lines().map(str::to_owned).collect();
        let names = ["a", "b", "c", "d"].map(str::to_owned);
        let expected = [
            Err("sigmoid: not written yet: sigmoid".to_owned()),
            Err("panic at utils/src/lists.rs:6:5: index out of bounds: the len is 3 but the index is 7".to_owned()),
            Ok(()),
            Err("its stack has overflowed".to_owned()),
        ];
        assert_eq!(results(&output, &names, "its stack has overflowed"), expected);
    }

    #[test]
    fn the_compilers_first_error_has_a_file_and_a_line() {
        let message = serde_json::json!({
            "level": "error",
            "message": "mismatched types",
            "spans": [
                { "is_primary": false, "file_name": "utils/src/lib.rs", "line_start": 1 },
                { "is_primary": true, "file_name": "utils/src/lists.rs", "line_start": 6 },
            ],
        });
        assert_eq!(in_one_line(&message).as_deref(), Some("utils/src/lists.rs:6: mismatched types"));
        let linker = serde_json::json!({ "level": "error", "message": "linking with `cc` failed\n", "spans": [] });
        assert_eq!(in_one_line(&linker).as_deref(), Some("linking with `cc` failed"));
        assert_eq!(in_one_line(&serde_json::json!({ "level": "warning", "message": "unused", "spans": [] })), None);
    }

    #[test]
    fn the_next_function_is_that_of_the_first_failure() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("max_functions/src")).unwrap();
        std::fs::write(root.path().join("max_functions/src/on_gpu.rs"), "pub fn max_gpu(").unwrap();
        std::fs::write(root.path().join("max_functions/src/trivial.rs"), "pub fn max_cpu<T>(").unwrap();
        let part = Part { name: "part 2", package: "max_functions" };
        let next = |sentence: &str| {
            let tests = vec![("a".to_owned(), Ok(())), ("b".to_owned(), Err(sentence.to_owned()))];
            summary(root.path(), &[Tested { part, compile_error: None, tests }])
        };
        for (sentence, expected) in [
            ("max_cpu: c[0][0] is 1, expected 2", "max_cpu (max_functions/src/trivial.rs)"),
            ("max_gpu: not written yet: the launch in max_gpu", "max_gpu (max_functions/src/on_gpu.rs)"),
            (
                "max_gpu: kernel k: panic: not written yet: max_cpu, for size 1",
                "max_cpu (max_functions/src/trivial.rs)",
            ),
            ("it fails", "the test b (max_functions/tests/public.rs)"),
        ] {
            assert_eq!(next(sentence).replace('\\', "/"), format!("1 of 2 tests pass; next: part 2, {expected}"));
        }
    }
}
