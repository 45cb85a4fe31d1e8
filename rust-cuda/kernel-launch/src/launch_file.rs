//! Launch files: a kernel, its launch configuration and its arguments, in JSON.

mod argument;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use cuda_launch::{Dim3, LaunchConfig, Schedule, ScheduleError};
use ptx_interpreter::memory::MemoryError;
use ptx_interpreter::{LoadError, Machine, Options, Uninitialised, UninitialisedError};
use serde::Deserialize;
use thiserror::Error;

use crate::debug_information::DebugInformation;
use crate::launch::Launch;
use crate::named_file;
use argument::{ArgumentProblem, FileArgument};

/// Maximum size of a PTX file in bytes.
const MAX_PTX_BYTES: u64 = 256 << 20;

/// A kernel's launch.
///
/// ```json
/// {
///   "ptx": "kernels_gpu.sm_75.ptx", "kernel": "matmul_tiles_f32", "grid": [1, 1, 1], "block": [1024, 1, 1],
///   "arguments": [
///     {"name": "x", "type": "f32", "shape": [48, 40], "values": "index"},
///     {"name": "rows", "type": "u32", "value": 48},
///     {"name": "columns", "type": "u32", "value": 40},
///     {"name": "out", "type": "f32", "shape": [48, 48], "values": "unwritten"}
///   ]
/// }
/// ```
///
/// `values` is `"zeros"`, `"index"` (0, 1, 2, …), `"unwritten"`, a number for all elements, a list
/// of numbers, or `{"file": "x.bin"}`: the elements' little-endian bytes. Here
/// `"written": [[0, 64]]` lists the ranges that are initialized; without it, all are. A buffer is
/// passed as a Rust slice, with its address and its length. With `"length": false` it is passed as
/// its address alone, as in C. A value may be given by its bytes, as in
/// `{"name": "shape", "bytes": "1000000020000000"}`, and then needs no type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchFile {
    /// The PTX file. A relative path starts at the launch file's directory. If there is a file of
    /// the same name with the extension `debug`, it contains the names of functions and variables.
    ptx: PathBuf,
    kernel: String,
    #[serde(default = "one")]
    grid: [u32; 3],
    block: [u32; 3],
    #[serde(default)]
    dynamic_shared_bytes: u32,
    #[serde(default)]
    cooperative: bool,
    #[serde(default = "one_block")]
    cluster: u8,
    #[serde(default)]
    order: Order,
    /// Whether to enforce rules that PTX does not have ([`Options::strict`]).
    #[serde(default)]
    strict: bool,
    /// `off`, `note` or `error`: how to report loads of uninitialized memory
    /// ([`Options::uninitialised`]).
    #[serde(default)]
    uninitialised: OfUninitialised,
    #[serde(default)]
    same_value_races_are_faults: bool,
    #[serde(default)]
    volatile_is_plain: bool,
    /// Limit of instructions per block, beyond which the kernel counts as endless.
    block_instructions: Option<u64>,
    /// The same limit for instructions without a store, a barrier or an exit.
    instructions_without_progress: Option<u64>,
    arguments: Vec<FileArgument>,
}

/// [`Uninitialised`] by name. The default is a note.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
struct OfUninitialised(Uninitialised);

impl Default for OfUninitialised {
    fn default() -> Self {
        Self(Uninitialised::Note)
    }
}

impl TryFrom<String> for OfUninitialised {
    type Error = UninitialisedError;

    fn try_from(text: String) -> Result<Self, UninitialisedError> {
        text.parse().map(Self)
    }
}

/// The order in which a block's warps execute.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub enum Order {
    /// `lines`: in the debugger, the warps alternate, each executing one source line. Elsewhere
    /// each warp runs until it waits.
    #[default]
    Lines,
    /// `warps`: each warp runs until it waits at a barrier, then the next warp does.
    Warps,
    /// The order named in an error message, such as `descending@3`.
    Schedule(Schedule),
}

/// The text is not a valid order.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}; or lines or warps, which are orders within a block")]
pub struct OrderError(#[from] ScheduleError);

impl FromStr for Order {
    type Err = OrderError;

    fn from_str(text: &str) -> Result<Self, OrderError> {
        Ok(match text {
            "lines" => Self::Lines,
            "warps" => Self::Warps,
            text => Self::Schedule(text.parse()?),
        })
    }
}

impl TryFrom<String> for Order {
    type Error = OrderError;

    fn try_from(text: String) -> Result<Self, OrderError> {
        text.parse()
    }
}

fn one() -> [u32; 3] {
    [1; 3]
}

fn one_block() -> u8 {
    1
}

/// Why a launch file cannot be used.
#[derive(Debug, Error)]
pub enum LaunchFileError {
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// The launch file or the PTX file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// It is not JSON, or not a launch.
    #[error("{}: {error}", path.display())]
    Json {
        /// The launch file.
        path: PathBuf,
        /// The error, with line and column.
        error: serde_json::Error,
    },
    /// The interpreter cannot load the PTX.
    #[error("{}: {error}", path.display())]
    Ptx {
        /// The PTX file.
        path: PathBuf,
        /// The interpreter's error.
        error: LoadError,
    },
    /// The PTX has no such kernel.
    #[error("{} has no kernel {kernel}; it has {}", path.display(), if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    NoSuchKernel {
        /// The PTX file.
        path: PathBuf,
        /// The kernel's name.
        kernel: String,
        /// The kernels in the PTX.
        known: Vec<String>,
    },
    /// An argument with neither or both of `values` and `value`, or with numbers that do not fit.
    #[error("{}: argument {name}: {problem}", path.display())]
    Argument {
        /// The launch file.
        path: PathBuf,
        /// The argument's name.
        name: String,
        /// What is wrong with it, and how to fix it.
        problem: String,
    },
    /// Not enough memory for the buffers.
    #[error("{}: {error}", path.display())]
    Memory {
        /// The launch file.
        path: PathBuf,
        /// The device memory's error.
        error: MemoryError,
    },
}

impl LaunchFile {
    /// Reads a launch file and prepares the launch.
    ///
    /// # Errors
    /// If a file cannot be read or is invalid.
    pub fn open(path: &Path) -> Result<Launch, LaunchFileError> {
        Self::read(path)?.launch(path)
    }

    /// Reads a launch file.
    ///
    /// # Errors
    /// If it cannot be read or is invalid.
    pub fn read(path: &Path) -> Result<Self, LaunchFileError> {
        let text = read(path)?;
        serde_json::from_str(&text).map_err(|error| LaunchFileError::Json { path: path.to_owned(), error })
    }

    /// The launch file with another order of warps, or its own if `order` is None.
    pub fn in_order(self, order: Option<Order>) -> Self {
        Self { order: order.unwrap_or(self.order), ..self }
    }

    /// The PTX file. A relative path starts at the launch file's directory.
    pub fn ptx(&self) -> &Path {
        &self.ptx
    }

    /// The files that the launch in the file at `path` consists of, besides the file itself: the
    /// PTX and the buffers' files.
    pub fn files(&self, path: &Path) -> Vec<PathBuf> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let of_buffers = self.arguments.iter().filter_map(FileArgument::file);
        std::iter::once(self.ptx()).chain(of_buffers).map(|file| folder.join(file)).collect()
    }

    /// The name of the kernel.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// Prepares the launch in the file at `path`.
    ///
    /// # Errors
    /// If the PTX cannot be read, or something in the file does not match it.
    pub fn launch(self, path: &Path) -> Result<Launch, LaunchFileError> {
        let ptx = path.parent().unwrap_or(Path::new("")).join(&self.ptx);
        let text = named_file::read_text(&ptx, MAX_PTX_BYTES);
        let text = text.map_err(|error| LaunchFileError::Read { path: ptx.clone(), error })?;
        let names = |kernel: &str| DebugInformation::beside(&ptx, &text, kernel);
        self.launch_text(path, &ptx, &text, names)
    }

    /// Prepares the launch with the PTX and the debug names given as text, as in a web page.
    /// Messages name the launch file `path` and the PTX file `ptx`, which need not exist.
    ///
    /// # Errors
    /// If something in the file does not match the PTX, or needs another file.
    pub fn launch_in_memory(
        self,
        path: &Path,
        ptx: &Path,
        text: &str,
        names: Option<&str>,
    ) -> Result<Launch, LaunchFileError> {
        self.launch_text(path, ptx, text, |kernel| match names {
            Some(names) => DebugInformation::of(ptx, text, names, kernel),
            None => DebugInformation::default(),
        })
    }

    fn launch_text(
        self,
        path: &Path,
        ptx: &Path,
        text: &str,
        names: impl FnOnce(&str) -> DebugInformation,
    ) -> Result<Launch, LaunchFileError> {
        let mut machine = Machine::new(text).map_err(|error| LaunchFileError::Ptx { path: ptx.to_owned(), error })?;
        if let Some((_, error)) = machine.refused().find(|(name, _)| *name == self.kernel) {
            return Err(LaunchFileError::Ptx { path: ptx.to_owned(), error: error.clone() });
        }
        if machine.code(&self.kernel).is_none() {
            let known = machine.kernels().map(str::to_owned).collect();
            return Err(LaunchFileError::NoSuchKernel { path: ptx.to_owned(), kernel: self.kernel, known });
        }
        let mut arguments = Vec::new();
        let mut all_bytes = 0;
        for argument in &self.arguments {
            let problem = |problem| {
                let (path, name) = (path.to_owned(), argument.name.clone());
                LaunchFileError::Argument { path, name, problem }
            };
            let made = argument.make(path, &mut machine, &mut all_bytes).map_err(|error| match error {
                ArgumentProblem::Text(text) => problem(text),
                ArgumentProblem::Memory(error) => LaunchFileError::Memory { path: path.to_owned(), error },
                ArgumentProblem::File(path, error) => LaunchFileError::Read { path, error },
            })?;
            arguments.push(made);
        }
        let [x, y, z] = self.grid;
        let [width, height, depth] = self.block;
        let mut config = LaunchConfig::new(Dim3::new(x, y, z), Dim3::new(width, height, depth))
            .with_dynamic_shared(self.dynamic_shared_bytes);
        config.cooperative = self.cooperative;
        config.cluster = self.cluster;
        let before =
            machine.memory().snapshot().map_err(|error| LaunchFileError::Memory { path: path.to_owned(), error })?;
        let mut options = Options {
            strict: self.strict,
            uninitialised: self.uninitialised.0,
            same_value_races_are_faults: self.same_value_races_are_faults,
            volatile_is_plain: self.volatile_is_plain,
            interleaved: self.order == Order::Lines,
            ..Options::default()
        };
        if let Order::Schedule(schedule) = &self.order {
            options.schedule = schedule.clone();
        }
        if let Some(limit) = self.block_instructions {
            options.block_instructions = limit;
        }
        if let Some(limit) = self.instructions_without_progress {
            options.instructions_without_progress = limit;
        }
        let debug_information = names(&self.kernel);
        Ok(Launch::new(machine, self.kernel, (config, options), arguments, before, debug_information))
    }
}

fn read(path: &Path) -> Result<String, LaunchFileError> {
    fs::read_to_string(path).map_err(|error| LaunchFileError::Read { path: path.to_owned(), error })
}
