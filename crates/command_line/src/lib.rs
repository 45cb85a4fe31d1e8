//! Shared behavior of the workspace's programs: option parsing, one-line errors with exit code 2
//! for bad input, output without terminal control characters, a memory check, and the number of
//! worker threads.

mod memory;
mod terminal;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::thread::{self, available_parallelism};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use kernels_cpu::InstructionSet;

pub use memory::{available_memory, require_memory};
pub use terminal::{note_line, print_line, printable, printable_line, warn};

/// Prints a line to stdout like `println!`, but does not panic on a closed pipe and escapes control
/// characters ([`print_line`]).
#[macro_export]
macro_rules! say {
    ($($argument:tt)*) => { $crate::print_line(format_args!($($argument)*)) };
}

/// Prints one line to stderr like `eprintln!`, but does not panic if stderr is closed and escapes
/// control characters ([`note_line`]).
#[macro_export]
macro_rules! note {
    ($($argument:tt)*) => { $crate::note_line(format_args!($($argument)*)) };
}

/// Exit code of a failed check: the input was valid, the result was wrong.
pub const CHECK_FAILED: u8 = 1;
/// Exit code of invalid input.
pub const BAD_INPUT: u8 = 2;

/// Maximum number of worker threads of a program. More would take minutes to start and exceed any machine's cores.
pub const MAX_WORKER_THREADS: usize = 1024;
/// Maximum number of ranks that a program starts by itself.
pub const MAX_RANKS: usize = 256;
/// Maximum number of repeats of a measurement.
pub const MAX_REPEATS: usize = 1_000_000;
/// Maximum count of steps, epochs or samples. The product of two counts fits in 64 bits.
pub const MAX_COUNT: usize = u32::MAX as usize;

/// Parses the program's arguments with [`parse_arguments`]. On an error, prints clap's message with
/// control characters escaped and exits with code 2.
pub fn arguments<A: clap::Parser>() -> A {
    parse_arguments(std::env::args_os()).unwrap_or_else(|error| {
        // Parse again with control characters in the arguments escaped. The message keeps clap's
        // colors but no escape sequence from a file name.
        let shown = std::env::args_os().map(|argument| printable_line(&argument.to_string_lossy()).into_owned());
        parse_arguments::<A, _>(shown).err().unwrap_or(error).exit()
    })
}

/// Parses a program's arguments; the first one is its name.
///
/// An argument such as `-1` is parsed as an option's value, not as an unknown option. The values of
/// a list may be separated by spaces instead of commas if the command has no positional arguments.
///
/// # Errors
/// If the arguments are invalid; also for `--help` and `--version`.
pub fn parse_arguments<A: clap::Parser, T: Into<OsString> + Clone>(
    arguments: impl IntoIterator<Item = T>,
) -> Result<A, clap::Error> {
    let mut command = with_lenient_values(A::command());
    let mut matches = command.try_get_matches_from_mut(arguments)?;
    A::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

fn with_lenient_values(command: clap::Command) -> clap::Command {
    // A space-separated list would also consume the positional arguments after it.
    let has_positionals = command.get_positionals().next().is_some();
    let lenient = |argument: clap::Arg| match argument.get_action().takes_values() && !argument.is_positional() {
        true if argument.get_value_delimiter().is_some() && !has_positionals => {
            argument.num_args(1..).allow_negative_numbers(true)
        }
        true => argument.allow_negative_numbers(true),
        false => argument,
    };
    command.subcommand_precedence_over_arg(true).mut_args(lenient).mut_subcommands(with_lenient_values)
}

/// Runs a program's body. Prints an error as one line on stderr, with its causes joined by colons,
/// and returns exit code 2. A `KERNELS_CPU` that names no instruction set of this processor is such
/// an error.
pub fn run(body: impl FnOnce() -> anyhow::Result<ExitCode>) -> ExitCode {
    exit_code(body, |error| note_line(format_args!("{error}")))
}

/// Runs a body like [`run`], for `xtask`: its errors may contain several lines of compiler output.
pub fn run_tool(body: impl FnOnce() -> anyhow::Result<ExitCode>) -> ExitCode {
    exit_code(body, |error| error.lines().for_each(|line| note_line(format_args!("{line}"))))
}

fn exit_code(body: impl FnOnce() -> anyhow::Result<ExitCode>, show: impl FnOnce(&str)) -> ExitCode {
    let checked = InstructionSet::from_environment().map_err(anyhow::Error::from);
    checked.and_then(|_set| body()).unwrap_or_else(|error| {
        show(&format!("error: {error:#}"));
        ExitCode::from(BAD_INPUT)
    })
}

/// The Python interpreter: `$PYTHON` if set, otherwise `python3` (`python` on Windows).
pub fn python() -> OsString {
    let default = if cfg!(windows) { "python" } else { "python3" };
    std::env::var_os("PYTHON").unwrap_or_else(|| default.into())
}

/// Formats a count with its noun: "1 thread", "2 threads".
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Options common to the homework's benchmark programs.
#[derive(Clone, Debug, clap::Args)]
pub struct HomeworkOptions {
    /// Worker threads of the parallel version, at most 1024 [default: one for each core]
    #[arg(short, long, visible_short_alias = 't', visible_alias = "threads", value_name = "N", value_parser = parse_cores)]
    pub cores: Option<NonZeroUsize>,
    /// Timed calls of each version, after one warm-up call; at most 1000000
    #[arg(long, value_name = "N", default_value = "20", value_parser = parse_repeats)]
    pub repeats: NonZeroUsize,
    /// Seed of the random input
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = parse_seed)]
    pub seed: u64,
    /// Print one JSON object instead of text; times in seconds per call
    #[arg(long)]
    pub json: bool,
}

/// Returns a parser for an option that takes one of `values`; their type need not implement clap's
/// traits. The help lists the names with descriptions, and the error message lists the names.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    values: &'static [T],
    name: fn(T) -> &'static str,
    description: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let names = values.iter().map(|&value| PossibleValue::new(name(value)).help(description(value)));
    PossibleValuesParser::new(names).map(move |given| {
        let value = values.iter().find(|&&value| name(value) == given);
        *value.expect("clap accepts only the names of the values")
    })
}

/// Reads the value of `--cores`.
///
/// # Errors
/// If it is not a whole number from 1 to [`MAX_WORKER_THREADS`].
pub fn parse_cores(text: &str) -> Result<NonZeroUsize, String> {
    parse_up_to(text, MAX_WORKER_THREADS)
        .ok_or_else(|| format!("at least 1 worker thread is needed, at most {MAX_WORKER_THREADS}: 1, 2, 4, 8, …"))
}

/// Parses the number of ranks that a program starts.
///
/// # Errors
/// If it is not a whole number from 1 to [`MAX_RANKS`].
pub fn parse_ranks(text: &str) -> Result<NonZeroUsize, String> {
    parse_up_to(text, MAX_RANKS).ok_or_else(|| format!("at least 1 rank is needed, at most {MAX_RANKS}"))
}

/// Reads the value of `--repeats`.
///
/// # Errors
/// If it is not a whole number from 1 to [`MAX_REPEATS`].
pub fn parse_repeats(text: &str) -> Result<NonZeroUsize, String> {
    parse_up_to(text, MAX_REPEATS).ok_or_else(|| format!("at least 1 repeat is needed, at most {MAX_REPEATS}"))
}

/// Parses a size, such as a number of rows or columns. [`require_memory`] checks whether memory suffices.
///
/// # Errors
/// If it is not a whole number of 1 or more.
pub fn parse_size(text: &str) -> Result<NonZeroUsize, String> {
    parse_up_to(text, usize::MAX).ok_or_else(|| "a size is a whole number of 1 or more".to_owned())
}

/// Reads a count of steps, epochs or samples.
///
/// # Errors
/// If it is not a whole number from 1 to [`MAX_COUNT`].
pub fn parse_count(text: &str) -> Result<NonZeroUsize, String> {
    parse_up_to(text, MAX_COUNT).ok_or_else(|| format!("a whole number of 1 or more is needed, at most {MAX_COUNT}"))
}

/// Reads the value of `--seed`.
///
/// # Errors
/// If it is not a whole number from 0 to 2⁶⁴ − 1.
pub fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

/// Parses a number that may be 0.
///
/// # Errors
/// If it is not a whole number of 0 or more, or does not fit into 64 bits.
pub fn parse_whole(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("a whole number from 0 to {} is needed", usize::MAX))
}

fn parse_up_to(text: &str, max: usize) -> Option<NonZeroUsize> {
    text.parse().ok().filter(|number: &NonZeroUsize| number.get() <= max)
}

/// Runs `work` on a pool of `requested` worker threads (default: one per core) and passes it their
/// number.
///
/// All rayon calls inside `work` use this pool. Its threads have ended when this function returns:
/// a library with thread-local state, such as OpenGL's, may crash if a thread ends while the
/// program exits.
///
/// More threads than cores are allowed, since the homework asks for their effect. A warning on
/// stderr says so.
///
/// # Errors
/// If the threads cannot be started.
pub fn with_worker_threads<R: Send>(
    requested: Option<NonZeroUsize>,
    work: impl FnOnce(usize) -> R + Send,
) -> anyhow::Result<R> {
    let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = requested.unwrap_or(cores);
    if threads > cores {
        let (threads, cores) = (counted(threads.get(), "worker thread"), counted(cores.get(), "core"));
        crate::warn(format_args!("{threads} on a machine with {cores}: they share the cores"));
    }
    let mut workers = vec![];
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.get())
        .spawn_handler(|thread| {
            workers.push(thread::Builder::new().spawn(|| thread.run())?);
            Ok(())
        })
        .build()
        .map_err(|error| anyhow::anyhow!("cannot start {threads} worker threads ({error}): give a smaller --cores"))?;
    let result = pool.install(|| work(threads.get()));
    drop(pool);
    for worker in workers {
        // `install` has already propagated any panic of the work. Rayon lets no other panic escape
        // a worker thread.
        let _ended = worker.join();
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn invalid_core_counts_are_rejected_with_the_valid_range() {
        for text in ["0", "-1", "two", "", "1025", "4294967296", "18446744073709551616"] {
            assert!(
                parse_cores(text).unwrap_err().contains("at least 1 worker thread is needed, at most 1024"),
                "{text}"
            );
        }
        assert_eq!((parse_cores("8").unwrap().get(), parse_cores("1024").unwrap().get()), (8, 1024));
    }

    #[test]
    fn one_of_several_values_is_read_by_its_name() {
        fn name(value: bool) -> &'static str {
            if value { "yes" } else { "no" }
        }
        fn description(value: bool) -> &'static str {
            if value { "It is so" } else { "It is not" }
        }
        let argument = clap::Arg::new("answer").long("answer").value_parser(one_of(&[true, false], name, description));
        let command = clap::Command::new("asks").arg(argument);
        let answer = |text: &str| {
            let matches = command.clone().try_get_matches_from(["asks", "--answer", text]);
            matches.map(|matches| matches.get_one::<bool>("answer").copied())
        };
        assert_eq!((answer("yes").unwrap(), answer("no").unwrap()), (Some(true), Some(false)));
        let error = answer("Yes").unwrap_err().to_string();
        assert!(error.contains("invalid value 'Yes' for '--answer <answer>'"), "{error}");
        assert!(error.contains("[possible values: yes, no]"), "{error}");
        let help = command.clone().render_long_help().to_string();
        assert!(help.contains("- yes: It is so") && help.contains("- no:  It is not"), "{help}");
    }

    #[test]
    fn counts_beyond_the_maximum_are_rejected() {
        assert!(["0", "1000001", "9223372036854775808"].into_iter().all(|text| parse_repeats(text).is_err()));
        assert_eq!(parse_repeats("1000000").unwrap().get(), MAX_REPEATS);
        assert!(["0", "4294967296", "18446744073709551615"].into_iter().all(|text| parse_count(text).is_err()));
        assert_eq!(parse_count("4294967295").unwrap().get(), MAX_COUNT);
    }

    #[derive(Debug, clap::Parser)]
    struct Program {
        #[command(subcommand)]
        command: Option<Sub>,
        #[command(flatten)]
        homework: HomeworkOptions,
        #[arg(long, value_delimiter = ',', value_parser = parse_size)]
        sizes: Vec<NonZeroUsize>,
    }

    #[derive(Debug, clap::Subcommand)]
    enum Sub {
        Inner {
            #[arg(long, value_parser = parse_size)]
            size: NonZeroUsize,
        },
        Grade {
            #[arg(long, value_delimiter = ',')]
            part: Vec<String>,
            files: Vec<String>,
        },
    }

    fn parse(text: &str) -> Result<Program, String> {
        parse_arguments(text.split(' ')).map_err(|error| error.to_string())
    }

    #[test]
    fn a_negative_number_is_a_value_that_its_parser_rejects() {
        for (line, expected) in [
            ("program --seed -1", "a seed is a whole number from 0 to 18446744073709551615"),
            ("program --seed 18446744073709551616", "a seed is a whole number from 0 to 18446744073709551615"),
            ("program --repeats -1.5e3", "at least 1 repeat is needed"),
            ("program -c -1", "at least 1 worker thread is needed"),
            ("program --sizes -1", "a size is a whole number of 1 or more"),
            ("program inner --size -1", "a size is a whole number of 1 or more"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains("invalid value '") && error.contains(expected), "{line}: {error}");
            assert!(!error.contains("unexpected argument"), "{line}: {error}");
        }
        assert!(parse("program --unknown").unwrap_err().contains("unexpected argument '--unknown'"));
        assert!(parse("program --seed --json").unwrap_err().contains("a value is required"));
    }

    #[test]
    fn the_values_of_a_list_are_separated_by_commas_or_spaces() {
        for line in
            ["program --sizes 40001,1,7", "program --sizes 40001 1 7", "program --sizes 40001 1 --sizes 7 --json"]
        {
            let sizes: Vec<usize> = parse(line).unwrap().sizes.iter().map(|size| size.get()).collect();
            assert_eq!(sizes, [40001, 1, 7], "{line}");
        }
        let sizes = |line: &str| parse(line).unwrap().sizes.iter().map(|size| size.get()).collect::<Vec<usize>>();
        assert_eq!(sizes("program --sizes 3 1 2,5"), [3, 1, 2, 5]);
        let inner = parse("program inner --size 2").unwrap().command;
        assert!(matches!(inner, Some(Sub::Inner { size }) if size.get() == 2));
    }

    #[test]
    fn a_list_takes_neither_the_files_nor_the_command_behind_it() {
        let Program { sizes, command, .. } = parse("program --sizes 3 grade --part 1,2 a.zip b.zip").unwrap();
        let Some(Sub::Grade { part, files }) = command else { panic!("{command:?}") };
        assert_eq!(
            (sizes.len(), part, files),
            (1, vec!["1".to_owned(), "2".into()], vec!["a.zip".into(), "b.zip".into()])
        );
    }

    /// Thread-local state with a slow destructor, as some libraries have. The destructor counts its
    /// thread as ended.
    struct Ends(&'static AtomicUsize);

    impl Drop for Ends {
        fn drop(&mut self) {
            thread::sleep(Duration::from_millis(50));
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn worker_threads_have_ended_when_the_work_is_done() {
        static ENDED: AtomicUsize = AtomicUsize::new(0);
        thread_local!(static ENDS: Ends = const { Ends(&ENDED) });
        let sum = with_worker_threads(NonZeroUsize::new(3), |threads| {
            let seen = rayon::broadcast(|worker| ENDS.with(|_| worker.index()));
            assert_eq!(seen.len(), threads);
            seen.iter().sum::<usize>()
        });
        assert_eq!((sum.unwrap(), ENDED.load(Ordering::SeqCst)), (3, 3));
    }
}
