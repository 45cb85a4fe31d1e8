//! The subcommand `record`: turns a launch file into an HTML page.

use std::path::PathBuf;

use clap::Args;
use kernel_debugger::record::{DEFAULT_INSTRUCTIONS, Options, parse_shape, record};
use kernel_debugger::{Query, parse_source_root};
use kernel_launch::{LaunchFile, Order};

/// Arguments of `kernel-debugger record`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The launch file
    #[arg(value_name = "LAUNCH.json")]
    launch: PathBuf,
    /// The page to write
    #[arg(long, value_name = "FILE.html")]
    output: PathBuf,
    /// Directory of the source files that the PTX names
    #[arg(long, value_name = "DIR", default_value = ".", value_parser = parse_source_root)]
    source_root: PathBuf,
    /// Number of the block to record, where x varies fastest [default: the one with the fault, or 0]
    #[arg(long, value_name = "N")]
    block: Option<u32>,
    /// Maximum number of instructions: the last ones before a fault, otherwise the first ones
    #[arg(long, value_name = "N", default_value_t = DEFAULT_INSTRUCTIONS as u32,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    instructions: u32,
    /// Order in which warps execute: lines, warps, or the schedule that a fault names, such as
    /// descending@3 [default: the launch file's, or lines]
    #[arg(long, value_name = "ORDER")]
    order: Option<Order>,
    /// Shape or type of a memory: shared0=32x33, "shared0=f32 32x33"
    #[arg(long, value_name = "NAME=SHAPE", value_parser = parse_shape)]
    shape: Vec<Query>,
}

/// Records the launch and writes the page. Returns the text to print.
///
/// # Errors
/// If a file cannot be read or written, or the launch cannot be recorded.
pub(crate) fn run(arguments: &Arguments) -> Result<String, Box<dyn std::error::Error>> {
    let output = &arguments.output;
    let unwritable = |error: std::io::Error| format!("{}: {error}", output.display());
    whole_files::require_writable(output).map_err(unwritable)?;
    let file = LaunchFile::read(&arguments.launch)?.in_order(arguments.order.clone());
    let mut inputs = file.files(&arguments.launch);
    inputs.push(arguments.launch.clone());
    whole_files::require_distinct([("--output", output.as_path())], &inputs)?;
    let options = Options {
        ptx: file.ptx().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        source_root: arguments.source_root.clone(),
        block: arguments.block,
        instructions: arguments.instructions as usize,
        shapes: arguments.shape.clone(),
        ..Options::default()
    };
    let launch = file.launch(&arguments.launch)?;
    if let Some(reason) = launch.debug_information().missing() {
        eprintln!("{reason}");
    }
    let page = record(&launch, &options)?;
    whole_files::write_atomically(output, page.html.as_bytes()).map_err(unwritable)?;
    Ok(page.describe(output, launch.kernel()))
}
