//! What every program of the workspace shares.

use std::io::Write;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::thread::{self, available_parallelism};

/// The exit code of a check that failed: the input was good, the result was not.
pub const CHECK_FAILED: u8 = 1;
/// The exit code of bad input.
pub const BAD_INPUT: u8 = 2;

/// Runs a program's body. An error becomes one line on stderr, its causes joined by colons, and exit code 2.
pub fn run(body: impl FnOnce() -> anyhow::Result<ExitCode>) -> ExitCode {
    body().unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(BAD_INPUT)
    })
}

/// Prints a line to stdout; use it by [`crate::say!`].
///
/// That nobody reads it any more, as with `| head`, does not stop the program: what it computes may be worth keeping.
/// Where it cannot be written for another reason, such as a full disk, the program ends with one line and exit code 2.
pub fn print_line(line: std::fmt::Arguments) {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("error: cannot write to standard output: {error}");
            std::process::exit(BAD_INPUT.into());
        }
        _ => {}
    }
}

/// The options that every measuring program of the homework takes.
#[derive(Clone, Debug, clap::Args)]
pub struct HomeworkOptions {
    /// Worker threads of the parallel version [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = parse_cores)]
    pub cores: Option<NonZeroUsize>,
    /// How often each version is timed, after one call to warm up
    #[arg(long, value_name = "N", default_value = "20", value_parser = parse_repeats)]
    pub repeats: NonZeroUsize,
    /// Seed of the random input
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
    /// Print one JSON object instead of text; times in seconds per call
    #[arg(long)]
    pub json: bool,
}

/// Reads the value of `--cores`.
///
/// # Errors
/// If it is no whole number of 1 or more.
pub fn parse_cores(text: &str) -> Result<NonZeroUsize, String> {
    parse_positive(text).ok_or_else(|| "at least 1 worker thread is needed: 1, 2, 4, 8, …".to_owned())
}

/// Reads the value of `--repeats`.
///
/// # Errors
/// If it is no whole number of 1 or more.
pub fn parse_repeats(text: &str) -> Result<NonZeroUsize, String> {
    parse_positive(text).ok_or_else(|| "at least 1 repeat is needed".to_owned())
}

/// Reads a size, a count of rows or columns.
///
/// # Errors
/// If it is no whole number of 1 or more.
pub fn parse_size(text: &str) -> Result<NonZeroUsize, String> {
    parse_positive(text).ok_or_else(|| "a size is a whole number of 1 or more".to_owned())
}

fn parse_positive(text: &str) -> Option<NonZeroUsize> {
    text.parse().ok()
}

/// Runs `work` on a pool of `requested` worker threads, else one for each core, and hands it their number. All of rayon's
/// parallel calls inside use this pool. Its threads have ended when this returns: a library that keeps something for each thread,
/// as OpenGL's does, may not stand a thread that ends while the program does.
///
/// More threads than cores are allowed, since the homework asks what they do, with a warning on stderr.
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
        eprintln!("warning: {threads} worker threads on a machine with {cores} cores: they will take turns");
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
        // A panic of the work's has come out of `install`; rayon lets no other one out of a thread.
        let _ended = worker.join();
    }
    Ok(result)
}

/// Makes sure that `bytes` of working memory are to be had, where the operating system says what is free (Linux).
///
/// # Errors
/// If they are not, or `bytes` is None, which stands for a number too large to count. The line names `what` and the way out.
pub fn require_memory(what: &str, bytes: Option<u64>) -> anyhow::Result<()> {
    const GIB: f64 = (1_u64 << 30) as f64;
    let Some(bytes) = bytes else {
        anyhow::bail!("{what} needs more memory than can be counted: choose a smaller size")
    };
    match available_memory() {
        Some(available) if bytes > available => anyhow::bail!(
            "{what} needs {:.1} GiB of memory and {:.1} GiB are free: choose a smaller size",
            bytes as f64 / GIB,
            available as f64 / GIB,
        ),
        _ => Ok(()),
    }
}

fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn zero_and_nonsense_cores_name_the_way_out() {
        for text in ["0", "-1", "two", ""] {
            assert!(parse_cores(text).unwrap_err().contains("at least 1 worker thread"), "{text}");
        }
        assert_eq!(parse_cores("8").unwrap().get(), 8);
    }

    /// Says, when its thread is about to end, that it has; slowly, as some libraries do.
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

    #[test]
    fn memory_that_no_machine_has_is_refused() {
        assert!(require_memory("a matrix", Some(1)).is_ok());
        assert!(require_memory("a matrix", None).unwrap_err().to_string().contains("smaller size"));
        if available_memory().is_some() {
            let error = require_memory("a matrix", Some(u64::MAX)).unwrap_err().to_string();
            assert!(error.starts_with("a matrix needs 17179869184.0 GiB"), "{error}");
        }
    }
}
