//! Runs a program with the emulator as its CUDA driver and summarizes what its kernels did.

mod child;
mod library;
mod stand_in;
mod summary;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};

use clap::{Args, Parser, Subcommand};
use cuda_emulator::Report;
use cuda_emulator::options::{self, OptionError, Options};
use thiserror::Error;

/// Exit code for an invalid command line.
const USAGE: u8 = 2;

#[derive(Debug, Parser)]
#[command(name = "cuda-emulate", about = "Runs CUDA programs without a GPU, and checks their kernels")]
struct CommandLine {
    #[command(subcommand)]
    command: Subcommands,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Run a program with the emulator instead of NVIDIA's driver
    Run(Box<Run>),
    /// Print the path of the library, for programs that are started in another way
    Library,
}

#[derive(Debug, Args)]
struct Run {
    /// Architectures of the devices
    #[arg(long, value_name = "sm_90,sm_75,…")]
    devices: Option<OsString>,
    /// Number of multiprocessors of each device [default: 32]
    #[arg(long, value_name = "N")]
    multiprocessors: Option<OsString>,
    /// CUDA version that the driver reports [default: 13.5]
    #[arg(long, value_name = "MAJOR.MINOR")]
    cuda_version: Option<OsString>,
    /// Do not check for data races: blocks run in parallel
    #[arg(long)]
    no_races: bool,
    /// Report violations of rules that GPUs do not enforce as errors, not notes: all threads of a
    /// block reach the same barrier, including exited ones; a fence follows the last block's
    /// counter; shuffles cover less than a warp
    #[arg(long)]
    strict: bool,
    /// How to report loads of uninitialized memory: off, note or error [default: note]
    #[arg(long, value_name = "KIND")]
    uninitialised: Option<OsString>,
    /// Treat volatile accesses as plain ones, as in C++ and Rust: they do not synchronize
    #[arg(long)]
    volatile_is_plain: bool,
    /// Report unordered writes of the same value as errors, not notes
    #[arg(long)]
    same_value_faults: bool,
    /// Number of schedules in which each launch runs [default: 1]
    #[arg(long, value_name = "N")]
    orders: Option<OsString>,
    /// Seed that chooses the schedules after the first two [default: 0]
    #[arg(long, value_name = "N")]
    seed: Option<OsString>,
    /// Run only this schedule, as named in an error message
    #[arg(long, value_name = "ORDER")]
    order: Option<OsString>,
    /// Run copies, launches and other queued work as late or as early as CUDA allows: the number
    /// chooses when. 0 turns this off [default: 0]
    #[arg(long, value_name = "N")]
    async_order: Option<OsString>,
    /// After an error, report it and continue the launch and the program, so later kernels are
    /// checked too. The exit code is 1 if the program's is 0. This is the default
    #[arg(long, conflicts_with = "like_a_gpu")]
    keep_going: bool,
    /// After an error, every later call in its context fails, as on a GPU
    #[arg(long)]
    like_a_gpu: bool,
    /// Maximum number of source lines per launch for which the first error is reported [default:
    /// 20]
    #[arg(long, value_name = "N")]
    max_faults: Option<OsString>,
    /// List instructions that a GPU may compute differently: approximations, results that depend on
    /// time or order, and skipped instructions
    #[arg(long)]
    fidelity: bool,
    /// Make pytest fail each test in which a kernel has an error
    #[arg(long, conflicts_with = "like_a_gpu")]
    pytest: bool,
    /// Write kernels and errors to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the driver calls to a file, in their order: one name per line. %p in the file's name
    /// is the process's ID
    #[arg(long, value_name = "FILE")]
    calls: Option<OsString>,
    /// Write the first launch with an error to a folder, for kernel-debugger
    #[arg(long, value_name = "FOLDER")]
    capture: Option<OsString>,
    /// With --like-a-gpu too: exit with code 1 if a kernel has an error and the program exits with
    /// 0
    #[arg(long)]
    fail_on_fault: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
}

/// Reason why a program is not run.
#[derive(Debug, Error)]
enum RunError {
    #[error(transparent)]
    Option(#[from] OptionError),
    #[error("{}: {error}; does it exist?", program.display())]
    Start { program: PathBuf, error: io::Error },
    #[error(transparent)]
    Library(#[from] library::LibraryError),
    #[error("{}: {error}", path.display())]
    Json { path: PathBuf, error: io::Error },
}

fn main() -> ExitCode {
    let result = match CommandLine::parse().command {
        Subcommands::Run(run) => run.run(),
        Subcommands::Library => library::path()
            .map(|path| {
                println!("{}", path.display());
                ExitCode::SUCCESS
            })
            .map_err(RunError::from),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(USAGE)
    })
}

impl Run {
    fn run(&self) -> Result<ExitCode, RunError> {
        let variables = self.variables();
        let given = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        Options::new(|name| given(name).or_else(|| std::env::var_os(name)))?;
        let folder = library::Folder::new()?;
        let (program, arguments) = self.program.split_first().expect("clap requires one");
        let mut command = Command::new(program);
        command.args(arguments).envs(variables).env(options::JSON, folder.reports().join("%p.json"));
        folder.add_to(&mut command);
        if self.pytest {
            folder.add_plugin_to(&mut command).map_err(library::LibraryError::from)?;
        }
        let status = child::run(&mut command).map_err(|error| RunError::Start { program: program.into(), error })?;
        let report = summary::collect(folder.reports());
        eprint!("{}", summary::describe(&report, self.fidelity));
        if let Some(path) = &self.json {
            let text = serde_json::to_string_pretty(&report).unwrap_or_default() + "\n";
            std::fs::write(path, text).map_err(|error| RunError::Json { path: path.clone(), error })?;
        }
        Ok(self.exit_code(status, &report))
    }

    /// Whether a program continues after an error: yes, unless the command line or the environment
    /// says otherwise.
    fn keeps_going(&self) -> bool {
        self.keep_going || !self.like_a_gpu && std::env::var_os(options::KEEP_GOING).is_none_or(|value| value != "off")
    }

    /// The environment variables that the options set.
    fn variables(&self) -> Vec<(&'static str, OsString)> {
        let named = [
            (options::DEVICES, &self.devices),
            (options::MULTIPROCESSORS, &self.multiprocessors),
            (options::VERSION, &self.cuda_version),
            (options::UNINITIALISED, &self.uninitialised),
            (options::ORDERS, &self.orders),
            (options::SEED, &self.seed),
            (options::ORDER, &self.order),
            (options::ASYNC_ORDER, &self.async_order),
            (options::MAX_FAULTS, &self.max_faults),
            (options::CALLS, &self.calls),
            (options::CAPTURE, &self.capture),
        ];
        let named = named.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        let switches = [
            (options::RACES, self.no_races, "off"),
            (options::STRICT, self.strict, "on"),
            (options::VOLATILE_IS_PLAIN, self.volatile_is_plain, "on"),
            (options::SAME_VALUE_FAULTS, self.same_value_faults, "on"),
            (options::KEEP_GOING, self.keeps_going(), "on"),
            (options::KEEP_GOING, self.like_a_gpu, "off"),
        ];
        let given = switches.into_iter().filter(|(_, is_given, _)| *is_given);
        named.chain(given.map(|(name, _, value)| (name, OsStr::new(value).to_owned()))).collect()
    }

    /// The program's exit code. For a signal it is 128 plus the signal's number, as in shells.
    fn exit_code(&self, status: ExitStatus, report: &Report) -> ExitCode {
        let code = status.code().or_else(|| Some(128 + signal(status)?)).unwrap_or(1);
        match code {
            0 if (self.fail_on_fault || self.keeps_going()) && !report.faults.is_empty() => ExitCode::FAILURE,
            // Windows exit codes have 32 bits; any code but 0 is a failure.
            code => u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from),
        }
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}
