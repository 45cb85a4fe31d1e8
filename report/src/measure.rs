//! Measures what the report states, by calling the crates' own functions.

mod activation;
mod ceiling;
mod counts;
mod gpu_run;
mod maximum;
mod product;
mod training;
mod turns;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gpu::Device;
use neural_net::data::Dataset;
use rayon::ThreadPool;
use time::OffsetDateTime;

use crate::figures::{Counts, Figures, Gpu, Made, Training};
use crate::machine;
use crate::peers::{self, PeerOptions};

/// The homework's numbers of threads.
pub const THREADS: [usize; 4] = [1, 2, 4, 8];

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A version computes something else than it must.
    #[error("{version} is wrong, so nothing is measured: {difference}")]
    Wrong {
        /// The version.
        version: &'static str,
        /// Where it differs.
        difference: String,
    },
    /// The clock did not move.
    #[error("{version} took no time by this machine's clock, which is too coarse to measure it")]
    NoTime {
        /// The version.
        version: &'static str,
    },
    /// The threads of a pool could not be started.
    #[error("cannot start {threads} threads ({error})")]
    Threads {
        /// How many.
        threads: usize,
        /// Why.
        error: rayon::ThreadPoolBuildError,
    },
    /// A device failed.
    #[error("the GPU's version failed: {0}")]
    Device(String),
    /// The training failed.
    #[error("the training failed: {0}")]
    Training(String),
}

impl MeasureError {
    fn device(error: impl std::fmt::Display) -> Self {
        Self::Device(error.to_string())
    }

    fn training(error: impl std::fmt::Display) -> Self {
        Self::Training(error.to_string())
    }
}

/// How much is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whether it is to take seconds instead of minutes.
    pub quick: bool,
    /// The seed of all random input.
    pub seed: u64,
    /// The peers.
    pub peers: PeerOptions,
    /// Where a GPU's times that were recorded elsewhere are.
    pub recorded: PathBuf,
}

impl Plan {
    /// How often all versions of an exercise take turns.
    fn rounds(&self) -> usize {
        if self.quick { 3 } else { 10 }
    }

    /// Repeats in a round of what takes milliseconds or less.
    fn repeats(&self) -> NonZeroUsize {
        NonZeroUsize::MIN.saturating_add(if self.quick { 9 } else { 19 })
    }

    /// Repeats in a round of what takes hundreds of milliseconds.
    fn slow_repeats(&self) -> NonZeroUsize {
        NonZeroUsize::MIN.saturating_add(if self.quick { 1 } else { 3 })
    }

    /// The repeats of a peer, and of interpreted loops.
    pub fn peer_repeats(quick: bool) -> [usize; 2] {
        if quick { [30, 3] } else { [100, 7] }
    }

    /// The longest that a peer's script, and that all of them, may run.
    pub fn peer_limits(quick: bool) -> [Duration; 2] {
        if quick { [8, 14] } else { [120, 300] }.map(Duration::from_secs)
    }

    /// The seeds that the network is trained from.
    fn seeds(&self) -> std::ops::Range<u64> {
        0..if self.quick { 2 } else { 5 }
    }

    /// Rows of X where the interpreter counts instructions: it takes a good part of a minute for the homework's 784.
    fn counted_rows(&self) -> usize {
        if self.quick { 256 } else { 784 }
    }
}

/// The stages of a measurement, as [`run`] names them before each.
pub const STAGES: [&str; 8] = [
    "checking every version",
    "what the processor does at most",
    "maximum",
    "X·Xᵀ",
    "activation",
    "training the network",
    "GPU",
    "Python's libraries",
];

/// Measures everything. `progress` is told each of [`STAGES`], and what is done in it.
///
/// # Errors
/// If a version computes something else than it must, or a device fails.
pub fn run(
    plan: &Plan,
    device: &Device,
    dataset: &Dataset,
    progress: &mut dyn FnMut(&str, &str),
) -> Result<Figures, MeasureError> {
    let start = Instant::now();
    let pools = THREADS.into_iter().map(pool).collect::<Result<Vec<_>, _>>()?;
    let maximum = maximum::Input::random(plan.seed);
    let product = product::Input::random(plan.seed);
    let activation = activation::Input::random(plan.seed);

    progress(STAGES[0], device.name());
    maximum.check(device)?;
    product.check(device)?;
    activation.check(device)?;

    progress(STAGES[1], "");
    let (a, b) = maximum.operands();
    let ceiling = ceiling::measure(plan, &pools, a, b)?;
    progress(STAGES[2], "");
    let maximum_figures = maximum.measure(plan, &pools)?;
    progress(STAGES[3], "");
    let product_figures = product.measure(plan, &pools)?;
    progress(STAGES[4], "");
    let activation_figures = activation.measure(plan, &pools)?;
    let training: Training =
        training::on_the_processor(plan, dataset, &mut |seed| progress(STAGES[5], &format!("seed {seed}")))?;

    progress(STAGES[6], device.name());
    let gpu = match device.is_gpu() {
        true => {
            let inputs = gpu_run::Inputs { maximum: &maximum, product: &product, activation: &activation, dataset };
            Gpu::Measured(gpu_run::measure(
                plan,
                device,
                inputs,
                (&maximum_figures, &product_figures, &activation_figures),
            )?)
        }
        false => recorded(plan, device, progress),
    };
    progress(STAGES[6], "counting the kernels' instructions");
    let counts = match counts::count(plan) {
        Ok(counts) => Counts::Counted(counts),
        Err(error) => Counts::Missing(error.to_string()),
    };
    let peers = peers::measure(&plan.peers, |script| progress(STAGES[7], script));
    Ok(Figures {
        made: Made {
            date: OffsetDateTime::now_utc().date().to_string(),
            seconds: start.elapsed().as_secs_f64(),
            quick: plan.quick,
            rounds: plan.rounds(),
            checked_on: device.name().to_owned(),
        },
        machine: machine::describe(device),
        ceiling,
        maximum: maximum_figures,
        product: product_figures,
        activation: activation_figures,
        training,
        gpu,
        counts,
        peers,
    })
}

/// A GPU's recorded times, or why there are none.
fn recorded(plan: &Plan, device: &Device, progress: &mut dyn FnMut(&str, &str)) -> Gpu {
    let (newest, left_out) = crate::recorded::newest(&plan.recorded);
    for left_out in left_out {
        progress(STAGES[6], &left_out.to_string());
    }
    newest.unwrap_or_else(|| {
        let reason = machine::why_no_gpu(device);
        Gpu::Missing(format!("{reason}, and no times are recorded in docs/results"))
    })
}

fn pool(threads: usize) -> Result<ThreadPool, MeasureError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| MeasureError::Threads { threads, error })
}
