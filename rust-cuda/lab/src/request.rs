//! Requests from the page.

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
/// Maximum number of lines with an error that are listed.
const MAX_FAULTS: usize = 20;
/// Maximum number of schedules. A page has no clock, so the number is the limit; the page can also
/// stop a run.
pub(crate) const MAX_ORDERS: u32 = 10_000;

/// A request from the page.
#[derive(Debug, Deserialize)]
#[serde(tag = "task", rename_all = "lowercase")]
pub(crate) enum Request {
    /// Lists the kernels in a PTX text.
    Kernels { ptx: String },
    /// Runs several schedules, and returns errors, results and counts.
    Check {
        #[serde(flatten)]
        program: Program,
        /// Number of schedules: the orders in which warps and blocks run. The first two are
        /// ascending and descending.
        orders: u32,
        /// The schedule seed for the schedules after the first two.
        seed: u64,
    },
    /// Like `Check`, and also traces what each thread does in one schedule.
    Trace {
        #[serde(flatten)]
        program: Program,
        orders: u32,
        seed: u64,
        /// The schedule to trace, in which each thread runs alone until it waits. The default is
        /// the first error's schedule, otherwise ascending.
        schedule: Option<String>,
    },
    /// Creates the page that plays a recorded run.
    Record {
        #[serde(flatten)]
        program: Program,
        /// Source files by their names in the PTX.
        sources: BTreeMap<String, String>,
        /// Maximum number of instructions.
        instructions: usize,
    },
}

/// A launch with its PTX, or with the kernel's sources.
#[derive(Debug, Deserialize)]
pub(crate) struct Program {
    /// The PTX text.
    #[serde(default)]
    ptx: String,
    /// The contents of the file with debug names.
    names: Option<String>,
    /// The files of the kernel's crate by name. They are compiled instead of using `ptx` and
    /// `names`.
    files: Option<BTreeMap<String, String>>,
    launch: LaunchFile,
}

impl Program {
    /// Prepares the launch.
    ///
    /// # Errors
    /// If the sources are rejected, or something in the launch does not match the PTX.
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

/// Why a launch cannot be prepared.
#[derive(Debug, Error)]
pub(crate) enum ProgramError {
    #[error("{0}")]
    Source(#[from] Refusal),
    #[error("{0}")]
    Launch(#[from] LaunchFileError),
}

/// The options for a check with this number of schedules.
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

/// The options for a traced run: each thread runs alone until it waits. The run continues after an
/// invalid access. It does not check for data races, which an earlier run has done.
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
