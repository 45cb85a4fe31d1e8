//! Measures the report's figures by calling the homework crates' functions.

mod activation;
mod counts;
mod gpu_run;
pub(crate) mod interleaved;
mod maximum;
mod product;
mod roofline;
mod training;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gpu::Device;
use neural_net::data::Dataset;
use rayon::ThreadPool;

use crate::figures::{Counts, Figures, Gpu, MeasurementInfo, Training};
use crate::machine;
use crate::peers::{self, PeerOptions};

/// The homework's numbers of threads.
pub const THREADS: [usize; 4] = [1, 2, 4, 8];

/// The errors of [`run`].
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A version computes a wrong result.
    #[error("{version} computes a wrong result, so nothing is measured: {difference}")]
    Wrong {
        /// Name of the version.
        version: &'static str,
        /// The first difference.
        difference: String,
    },
    /// A repeat took 0 s: the clock's resolution is too coarse.
    #[error("{version} took 0 s: the resolution of this machine's clock is too coarse to measure it")]
    NoTime {
        /// Name of the version.
        version: &'static str,
    },
    /// The threads of a pool could not be started.
    #[error("cannot start {threads} threads ({error})")]
    Threads {
        /// Number of threads.
        threads: usize,
        /// The cause.
        error: rayon::ThreadPoolBuildError,
    },
    /// A device failed.
    #[error("the GPU version failed: {0}")]
    Device(String),
    /// Training failed.
    #[error("the training failed: {0}")]
    Training(String),
}

impl MeasureError {
    pub(crate) fn device(error: impl std::fmt::Display) -> Self {
        Self::Device(error.to_string())
    }

    pub(crate) fn training(error: impl std::fmt::Display) -> Self {
        Self::Training(error.to_string())
    }
}

/// The settings of a measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Few repeats, to finish in seconds instead of minutes.
    pub quick: bool,
    /// Seed of all random input.
    pub seed: u64,
    /// The peers.
    pub peers: PeerOptions,
    /// Folder of GPU times recorded on other machines.
    pub recorded: PathBuf,
}

impl Plan {
    /// Number of interleaved rounds over all versions of an exercise.
    fn rounds(&self) -> usize {
        if self.quick { 3 } else { 10 }
    }

    /// Repeats per round of versions that take milliseconds or less.
    fn repeats(&self) -> NonZeroUsize {
        NonZeroUsize::MIN.saturating_add(if self.quick { 9 } else { 19 })
    }

    /// Repeats per round of versions that take hundreds of milliseconds.
    fn slow_repeats(&self) -> NonZeroUsize {
        NonZeroUsize::MIN.saturating_add(if self.quick { 1 } else { 3 })
    }

    /// Number of repeats for a peer, and for interpreted loops.
    pub fn peer_repeats(quick: bool) -> [usize; 2] {
        if quick { [30, 3] } else { [100, 7] }
    }

    /// Time limits for one peer's script and for all of them.
    pub fn peer_limits(quick: bool) -> [Duration; 2] {
        if quick { [8, 14] } else { [120, 300] }.map(Duration::from_secs)
    }

    /// Seeds of the training runs.
    fn seeds(&self) -> std::ops::Range<u64> {
        0..if self.quick { 2 } else { 5 }
    }

    /// Rows of X for the instruction counts: the interpreter needs most of a minute for the
    /// homework's 784.
    fn counted_rows(&self) -> usize {
        if self.quick { 256 } else { 784 }
    }
}

/// The stages of a measurement, which [`run`] passes to its progress callback.
pub const STAGES: [&str; 8] = [
    "checking every version",
    "roofline of the processor",
    "maximum",
    "X·Xᵀ",
    "activation",
    "training the network",
    "GPU",
    "Python's libraries",
];

/// Measures everything. Calls `progress` with each of [`STAGES`] and its current item.
///
/// # Errors
/// If a version computes a wrong result, or a device fails.
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
    let roofs = roofline::measure(plan, &pools, a, b)?;
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
        made: MeasurementInfo::now(start, (plan.quick, plan.rounds()), device.name()),
        machine: machine::describe(device),
        roofs,
        maximum: maximum_figures,
        product: product_figures,
        activation: activation_figures,
        training,
        gpu,
        counts,
        peers,
    })
}

/// A GPU's recorded times, or the reason why there are none.
fn recorded(plan: &Plan, device: &Device, progress: &mut dyn FnMut(&str, &str)) -> Gpu {
    let (newest, skipped) = crate::recorded::newest(&plan.recorded);
    for file in skipped {
        progress(STAGES[6], &file.to_string());
    }
    newest.unwrap_or_else(|| {
        let reason = machine::why_no_gpu(device);
        Gpu::Missing(format!("{reason}, and docs/results has no recorded times"))
    })
}

pub(crate) fn pool(threads: usize) -> Result<ThreadPool, MeasureError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| MeasureError::Threads { threads, error })
}
