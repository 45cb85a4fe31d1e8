//! Measurement of the figures.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

use gpu::Device;
use neural_net::data::Dataset;
use neural_net::preset::Preset;
use time::OffsetDateTime;

use super::job::{Done, Job, Mode, TrainJob, library, run as run_job};
use super::{AllReduces, Figures, Trained};
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

/// Number of samples in a large batch, and in a rank's own batch.
const LARGE_BATCH: usize = 512;

/// The stages of a measurement, which [`run`] passes to its progress callback.
pub const STAGES: [&str; 5] = [
    "all-reduce",
    "synchronous, small batches",
    "synchronous, large batches",
    "synchronous, a batch for each rank",
    "asynchronous",
];

impl Plan {
    /// Numbers of ranks for the homework's network. One is the original, two have a core each on
    /// most machines, and the assignment asks for the others.
    fn ranks(&self) -> &'static [usize] {
        if self.quick { &[1, 2, 4] } else { &[1, 2, 4, 8, 16] }
    }

    /// Numbers of ranks for large batches and for the all-reduces.
    fn few_ranks(&self) -> &'static [usize] {
        if self.quick { &[1, 2] } else { &[1, 2, 4, 8] }
    }

    /// Numbers of masters and of ranks: the assignment's, and one more for the graph.
    fn masters_and_ranks(&self) -> &'static [(usize, usize)] {
        if self.quick { &[(2, 4), (2, 6), (4, 6)] } else { &[(2, 4), (2, 8), (2, 16), (4, 8), (4, 16)] }
    }

    fn epochs(&self, in_full: usize) -> usize {
        if self.quick { in_full.div_ceil(4) } else { in_full }
    }
}

/// Measures everything on this machine's ranks. Calls `progress` with each of [`STAGES`] and its
/// current item.
///
/// # Errors
/// The reason in one line, if ranks cannot be started or a job fails.
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
    for &ranks in plan.few_ranks().iter().filter(|&&ranks| ranks > 1) {
        progress(STAGES[0], &format!("{ranks} ranks"));
        let repeats = NonZeroUsize::MIN.saturating_add(if plan.quick { 4 } else { 29 });
        let job = Job::AllReduce { lengths: LENGTHS.to_vec(), repeats, seed: plan.seed };
        match run_job(ranks, &job)? {
            Done::AllReduce(lengths) => all_reduce.push(AllReduces { ranks, lengths }),
            Done::Train(_) => return Err("the ranks did another job".to_owned()),
        }
    }
    let homework = Preset::Homework.hyperparameters();
    let small = homework.batch_size.unwrap_or(16);
    let mut synchronous = |stage: &str, ranks: &[usize], mode: Mode, batch: &dyn Fn(usize) -> usize, epochs: usize| {
        let on_ranks = |&ranks: &usize| {
            progress(stage, &counted(ranks, "rank"));
            train(ranks, job(mode, batch(ranks), plan.epochs(epochs)))
        };
        ranks.iter().map(on_ranks).collect::<Result<Vec<Trained>, String>>()
    };
    let small_batches = synchronous(STAGES[1], plan.ranks(), Mode::Homework, &|_| small, homework.epochs)?;
    let few = plan.few_ranks();
    let large_batches = synchronous(STAGES[2], few, Mode::LargeBatches, &|_| LARGE_BATCH, 10)?;
    let own_batches = synchronous(STAGES[3], few, Mode::LargeBatches, &|ranks| LARGE_BATCH * ranks, 10)?;

    let mut by_masters = |workers: usize, masters: usize, ignores_staleness: bool| {
        let how = if ignores_staleness { ", staleness ignored" } else { "" };
        let masters_in_words = counted(masters, "master");
        progress(STAGES[4], &format!("{workers} workers, {masters_in_words}{how}"));
        let mode = Mode::Asynchronous { masters, ignores_staleness };
        train(workers + masters, job(mode, small, plan.epochs(8)))
    };
    let (mut asynchronous, mut ignoring) = (Vec::new(), Vec::new());
    for &(masters, ranks) in plan.masters_and_ranks() {
        asynchronous.push(by_masters(ranks - masters, masters, false)?);
        if masters == 2 {
            ignoring.push(by_masters(ranks - masters, masters, true)?);
        }
    }
    let most = ignoring.iter().map(|run| run.ranks).max().unwrap_or(2);
    let one_master = by_masters(most, 1, false)?;

    let sizes = Preset::Homework.sizes();
    let bytes = sizes.windows(2).map(|pair| 4 * (pair[0] as u64 + 1) * pair[1] as u64).sum();
    Ok(Figures {
        date: OffsetDateTime::now_utc().date().to_string(),
        quick: plan.quick,
        machine: machine::describe(&Device::simulator()),
        library,
        data: dataset.name.clone(),
        is_mnist: dataset.is_mnist,
        bytes,
        sizes,
        images: [images, dataset.test.len()],
        all_reduce,
        small_batches,
        large_batches,
        own_batches,
        asynchronous,
        ignoring,
        one_master: Some(one_master),
        seconds: start.elapsed().as_secs_f64(),
    })
}
