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

/// The variable with the path of the file that has what the submission's program prints.
const PRINTED: &str = "HOMEWORK_PRINTED";
/// Bytes that a runner may print.
const MAX_PRINTED: u64 = 1 << 20;
/// Maximum wait for a process to end whose channel is closed.
const ENDING: Duration = Duration::from_secs(30);

/// The submission's process.
static RUNNER: Mutex<Runner> = Mutex::new(Runner::NotAsked);

/// A submission's process, which the grader has started in a sandbox of its own: this process can neither start nor end one.
enum Runner {
    NotAsked,
    /// The socket to it, which is this process's standard input, and the file with what it prints.
    Running(UnixStream, PathBuf),
    /// Why it does not answer any more.
    Ended(String),
}

/// Calls a function of the submission, whose right result has this number of elements.
///
/// # Errors
/// The function's error, the message of its panic, how its process has ended, or that its result is too large: what a few
/// bytes decode to may be many times as large.
pub fn call<R: DeserializeOwned>(function: &str, arguments: &impl Serialize, elements: usize) -> Result<R, String> {
    timed(function, arguments, elements).1
}

/// [`call`] with the times of the call, without those of sending the arguments and the result.
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
        // Before it ends of what it has printed, it may still answer.
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

/// Bytes that a result may have: some for each expected element, so that one of another shape can be compared and named, and
/// some for messages, launches and lengths of lists.
fn max_result(elements: usize) -> u64 {
    (elements as u64).saturating_mul(16).saturating_add(MAX_PRINTED).min(MAX_FRAME)
}

/// Maximum bytes of the frame with a call's time.
const MAX_TIME: u64 = 64;

/// The value of a function without errors: another result becomes a panic with its message.
pub fn value<R>(result: Result<R, String>) -> R {
    // The message has its place already, which is not here.
    result.unwrap_or_else(|message| std::panic::resume_unwind(Box::new(message)))
}

impl Runner {
    fn connected() -> Self {
        let channel = rustix::io::dup(io::stdin()).expect("standard input is the socket to the submission's program");
        let printed = std::env::var_os(PRINTED).expect("the grader names the file of what the program prints");
        Self::Running(channel.into(), printed.into())
    }
}

/// The times of a call, and its result.
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

/// Whether the program has printed as much as it may: its sandbox lets the file not grow beyond that.
fn has_flooded(printed: &PathBuf) -> bool {
    std::fs::metadata(printed).is_ok_and(|file| file.len() >= MAX_PRINTED)
}

/// A sentence on how the program has ended. The grader ends one that goes on after its channel is closed.
fn ending(mut channel: &UnixStream, printed: &PathBuf) -> String {
    drop(channel.shutdown(Shutdown::Write));
    // Its end is that of the socket: then it has printed all.
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

    /// What a call says where a shell's script is the submission's program.
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

    /// 256 MiB of zeros would be a result of 268 million empty lists, in 6.4 GB.
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
