//! The timed versions, with the labels used in tables, charts and sentences.

use crate::Times;
use crate::figures::{Exercise, Figures, Gpu, GpuMaximum, GpuProduct, OnThreads, PeerTime};
use crate::words::{threads, threads_on};

/// A table of times. The labels of its rows are defined here and used in every sentence about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// The maximum on this machine's processor.
    Maximum,
    /// X·Xᵀ on this machine's processor.
    Product,
    /// The activation on this machine's processor.
    Activation,
    /// The maximum on a GPU and its machine's processor.
    GpuMaximum,
    /// X·Xᵀ on a GPU and its machine's processor.
    GpuProduct,
    /// The activation on a GPU and its machine's processor.
    GpuActivation,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 6] =
        [Self::Maximum, Self::Product, Self::Activation, Self::GpuMaximum, Self::GpuProduct, Self::GpuActivation];

    /// The table's key in the template.
    pub fn key(self) -> &'static str {
        match self {
            Self::Maximum => "maximum",
            Self::Product => "product",
            Self::Activation => "activation",
            Self::GpuMaximum => "gpu_maximum",
            Self::GpuProduct => "gpu_product",
            Self::GpuActivation => "gpu_activation",
        }
    }
}

/// A row of a table of times.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// Name of the version.
    pub label: String,
    /// Its times.
    pub times: Times,
}

impl Timed {
    pub(crate) fn new(label: impl Into<String>, times: Times) -> Self {
        Self { label: label.into(), times }
    }
}

/// A version on some number of threads, on a machine with `cores` cores.
pub(crate) fn on_threads(name: &str, on: &OnThreads, cores: usize) -> Timed {
    Timed::new(format!("{name} ({})", threads_on(on.threads, cores)), on.times)
}

/// A peer on its own number of threads.
pub(crate) fn peer(peer: &PeerTime) -> Timed {
    Timed::new(format!("{} ({})", peer.label, threads(peer.threads)), peer.times)
}

pub(crate) const MAX_RAYON: &str = "max_rayon";
pub(crate) const MATMUL_RAYON: &str = "matmul_transpose_rayon";
pub(crate) const THREE_PASSES: &str = "three passes";
pub(crate) const ONE_PASS: &str = "one pass";

/// The rows of a table, starting with the baseline. Empty without measurements.
pub fn rows(figures: &Figures, table: Table) -> Vec<Timed> {
    let cores = figures.machine.cores;
    let ladder = |name: &'static str, ladder: &[OnThreads]| {
        ladder.iter().map(|on| on_threads(name, on, cores)).collect::<Vec<_>>()
    };
    let peers = |exercise| figures.peers.of(exercise).map(peer);
    let run = figures.gpu.run();
    let gpu_cores = match figures.gpu {
        Gpu::Measured(_) => cores,
        // The number of threads matches the other machine's cores.
        Gpu::Recorded { .. } | Gpu::Missing(_) => usize::MAX,
    };
    match table {
        Table::Maximum => {
            let mut rows = vec![Timed::new("max_cpu", figures.maximum.cpu)];
            rows.extend(ladder(MAX_RAYON, &figures.maximum.rayon));
            rows.extend(peers(Exercise::Maximum));
            rows
        }
        Table::Product => {
            let mut rows = vec![Timed::new("matmul_transpose_trivial", figures.product.trivial)];
            rows.extend(ladder(MATMUL_RAYON, &figures.product.rayon));
            rows.extend(peers(Exercise::Product));
            rows
        }
        Table::Activation => {
            let mut rows = vec![Timed::new("one loop per step", figures.activation.cpu)];
            rows.extend(ladder(THREE_PASSES, &figures.activation.three_passes));
            rows.extend(ladder(ONE_PASS, &figures.activation.fused));
            rows.extend(peers(Exercise::Activation));
            rows
        }
        Table::GpuMaximum => {
            run.and_then(|run| run.maximum.as_ref()).map(|gpu| gpu_maximum(gpu, gpu_cores)).unwrap_or_default()
        }
        Table::GpuProduct => {
            run.and_then(|run| run.product.as_ref()).map(|gpu| gpu_product(gpu, gpu_cores)).unwrap_or_default()
        }
        Table::GpuActivation => {
            let Some(gpu) = run.and_then(|run| run.activation.as_ref()) else { return Vec::new() };
            vec![
                on_threads(ONE_PASS, &gpu.rayon_fused, gpu_cores),
                Timed::new("three kernels (alone)", gpu.three_kernels),
                Timed::new("one kernel (alone)", gpu.fused_kernel),
                Timed::new("one kernel (with copies)", gpu.fused_with_copies),
                Timed::new("three kernels (copies after every step)", gpu.copied_after_every_step),
            ]
        }
    }
}

fn gpu_maximum(gpu: &GpuMaximum, cores: usize) -> Vec<Timed> {
    vec![
        Timed::new("max_cpu", gpu.cpu),
        on_threads(MAX_RAYON, &gpu.rayon, cores),
        Timed::new("max_gpu (kernel alone)", gpu.kernel),
        Timed::new("max_gpu (with copies)", gpu.with_copies),
    ]
}

fn gpu_product(gpu: &GpuProduct, cores: usize) -> Vec<Timed> {
    let mut rows =
        vec![Timed::new("matmul_transpose_trivial", gpu.trivial), on_threads(MATMUL_RAYON, &gpu.rayon, cores)];
    rows.extend(gpu.rungs.iter().map(|rung| Timed::new(format!("rung {}", rung.name), rung.times)));
    rows.push(Timed::new("matmul_transpose_gpu (with copies)", gpu.with_copies));
    rows
}
