//! Given: checks all functions on ranks that are threads, then times the two all-reduces.
//! `cargo run -p distributed_functions -- --ranks 4`
//!
//! By MPI, where it is installed, it times those on processes: `mpiexec -n 4 target/debug/distributed_functions`

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use command_line::{counted, parse_ranks, parse_size};
use distributed_functions::{
    all_reduced, asynchronous_towards, naive_allreduce, ring_allreduce, synchronous, verify, verify_step,
};
use mpi_driver::{Communicator, Error, Operation, Sent, Universe, launcher, threads};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use timing::{Measurement, Report};

/// All-reduce of a buffer of each rank, and training steps on several ranks
#[derive(Parser)]
struct Arguments {
    /// Number of ranks for the checks; the times are of 2, 4 and 8
    #[arg(short = 'n', long, value_name = "N", default_value = "4", value_parser = parse_ranks)]
    ranks: NonZeroUsize,
    /// Elements of a buffer that is timed
    #[arg(long, value_name = "N", default_value = "250000", value_parser = parse_size)]
    length: NonZeroUsize,
}

/// Timed calls of a function.
const REPEATS: usize = 10;

fn main() -> ExitCode {
    let arguments: Arguments = command_line::arguments();
    command_line::run(|| run(&arguments))
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (ranks, length) = (arguments.ranks.get(), arguments.length.get());
    let mut report = Report::new("distributed_functions", false);
    if launcher().is_some() {
        let universe = Universe::initialize()?;
        let world = universe.world();
        let times = both(world, length)?;
        if world.rank() == 0 {
            show(&mut report, world.size(), times);
        }
        return Ok(report.finish());
    }
    check(&mut report, ranks);
    if report.all_passed() {
        for ranks in [2, 4, 8] {
            let of_ranks: Result<Vec<_>, Error> = threads(ranks, |world| both(world, length)).into_iter().collect();
            show(&mut report, ranks, of_ranks?.into_iter().next().context("there is a rank")?);
        }
    }
    Ok(report.finish())
}

fn check(report: &mut Report, ranks: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut vector = || (0..1003).map(|_| rng.random_range(-1.0..1.0_f32)).collect::<Vec<f32>>();
    let buffers: Vec<Vec<f32>> = (0..ranks).map(|_| vector()).collect();
    let parameters = vector();
    for function in ["naive", "ring"] {
        let is_right = ["sum", "maximum"].iter().try_for_each(|operation| {
            let (results, _) = all_reduced(function, &buffers, operation)?;
            verify(&results, &buffers, operation)
        });
        report.check(&format!("{function}_allreduce"), is_right);
    }
    let step = synchronous(&parameters, &buffers, 0.1);
    report.check("synchronous_step", step.and_then(|(results, _)| verify_step(&results, &parameters, &buffers, 0.1)));
    let targets = vec![vec![1.0; parameters.len()]; ranks];
    let trained = asynchronous_towards(&parameters, 0.1, 2, 50, &targets).and_then(|trained| {
        match trained.parameters.iter().find(|&&parameter| (parameter - 1.0).abs() > 0.1) {
            Some(far) => Err(format!("after 50 steps of each worker, a parameter is {far}, expected about 1")),
            None => Ok(()),
        }
    });
    report.check("run_master and run_worker", trained);
}

/// The times of the slowest rank of each call, naive and ring, and what this rank sends in one.
type Times = [(Measurement, Sent); 2];

fn both(world: &Communicator, length: usize) -> Result<Times, Error> {
    let add = |a, b| a + b;
    Ok([
        timed(world, length, |send, receive| naive_allreduce(send, receive, world, add))?,
        timed(world, length, |send, receive| ring_allreduce(send, receive, world, add))?,
    ])
}

fn timed(
    world: &Communicator,
    length: usize,
    all_reduce: impl Fn(&[f32], &mut [f32]) -> Result<(), Error>,
) -> Result<(Measurement, Sent), Error> {
    let (send, mut receive) = (vec![world.rank() as f32; length], vec![0.0; length]);
    let before = world.sent();
    all_reduce(&send, &mut receive)?;
    let mut sent = world.sent();
    let counts = sent.messages.iter_mut().chain(&mut sent.bytes);
    counts.zip(before.messages.iter().chain(&before.bytes)).for_each(|(count, before)| *count -= before);
    let mut seconds = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        world.barrier()?;
        let start = Instant::now();
        all_reduce(&send, &mut receive)?;
        let mut slowest = [start.elapsed().as_secs_f64()];
        world.all_reduce_in_place(&mut slowest, Operation::Maximum)?;
        seconds.push(slowest[0]);
    }
    Ok((Measurement::of(seconds).expect("there are repeats"), sent))
}

fn show(report: &mut Report, ranks: usize, times: Times) {
    let labels = ["Naive", "Ring"].map(|label| format!("{label} {ranks} ranks"));
    for (label, (measurement, sent)) in labels.iter().zip(times) {
        let (messages, bytes): (u64, u64) = (sent.messages.iter().sum(), sent.bytes.iter().sum());
        let messages = counted(messages as usize, "message");
        report.time(label, &format!(", a rank sends {messages}, {bytes} bytes"), measurement);
    }
    report.speedup(&labels[1], &labels[0]);
}
