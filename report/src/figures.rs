//! All measurements and facts of a report. `--json` prints them, and `--figures` reads them.

mod gpu;
mod machine;

use std::time::Instant;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

pub use self::gpu::{
    FailedProgram, Gpu, GpuActivation, GpuFacts, GpuMaximum, GpuProduct, GpuRun, GpuTraining, RungTimes,
};
pub use self::machine::{Cache, Machine};
use crate::Times;

/// All figures of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Date and settings of the measurement.
    pub made: MeasurementInfo,
    /// The machine.
    pub machine: Machine,
    /// The roofs of the machine's processor, by number of threads.
    #[serde(rename = "ceiling")]
    pub roofs: Vec<Roofs>,
    /// Part 2.
    pub maximum: Maximum,
    /// Part 3.
    pub product: Product,
    /// The activation exercise.
    pub activation: Activation,
    /// Part 1.
    pub training: Training,
    /// A GPU's times.
    pub gpu: Gpu,
    /// Instruction counts of the GPU kernels, from the PTX interpreter.
    pub counts: Counts,
    /// Times of the same exercises in Python.
    pub peers: Peers,
}

/// Date and settings of the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasurementInfo {
    /// Date in UTC, as 2026-11-21.
    pub date: String,
    /// Duration of the measurement in seconds.
    pub seconds: f64,
    /// Whether `--quick` was set, which makes few repeats.
    pub quick: bool,
    /// Number of interleaved rounds over all versions.
    pub rounds: usize,
    /// Device on which the GPU versions were checked: a GPU's name, or "simulator".
    pub checked_on: String,
}

impl MeasurementInfo {
    /// The info for a measurement that ends now, with its `--quick` flag and its number of rounds.
    pub(crate) fn now(start: Instant, (quick, rounds): (bool, usize), checked_on: &str) -> Self {
        let (date, seconds) = (OffsetDateTime::now_utc().date().to_string(), start.elapsed().as_secs_f64());
        Self { date, seconds, quick, rounds, checked_on: checked_on.to_owned() }
    }
}

/// The memory roof and the compute roof on a number of threads, measured on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Roofs {
    /// Number of threads.
    pub threads: usize,
    /// Times of just reading the operands of the maximum.
    pub reading: Times,
    /// Bytes of the operands.
    pub bytes: f64,
    /// Times of single-precision multiply-adds in registers.
    pub arithmetic: Times,
    /// Floating-point operations of those multiply-adds.
    pub operations: f64,
}

impl Roofs {
    /// The memory roof in bytes per second, from the fastest repeat.
    pub fn bytes_per_second(&self) -> f64 {
        self.bytes / self.reading.min
    }

    /// The compute roof in floating-point operations per second, from the fastest repeat.
    pub fn operations_per_second(&self) -> f64 {
        self.operations / self.arithmetic.min
    }
}

/// Times on a number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnThreads {
    /// Threads of the pool.
    pub threads: usize,
    /// The times.
    pub times: Times,
}

/// The element-wise maximum of two matrices of 32-bit integers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Maximum {
    /// Rows and columns.
    pub size: [usize; 2],
    /// `max_cpu`.
    pub cpu: Times,
    /// `max_rayon`, in ascending order of threads.
    pub rayon: Vec<OnThreads>,
}

impl Maximum {
    /// Number of bytes of the two operands: the minimum to read.
    pub fn operand_bytes(&self) -> f64 {
        let [rows, columns] = self.size.map(|length| length as f64);
        rows * columns * (2 * size_of::<i32>()) as f64
    }
}

/// X·Xᵀ in single precision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Product {
    /// Rows and columns of X.
    pub size: [usize; 2],
    /// `matmul_transpose_trivial`.
    pub trivial: Times,
    /// `matmul_transpose_rayon`, in ascending order of threads.
    pub rayon: Vec<OnThreads>,
}

impl Product {
    /// Floating-point operations for one triangle with its diagonal, two per multiply-add.
    pub fn operations(&self) -> f64 {
        let [rows, columns] = self.size.map(|length| length as f64);
        rows * (rows + 1.0) * columns
    }
}

/// Greyscale values normalized, weighed and activated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Activation {
    /// Number of values.
    pub values: usize,
    /// One loop per step.
    pub cpu: Times,
    /// In parallel, one pass per step, in ascending order of threads.
    pub three_passes: Vec<OnThreads>,
    /// In parallel, all steps fused into one pass, in ascending order of threads.
    pub fused: Vec<OnThreads>,
}

/// The homework's network, trained from several seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Name of the data set.
    pub data: String,
    /// Whether it is MNIST.
    pub is_mnist: bool,
    /// The layers' sizes, inputs first.
    pub sizes: Vec<usize>,
    /// Batch size.
    pub batch: usize,
    /// Learning rate.
    pub learning_rate: f64,
    /// Numbers of training, validation and test images.
    pub images: [usize; 3],
    /// Number of epochs.
    pub epochs: usize,
    /// Name of the engine's device.
    pub device: String,
    /// The homework's required test accuracy on MNIST, 0 … 1.
    pub target: f64,
    /// One training run per seed.
    pub runs: Vec<Run>,
    /// The times of a step, in ascending order of threads.
    pub steps: Vec<StepTimes>,
}

/// The mean time of a training step by phase, in the fastest of several runs. Seconds of the team's
/// leading thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepTimes {
    /// Number of threads in the team.
    pub threads: usize,
    /// Reading the inputs, and the first layer's products of the forward pass.
    pub first_layer: f64,
    /// The rest of the forward pass, and the backward pass.
    pub other_layers: f64,
    /// Gradients and weight updates.
    pub update: f64,
    /// Waiting at the barrier.
    pub meetings: f64,
}

impl StepTimes {
    /// Seconds of the whole step.
    pub fn seconds(&self) -> f64 {
        self.first_layer + self.other_layers + self.update + self.meetings
    }
}

/// A training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Seed of the initial weights and of the sample permutations.
    pub seed: u64,
    /// The validation accuracy over time, starting with the initial weights.
    pub curve: Vec<Point>,
    /// Test accuracy after the last epoch, 0 … 1.
    pub test_accuracy: f64,
}

impl Run {
    /// Training time in seconds, not counting evaluations.
    pub fn seconds(&self) -> f64 {
        self.curve.last().map_or(0.0, |point| point.seconds)
    }
}

/// A point of a training run's curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Completed epochs, including the fraction of the current one.
    pub epochs: f64,
    /// Training time so far, in seconds.
    pub seconds: f64,
    /// Validation accuracy, 0 … 1.
    pub accuracy: f64,
}

/// Instruction counts of the GPU kernels, from the PTX interpreter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// The counts.
    Counted(KernelCounts),
    /// The reason why there are no counts.
    Missing(String),
}

/// Instruction counts of the kernels of X·Xᵀ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// The PTX's target architecture, for example sm_90.
    pub architecture: String,
    /// Rows and columns of X.
    pub size: [usize; 2],
    /// The rungs in ascending order.
    pub rungs: Vec<RungCounts>,
}

impl KernelCounts {
    /// Multiply-adds for one triangle with its diagonal.
    pub fn needed(&self) -> f64 {
        let [rows, columns] = self.size.map(|length| length as f64);
        rows * (rows + 1.0) / 2.0 * columns
    }
}

/// Counts of a rung's kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RungCounts {
    /// The rung's name.
    pub name: String,
    /// Instructions executed by threads.
    pub thread_instructions: u64,
    /// Instructions issued by warps.
    pub warp_instructions: u64,
    /// 32-byte sectors requested by global loads.
    pub loaded_sectors: u64,
}

/// Times of the same exercises in Python, for the packages that `python3` has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Peers {
    /// The libraries with their versions.
    pub names: Vec<String>,
    /// The times.
    pub times: Vec<PeerTime>,
    /// Reasons for missing measurements, one sentence each, without a final period.
    pub missing: Vec<String>,
}

/// The exercise that a peer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exercise {
    /// The element-wise maximum.
    Maximum,
    /// X·Xᵀ in single precision.
    Product,
    /// The activation.
    Activation,
    /// The correlation of an image with a kernel.
    Correlation,
}

/// A peer's times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerTime {
    /// The exercise.
    pub exercise: Exercise,
    /// Name of the peer.
    pub label: String,
    /// Its number of threads.
    pub threads: usize,
    /// The times.
    pub times: Times,
}

impl Peers {
    /// The times of an exercise.
    pub fn of(&self, exercise: Exercise) -> impl Iterator<Item = &PeerTime> {
        self.times.iter().filter(move |time| time.exercise == exercise)
    }

    /// The fastest Numba version of the maximum by the median: the homework's `max_numba`.
    pub fn max_numba(&self) -> Option<&PeerTime> {
        let numba = self.of(Exercise::Maximum).filter(|time| time.label.starts_with("Numba"));
        numba.min_by(|a, b| a.times.median.total_cmp(&b.times.median))
    }
}
