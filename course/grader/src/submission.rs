//! The judge's side of the calls.

use std::fs::File;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{MAX_FRAME, Request, Times, decoded, encoded, read_frame, shortened, write_frame};

/// Environment variable with the path of the file that receives the output of the submission's
/// program.
const PRINTED: &str = "HOMEWORK_PRINTED";
/// Maximum number of bytes that a runner may print.
const MAX_PRINTED: u64 = 1 << 20;
/// Maximum time to wait for a process to end after its channel is closed.
const ENDING: Duration = Duration::from_secs(30);

/// The submission's process.
static RUNNER: Mutex<Runner> = Mutex::new(Runner::NotAsked);

/// A submission's process. The grader starts it in a separate sandbox: the judge can neither start
/// nor end it.
enum Runner {
    NotAsked,
    /// The socket to the process, which is the judge's standard input, and the file with the
    /// process's output.
    Running(UnixStream, PathBuf),
    /// Why the process no longer answers.
    Ended(String),
}

/// Calls a function of the submission. A correct result has `elements` elements.
///
/// # Errors
/// The function's error, the message of its panic, how its process ended, or that its result is too
/// large: a few bytes may decode to many times as many.
pub fn call<R: DeserializeOwned>(function: &str, arguments: &impl Serialize, elements: usize) -> Result<R, String> {
    timed(function, arguments, elements).1
}

/// Like [`call`], but also returns the times of the call, excluding the transfer of arguments and
/// result.
pub fn timed<R: DeserializeOwned>(
    function: &str,
    arguments: &impl Serialize,
    elements: usize,
) -> (Times, Result<R, String>) {
    let mut runner = RUNNER.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*runner, Runner::NotAsked) {
        *runner = Runner::connected();
    }
    let (channel, printed) = match &mut *runner {
        Runner::Running(channel, printed) => (channel, &*printed),
        Runner::Ended(reason) => return (Times::MAX, Err(reason.clone())),
        Runner::NotAsked => unreachable!("it is connected"),
    };
    let answer = asked(channel, function, &encoded(arguments), max_result(elements));
    let reason = match answer {
        // A program that is about to be stopped for its output may still answer.
        Ok((times, answer)) if !has_flooded(printed) => {
            return match decoded(&answer) {
                Ok(result) => (times, Result::map_err(result, shortened)),
                Err(_) => (times, Err("its result cannot be read".to_owned())),
            };
        }
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            format!("its result is too large: {error}, and {elements} elements are expected")
        }
        _ => ending(channel, printed),
    };
    *runner = Runner::Ended(reason.clone());
    (Times::MAX, Err(reason))
}

/// Maximum length of a result in bytes: enough per expected element to report a result of another
/// shape, plus room for messages, launches and lengths of lists.
fn max_result(elements: usize) -> u64 {
    (elements as u64).saturating_mul(16).saturating_add(MAX_PRINTED).min(MAX_FRAME)
}

/// Maximum length in bytes of the frame with a call's time.
const MAX_TIME: u64 = 64;

/// Returns the value of an infallible function. An error becomes a panic with its message.
pub fn value<R>(result: Result<R, String>) -> R {
    // The message already contains its location, which is not this line.
    result.unwrap_or_else(|message| std::panic::resume_unwind(Box::new(message)))
}

impl Runner {
    fn connected() -> Self {
        let channel = rustix::io::dup(io::stdin()).expect("standard input is the socket to the submission's program");
        let printed = std::env::var_os(PRINTED).expect("the grader names the file of what the program prints");
        Self::Running(channel.into(), printed.into())
    }
}

/// Returns the times of a call, and its result.
fn asked(mut channel: &UnixStream, function: &str, arguments: &[u8], max_result: u64) -> io::Result<(Times, Vec<u8>)> {
    let request = Request::Load { function: function.to_owned(), arguments: arguments.to_vec() };
    write_frame(&mut channel, &encoded(&request))?;
    let start = Instant::now();
    write_frame(&mut channel, &encoded(&Request::Run))?;
    let answer = read_frame(&mut channel, MAX_TIME)?;
    let times = Times { wall: start.elapsed(), longest_thread: decoded(&answer)? };
    write_frame(&mut channel, &encoded(&Request::Fetch))?;
    Ok((times, read_frame(&mut channel, max_result)?))
}

/// Whether the program has printed the maximum: its sandbox does not let the file grow beyond it.
fn has_flooded(printed: &PathBuf) -> bool {
    std::fs::metadata(printed).is_ok_and(|file| file.len() >= MAX_PRINTED)
}

/// Describes in a sentence how the program ended. The grader ends programs that keep running after
/// their channel is closed.
fn ending(mut channel: &UnixStream, printed: &PathBuf) -> String {
    drop(channel.shutdown(Shutdown::Write));
    // The socket closes when the program ends, so its output is complete by then.
    drop(channel.set_read_timeout(Some(ENDING)));
    let (waited, mut rest) = (Instant::now(), [0; 1 << 16]);
    while waited.elapsed() < ENDING && channel.read(&mut rest).is_ok_and(|bytes| bytes > 0) {}
    let mut bytes = Vec::new();
    drop(File::open(printed).map(|file| file.take(MAX_PRINTED).read_to_end(&mut bytes)));
    let text = String::from_utf8_lossy(&bytes);
    let has = |part: &str| text.contains(part);
    if has("memory allocation of") || has("capacity overflow") {
        "it needs more memory than it may have".to_owned()
    } else if has("has overflowed its stack") {
        "its recursion does not end: the stack overflows".to_owned()
    } else if has_flooded(printed) {
        format!("it prints more than {} MiB", MAX_PRINTED >> 20)
    } else if let Some(line) = text.lines().skip_while(|line| !line.contains("panicked at")).nth(1) {
        format!("it panics: {}", shortened(line.to_owned()))
    } else {
        "its program ends without a result".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::process::Command;

    use super::*;

    #[test]
    #[ignore = "with a submission's program, in a process of its own"]
    fn a_call_in_this_process_fails() {
        let results: [Result<Vec<Vec<f32>>, String>; 2] = [(); 2].map(|()| call("function", &(), 10));
        assert_eq!(results[0], results[1], "after its end it is not asked again");
        panic!("<{}>", results[0].as_ref().unwrap_err());
    }

    /// Returns the error of a call when the submission's program is a shell script.
    fn error_of(script: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let printed = folder.path().join("printed");
        let (own, other) = UnixStream::pair().unwrap();
        let [stdin, stdout] = [other.try_clone().unwrap(), other].map(OwnedFd::from);
        let mut program = Command::new("sh");
        program.args(["-c", script]).stdin(stdin).stdout(stdout).stderr(File::create(&printed).unwrap());
        let mut child = program.spawn().unwrap();
        drop(program);
        let mut call = Command::new(std::env::current_exe().unwrap());
        call.args(["--exact", "--ignored", "submission::tests::a_call_in_this_process_fails"]);
        let output = call.env(PRINTED, printed).stdin(OwnedFd::from(own)).output().unwrap();
        drop(call);
        child.wait().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let error = said.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
        error.unwrap_or_else(|| panic!("{said}")).0.to_owned()
    }

    #[test]
    fn an_answer_after_too_much_output_does_not_count() {
        let mut frames = Vec::new();
        write_frame(&mut frames, &encoded(&Duration::ZERO)).unwrap();
        write_frame(&mut frames, &encoded(&7_u32)).unwrap();
        let frames: String = frames.iter().map(|byte| format!("\\{byte:03o}")).collect();
        let flood = format!("head -c 2000000 /dev/zero >&2; printf '{frames}'; cat >/dev/null");
        assert_eq!(error_of(&flood), "it prints more than 1 MiB");
    }

    #[test]
    fn the_end_of_a_program_is_named_by_what_it_has_printed() {
        for (printed, expected) in [
            ("memory allocation of 9 bytes failed", "it needs more memory than it may have"),
            ("thread main has overflowed its stack", "its recursion does not end: the stack overflows"),
            ("thread main panicked at a.rs:1:1:\nno", "it panics: no"),
            ("", "its program ends without a result"),
        ] {
            assert_eq!(error_of(&format!("printf '{printed}' >&2")), expected);
        }
    }

    /// 256 MiB of zeros would decode to 268 million empty lists, which take 6.4 GB.
    #[test]
    fn a_result_that_is_larger_than_expected_is_not_decoded() {
        let length = |bytes: u64| bytes.to_le_bytes().iter().map(|byte| format!("\\{byte:03o}")).collect::<String>();
        let time = format!("printf '{}\\0\\0'", length(2));
        let zeros =
            |bytes: u64| format!("{time}; printf '{}'; head -c {bytes} /dev/zero; cat >/dev/null", length(bytes));
        let expected =
            "its result is too large: 268435456 bytes, at most 1048736 are read, and 10 elements are expected";
        assert_eq!(error_of(&zeros(256 << 20)), expected);
        let huge = format!("printf '{}'; head -c 9999 /dev/zero; cat >/dev/null", length(9999));
        assert!(error_of(&huge).starts_with("its result is too large: 9999 bytes, at most 64 are read"));
    }
}
