use serde::{Deserialize, Serialize};

use super::{OnThreads, Point};
use crate::Times;

/// A GPU's times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gpu {
    /// Measured on this machine.
    Measured(GpuRun),
    /// Recorded on another machine.
    Recorded {
        /// Name of the file.
        file: String,
        /// Date, as 2026-11-21.
        date: String,
        /// The figures.
        run: GpuRun,
    },
    /// The reason why none were measured: one sentence without a final period.
    Missing(String),
}

impl Gpu {
    /// The figures, if any.
    pub fn run(&self) -> Option<&GpuRun> {
        match self {
            Self::Measured(run) | Self::Recorded { run, .. } => Some(run),
            Self::Missing(_) => None,
        }
    }
}

/// A GPU's figures, and the figures of the processor in the same machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuRun {
    /// The GPU.
    pub gpu: GpuFacts,
    /// Part 2.
    pub maximum: Option<GpuMaximum>,
    /// Part 3.
    pub product: Option<GpuProduct>,
    /// The activation.
    pub activation: Option<GpuActivation>,
    /// Part 1.
    pub training: Option<GpuTraining>,
    /// The programs without usable times because they or their tests failed there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedProgram>,
}

/// A program without usable times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailedProgram {
    /// Its name, such as "max_functions".
    pub program: String,
    /// The reason, in one line.
    pub reason: String,
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuFacts {
    /// Its name.
    pub name: String,
    /// Version of the driver.
    pub driver: Option<String>,
    /// For example "9.0".
    pub compute_capability: Option<String>,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Maximum clock frequency of the multiprocessors, in hertz.
    pub clock: Option<f64>,
}

impl GpuFacts {
    /// Peak single-precision operations per second of one multiprocessor at its maximum clock
    /// frequency, two per multiply-add.
    ///
    /// The results per cycle come from the table of arithmetic throughput in the CUDA C++
    /// Programming Guide. `None` if the clock frequency or the architecture is unknown.
    pub fn multiprocessor_operations_per_second(&self) -> Option<f64> {
        let lanes = match self.compute_capability.as_deref()? {
            "7.0" | "7.2" | "7.5" | "8.0" => 64.0,
            "8.6" | "8.7" | "8.9" | "9.0" | "10.0" | "10.3" | "12.0" | "12.1" => 128.0,
            _ => return None,
        };
        Some(2.0 * lanes * self.clock?)
    }
}

/// The maximum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuMaximum {
    /// The kernel alone, by GPU events.
    pub kernel: Times,
    /// From host arrays to a host array.
    pub with_copies: Times,
    /// `max_cpu` on the same machine.
    pub cpu: Times,
    /// `max_rayon` on the same machine.
    pub rayon: OnThreads,
}

/// X·Xᵀ in single precision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuProduct {
    /// Each rung's kernel alone, in ascending order.
    pub rungs: Vec<RungTimes>,
    /// The highest rung from a host array to a host array.
    pub with_copies: Times,
    /// `matmul_transpose_trivial` on the same machine.
    pub trivial: Times,
    /// `matmul_transpose_rayon` on the same machine.
    pub rayon: OnThreads,
}

/// A rung's times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RungTimes {
    /// The rung's name.
    pub name: String,
    /// The kernel's times.
    pub times: Times,
}

/// The activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuActivation {
    /// Three kernels alone, with intermediates on the GPU.
    pub three_kernels: Times,
    /// One kernel alone.
    pub fused_kernel: Times,
    /// One kernel, with the copies of input and result.
    pub fused_with_copies: Times,
    /// Three kernels, with copies after every step.
    pub copied_after_every_step: Times,
    /// One parallel pass on the same machine's processor.
    pub rayon_fused: OnThreads,
}

/// The homework's network, trained on the GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuTraining {
    /// Name of the data set.
    pub data: String,
    /// The validation accuracy over time.
    pub curve: Vec<Point>,
    /// Test accuracy after the last epoch, 0 … 1.
    pub test_accuracy: f64,
}
