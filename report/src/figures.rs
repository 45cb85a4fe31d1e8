//! Everything that was measured or found out: what the report is made of. `--json` prints it, `--figures` reads it.

mod gpu;
mod machine;

use serde::{Deserialize, Serialize};

pub use self::gpu::{Gpu, GpuActivation, GpuFacts, GpuMaximum, GpuProduct, GpuRun, GpuTraining, RungTimes};
pub use self::machine::{Cache, Machine};
use crate::Times;

/// All figures of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// When and how they were measured.
    pub made: Made,
    /// On which machine.
    pub machine: Machine,
    /// What that machine's processor does at most.
    pub ceiling: Vec<Ceiling>,
    /// Part 2.
    pub maximum: Maximum,
    /// Part 3.
    pub product: Product,
    /// The activation exercise.
    pub activation: Activation,
    /// Part 1.
    pub training: Training,
    /// What a GPU takes.
    pub gpu: Gpu,
    /// What the GPU's kernels do, counted without a GPU.
    pub counts: Counts,
    /// The same work in Python.
    pub peers: Peers,
}

/// When and how the figures were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// The day, as 2026-11-21, in UTC.
    pub date: String,
    /// How long measuring took, in seconds.
    pub seconds: f64,
    /// Whether few repeats were asked for.
    pub quick: bool,
    /// How often all versions took turns.
    pub rounds: usize,
    /// What ran the GPU's versions when they were checked: a GPU's name, or "simulator".
    pub checked_on: String,
}

/// What so many threads do at most, measured on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Threads.
    pub threads: usize,
    /// Reading the maximum's operands, and doing nothing else.
    pub reading: Times,
    /// How many bytes that is.
    pub bytes: f64,
    /// Single-precision multiply-adds in registers.
    pub arithmetic: Times,
    /// How many floating-point operations those are.
    pub operations: f64,
}

impl Ceiling {
    /// Bytes read in a second, at best: a roof is what can be reached.
    pub fn bytes_per_second(&self) -> f64 {
        self.bytes / self.reading.min
    }

    /// Floating-point operations in a second, at best.
    pub fn operations_per_second(&self) -> f64 {
        self.operations / self.arithmetic.min
    }
}

/// A time on a number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnThreads {
    /// Threads of the pool.
    pub threads: usize,
    /// What it took.
    pub times: Times,
}

/// The element-wise maximum of two matrices of 32-bit integers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Maximum {
    /// Rows and columns.
    pub size: [usize; 2],
    /// `max_cpu`.
    pub cpu: Times,
    /// `max_rayon`, by rising number of threads.
    pub rayon: Vec<OnThreads>,
}

impl Maximum {
    /// The bytes of the two operands, which must be read at least.
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
    /// `matmul_transpose_rayon`, by rising number of threads.
    pub rayon: Vec<OnThreads>,
}

impl Product {
    /// The floating-point operations of one triangle with its diagonal, two for each multiply-add.
    pub fn operations(&self) -> f64 {
        let [rows, columns] = self.size.map(|length| length as f64);
        rows * (rows + 1.0) * columns
    }
}

/// Greyscale values normalized, weighed and activated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Activation {
    /// How many values.
    pub values: usize,
    /// One loop for each step.
    pub cpu: Times,
    /// In parallel, one pass for each step, by rising number of threads.
    pub three_passes: Vec<OnThreads>,
    /// In parallel, one pass for all.
    pub fused: Vec<OnThreads>,
}

/// The homework's network, trained from several seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// The name of the images.
    pub data: String,
    /// Whether that is MNIST.
    pub is_mnist: bool,
    /// The layers' sizes, inputs first.
    pub sizes: Vec<usize>,
    /// Images in a batch.
    pub batch: usize,
    /// The learning rate.
    pub learning_rate: f64,
    /// Training, validation and test images.
    pub images: [usize; 3],
    /// Epochs.
    pub epochs: usize,
    /// What did the arithmetic.
    pub device: String,
    /// The test accuracy that the homework asks for on MNIST, 0 … 1.
    pub target: f64,
    /// One training for each seed.
    pub runs: Vec<Run>,
}

/// A training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The seed of its weights and of the order of its images.
    pub seed: u64,
    /// The accuracy as it goes on, from the first weights on.
    pub curve: Vec<Point>,
    /// The share of the test images that is read right at the end.
    pub test_accuracy: f64,
}

impl Run {
    /// The seconds spent training, without measurements.
    pub fn seconds(&self) -> f64 {
        self.curve.last().map_or(0.0, |point| point.seconds)
    }
}

/// A moment in a training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Epochs that are done, with the part of the present one.
    pub epochs: f64,
    /// Seconds spent training so far.
    pub seconds: f64,
    /// The share of the validation images that is read right.
    pub accuracy: f64,
}

/// What the GPU's kernels do, counted by the interpreter of their PTX: no times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// It was counted.
    Counted(KernelCounts),
    /// It was not, for this reason.
    Missing(String),
}

/// The counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// The PTX's architecture, as sm_90.
    pub architecture: String,
    /// Rows and columns of X.
    pub size: [usize; 2],
    /// The rungs of X·Xᵀ, lowest first.
    pub rungs: Vec<RungCounts>,
}

impl KernelCounts {
    /// The multiply-adds that one triangle with its diagonal needs.
    pub fn needed(&self) -> f64 {
        let [rows, columns] = self.size.map(|length| length as f64);
        rows * (rows + 1.0) / 2.0 * columns
    }
}

/// What a rung's kernel did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RungCounts {
    /// The rung's name.
    pub name: String,
    /// Instructions of threads.
    pub thread_instructions: u64,
    /// Instructions issued to warps.
    pub warp_instructions: u64,
    /// Sectors of 32 bytes that global loads asked for.
    pub loaded_sectors: u64,
}

/// The same work in Python, as far as `python3` can do it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Peers {
    /// The libraries with their versions.
    pub names: Vec<String>,
    /// The times.
    pub times: Vec<PeerTime>,
    /// What was not measured, and why: one sentence each, without a full stop.
    pub missing: Vec<String>,
}

/// Which exercise a peer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exercise {
    /// The element-wise maximum.
    Maximum,
    /// X·Xᵀ in single precision.
    Product,
    /// The activation.
    Activation,
}

/// What a peer took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerTime {
    /// The exercise.
    pub exercise: Exercise,
    /// The peer.
    pub label: String,
    /// Its threads.
    pub threads: usize,
    /// What it took.
    pub times: Times,
}

impl Peers {
    /// The times of an exercise.
    pub fn of(&self, exercise: Exercise) -> impl Iterator<Item = &PeerTime> {
        self.times.iter().filter(move |time| time.exercise == exercise)
    }

    /// Numba's fastest maximum by the median: the homework's `max_numba`.
    pub fn max_numba(&self) -> Option<&PeerTime> {
        let numba = self.of(Exercise::Maximum).filter(|time| time.label.starts_with("Numba"));
        numba.min_by(|a, b| a.times.median.total_cmp(&b.times.median))
    }
}
