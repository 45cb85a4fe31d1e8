//! Times the naive and the ring all-reduce by messages, next to MPI's own.

use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use command_line::{
    BAD_INPUT, CHECK_FAILED, counted, parse_ranks, parse_repeats, parse_seed, parse_whole, require_memory,
};
use command_line::{note, say};
use distributed_functions::{FUNCTIONS, Measured, Model, bytes_by_formula, measure};
use mpi_driver::{Communicator, Error, Interruption, Ranks, run_again_as_ranks, threads};
use serde_json::json;
use timing::format_seconds;

#[derive(Args)]
pub(crate) struct MeasureArguments {
    /// Number of ranks, at most 256; under mpiexec, its number of processes counts
    #[arg(short = 'n', long, value_name = "N", default_value = "4", value_parser = parse_ranks)]
    ranks: NonZeroUsize,
    /// Lengths of the buffers
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = parse_whole)]
    #[arg(default_values = ["4096", "32768", "262144", "2097152"])]
    lengths: Vec<usize>,
    /// Timed calls of each function, after one that is checked; at most 1000000
    #[arg(long, value_name = "N", default_value = "10", value_parser = parse_repeats)]
    repeats: NonZeroUsize,
    /// Seed of the random input
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = parse_seed)]
    seed: u64,
    /// Use threads of one process as ranks, even if there is an MPI
    #[arg(long)]
    threads: bool,
    /// Print one JSON object instead of text; times in seconds per call
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &MeasureArguments) -> Result<ExitCode> {
    let found = match arguments.threads {
        true => None,
        false => Some(Ranks::find()?),
    };
    if let Some(Ranks::Started(universe)) = found {
        let done = measure_all(arguments, universe.world(), &universe.version());
        return done.or_else(|error| {
            note!("error: {error}");
            // The other ranks may be waiting for this one.
            universe.world().abort(BAD_INPUT)
        });
    }
    let ranks = arguments.ranks.get();
    let longest = arguments.lengths.iter().copied().max().unwrap_or(0);
    // A rank has its own buffer, the result, and received data. Threads also hold the messages in
    // transit.
    let bytes = longest.checked_mul(8).and_then(|bytes| bytes.checked_mul(ranks * (3 + ranks)));
    require_memory(
        &format!("all-reduce of {longest} f64 by {}", counted(ranks, "rank")),
        bytes.map(|bytes| bytes as u64),
    )?;
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    if ranks > cores {
        note!("warning: {} on a machine with {}: they share the cores", counted(ranks, "rank"), counted(cores, "core"));
    }
    match found {
        Some(Ranks::ByMpiexec(mpiexec)) => {
            return run_again_as_ranks(&mpiexec, ranks, Interruption::Ends)
                .with_context(|| format!("{} cannot be started", mpiexec.display()));
        }
        Some(Ranks::Threads(reason)) => note!("{reason}; the ranks are threads"),
        Some(Ranks::Started(_)) | None => {}
    }
    let ended = threads(ranks, |world| measure_all(arguments, world, "threads of one process"));
    let ended = ended.into_iter().collect::<Result<Vec<ExitCode>, Error>>()?;
    ended.into_iter().next().context("there is a rank 0")
}

/// Checks and measures every function. Rank 0 prints.
fn measure_all(arguments: &MeasureArguments, world: &Communicator, library: &str) -> Result<ExitCode, Error> {
    let (rank, ranks) = (world.rank(), world.size());
    let is_first = rank == 0;
    if is_first && !arguments.json {
        say!("All-reduce of f64 by {}: {library}", counted(ranks, "rank"));
    }
    let rows = measure(world, &arguments.lengths, arguments.repeats, arguments.seed)?;
    for Measured { length, mismatches, .. } in &rows {
        for (name, mismatch) in mismatches {
            note!("[-] {name} of {length}, rank {rank}: {mismatch}");
        }
    }
    let is_right = rows.iter().all(|row| row.wrong == 0);
    if is_first {
        print(arguments, ranks, library, &rows, is_right);
    }
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::from(CHECK_FAILED) })
}

fn print(arguments: &MeasureArguments, ranks: usize, library: &str, rows: &[Measured], is_right: bool) {
    let formulas = |length: usize| bytes_by_formula(ranks, length);
    let times: Vec<(f64, f64)> = rows.iter().map(|row| (8.0 * row.length as f64, row.seconds[1])).collect();
    let model = Model::of_ring(ranks, &times);
    if arguments.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|Measured { length, seconds, sent, .. }| {
                let [naive, ring] = formulas(*length);
                json!({
                    "length": length,
                    "seconds": { "naive": seconds[0], "ring": seconds[1], "mpi": seconds[2] },
                    "bytes_sent": { "naive": sent[0], "ring": sent[1] },
                    "bytes_by_formula": { "naive": naive, "ring": ring },
                })
            })
            .collect();
        let model = model.map(|model| json!({ "latency": model.latency, "bandwidth": model.bandwidth }));
        let object = json!({
            "program": "distributed_functions", "ranks": ranks, "library": library, "seed": arguments.seed,
            "passed": is_right, "rows": rows, "model": model,
        });
        return say!("{object}");
    }
    let mark = if is_right { "[+]" } else { "[-]" };
    say!("{mark} every result on every rank is the sum in the order of the ranks, up to rounding");
    say!("{:>10} {:>16} {:>16} {:>16}", "length", FUNCTIONS[0], FUNCTIONS[1], FUNCTIONS[2]);
    for Measured { length, seconds, .. } in rows {
        let [naive, ring, mpi] = seconds.map(format_seconds);
        say!("{length:>10} {naive:>16} {ring:>16} {mpi:>16}");
    }
    say!("Bytes that all ranks sent, and n (n − 1) L or 2 (n − 1) L:");
    for Measured { length, sent, .. } in rows {
        let [naive, ring] = formulas(*length);
        say!("{length:>10} naive {} ({naive}), ring {} ({ring})", sent[0], sent[1]);
    }
    if let Some(model @ Model { latency, bandwidth }) = model {
        say!(
            "Model of the ring: {} a message, {:.2} GB/s; it gives {}.",
            format_seconds(latency),
            bandwidth / 1e9,
            times
                .iter()
                .map(|&(bytes, _)| format_seconds(model.of_length(ranks, bytes)))
                .collect::<Vec<_>>()
                .join(", ")
        );
    }
}
