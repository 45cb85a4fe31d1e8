//! `simulate`: simulates distributed training on machines that are not available.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use command_line::say;
use command_line::{counted, parse_count, parse_seed, parse_size};
use distributed_functions::simulation::{Asynchronous, Network, Workload, asynchronous, synchronous_on};
use rayon::prelude::*;
use serde_json::json;
use timing::format_seconds;

use super::plot;
use super::row::Row;

#[derive(Args)]
pub(crate) struct SimulateArguments {
    /// Numbers of ranks, at most 4096 each; simulating that many takes about ten seconds
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = parse_simulated)]
    #[arg(default_values = ["1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1024", "2048", "4096"])]
    ranks: Vec<NonZeroUsize>,
    /// Networks: Gbit/s, a colon, and the latency of a message in microseconds
    #[arg(long, value_name = "GBIT:MICROSECONDS", value_delimiter = ',', value_parser = parse_network)]
    #[arg(default_values = ["1:50", "10:20", "100:2"])]
    networks: Vec<NamedNetwork>,
    /// Units of each layer, from the inputs to the outputs
    #[arg(long, value_name = "SIZES", value_delimiter = ',', default_values = ["784", "128", "64", "10"])]
    #[arg(value_parser = parse_size)]
    layers: Vec<NonZeroUsize>,
    /// Samples in a batch: of all ranks for strong scaling, of each rank for weak scaling and for workers
    #[arg(long, value_name = "N", default_value = "512", value_parser = parse_count)]
    batch: NonZeroUsize,
    /// Computation of a sample's gradients, in microseconds
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 1.22, value_parser = parse_time)]
    sample_time: f64,
    /// Update of all parameters, in microseconds
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 35.0, value_parser = parse_time)]
    update_time: f64,
    /// Rate of adding received gradients, in gigabytes per second
    #[arg(long, value_name = "GB/S", default_value_t = 10.0, value_parser = parse_rate)]
    add_rate: f64,
    /// Mean delay of a computation, as a fraction of it: the slowest rank counts
    #[arg(long, value_name = "SHARE", default_value_t = 0.02, value_parser = parse_time)]
    jitter: f64,
    /// Number of masters in addition to the workers of asynchronous training
    #[arg(long, value_name = "M", default_value = "2", value_parser = parse_count)]
    masters: NonZeroUsize,
    /// Number of cores that all ranks share [default: a core for each rank]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    cores: Option<NonZeroUsize>,
    /// Seed of the delays
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = parse_seed)]
    seed: u64,
    /// Also draw the speed-ups to an SVG file
    #[arg(long, value_name = "FILE.svg", value_parser = plot::parse_path)]
    plot: Option<PathBuf>,
    /// Print one JSON object instead of text; times in seconds
    #[arg(long)]
    json: bool,
}

/// A network, with the text that specified it.
#[derive(Clone, Debug)]
struct NamedNetwork {
    gigabits: f64,
    microseconds: f64,
    network: Network,
}

impl NamedNetwork {
    fn name(&self) -> String {
        format!("{} Gbit/s, {} µs", self.gigabits, self.microseconds)
    }
}

fn parse_simulated(text: &str) -> Result<NonZeroUsize, String> {
    let ranks = text.parse().ok().filter(|ranks: &NonZeroUsize| ranks.get() <= 4096);
    ranks.ok_or_else(|| "must be a number from 1 to 4096".to_owned())
}

fn parse_positive(text: &str, is_valid: impl Fn(f64) -> bool, expected: &str) -> Result<f64, String> {
    text.parse().ok().filter(|&value: &f64| is_valid(value)).ok_or_else(|| format!("must be {expected}"))
}

fn parse_time(text: &str) -> Result<f64, String> {
    parse_positive(text, |value| (0.0..=1e6).contains(&value), "a number from 0 to 1000000")
}

fn parse_rate(text: &str) -> Result<f64, String> {
    parse_positive(text, |value| (1e-6..=1e6).contains(&value), "a number from 0.000001 to 1000000")
}

fn parse_network(text: &str) -> Result<NamedNetwork, String> {
    let (gigabits, latency) = text.split_once(':').ok_or("must be GBIT:MICROSECONDS, as in 10:20")?;
    let (gigabits, microseconds) = (parse_rate(gigabits)?, parse_time(latency)?);
    let network = Network { latency: 1e-6 * microseconds, bandwidth: gigabits * 1e9 / 8.0 };
    Ok(NamedNetwork { gigabits, microseconds, network })
}

/// Number of steps of a simulation. Fewer steps average over fewer delays, but steps of many ranks
/// take long.
fn steps(ranks: usize) -> usize {
    if ranks < 256 { 20 } else { 1 }
}

/// Maximum seconds of a simulated step. Far longer steps would overflow the time type.
const LONGEST: f64 = 86_400.0;

/// Number of batches per worker.
const BATCHES: usize = 20;

pub(crate) fn run(arguments: &SimulateArguments) -> Result<ExitCode> {
    let SimulateArguments { layers, batch, masters, .. } = arguments;
    if layers.len() < 2 {
        bail!("--layers needs inputs and outputs, as in 784,10");
    }
    let bytes = |pair: &[NonZeroUsize]| {
        let weights = (pair[0].get() as u64).checked_add(1)?.checked_mul(pair[1].get() as u64)?;
        weights.checked_mul(4).filter(|&bytes| bytes < 1 << 40)
    };
    let bytes: Option<Vec<u64>> = layers.windows(2).map(bytes).collect();
    let workload = Workload {
        layers: bytes.context("--layers has a layer of a terabyte: choose smaller ones")?,
        seconds_of_sample: 1e-6 * arguments.sample_time,
        seconds_of_update: 1e-6 * arguments.update_time,
        seconds_of_byte: 1e-9 / arguments.add_rate,
        jitter: arguments.jitter,
        seed: arguments.seed,
    };
    let samples = batch.get() as f64;
    let alone = workload.seconds_of_step(samples) + samples * workload.seconds_of_sample * workload.jitter;
    if alone == 0.0 {
        bail!("a step takes no time: choose --sample-time or --update-time above 0");
    }
    let row = |(network, ranks): (&NamedNetwork, usize)| {
        let cores = arguments.cores.map_or(ranks, NonZeroUsize::get);
        let step = |samples| synchronous_on(ranks, cores, samples, &workload, network.network, steps(ranks));
        // The rank with the largest part determines the time.
        let (strong, weak) = (step((batch.get().div_ceil(ranks)) as f64), step(samples));
        let Asynchronous { batches_per_second, staleness, busiest_master } =
            asynchronous((ranks, masters.get()), samples, &workload, network.network, BATCHES);
        Row {
            ranks,
            strong_seconds: strong,
            strong_speedup: alone / strong,
            weak_seconds: weak,
            weak_speedup: ranks as f64 * alone / weak,
            async_images_per_second: samples * batches_per_second,
            async_speedup: batches_per_second * alone,
            staleness,
            busiest_master,
        }
    };
    let all: Vec<_> = arguments
        .networks
        .iter()
        .flat_map(|network| arguments.ranks.iter().map(move |ranks| (network, ranks.get())))
        .collect();
    // Start with the longest simulations.
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(all[index].1));
    let mut rows: Vec<(usize, Row)> =
        order.into_par_iter().with_max_len(1).map(|index| (index, row(all[index]))).collect();
    rows.sort_by_key(|(index, _)| *index);
    let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
    if rows
        .iter()
        .any(|row| row.strong_seconds.max(row.weak_seconds) > LONGEST || row.async_images_per_second < 1.0 / LONGEST)
    {
        bail!("a simulated step takes more than a day: choose smaller --layers or times, or faster --networks");
    }
    let by_network: Vec<(String, &[Row])> =
        arguments.networks.iter().map(NamedNetwork::name).zip(rows.chunks(arguments.ranks.len())).collect();
    if let Some(path) = &arguments.plot {
        plot::write(path, &by_network)?;
    }
    print(arguments, &workload, alone, &by_network);
    Ok(ExitCode::SUCCESS)
}

fn print(arguments: &SimulateArguments, workload: &Workload, alone: f64, by_network: &[(String, &[Row])]) {
    let (batch, masters) = (arguments.batch, arguments.masters);
    if arguments.json {
        let networks: Vec<_> = arguments
            .networks
            .iter()
            .zip(by_network)
            .map(|(network, (_, rows))| {
                json!({ "gigabits_per_second": network.gigabits, "latency": network.network.latency, "rows": rows })
            })
            .collect();
        return say!(
            "{}",
            json!({
                "program": "distributed_functions simulate", "layer_bytes": workload.layers, "batch": batch,
                "step_of_one_rank": alone, "masters": masters, "cores": arguments.cores, "jitter": workload.jitter,
                "seed": workload.seed, "networks": networks,
            })
        );
    }
    let bytes = workload.bytes() as f64;
    say!(
        "Simulated: a step of {} takes one rank {}; gradients of {:.0} kB.",
        counted(batch.get(), "sample"),
        format_seconds(alone),
        bytes / 1e3
    );
    say!(
        "strong: {batch} samples in all; weak: {batch} for each rank; async: {batch} for each worker, {} besides.",
        counted(masters.get(), "master")
    );
    for (name, rows) in by_network {
        say!("{name}:");
        say!(
            "{:>7} {:>12} {:>9} {:>12} {:>9} {:>15} {:>10} {:>12}",
            "ranks",
            "strong step",
            "speed-up",
            "weak step",
            "speed-up",
            "async speed-up",
            "staleness",
            "master busy"
        );
        for row in *rows {
            say!(
                "{:>7} {:>12} {:>9.2} {:>12} {:>9.2} {:>15.2} {:>10.1} {:>10.0} %",
                row.ranks,
                format_seconds(row.strong_seconds),
                row.strong_speedup,
                format_seconds(row.weak_seconds),
                row.weak_speedup,
                row.async_speedup,
                row.staleness,
                100.0 * row.busiest_master
            );
        }
    }
    if let Some(path) = &arguments.plot {
        say!("Plot: {}", path.display());
    }
}
