//! The command line. The kernel, shapes and arguments given here become a launch file, so both mean
//! the same.

use std::error::Error;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use cuda_launch::{Schedule, Search};
use kernel_launch::{ElementType, Launch, LaunchFile, Order};
use ptx_interpreter::Uninitialised;
use serde_json::{Value, json};

/// Stands for a launch file's path in messages about command-line arguments. Relative paths start
/// at the current directory.
const COMMAND_LINE: &str = "command line";

/// Maximum number of reported lines with a fault.
const MAX_FAULTS: usize = 20;

/// Checks a kernel launch for races, bad accesses, divergent barriers and infinite loops, on the
/// CPU
///
/// The PTX may come from any compiler. With line information, messages name source lines. Pass the
/// kernel's arguments with --buffer, --slice and --value, in the order of its parameters. Exit
/// code: 0 no fault, 1 a fault, 2 bad input.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Arguments {
    /// The PTX file
    #[arg(value_name = "FILE.ptx", required_unless_present = "launch")]
    ptx: Option<PathBuf>,
    /// The kernel's name in the PTX
    #[arg(long, value_name = "NAME", required_unless_present = "launch")]
    kernel: Option<String>,
    /// Blocks of the grid
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = shape, required_unless_present = "launch")]
    grid: Option<Shape>,
    /// Threads of a block
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = shape, required_unless_present = "launch")]
    block: Option<Shape>,
    /// A buffer in global memory, passed as its address, as in C. VALUES: unwritten (the default),
    /// zeros, index (0, 1, 2, …), one number for all elements, one number per element (1,2,3), or
    /// @FILE with their little-endian bytes. TYPE: u8, u32, u64, i32, i64, f32, f64
    #[arg(long, value_name = "[NAME=]TYPE:COUNT[=VALUES]", value_parser = buffer)]
    buffer: Vec<KernelArgument>,
    /// A buffer passed as its address and length, like a slice in Rust
    #[arg(long, value_name = "[NAME=]TYPE:COUNT[=VALUES]", value_parser = buffer)]
    slice: Vec<KernelArgument>,
    /// A scalar value
    #[arg(long, value_name = "[NAME=]TYPE:NUMBER", value_parser = value)]
    value: Vec<KernelArgument>,
    /// Dynamic shared memory per block
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// All blocks run at the same time and may wait for each other
    #[arg(long)]
    cooperative: bool,
    /// Blocks of a cluster
    #[arg(long, value_name = "N", default_value_t = 1)]
    cluster: u8,
    /// A launch file of kernel-debugger, instead of all of these
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["ptx", "kernel", "grid", "block", "buffer", "slice", "value",
          "shared", "cooperative", "cluster"])]
    launch: Option<PathBuf>,
    /// Number of schedules to run; the first two are ascending and descending
    #[arg(long, value_name = "RUNS", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    orders: u32,
    /// Start no further schedule after this many seconds
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..u32::MAX as i64))]
    seconds: Option<u32>,
    /// Seed of the schedules after the first two
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Run only this schedule, for example one that a fault names: descending@3
    #[arg(long, value_name = "ORDER", conflicts_with_all = ["orders", "seconds", "seed"])]
    order: Option<Schedule>,
    /// Report violations of rules that GPUs do not enforce as faults, not notes: all threads of a
    /// block reach the same barrier, even exited ones; a fence follows the last block's counter;
    /// shuffle distances are smaller than a warp
    #[arg(long)]
    strict: bool,
    /// How to report a load of memory that was never written: off, note (and a fault where the
    /// value matters), or error
    #[arg(long, value_name = "KIND")]
    uninitialised: Option<Uninitialised>,
    /// Treat volatile accesses as plain ones, as in C++ and Rust: they do not synchronize
    #[arg(long)]
    volatile_is_plain: bool,
    /// Report unordered writes of the same value as faults, not notes
    #[arg(long)]
    same_value_faults: bool,
    /// Also list instructions that a GPU may compute differently: approximations, results that
    /// depend on time or order, and skipped instructions
    #[arg(long)]
    pub(crate) fidelity: bool,
    /// Directory that relative source paths start at; for GitHub, the repository's root
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) source_root: PathBuf,
    /// Write the result as JSON; - means stdout, instead of the text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the result as SARIF 2.1.0; - means stdout, instead of the text
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Option<PathBuf>,
    /// The kernel's arguments in the order of the command line.
    #[arg(skip)]
    kernel_arguments: Vec<KernelArgument>,
}

/// Blocks of a grid or threads of a block along x, y and z.
type Shape = [u32; 3];

/// An argument of the kernel, as in a launch file except for `length`.
#[derive(Clone, Debug)]
struct KernelArgument {
    name: Option<String>,
    fields: Value,
}

impl Arguments {
    /// The parsed command line. `None` if it asks for help or the version, which is then printed.
    ///
    /// # Errors
    /// Says in one line what is wrong with the command line.
    pub(crate) fn parse() -> Result<Option<Self>, String> {
        let matches = match Self::command().try_get_matches() {
            Ok(matches) => matches,
            Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
                let _closed = error.print();
                return Ok(None);
            }
            Err(error) => return Err(in_one_line(&error)),
        };
        let mut arguments = Self::from_arg_matches(&matches).map_err(|error| in_one_line(&error))?;
        arguments.kernel_arguments = arguments.in_order(&matches);
        if arguments.json.as_deref() == Some(Path::new("-")) && arguments.sarif == arguments.json {
            return Err("--json - and --sarif - both write to stdout; name a file for one".to_owned());
        }
        Ok(Some(arguments))
    }

    fn in_order(&self, matches: &ArgMatches) -> Vec<KernelArgument> {
        let with_length = |mut argument: KernelArgument, has_length: bool| {
            argument.fields["length"] = has_length.into();
            argument
        };
        let indices = |id| matches.indices_of(id).into_iter().flatten();
        let buffers = self.buffer.iter().map(|argument| with_length(argument.clone(), false));
        let slices = self.slice.iter().map(|argument| with_length(argument.clone(), true));
        let buffers = indices("buffer").zip(buffers).chain(indices("slice").zip(slices));
        let mut all: Vec<_> = buffers.chain(indices("value").zip(self.value.iter().cloned())).collect();
        all.sort_by_key(|(index, _)| *index);
        all.into_iter().map(|(_, argument)| argument).collect()
    }

    /// The file that describes the launch: the launch file, or the command line.
    pub(crate) fn source(&self) -> &Path {
        self.launch.as_deref().unwrap_or(Path::new(COMMAND_LINE))
    }

    /// Prepares the launch and returns it with the path of its PTX.
    ///
    /// # Errors
    /// If a file cannot be read, if an output file would overwrite it, or if something does not
    /// match the PTX.
    pub(crate) fn launch(&self) -> Result<(PathBuf, Launch), Box<dyn Error>> {
        let path = self.source();
        let file = match &self.launch {
            Some(path) => LaunchFile::read(path)?,
            None => self.launch_file()?,
        };
        let file = file.in_order(self.order.clone().map(Order::Schedule));
        let outputs = [("--json", &self.json), ("--sarif", &self.sarif)];
        let outputs = outputs.into_iter().filter_map(|(flag, file)| Some((flag, file.as_deref()?)));
        let mut inputs = file.files(path);
        inputs.extend(self.launch.clone());
        whole_files::require_distinct(outputs, &inputs)?;
        let ptx = path.parent().unwrap_or(Path::new("")).join(file.ptx());
        Ok((ptx, file.launch(path)?))
    }

    fn launch_file(&self) -> Result<LaunchFile, Box<dyn Error>> {
        let arguments: Vec<Value> = (1..).zip(&self.kernel_arguments).map(KernelArgument::with_name).collect();
        let file = json!({
            "ptx": self.ptx,
            "kernel": self.kernel,
            "grid": self.grid,
            "block": self.block,
            "dynamic_shared_bytes": self.shared,
            "cooperative": self.cooperative,
            "cluster": self.cluster,
            "arguments": arguments,
        });
        Ok(serde_json::from_value(file).map_err(|error| format!("{COMMAND_LINE}: {error}"))?)
    }

    /// The options of the launch, with the search over schedules.
    pub(crate) fn options(&self, launch: &Launch) -> ptx_interpreter::Options {
        let mut options = launch.options().clone();
        options.strict |= self.strict;
        options.uninitialised = self.uninitialised.unwrap_or(options.uninitialised);
        options.same_value_races_are_faults |= self.same_value_faults;
        options.volatile_is_plain |= self.volatile_is_plain;
        options.max_faults = MAX_FAULTS;
        options.search = match self.order {
            Some(_) => Search::ONE,
            None => Search { runs: self.orders, seconds: self.seconds.unwrap_or(u32::MAX), seed: self.seed },
        };
        options
    }
}

impl KernelArgument {
    /// The argument as in a launch file. An unnamed argument is named by its number.
    fn with_name((number, argument): (usize, &Self)) -> Value {
        let mut fields = argument.fields.clone();
        fields["name"] = argument.name.clone().unwrap_or_else(|| format!("arg{number}")).into();
        fields
    }
}

fn shape(text: &str) -> Result<Shape, String> {
    let error = || "write one to three positive numbers, as in 32 or 16,16".to_owned();
    let extents: Vec<u32> = text.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|_| error())?;
    match extents[..] {
        [] | [_, _, _, _, ..] => Err(error()),
        _ if extents.contains(&0) => Err(error()),
        _ => Ok(std::array::from_fn(|axis| extents.get(axis).copied().unwrap_or(1))),
    }
}

/// Splits `[NAME=]TYPE:REST`.
fn typed(text: &str) -> Result<(Option<String>, ElementType, &str), String> {
    let (head, rest) = text.split_once(':').ok_or("there is no colon after a type, as in f32:64")?;
    let (name, element) = match head.rsplit_once('=') {
        Some((name, element)) => (Some(name.to_owned()), element),
        None => (None, head),
    };
    let found = ElementType::ALL.into_iter().find(|known| known.name() == element);
    let element = found.ok_or_else(|| {
        let names = ElementType::ALL.map(ElementType::name).join(", ");
        format!("there is no type `{element}`; the types are {names}")
    })?;
    Ok((name, element, rest))
}

fn number(text: &str) -> Result<Value, String> {
    let parsed = text.parse::<serde_json::Number>();
    parsed.map(Value::Number).map_err(|_| format!("`{text}` is no number, as 3 or -0.5 is"))
}

fn value(text: &str) -> Result<KernelArgument, String> {
    let (name, element, digits) = typed(text)?;
    Ok(KernelArgument { name, fields: json!({"type": element.name(), "value": number(digits)?}) })
}

fn buffer(text: &str) -> Result<KernelArgument, String> {
    let (name, element, rest) = typed(text)?;
    let (count, values) = rest.split_once('=').unwrap_or((rest, "unwritten"));
    let count: u64 = count.parse().map_err(|_| format!("`{count}` is no number of elements"))?;
    let values = match values {
        "unwritten" | "zeros" | "index" => values.into(),
        _ => match values.strip_prefix('@') {
            Some(file) => json!({"file": file}),
            None if values.contains(',') => values.split(',').map(number).collect::<Result<Value, _>>()?,
            None => number(values).map_err(|error| format!("{error}; or write unwritten, zeros, index or @FILE"))?,
        },
    };
    Ok(KernelArgument { name, fields: json!({"type": element.name(), "shape": [count], "values": values}) })
}

/// Clap's error message without the usage and the hint about help.
fn in_one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim);
    let lines = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let lines: Vec<&str> = lines.collect();
    let paragraphs = lines.split(|line| line.is_empty()).filter(|paragraph| !paragraph.is_empty());
    let line = paragraphs.map(|paragraph| paragraph.join(" ")).collect::<Vec<_>>().join("; ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    format!("{line}; see kernel-check --help")
}
