//! Runs a target, either on the same cases each time or on cases that bolero draws on request.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::panic::RefUnwindSafe;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bolero::TestTarget;
use bolero::bolero_engine::{self, Engine, Test, driver};
use rand::rngs::ChaCha8Rng;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

use crate::edits::Input;

/// Number of bytes from which bolero makes an input.
const MAX_BYTES: usize = 400;
/// Limit for the private memory of all targets together.
const MEMORY: u64 = 2 << 30;
/// Limit for the processor time of a case. It does not count the time of other programs.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// The answer of a reader that keeps its promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Accepted,
    Rejected,
}

/// Checks that a file is rejected with a message that names it. Programs print a message on one
/// line and without control characters, which the test of their command lines checks.
pub(crate) fn rejected(error: impl Into<anyhow::Error>, path: &Path) -> Answer {
    let message = format!("{:#}", error.into());
    assert!(message.contains(&path.display().to_string()), "a message names its file: {message:?}");
    Answer::Rejected
}

/// A bolero engine that draws the same cases each time, and different ones for each number in
/// `TEST_SEED`.
///
/// Bolero's own engine starts from random bits of the system, so a change could fail by chance.
pub(crate) struct SameCases {
    pub(crate) name: &'static str,
    pub(crate) count: usize,
}

impl<T: Test<Value: std::fmt::Debug>> Engine<T> for SameCases {
    type Output = ();

    fn run(self, mut test: T, options: driver::Options) {
        limit_memory();
        let mut random = ChaCha8Rng::seed_from_u64(test_support::seed(0));
        // If a case ends the whole process, its bytes remain in this file.
        let last = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{}.case", self.name, std::process::id()));
        let file = File::create(&last).expect("the target folder can be written");
        bolero_engine::panic::set_hook();
        let forward = bolero_engine::panic::forward_panic(false);
        let failure = (0..self.count).find_map(|case| {
            let mut bytes = vec![0; random.random_range(0..MAX_BYTES)];
            random.fill_bytes(&mut bytes);
            file.set_len(0).and_then(|()| file.write_all_at(&bytes, 0)).expect("the case can be written");
            test.test(&mut &bytes[..]).err()?;
            Some((case, test.shrink(bytes, None, &options)))
        });
        bolero_engine::panic::forward_panic(forward);
        let _ = std::fs::remove_file(last);
        match failure {
            None => {}
            Some((case, Some(shrunk))) => panic!("case {case}, as small as it fails: {shrunk}"),
            Some((case, None)) => panic!("case {case} failed, but not a second time"),
        }
    }
}

/// Whether bolero's own engine is requested, by one of its variables or by cargo-bolero.
pub(crate) fn are_others_wanted() -> bool {
    cfg!(fuzzing) || std::env::vars_os().any(|(name, _)| name.to_string_lossy().starts_with("BOLERO_"))
}

/// Runs a reader on the same inputs each time.
pub(crate) fn run_same<R: Fn(&Input) -> Answer + RefUnwindSafe>(name: &'static str, count: usize, reader: R) {
    let accepted = AtomicUsize::new(0);
    TestTarget::new(SameCases { name, count }).with_type::<Input>().for_each(|input: &Input| {
        accepted.fetch_add(usize::from(read(&reader, input) == Answer::Accepted), Relaxed);
    });
    let accepted = accepted.into_inner();
    println!("{name}: {accepted} of {count} files accepted");
    assert!(accepted > count / 50 && accepted < count - count / 50, "both are tried: {accepted} of {count} accepted");
}

/// Returns the answer of a reader, which must not take too long.
pub(crate) fn read(reader: &impl Fn(&Input) -> Answer, input: &Input) -> Answer {
    let begin = processor_time();
    let answer = reader(input);
    let took = processor_time().saturating_sub(begin);
    assert!(took < TIME_LIMIT, "a file is read within {TIME_LIMIT:?}, not in {took:?}");
    answer
}

/// Processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Ends the process if it requests more memory than any file should need.
fn limit_memory() {
    let limit = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    setrlimit(Resource::Data, limit).expect("the limit of memory can be lowered");
}

/// A folder for a target's files, in memory if possible, since a disk would limit the rate.
pub(crate) fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    TempDir::with_prefix_in("fuzz-", parent).expect("a folder can be made")
}
