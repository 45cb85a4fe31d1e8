//! Test helpers that report a failure as one sentence in the homework's terms, without a backtrace:
//! `Error: max_rayon: c[3][7] is 12, expected 200 (a = 200, b = 12), for a 10 × 10 matrix`.
//!
//! A test returns `Result<(), Failure>`. [`check`] names the function. [`for_any`] runs a check for
//! random inputs and fails with the sentence for the smallest failing input. [`call`] turns a panic
//! of the code under test into a sentence with its file and line. [`not_written!`] marks code that
//! is still to be written.

mod source;

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

pub use source::{divides_work, has_own_loops};

/// The sentence that a test fails with. The harness prints it through `Debug`, which is the
/// sentence itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure(String);

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<S: Into<String>> From<S> for Failure {
    fn from(sentence: S) -> Self {
        Self(sentence.into())
    }
}

/// Returns the result of a check of `function`. The function's name begins the error's sentence.
///
/// # Errors
/// If the check has failed.
pub fn check<T>(function: &str, result: Result<T, impl fmt::Display>) -> Result<T, Failure> {
    result.map_err(|difference| Failure(format!("{function}: {difference}")))
}

/// Panics with "not written yet: NAME".
#[macro_export]
macro_rules! not_written {
    ($name:literal) => {
        panic!(concat!("not written yet: ", $name))
    };
}

/// A panic that is reported without its location: the test's name and the function's name are enough.
const NOT_WRITTEN: &str = "not written yet: ";

thread_local! {
    /// Whether the caller reports this thread's panics.
    static IS_SILENT: Cell<bool> = const { Cell::new(false) };
}

/// Number of calls in progress.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// Whether [`call`] reports a panic of this thread. It does so for its own thread and for threads
/// that the code under test has started. Those are unnamed, or are ranks of an MPI of threads; the
/// tests' own threads have other names.
fn is_reported_by_call() -> bool {
    let thread = std::thread::current();
    let is_started_by_code = thread.name().is_none_or(|name| name.starts_with("rank "));
    IS_SILENT.get() || is_started_by_code && CALLS.load(Ordering::Relaxed) > 0
}

/// Messages and locations of the last panics of all threads. Rayon passes on a worker's panic
/// payload but not its location.
static LAST_PANICS: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// Maximum number of panics to remember.
const MAX_PANICS: usize = 64;

/// Calls the code under test.
///
/// # Errors
/// The text of its error, or the message of its panic with the file and line. The panic is not
/// printed.
pub fn call<T, E: fmt::Display>(function: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if let Some(location) = info.location() {
                let place = if is_reported_by_call() { place_in_own_code(location) } else { place(location) };
                let mut panics = LAST_PANICS.lock().unwrap_or_else(PoisonError::into_inner);
                if panics.len() == MAX_PANICS {
                    panics.remove(0);
                }
                panics.push((message_of(info.payload()).to_owned(), place));
            }
            if !is_reported_by_call() {
                others(info);
            }
        }));
    });
    let before = IS_SILENT.replace(true);
    CALLS.fetch_add(1, Ordering::Relaxed);
    let result = catch_unwind(AssertUnwindSafe(function));
    CALLS.fetch_sub(1, Ordering::Relaxed);
    IS_SILENT.set(before);
    match result {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(payload) => Err(with_place(message_of(&*payload))),
    }
}

/// The message of a panic.
fn message_of(payload: &(dyn Any + Send)) -> &str {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(message), _) => message,
        (_, Some(message)) => message,
        _ => "it panics",
    }
}

/// The panic message of `std::thread::scope`. The thread's own panic came before it.
const OF_SCOPE: &str = "a scoped thread panicked";

/// Appends the location of the last panic with this message.
fn with_place(message: &str) -> String {
    let panics = LAST_PANICS.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |of: &String| if message == OF_SCOPE { of != OF_SCOPE } else { of == message };
    match panics.iter().rev().find(|(of, _)| is_it(of)) {
        Some((of, place)) if !of.starts_with(NOT_WRITTEN) => format!("{of} ({place})"),
        Some((of, _)) => of.clone(),
        None => message.to_owned(),
    }
}

/// The file and line.
fn place(location: &Location<'_>) -> String {
    format!("{}:{}", without_root(&location.file().replace('\\', "/")), location.line())
}

/// The file and line. For a panic in a library, the nearest caller in the workspace comes first.
fn place_in_own_code(location: &Location<'_>) -> String {
    let place = place(location);
    let file = location.file().replace('\\', "/");
    if without_root(&file) == file {
        return place;
    }
    let folder = std::env::current_dir().unwrap_or_default().to_string_lossy().replace('\\', "/");
    match own_caller(&std::backtrace::Backtrace::force_capture().to_string(), &folder) {
        Some(caller) => format!("{caller}, in {place}"),
        None => place,
    }
}

/// File and line of the innermost backtrace frame in the code of the package in `folder`, excluding
/// its tests. `None` without line tables.
fn own_caller(backtrace: &str, folder: &str) -> Option<String> {
    let (workspace, package) = folder.rsplit_once('/')?;
    backtrace.replace('\\', "/").lines().find_map(|line| {
        let at = line.trim_start().strip_prefix("at ")?;
        let (file, _column) = at.rsplit_once(':')?;
        let file = match file.strip_prefix("./") {
            Some(file) => format!("{package}/{file}"),
            None => file.strip_prefix(workspace)?.strip_prefix('/')?.to_owned(),
        };
        let is_own = file.split_once('/').is_some_and(|(_, file)| file.starts_with("src/"));
        is_own.then_some(file)
    })
}

/// The file's path without the folders in which a dependency or the standard library was compiled.
fn without_root(file: &str) -> &str {
    match (file.split_once("/registry/src/"), file.split_once("/library/")) {
        (Some((_, of_registry)), _) => of_registry.split_once('/').map_or(of_registry, |(_, file)| file),
        (_, Some((root, of_std))) if root.contains("rustc") => of_std,
        _ => file,
    }
}

/// The seed for random inputs: `HOMEWORK_SEED` if set, otherwise 0. A grader sets it to use
/// unpublished inputs.
pub fn seed_of_the_tests() -> u64 {
    let text = std::env::var("HOMEWORK_SEED").ok();
    text.map_or(0, |text| text.parse::<u32>().expect("HOMEWORK_SEED is a number below 2³²").into())
}

/// Time limit for finding a smaller input: a kernel that does not end takes seconds to fail.
const SHRINKING: Duration = Duration::from_secs(5);

/// Checks `cases` random inputs.
///
/// # Errors
/// The failure for the smallest failing input that is found within a few seconds.
pub fn for_any<S: Strategy>(
    cases: u32,
    inputs: S,
    check: impl Fn(S::Value) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let start = Instant::now();
    for_any_by(&|| start.elapsed(), cases, inputs, check)
}

/// Runs [`for_any`] with another clock.
fn for_any_by<S: Strategy>(
    clock: &dyn Fn() -> Duration,
    cases: u32,
    inputs: S,
    check: impl Fn(S::Value) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let seed = u8::try_from(seed_of_the_tests() % 256).expect("it is below 256");
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let failed = Cell::new(None);
    let run = TestRunner::new_with_rng(config, rng).run(&inputs, |input| {
        // After the time limit, all further inputs count as passing. With its own limit, proptest
        // would print a line.
        if failed.get().is_some_and(|at| clock() - at > SHRINKING) {
            return Ok(());
        }
        check(input).map_err(|Failure(sentence)| {
            failed.set(failed.get().or_else(|| Some(clock())));
            TestCaseError::fail(sentence)
        })
    });
    run.map_err(|error| match error {
        TestError::Fail(reason, _) => Failure(reason.message().to_owned()),
        TestError::Abort(reason) => Failure(format!("no input could be made: {}", reason.message())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_printed_as_its_sentence() {
        let failure = check("max_cpu", Err::<(), _>("c[0][1] is 3, expected 4")).unwrap_err();
        assert_eq!(format!("{failure:?}"), "max_cpu: c[0][1] is 3, expected 4");
        assert_eq!(check("max_cpu", Ok::<(), String>(())), Ok(()));
    }

    #[test]
    fn the_smallest_input_is_found() {
        let below_100 = |x: u32| if x < 100 { Ok(()) } else { Err(format!("{x} is too large").into()) };
        let failure = for_any_by(&|| Duration::ZERO, 64, 0..1000_u32, below_100).unwrap_err();
        assert_eq!(format!("{failure:?}"), "100 is too large");
        assert_eq!(for_any(64, 0..100_u32, below_100), Ok(()));
    }

    #[test]
    fn a_call_has_a_result_an_error_or_a_panic() {
        assert_eq!(call(|| Ok::<_, String>(3)), Ok(3));
        assert_eq!(call(|| Err::<(), _>("it failed")), Err("it failed".to_owned()));
        assert_eq!(
            call(|| -> Result<(), String> { not_written!("max_cpu") }),
            Err("not written yet: max_cpu".to_owned())
        );
        let at = 7;
        let out_of_bounds = || -> Result<usize, String> { Ok([1, 2, 3][std::hint::black_box(at)]) };
        let line = line!() - 1;
        assert_eq!(
            call(out_of_bounds).unwrap_err(),
            format!("index out of bounds: the len is 3 but the index is 7 ({}:{line})", file!())
        );
    }

    #[test]
    fn a_panic_of_another_thread_whose_payload_is_passed_on_has_its_place() {
        let one = std::hint::black_box(1_usize);
        let line = line!() + 1;
        let subtract = move || one.checked_sub(2).expect("attempt to subtract with overflow");
        let in_a_thread = || -> Result<usize, String> {
            Ok(std::thread::spawn(subtract).join().unwrap_or_else(|payload| std::panic::resume_unwind(payload)))
        };
        let expected = format!("attempt to subtract with overflow ({}:{line})", file!());
        assert_eq!(call(in_a_thread), Err(expected));
    }

    #[test]
    fn a_place_in_a_dependency_has_no_folders_of_this_machine() {
        let ndarray = "/cargo/registry/src/index-1949cf8c6b5b557f/ndarray-0.17.1/src/arraytraits.rs";
        assert_eq!(without_root(ndarray), "ndarray-0.17.1/src/arraytraits.rs");
        assert_eq!(without_root("/rustc/59807616e1fa/library/core/src/option.rs"), "core/src/option.rs");
        assert_eq!(without_root("max_functions/src/parallel.rs"), "max_functions/src/parallel.rs");
    }

    #[test]
    fn a_panic_in_a_library_names_the_callers_line() {
        let backtrace = "   0: core::panicking::panic_fmt
             at /rustc/59807616e1fa/library/core/src/panicking.rs:80:14
   1: ndarray::dimension::do_slice
             at /home/s/.cargo/registry/src/index-1949/ndarray-0.17.1/src/dimension/mod.rs:400:9
   2: max_functions::trivial::max_cpu
             at ./src/trivial.rs:17:20
   3: public::CPU
             at ./tests/public.rs:31:43";
        let of = |backtrace: &str| own_caller(backtrace, "/home/s/my homework/max_functions");
        assert_eq!(of(backtrace).as_deref(), Some("max_functions/src/trivial.rs:17"));
        let absolute = backtrace.replace("./src", "/home/s/my homework/max_functions/src");
        assert_eq!(of(&absolute).as_deref(), Some("max_functions/src/trivial.rs:17"));
        let of_another = backtrace.replace("./src", "/home/s/my homework/utils/src");
        assert_eq!(of(&of_another).as_deref(), Some("utils/src/trivial.rs:17"));
        assert_eq!(of("   0: max_functions::trivial::max_cpu\n   1: main"), None);
        assert_eq!(of(&backtrace.replace("./src/", "./tests/")), None);
    }

    #[test]
    fn a_slow_failure_is_not_made_smaller_for_ever() {
        // Each check takes two seconds.
        let checks = Cell::new(0);
        let clock = || Duration::from_secs(2 * checks.get());
        let failure = for_any_by(&clock, 1, 1_000_000..u32::MAX, |_| {
            checks.set(checks.get() + 1);
            Err("the kernel does not end".into())
        });
        assert_eq!(format!("{:?}", failure.unwrap_err()), "the kernel does not end");
        assert_eq!(checks.get(), 4, "the first failure, and what ends at most 5 s after it begins");
    }

    #[test]
    fn a_panic_of_a_scoped_thread_has_its_own_message() {
        let one = std::hint::black_box(1_usize);
        let line = line!() + 1;
        let subtract = move || one.checked_sub(2).expect("a scoped thread subtracts");
        let in_a_scope = || -> Result<(), String> {
            std::thread::scope(|scope| drop(scope.spawn(subtract)));
            Ok(())
        };
        let expected = format!("a scoped thread subtracts ({}:{line})", file!());
        // Another test's thread may panic at the same time.
        assert!((0..20).any(|_| call(in_a_scope) == Err(expected.clone())));
    }

    #[test]
    fn a_panic_of_the_code_under_test_is_a_failure_too() {
        let failure = for_any(8, 0..4_u32, |x| {
            assert!(x > 9, "index out of bounds");
            Ok(())
        });
        assert!(format!("{:?}", failure.unwrap_err()).contains("index out of bounds"));
    }
}
