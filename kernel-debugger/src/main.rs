//! A debugger for kernels that needs no GPU: a server of the Debug Adapter Protocol.

use std::io::{self, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::process::ExitCode;

use clap::Parser;

/// Serves an editor by the Debug Adapter Protocol, on standard input and output
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Serve one client on this TCP port of this machine instead; 0 for any free one
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match serve(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::from(2)
        }
    }
}

fn serve(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let Some(port) = arguments.port else {
        return Ok(kernel_debugger::dap::serve(BufReader::new(io::stdin()), io::stdout())?);
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(|error| format!("port {port}: {error}; choose another by --port"))?;
    eprintln!("waiting for a client on {}", listener.local_addr()?);
    let (stream, _) = listener.accept()?;
    Ok(kernel_debugger::dap::serve(BufReader::new(stream.try_clone()?), stream)?)
}
