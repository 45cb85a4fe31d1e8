//! The judge's side of the calls.

use std::io::{self, BufWriter, Read};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{MAX_FRAME, Request, Times, decoded, encoded, read_frame, shortened, write_frame};

/// The variable with the runner's program and its arguments, a line each.
const RUNNER: &str = "HOMEWORK_RUNNER";
/// Bytes that a runner may print.
const MAX_PRINTED: usize = 1 << 20;
/// Maximum wait for a process to end whose channel is closed, and for what it has printed.
const ENDING: Duration = Duration::from_secs(30);
/// Processes that are started after one has ended within a call.
const MAX_STARTS: u32 = 20;

/// The submission's process, and how often one was started.
static RUNNING: Mutex<(Option<Runner>, u32)> = Mutex::new((None, 0));

/// A submission's process.
struct Runner {
    child: Child,
    requests: BufWriter<ChildStdin>,
    answers: ChildStdout,
    /// What it has printed, when it has ended or printed too much.
    printed: Receiver<Vec<u8>>,
    /// Whether it has printed too much.
    has_flooded: Arc<AtomicBool>,
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
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let (runner, starts) = &mut *running;
    if runner.is_none() {
        if *starts == MAX_STARTS {
            return (Times::MAX, Err(format!("its process has ended {MAX_STARTS} times")));
        }
        *starts += 1;
        *runner = Some(Runner::start());
    }
    let Some(process) = runner.as_mut() else { unreachable!("it was started") };
    match process.call(function, &encoded(arguments), max_result(elements)) {
        // Before it ends of what it has printed, it may still answer.
        Ok((times, answer)) if !process.has_flooded.load(Ordering::Acquire) => match decoded(&answer) {
            Ok(result) => (times, Result::map_err(result, shortened)),
            Err(_) => (times, Err("its result cannot be read".to_owned())),
        },
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            if let Some(runner) = runner.take() {
                runner.stop();
            }
            (Times::MAX, Err(format!("its result is too large: {error}, and {elements} elements are expected")))
        }
        _ => {
            let ending = runner.take().map(Runner::ending);
            (Times::MAX, Err(ending.unwrap_or_default()))
        }
    }
}

/// Bytes that a result may have: some for each expected element, so that one of another shape can be compared and named, and
/// some for messages, launches and lengths of lists.
fn max_result(elements: usize) -> u64 {
    (elements as u64).saturating_mul(16).saturating_add(MAX_PRINTED as u64).min(MAX_FRAME)
}

/// Maximum bytes of the frame with a call's time.
const MAX_TIME: u64 = 64;

/// The value of a function without errors: another result becomes a panic with its message.
pub fn value<R>(result: Result<R, String>) -> R {
    // The message has its place already, which is not here.
    result.unwrap_or_else(|message| std::panic::resume_unwind(Box::new(message)))
}

impl Runner {
    fn start() -> Self {
        let command = std::env::var(RUNNER).expect("the grader names the submission's program");
        let mut words = command.lines();
        let mut command = Command::new(words.next().unwrap_or_default());
        // The seed is the judge's alone.
        command.args(words).env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("RUST_BACKTRACE", "0").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the submission's program can be started");
        let (requests, answers, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(requests), Some(answers), Some(mut errors)) = (requests, answers, errors) else {
            unreachable!("the three are pipes")
        };
        let (sender, printed) = channel();
        let process = rustix::process::Pid::from_child(&child);
        let has_flooded = Arc::new(AtomicBool::new(false));
        let floods = Arc::clone(&has_flooded);
        std::thread::spawn(move || {
            let mut text = Vec::new();
            drop(errors.by_ref().take(MAX_PRINTED as u64).read_to_end(&mut text));
            if text.len() == MAX_PRINTED {
                floods.store(true, Ordering::Release);
                let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
            }
            drop(sender.send(text));
            // Until it has ended: a closed pipe would be an error of its own.
            io::copy(&mut errors, &mut io::sink())
        });
        Self { child, requests: BufWriter::new(requests), answers, printed, has_flooded }
    }

    fn call(&mut self, function: &str, arguments: &[u8], max_result: u64) -> io::Result<(Times, Vec<u8>)> {
        let request = Request::Load { function: function.to_owned(), arguments: arguments.to_vec() };
        write_frame(&mut self.requests, &encoded(&request))?;
        let start = Instant::now();
        write_frame(&mut self.requests, &encoded(&Request::Run))?;
        let answer = read_frame(&mut self.answers, MAX_TIME)?;
        let times = Times { wall: start.elapsed(), longest_thread: decoded(&answer)? };
        write_frame(&mut self.requests, &encoded(&Request::Fetch))?;
        Ok((times, read_frame(&mut self.answers, max_result)?))
    }

    /// Ends it.
    fn stop(mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// A sentence on how it has ended.
    fn ending(mut self) -> String {
        // One that goes on after its channel is closed is ended.
        drop((self.requests, self.answers));
        let waited = Instant::now();
        let mut status = None;
        while status.is_none() && waited.elapsed() < ENDING {
            status = self.child.try_wait().ok().flatten();
            std::thread::sleep(Duration::from_millis(5));
        }
        if status.is_none() {
            drop(self.child.kill());
            drop(self.child.wait());
        }
        let printed = self.printed.recv_timeout(ENDING).unwrap_or_default();
        let text = String::from_utf8_lossy(&printed);
        let has = |part: &str| text.contains(part);
        if has("memory allocation of") || has("capacity overflow") {
            "it needs more memory than it may have".to_owned()
        } else if has("has overflowed its stack") {
            "its recursion does not end: the stack overflows".to_owned()
        } else if printed.len() >= MAX_PRINTED {
            format!("it prints more than {} MiB", MAX_PRINTED >> 20)
        } else if let Some(line) = text.lines().skip_while(|line| !line.contains("panicked at")).nth(1) {
            format!("it panics: {}", shortened(line.to_owned()))
        } else {
            let how = status.map_or_else(|| "it was stopped".to_owned(), |status| status.to_string());
            format!("its program ends without a result ({how})")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "with RUNNER, in a process of its own"]
    fn a_call_in_this_process_fails() {
        let result: Result<Vec<Vec<f32>>, String> = call("function", &(), 10);
        panic!("<{}>", result.unwrap_err());
    }

    /// What a call says where a shell's script is the submission's program.
    fn error_of(script: &str) -> String {
        let mut call = Command::new(std::env::current_exe().unwrap());
        call.args(["--exact", "--ignored", "submission::tests::a_call_in_this_process_fails"]);
        let output = call.env(RUNNER, format!("sh\n-c\n{script}")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let error = said.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
        error.unwrap_or_else(|| panic!("{said}")).0.to_owned()
    }

    #[test]
    fn an_answer_after_too_much_output_does_not_count() {
        let answers = std::env::temp_dir().join(format!("grader-answers-{}", std::process::id()));
        let mut frames = Vec::new();
        write_frame(&mut frames, &encoded(&Duration::ZERO)).unwrap();
        write_frame(&mut frames, &encoded(&7_u32)).unwrap();
        std::fs::write(&answers, frames).unwrap();
        // What is ended is the shell, as a sandbox around the program: the program goes on for a while.
        let flood = format!("sh -c 'head -c 2000000 /dev/zero >&2; cat {}; sleep 1' & wait", answers.display());
        let error = error_of(&flood);
        std::fs::remove_file(answers).unwrap();
        assert_eq!(error, "it prints more than 1 MiB");
    }

    /// 256 MiB of zeros would be a result of 268 million empty lists, in 6.4 GB.
    #[test]
    fn a_result_that_is_larger_than_expected_is_not_decoded() {
        let length = |bytes: u64| bytes.to_le_bytes().iter().map(|byte| format!("\\{byte:03o}")).collect::<String>();
        let time = format!("printf '{}\\0\\0'", length(2));
        let zeros = |bytes: u64| format!("{time}; printf '{}'; head -c {bytes} /dev/zero; cat", length(bytes));
        let expected =
            "its result is too large: 268435456 bytes, at most 1048736 are read, and 10 elements are expected";
        assert_eq!(error_of(&zeros(256 << 20)), expected);
        let huge = format!("printf '{}'; head -c 9999 /dev/zero; cat", length(9999));
        assert!(error_of(&huge).starts_with("its result is too large: 9999 bytes, at most 64 are read"));
    }
}
