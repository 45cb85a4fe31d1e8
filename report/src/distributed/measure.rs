//! Measurement of the figures.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

use distributed_functions::simulation::{Network, Workload, asynchronous, synchronous};
use gpu::Device;
use neural_net::data::Dataset;
use neural_net::preset::Preset;
use time::OffsetDateTime;

use super::job::{Done, Job, Mode, TrainJob, library, run as run_job};
use super::{AllReduces, Figures, Simulated, Trained};
use crate::machine;
use crate::words::counted;

/// The settings of a measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Fewer epochs and ranks.
    pub quick: bool,
    /// Seed of the weights and permutations.
    pub seed: u64,
    /// Folder with MNIST's files, if given.
    pub data: Option<PathBuf>,
}

/// The homework's lengths of an all-reduce, in f64.
const LENGTHS: [usize; 4] = [1 << 12, 1 << 15, 1 << 18, 1 << 21];

/// Samples in a large batch, and in a rank's own batch.
const LARGE_BATCH: usize = 512;

/// Simulated networks: Gbit/s and microseconds of a message.
const NETWORKS: [(f64, f64); 3] = [(1.0, 50.0), (10.0, 20.0), (100.0, 2.0)];

/// The stages of a measurement, which [`run`] passes to its progress callback.
pub const STAGES: [&str; 6] = [
    "all-reduce",
    "synchronous, small batches",
    "synchronous, large batches",
    "synchronous, a batch for each rank",
    "asynchronous",
    "simulation",
];

impl Plan {
    fn ranks(&self) -> &'static [usize] {
        if self.quick { &[1, 2] } else { &[1, 2, 4, 8] }
    }

    fn workers(&self) -> &'static [usize] {
        if self.quick { &[2, 4] } else { &[2, 4, 8, 16] }
    }

    fn epochs(&self, in_full: usize) -> usize {
        if self.quick { in_full.div_ceil(4) } else { in_full }
    }
}

/// Measures everything on ranks of this machine. `progress` is called with each of [`STAGES`] and its current item.
///
/// # Errors
/// The reason in one line, if ranks cannot be started, or a job fails.
pub fn run(plan: &Plan, dataset: &Dataset, progress: &mut dyn FnMut(&str, &str)) -> Result<Figures, String> {
    let start = Instant::now();
    let library = library()?;
    let (images, _) = Preset::Homework.images();
    let job = |mode: Mode, batch: usize, epochs: usize| {
        Job::Train(TrainJob { mode, batch, epochs, images, seed: plan.seed, data: plan.data.clone() })
    };
    let train = |ranks: usize, job: Job| match run_job(ranks, &job)? {
        Done::Train(trained) => Ok(trained),
        Done::AllReduce(_) => Err("the ranks did another job".to_owned()),
    };

    let mut all_reduce = Vec::new();
    for &ranks in plan.ranks().iter().filter(|&&ranks| ranks > 1) {
        progress(STAGES[0], &format!("{ranks} ranks"));
        let repeats = NonZeroUsize::MIN.saturating_add(if plan.quick { 4 } else { 29 });
        let job = Job::AllReduce { lengths: LENGTHS.to_vec(), repeats, seed: plan.seed };
        match run_job(ranks, &job)? {
            Done::AllReduce(lengths) => all_reduce.push(AllReduces { ranks, lengths }),
            Done::Train(_) => return Err("the ranks did another job".to_owned()),
        }
    }
    let mut synchronous = |stage: &str, mode: Mode, batch: &dyn Fn(usize) -> usize, epochs: usize| {
        let on_ranks = |&ranks: &usize| {
            progress(stage, &counted(ranks, "rank"));
            train(ranks, job(mode, batch(ranks), plan.epochs(epochs)))
        };
        plan.ranks().iter().map(on_ranks).collect::<Result<Vec<Trained>, String>>()
    };
    let homework = Preset::Homework.hyperparameters();
    let small = homework.batch_size.unwrap_or(16);
    let small_batches = synchronous(STAGES[1], Mode::Homework, &|_| small, homework.epochs)?;
    let large_batches = synchronous(STAGES[2], Mode::LargeBatches, &|_| LARGE_BATCH, 10)?;
    let own_batches = synchronous(STAGES[3], Mode::LargeBatches, &|ranks| LARGE_BATCH * ranks, 10)?;

    let mut by_masters = |workers: usize, masters: usize, ignores_staleness: bool| {
        let how = if ignores_staleness { ", staleness ignored" } else { "" };
        let masters_in_words = counted(masters, "master");
        progress(STAGES[4], &format!("{workers} workers, {masters_in_words}{how}"));
        let mode = Mode::Asynchronous { masters, ignores_staleness };
        train(workers + masters, job(mode, small, plan.epochs(8)))
    };
    let workers = plan.workers();
    let asynchronous_runs =
        workers.iter().map(|&workers| by_masters(workers, 2, false)).collect::<Result<Vec<_>, _>>()?;
    let most = workers.last().copied().unwrap_or(2);
    let ignoring = by_masters(most, 2, true)?;
    let one_master = by_masters(most, 1, false)?;

    let sizes = Preset::Homework.sizes();
    let layers: Vec<u64> = sizes.windows(2).map(|pair| 4 * (pair[0] as u64 + 1) * pair[1] as u64).collect();
    let workload = workload(layers, &large_batches, images, plan.seed);
    Ok(Figures {
        date: OffsetDateTime::now_utc().date().to_string(),
        quick: plan.quick,
        machine: machine::describe(&Device::simulator()),
        library,
        data: dataset.name.clone(),
        is_mnist: dataset.is_mnist,
        bytes: workload.bytes(),
        sizes,
        images: [images, dataset.test.len()],
        all_reduce,
        small_batches,
        large_batches,
        own_batches,
        asynchronous: asynchronous_runs,
        ignoring: Some(ignoring),
        one_master: Some(one_master),
        simulated: NETWORKS
            .into_iter()
            .map(|(gigabits, microseconds)| {
                progress(STAGES[5], &format!("{gigabits} Gbit/s"));
                simulated(gigabits, microseconds, &workload)
            })
            .collect(),
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The simulated training: the time of a sample is that of a step on one rank, less the update's share.
fn workload(layers: Vec<u64>, large_batches: &[Trained], images: usize, seed: u64) -> Workload {
    const UPDATE_SHARE: f64 = 0.05;
    let step = large_batches.first().map_or(0.0, |alone| alone.seconds_of_step(images));
    Workload {
        layers,
        seconds_of_sample: (1.0 - UPDATE_SHARE) * step / LARGE_BATCH as f64,
        seconds_of_update: UPDATE_SHARE * step,
        seconds_of_byte: 1e-10,
        jitter: 0.02,
        seed,
    }
}

/// The speed-ups of up to 1024 ranks.
fn simulated(gigabits: f64, microseconds: f64, workload: &Workload) -> Simulated {
    let network = Network { latency: 1e-6 * microseconds, bandwidth: gigabits * 1e9 / 8.0 };
    let alone = synchronous(1, LARGE_BATCH as f64, workload, network, 20);
    let row = |ranks: usize| {
        let steps = if ranks < 256 { 10 } else { 1 };
        let strong = synchronous(ranks, LARGE_BATCH.div_ceil(ranks) as f64, workload, network, steps);
        let weak = synchronous(ranks, LARGE_BATCH as f64, workload, network, steps);
        let by_masters = asynchronous((ranks, 2), LARGE_BATCH as f64, workload, network, 20);
        (ranks, [alone / strong, ranks as f64 * alone / weak, alone * by_masters.batches_per_second])
    };
    Simulated { gigabits, microseconds, rows: (0..=10).step_by(2).map(|power| row(1 << power)).collect() }
}
