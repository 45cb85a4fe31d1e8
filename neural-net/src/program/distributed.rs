//! `--distributed`: starts the ranks, and checks that they all train the same network.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use command_line::{BAD_INPUT, counted};
use mpi_driver::{
    Communicator, Error, Interruption, Operation, Ranks, run_again_as_ranks, set_when_interrupted, threads,
};
use neural_net::Samples;
use neural_net::asynchronous::{CommunicatorMasters, MAX_LAYERS, Served, StalenessRule, leave, serve};
use neural_net::checkpoint::{self, Checkpoint};
use neural_net::device::TrainingDevice;
use neural_net::engine::{GpuPath, Parameters, WorkerEngine};
use neural_net::training::Optimizer;

use super::arguments::{BatchSize, Distributed, SettingsArguments, TrainArguments};
use super::console::interrupt_flag;
use super::settings::Settings;

/// Runs `train` on ranks: the ones that `mpiexec` has started, otherwise its own. `train` receives
/// the ranks and the flag that Ctrl-C sets.
pub(super) fn run_ranks(
    arguments: &TrainArguments,
    train: impl Fn(&Communicator, Arc<AtomicBool>) -> Result<ExitCode> + Sync,
) -> Result<ExitCode> {
    if arguments.distributed == Some(Distributed::Async) {
        if !matches!(arguments.device, TrainingDevice::Auto | TrainingDevice::Cpu) {
            bail!("--distributed async trains on the CPU: omit --device, or choose --device cpu");
        }
        if arguments.reproducible {
            bail!("--distributed async is never reproducible: omit --reproducible, or choose --distributed sync");
        }
    }
    if arguments.gpu_path == GpuPath::Persistent {
        bail!("--distributed trains by launches for each step: omit --gpu-path");
    }
    let ranks = arguments.ranks.get();
    match Ranks::find()? {
        Ranks::Started(universe) => {
            let (world, interrupted) = (universe.world(), interrupt_flag()?);
            set_when_interrupted(&interrupted)?;
            train(world, interrupted).or_else(|error| {
                command_line::note!("error: rank {}: {error:#}", world.rank());
                // The other ranks may be waiting for this one.
                world.abort(BAD_INPUT)
            })
        }
        Ranks::ByMpiexec(mpiexec) => run_again_as_ranks(&mpiexec, ranks, Interruption::SetsFlag)
            .with_context(|| format!("{} cannot be started", mpiexec.display())),
        Ranks::Threads(reason) => {
            command_line::note!("{reason}; the ranks are threads");
            let interrupted = interrupt_flag()?;
            let mut ended = threads(ranks, |world| train(world, interrupted.clone()));
            // A rank's own error takes precedence over errors of ranks that waited for it.
            let own = ended.iter().position(|result| result.as_ref().is_err_and(|error| !error.is::<Error>()));
            ended.swap_remove(own.unwrap_or(0))
        }
    }
}

/// The flags of the settings, with the batch size derived from `--batch-per-rank`.
pub(super) fn settings_flags(arguments: &TrainArguments, world: Option<&Communicator>) -> Result<SettingsArguments> {
    let mut flags = arguments.settings.clone();
    if let (Some(own), Some(world)) = (arguments.batch_per_rank, world) {
        // Asynchronous workers do not divide a batch.
        let ranks = if arguments.distributed == Some(Distributed::Sync) { world.size() } else { 1 };
        let whole = own.get().checked_mul(ranks).context("--batch-per-rank is too large")?;
        flags.batch_size = Some(BatchSize(Some(whole)));
    }
    Ok(flags)
}

/// Number of asynchronous workers; 1 for other training modes.
pub(super) fn workers(arguments: &TrainArguments, world: Option<&Communicator>) -> usize {
    match (arguments.distributed, world) {
        (Some(Distributed::Async), Some(world)) => world.size().saturating_sub(arguments.masters.get()).max(1),
        _ => 1,
    }
}

/// What all ranks must have in common, apart from the settings.
pub(super) fn mode(arguments: &TrainArguments) -> String {
    let TrainArguments { distributed, masters, staleness, max_staleness, allreduce, reproducible, device, .. } =
        arguments;
    format!("{distributed:?} {masters} {staleness} {max_staleness:?} {allreduce} {reproducible} {device:?}")
}

/// The checkpoint that rank 0 resumes from, on every rank. The other ranks need not have its file.
pub(super) fn shared_checkpoint(
    world: &Communicator,
    read: impl FnOnce() -> Result<Option<Checkpoint>>,
) -> Result<Option<Checkpoint>> {
    if world.rank() > 0 {
        let mut length = [0];
        world.broadcast(&mut length, 0)?;
        let Ok(length) = usize::try_from(length[0]) else {
            let reason = "rank 0 has no valid checkpoint".to_owned();
            return Err(Error { operation: "MPI_Bcast", peer: Some(0), reason }.into());
        };
        let mut bytes = vec![0; length];
        world.broadcast(&mut bytes, 0)?;
        let parse = |bytes| checkpoint::parse(Path::new("rank 0's checkpoint"), bytes);
        return Ok((length > 0).then(|| parse(bytes)).transpose()?.map(|loaded| loaded.content));
    }
    let bytes_of = |kept: &Option<Checkpoint>| -> Result<Vec<u8>> {
        let Some(checkpoint) = kept else { return Ok(Vec::new()) };
        Ok(checkpoint::to_bytes(Path::new("the checkpoint"), checkpoint)?)
    };
    let kept = read().and_then(|kept| Ok((bytes_of(&kept)?, kept)));
    // −1 means that the run ends.
    let length = kept.as_ref().map_or(Ok(-1), |(bytes, _)| i32::try_from(bytes.len()));
    world.broadcast(&mut [length.unwrap_or(-1)], 0)?;
    let (mut bytes, kept) = kept?;
    length.context("the checkpoint is larger than 2 GiB, which a message cannot be")?;
    world.broadcast(&mut bytes, 0)?;
    Ok(kept)
}

/// Trains asynchronously. Workers run `train`, which receives their engine, and masters answer
/// them. Rank 0 prints the staleness.
pub(super) fn by_masters<'a>(
    arguments: &TrainArguments,
    world: &'a Communicator,
    settings: &Settings,
    samples: &'a Samples,
    parameters: &Parameters,
    train: impl FnOnce(WorkerEngine<'a>) -> Result<ExitCode>,
) -> Result<ExitCode> {
    let (ranks, masters, hyperparameters) = (world.size(), arguments.masters.get(), &settings.hyperparameters);
    if masters >= ranks {
        bail!(
            "with --masters {masters}, no worker is left of {}: choose fewer masters, or more --ranks",
            counted(ranks, "rank")
        );
    }
    if hyperparameters.optimizer != Optimizer::Sgd {
        bail!("--distributed async trains by --optimizer sgd");
    }
    if settings.architecture.layers() > MAX_LAYERS {
        bail!("--distributed async trains networks of at most {MAX_LAYERS} layers: choose smaller --layers");
    }
    let is_master = world.rank() >= ranks - masters;
    let group = world.split(u32::from(is_master), world.rank())?;
    let (ended, served) = match is_master {
        true => {
            let max = arguments.max_staleness.unwrap_or(4 * (ranks - masters));
            let rule = StalenessRule { staleness: arguments.staleness, max };
            (ExitCode::SUCCESS, serve(world, masters, parameters, hyperparameters, rule)?)
        }
        false => {
            let masters_of_worker = Box::new(CommunicatorMasters::new(world, group, masters));
            let ended = train(WorkerEngine::new(samples, parameters, hyperparameters, masters_of_worker))?;
            leave(world, masters)?;
            (ended, Served::NONE)
        }
    };
    let served = served.sum(world)?;
    if world.rank() == 0 && !arguments.json {
        command_line::say!("{}", staleness_in_words(&served));
        if ranks - masters > 1 {
            command_line::say!(
                "The order of the workers' updates depends on their speed: results differ from run to run. With \
                 --distributed sync they do not."
            );
        }
    }
    Ok(ended)
}

/// One line about the staleness of gradients.
fn staleness_in_words(served: &Served) -> String {
    let all = served.gradients().max(1) as f64;
    let last = served.histogram.len() - 1;
    let counted = served.histogram.iter().enumerate().filter(|(_, count)| **count > 0);
    let shares = counted.map(|(staleness, &count)| {
        let or_more = if staleness == last { " or more" } else { "" };
        format!("{staleness}{or_more}: {:.1} %", 100.0 * f64::from(count) / all)
    });
    let shares: Vec<String> = shares.collect();
    let unused = match served.unused {
        0 => String::new(),
        unused => format!("; too stale to be used: {:.1} %", 100.0 * f64::from(unused) / all),
    };
    format!("Staleness of gradients: mean {:.2}; {}{unused}", served.mean().unwrap_or(0.0), shares.join(", "))
}

/// A warning if some ranks have no images in any step of synchronous training.
pub(super) fn idle_ranks(arguments: &TrainArguments, world: &Communicator, settings: &Settings) -> Option<String> {
    let (images, ranks) = (settings.images.train, world.size());
    let batch = settings.hyperparameters.batch_size.map_or(images, |size| size.min(images));
    let is_idle = arguments.distributed == Some(Distributed::Sync) && batch < ranks;
    is_idle.then(|| {
        format!(
            "{ranks} ranks share batches of {}: {} no image, and every step waits for all ranks; choose a --batch-size of \
             at least {ranks}, or -n {batch}",
            counted(batch, "image"),
            if ranks - batch == 1 { "1 rank has".to_owned() } else { format!("{} ranks have", ranks - batch) }
        )
    })
}

/// What would make ranks differ, in the order of their digests.
pub(super) const DIGESTED: [&str; 3] = ["another version of the program", "other flags", "other images"];

/// Checks that all ranks train the same network, by comparing digests in the order of [`DIGESTED`].
pub(super) fn require_equal(world: &Communicator, digests: [u32; DIGESTED.len()]) -> Result<()> {
    // Compared as signed numbers. The maximum of all complements is the complement of the minimum.
    let digests = digests.map(|digest| digest as i32);
    let mut maxima = digests;
    let mut minima = digests.map(|digest| !digest);
    world.all_reduce_in_place(&mut maxima, Operation::Maximum)?;
    world.all_reduce_in_place(&mut minima, Operation::Maximum)?;
    if maxima == minima.map(|digest| !digest) {
        return Ok(());
    }
    let Some(all) = world.gather(&digests, 0)? else {
        let reason = "the ranks differ".to_owned();
        return Err(Error { operation: "MPI_Gather", peer: Some(0), reason }.into());
    };
    let (all, _) = all.as_chunks::<{ DIGESTED.len() }>();
    let rank = all.iter().position(|other| *other != digests).context("the digests differ")?;
    let pairs = DIGESTED.iter().zip(all[rank].iter().zip(&digests));
    let differences: Vec<&str> = pairs.filter(|(_, (other, own))| other != own).map(|(&what, _)| what).collect();
    bail!(
        "rank {rank} has {} than rank 0: start all ranks alike, with the same program, flags and --data, and in the same \
         folder if paths are relative",
        differences.join(" and ")
    )
}
