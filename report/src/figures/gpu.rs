use serde::{Deserialize, Serialize};

use super::{OnThreads, Point};
use crate::Times;

/// What a GPU takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gpu {
    /// Measured on this machine.
    Measured(GpuRun),
    /// Recorded on another machine.
    Recorded {
        /// The file.
        file: String,
        /// The day, as 2026-11-21.
        date: String,
        /// What was measured there.
        run: GpuRun,
    },
    /// Not measured, for this reason: one sentence without a full stop.
    Missing(String),
}

impl Gpu {
    /// The figures, if there are any.
    pub fn run(&self) -> Option<&GpuRun> {
        match self {
            Self::Measured(run) | Self::Recorded { run, .. } => Some(run),
            Self::Missing(_) => None,
        }
    }
}

/// A GPU's figures, beside those of the processor in the same machine.
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
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuFacts {
    /// Its name.
    pub name: String,
    /// Its driver's version.
    pub driver: Option<String>,
    /// Such as "9.0".
    pub compute_capability: Option<String>,
    /// Bytes of its memory.
    pub memory: Option<u64>,
    /// The highest clock of its multiprocessors, in hertz.
    pub clock: Option<f64>,
}

impl GpuFacts {
    /// The single-precision operations a second of one multiprocessor at its highest clock, two for each multiply-add.
    ///
    /// How many lanes a multiprocessor has is from the CUDA C++ Programming Guide's table of arithmetic throughput. None where
    /// the clock or the architecture is not known.
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
    /// The kernel alone, by the GPU's clock.
    pub kernel: Times,
    /// From arrays of the host to an array of the host.
    pub with_copies: Times,
    /// `max_cpu` on the same machine.
    pub cpu: Times,
    /// `max_rayon` on the same machine.
    pub rayon: OnThreads,
}

/// X·Xᵀ in single precision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuProduct {
    /// Each rung's kernel alone, lowest first.
    pub rungs: Vec<RungTimes>,
    /// The highest rung from an array of the host to an array of the host.
    pub with_copies: Times,
    /// `matmul_transpose_trivial` on the same machine.
    pub trivial: Times,
    /// `matmul_transpose_rayon` on the same machine.
    pub rayon: OnThreads,
}

/// A rung's time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RungTimes {
    /// The rung's name.
    pub name: String,
    /// What its kernel takes.
    pub times: Times,
}

/// The activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuActivation {
    /// Three kernels alone; what lies between them stays on the GPU.
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
    /// The name of the images.
    pub data: String,
    /// The accuracy after each epoch.
    pub curve: Vec<Point>,
    /// The share of the test images that is read right at the end.
    pub test_accuracy: f64,
}
