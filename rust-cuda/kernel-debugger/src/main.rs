//! A kernel debugger that needs no GPU: a Debug Adapter Protocol server, a terminal view, and
//! recordings as HTML pages.

mod record_command;

use std::io::{self, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use kernel_debugger::{dap, parse_source_root, terminal};
use kernel_launch::{LaunchFile, Order};
use ptx_interpreter::syntax::printable;

/// Serves an editor over the Debug Adapter Protocol, on standard input and output
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Serve one client on this local TCP port instead; 0 for any free port
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
}

#[derive(Subcommand)]
enum Command {
    /// Debug a launch in this terminal
    Terminal {
        /// Launch file: PTX, kernel, grid, block and arguments
        #[arg(value_name = "LAUNCH.json")]
        launch: PathBuf,
        /// Directory that the sources' names start at
        #[arg(long, value_name = "DIR", default_value = ".", value_parser = parse_source_root)]
        source_root: PathBuf,
        /// Order in which warps execute: lines, warps, or the schedule that a fault names, such as
        /// descending@3 [default: the launch file's, or lines]
        #[arg(long, value_name = "ORDER")]
        order: Option<Order>,
    },
    /// Writes an HTML page that replays a block of a launch: its lines, lanes and memory over time
    Record(record_command::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Some(Command::Terminal { launch, source_root, order }) => view(&launch, &source_root, order),
        Some(Command::Record(arguments)) => record_command::run(&arguments).map(|text| println!("{text}")),
        None => serve(arguments.port),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {}", printable(&error.to_string()));
            ExitCode::from(2)
        }
    }
}

fn view(launch: &Path, source_root: &Path, order: Option<Order>) -> Result<(), Box<dyn std::error::Error>> {
    let launch = LaunchFile::read(launch)?.in_order(order).launch(launch)?;
    terminal::run(&launch, source_root)?;
    launch.machine().take_printed().iter().for_each(|printed| println!("{printed}"));
    Ok(())
}

fn serve(port: Option<u16>) -> Result<(), Box<dyn std::error::Error>> {
    let Some(port) = port else {
        return Ok(dap::serve(BufReader::new(io::stdin()), io::stdout())?);
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(|error| format!("port {port}: {error}; choose another by --port"))?;
    eprintln!("waiting for a client on {}", listener.local_addr()?);
    let (stream, _) = listener.accept()?;
    Ok(dap::serve(BufReader::new(stream.try_clone()?), stream)?)
}
