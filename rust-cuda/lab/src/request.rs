//! What a page asks for.

use std::collections::BTreeMap;
use std::path::Path;

use cuda_launch::{Schedule, Search};
use kernel_language::{Compiled, Refusal};
use kernel_launch::{Launch, LaunchFile, LaunchFileError};
use ptx_interpreter::{Options, Uninitialised};
use serde::Deserialize;
use thiserror::Error;

/// The path of the launch in messages.
const LAUNCH: &str = "launch";
/// Maximum number of lines with a fault that are listed.
const MAX_FAULTS: usize = 20;
/// Maximum number of schedules. There is no clock in a page: the number is the limit, and the page can end a run.
pub(crate) const MAX_ORDERS: u32 = 10_000;

/// What a page asks for.
#[derive(Debug, Deserialize)]
#[serde(tag = "task", rename_all = "lowercase")]
pub(crate) enum Request {
    /// The kernels of a PTX text.
    Kernels { ptx: String },
    /// A run in several schedules: faults, results and counts.
    Check {
        #[serde(flatten)]
        program: Program,
        /// Number of schedules, the orders in which warps and blocks run; the first two are ascending and descending.
        orders: u32,
        /// The schedule seed, which chooses the schedules after the first two.
        seed: u64,
    },
    /// The same, and what each thread does in one schedule.
    Trace {
        #[serde(flatten)]
        program: Program,
        orders: u32,
        seed: u64,
        /// The schedule to follow, in which each thread runs alone until it waits; else the first fault's, or ascending.
        schedule: Option<String>,
    },
    /// The page that plays a run.
    Record {
        #[serde(flatten)]
        program: Program,
        /// Texts of source files by their names in the PTX.
        sources: BTreeMap<String, String>,
        /// Maximum number of instructions.
        instructions: usize,
    },
}

/// A launch with its PTX, or with the sources of its kernel.
#[derive(Debug, Deserialize)]
pub(crate) struct Program {
    /// The text of the PTX.
    #[serde(default)]
    ptx: String,
    /// The text of the file with the names of functions and variables.
    names: Option<String>,
    /// The files of the crate that has the kernel, by their names: compiled in place of `ptx` and `names`.
    files: Option<BTreeMap<String, String>>,
    launch: LaunchFile,
}

impl Program {
    /// Makes the launch ready.
    ///
    /// # Errors
    /// If the sources are refused, or something in the launch does not fit the PTX.
    pub(crate) fn launch(self) -> Result<(Launch, String), ProgramError> {
        let ptx = self.launch.ptx().to_owned();
        let (text, names) = match self.files {
            Some(files) => {
                let Compiled { ptx, names } = kernel_language::compile(&files, self.launch.kernel())?;
                (ptx, Some(names))
            }
            None => (self.ptx, self.names),
        };
        let launch = self.launch.launch_in_memory(Path::new(LAUNCH), &ptx, &text, names.as_deref())?;
        Ok((launch, ptx.display().to_string()))
    }
}

/// Why a launch cannot be made ready.
#[derive(Debug, Error)]
pub(crate) enum ProgramError {
    #[error("{0}")]
    Source(#[from] Refusal),
    #[error("{0}")]
    Launch(#[from] LaunchFileError),
}

/// The options of a check in this number of schedules.
pub(crate) fn options(launch: &Launch, orders: u32, seed: u64) -> Options {
    let search = Search { runs: orders, seconds: u32::MAX, seed };
    Options {
        max_faults: MAX_FAULTS,
        search,
        strict: true,
        uninitialised: Uninitialised::Error,
        ..launch.options().clone()
    }
}

/// The options of a traced run: each thread runs alone until it waits. The run goes on after an access that is an error, and races
/// have been looked for before.
pub(crate) fn traced(launch: &Launch, schedule: Schedule) -> Options {
    Options {
        check_races: false,
        max_faults: MAX_FAULTS,
        strict: true,
        uninitialised: Uninitialised::Off,
        separate_lanes: true,
        schedule,
        search: Search::ONE,
        ..launch.options().clone()
    }
}
