//! The list of figures for evaluating the results. Each has our time, a peer's time for the same
//! work, and a goal.

use activation_functions::Version;
use kernels_gpu::network::persistent::cluster;
use matmul_functions::Rung;
use neural_net::engine::TrainingKernel;
use serde::Deserialize;
use serde_json::Value;
use timing::Measurement;

use super::limits::{Bound, Limit, Multiprocessors};
use super::results::{Results, measured, time};

/// The runs of our program that train the homework's network, each from a different seed.
const TRAININGS: [&str; 3] = ["network", "network_seed_1", "network_seed_2"];
/// The validation accuracy at which the timing of a training run ends.
const TARGET: f64 = 0.95;

/// Where to find our time in the results.
#[derive(Clone, Debug)]
pub(super) enum Ours {
    /// The time with this label, in the run with that name.
    Program(&'static str, String),
    /// The time with this label, in that part of the sweep.
    Sweep(&'static str, String),
    /// The fastest time in that part of the sweep.
    Fastest(&'static str),
    /// All epochs of the training runs.
    Epoch,
    /// For each training run, the epochs up to the first one that reaches the target validation accuracy.
    ToTarget,
}

/// A kind of work with our time, its peers, its goal and its limit.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub(super) title: &'static str,
    pub(super) ours: Ours,
    /// The peers' script for the same work, and the script's name for the time.
    pub(super) peers: (&'static str, &'static str),
    pub(super) goal: Goal,
    pub(super) limit: Limit,
}

/// The maximum for our time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    /// This fraction of the time
    pub(super) share: f64,
    /// of the peer with this label, in the same run.
    pub(super) peer: &'static str,
}

/// The fastest rung of X·Xᵀ for the homework's matrix, in single and in double precision.
const FASTEST_RUNGS: [Rung; 2] = [Rung::OneBlockTensor, Rung::OneBlockTensor];

/// Multiply-adds of the lower triangle of X·Xᵀ for 784 × 128.
const TRIANGLE: f64 = (784 * 785 / 2 * 128) as f64;
/// Bytes of X and of the result, in f32.
const X_BYTES: f64 = (4 * 784 * 128) as f64;
const PRODUCT_BYTES: f64 = (4 * 784 * 784) as f64;
/// The homework's step on a cluster of 16 blocks. See docs/gpu-cycles.md, "Rooflines".
const STEP: &[Bound] = &[Bound::Exchanges(2.0), Bound::Products(245.0), Bound::Singles(55_000.0, Multiprocessors::One)];
/// Steps of an epoch: 50,000 images in batches of 16.
const STEPS: u32 = 3125;
/// The regressor's step: its 3 · 128 · (8 · 32 + 32 · 16 + 16) multiply-adds on 16 multiprocessors,
/// which must exchange their sums of gradients.
const REGRESSOR_STEP: &[Bound] =
    &[Bound::Exchanges(1.0), Bound::Singles((3 * 128 * (8 * 32 + 32 * 16 + 16) / 16) as f64, Multiprocessors::One)];

/// All figures, in display order.
pub(super) fn figures() -> Vec<Figure> {
    let program = |run, label: &str| Ours::Program(run, label.to_owned());
    let figure =
        |title, ours, peers, share, peer, limit| Figure { title, ours, peers, goal: Goal { share, peer }, limit };
    let [single, double] = FASTEST_RUNGS.map(Rung::label);
    let with_copies = matmul_functions::label::WITH_COPIES;
    let larger_graphs = "PyTorch CUDA graphs, batch 256";
    vec![
        figure(
            "training step, 784-128-64-10, batch 16",
            Ours::Sweep("persistent", TrainingKernel::Cluster.step_label(cluster::BLOCKS)),
            ("network", "step"),
            0.05,
            "PyTorch CUDA graphs, batch 16",
            Limit::InARow(1, STEP),
        ),
        figure(
            "regressor step, 8-32-16-1, Adam, batch 128",
            Ours::Fastest("adam"),
            ("regressor", "step"),
            0.5,
            "PyTorch CUDA graphs",
            Limit::InARow(1, REGRESSOR_STEP),
        ),
        figure(
            "X·Xᵀ 784×128 f32, kernel",
            program("matmul_f32", &single),
            ("matmul_f32", "kernel"),
            26.0,
            "CuPy",
            // Tiles of 16 × 16 cells, with two products each, 8 parts along the columns, and six
            // pairs of bf16.
            Limit::Largest(&[Bound::Products((49 * 50 / 2 * 2 * 8 * 6) as f64)]),
        ),
        figure(
            "X·Xᵀ 784×128 f32, all multiprocessors, kernel",
            program("matmul_f32", &Rung::Grid.label()),
            ("matmul_f32", "kernel"),
            0.6,
            "CuPy",
            Limit::Largest(&[
                Bound::Launch,
                Bound::Memory(X_BYTES + PRODUCT_BYTES),
                Bound::Singles(TRIANGLE, Multiprocessors::All),
            ]),
        ),
        figure(
            "X·Xᵀ 784×128 f32, tensor cores, kernel",
            program("matmul_f32", &Rung::TensorCores.label()),
            ("matmul_f32", "kernel"),
            0.5,
            "CuPy",
            // A tile of 64 × 48 cells: 4 · 6 tiles of products, with 8 parts along the columns, and
            // six pairs of bf16.
            Limit::Largest(&[
                Bound::Launch,
                Bound::Memory(X_BYTES + PRODUCT_BYTES),
                Bound::Products((4 * 6 * 8 * 6) as f64),
            ]),
        ),
        figure(
            "X·Xᵀ 784×128 f32, with copies",
            program("matmul_f32", with_copies),
            ("matmul_f32", "with copies"),
            1.0,
            "PyTorch",
            Limit::Largest(&[Bound::Link { up: X_BYTES, down: PRODUCT_BYTES }]),
        ),
        figure(
            "X·Xᵀ 784×128 f64, kernel",
            program("matmul_f64", &double),
            ("matmul_f64", "kernel"),
            100.0,
            "PyTorch",
            // Tensor cores do two multiply-adds in the time of one.
            Limit::Largest(&[Bound::Doubles(TRIANGLE / 2.0)]),
        ),
        figure(
            "X·Xᵀ 784×128 f64, tensor cores, kernel",
            program("matmul_f64", &Rung::TensorCores.label()),
            ("matmul_f64", "kernel"),
            1.0,
            "PyTorch",
            Limit::Largest(&[
                Bound::Launch,
                Bound::Memory(2.0 * (X_BYTES + PRODUCT_BYTES)),
                // A tile of 64 × 48 cells.
                Bound::Doubles((64 * 48 * 128 / 2) as f64),
            ]),
        ),
        figure(
            "X·Xᵀ 784×128 f64, with copies",
            program("matmul_f64", with_copies),
            ("matmul_f64", "with copies"),
            2.0,
            "PyTorch",
            Limit::Largest(&[Bound::Link { up: 2.0 * X_BYTES, down: 2.0 * PRODUCT_BYTES }]),
        ),
        figure(
            "max 1000×1000 i32, kernel",
            program("max", max_functions::label::KERNEL),
            ("max", "kernel"),
            1.0,
            "PyTorch",
            Limit::Largest(&[Bound::Launch, Bound::Memory(12e6)]),
        ),
        figure(
            "max 1000×1000 i32, kernel, in L2",
            program("max", max_functions::label::KERNEL_IN_L2),
            ("max", "kernel in L2"),
            1.0,
            "PyTorch",
            Limit::Largest(&[Bound::Launch]),
        ),
        figure(
            "max 1000×1000 i32, four elements a thread",
            program("max", max_functions::label::QUADS),
            ("max", "kernel"),
            1.0,
            "PyTorch",
            Limit::Largest(&[Bound::Launch, Bound::Memory(12e6)]),
        ),
        figure(
            "max 1000×1000 i32, four elements a thread, in L2",
            program("max", max_functions::label::QUADS_IN_L2),
            ("max", "kernel in L2"),
            1.0,
            "PyTorch",
            Limit::Largest(&[Bound::Launch]),
        ),
        figure(
            "max 1000×1000 i32, with copies",
            program("max", max_functions::label::WITH_COPIES),
            ("max", "with copies"),
            1.0,
            "PyTorch",
            Limit::Largest(&[Bound::Link { up: 8e6, down: 4e6 }]),
        ),
        figure(
            "activation 10⁶, three kernels",
            program("activation", &Version::ThreeLaunches.kernel_label()),
            ("activation", "three steps"),
            1.0,
            "PyTorch",
            Limit::Largest(&[Bound::Memory(28e6)]),
        ),
        figure(
            "activation 10⁶, fused kernel",
            program("activation", &Version::Fused.kernel_label()),
            ("activation", "fused"),
            1.0,
            "PyTorch compiled",
            Limit::Largest(&[Bound::Launch, Bound::Memory(12e6)]),
        ),
        figure(
            "activation 10⁶, fused kernel, in L2",
            program("activation", &Version::Fused.kernel_in_l2_label()),
            ("activation", "fused in L2"),
            0.9,
            "PyTorch compiled",
            Limit::Largest(&[Bound::Launch]),
        ),
        figure(
            "epoch of 50000 images",
            Ours::Epoch,
            ("network", "epoch"),
            0.8,
            larger_graphs,
            Limit::InARow(STEPS, STEP),
        ),
        figure(
            "training to 95 %",
            Ours::ToTarget,
            ("network", "to 95 %"),
            0.2,
            larger_graphs,
            Limit::InARow(STEPS, STEP),
        ),
    ]
}

impl Goal {
    /// The largest time that reaches the goal, according to the results.
    pub(super) fn seconds(&self, figure: &Figure, results: &Results) -> Option<f64> {
        let (script, group) = figure.peers;
        let times = results.peers.get(script)?["seconds"].get(group)?.get(self.peer)?;
        Some(self.share * measured(times)?.min)
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.share, self.peer)
    }
}

impl Ours {
    /// The time in the results; `None` in results from the emulated driver.
    pub(super) fn find(&self, results: &Results) -> Option<Measurement> {
        if results.is_emulated() {
            return None;
        }
        let histories = || TRAININGS.iter().filter_map(|name| history(results.programs.get(*name)?));
        match self {
            Self::Program(run, label) => time(&results.programs, run, label),
            Self::Sweep(part, label) => time(&results.sweep, part, label),
            Self::Fastest(part) => {
                let times = results.sweep.get(*part)?["seconds"].as_object()?.values();
                times.filter_map(measured).min_by(|a, b| a.min.total_cmp(&b.min))
            }
            Self::Epoch => Measurement::of(histories().flatten().map(|epoch| epoch.seconds).collect()),
            Self::ToTarget => {
                // A run that misses the target has no time, and leaving it out would make the
                // remaining ones look better.
                Measurement::of(histories().map(|history| seconds_to_target(&history)).collect::<Option<_>>()?)
            }
        }
    }
}

/// An epoch in the JSON of `neural-net`. The accuracy is for the validation images.
#[derive(Clone, Copy, Deserialize)]
struct Epoch {
    seconds: f64,
    accuracy: f64,
}

fn history(program: &Value) -> Option<Vec<Epoch>> {
    Vec::deserialize(&program["epochs"]).ok()
}

fn seconds_to_target(history: &[Epoch]) -> Option<f64> {
    let epochs = 1 + history.iter().position(|epoch| epoch.accuracy >= TARGET)?;
    Some(history[..epochs].iter().map(|epoch| epoch.seconds).sum())
}

#[cfg(test)]
mod tests {
    use gpu::Device;
    use matmul_functions::MatmulGpu;
    use ndarray::Array2;

    use super::super::plan::{PROGRAMS, STEP_PARTS};
    use super::super::python;
    use super::*;

    /// The evaluated rungs are the ones that the program runs on a GPU without the ladder, with an
    /// H100's shared memory per block.
    #[test]
    fn gpu_check_judges_the_fastest_rungs() {
        let device = Device::simulator();
        let single = MatmulGpu::new(&device, &Array2::<f32>::zeros((784, 128))).unwrap();
        let double = MatmulGpu::new(&device, &Array2::<f64>::zeros((784, 128))).unwrap();
        let last = |rungs: Vec<Rung>| rungs.into_iter().rfind(|rung| Rung::ONE_BLOCK.contains(rung)).unwrap();
        assert_eq!(FASTEST_RUNGS, [last(single.rungs()), last(double.rungs())]);
    }

    #[test]
    fn gpu_checks_figures_are_of_runs_and_scripts_that_exist() {
        for figure in figures() {
            let is_known = match &figure.ours {
                Ours::Program(run, _) => PROGRAMS.iter().any(|program| program.name == *run),
                Ours::Sweep(part, _) | Ours::Fastest(part) => STEP_PARTS.contains(part),
                Ours::Epoch | Ours::ToTarget => {
                    TRAININGS.iter().all(|run| PROGRAMS.iter().any(|program| program.name == *run))
                }
            };
            assert!(is_known, "{}", figure.title);
            let (script, group) = figure.peers;
            let text = python::text_of(script).unwrap_or_else(|| panic!("{script}"));
            // A script derives the groups in the L2 cache from the others.
            let group = group.strip_suffix(" in L2").filter(|_| text.contains("{group} in L2")).unwrap_or(group);
            assert!(text.contains(&format!("\"{group}\"")), "{script} has no group {group}");
            // The script may join a label's parts.
            let library = figure.goal.peer.split(' ').next().unwrap();
            assert!(text.contains(library), "{script} has no peer {}", figure.goal.peer);
        }
    }

    /// The table of goals in docs/performance.md matches the figures.
    #[test]
    fn gpu_checks_goals_and_limits_are_those_of_the_documentation() {
        let file = crate::workspace_root().join("docs/performance.md");
        let text = std::fs::read_to_string(file).unwrap();
        let row = |figure: &Figure| format!("| {} | {} | {} |\n", figure.title, figure.goal, figure.limit);
        let rows: String = figures().iter().map(row).collect();
        let table = format!("| work | goal: at most | no less than |\n|---|---|---|\n{rows}\n");
        assert!(text.contains(&table), "docs/performance.md, section \"Goals on a GPU\", must have:\n{table}");
    }

    fn results(programs: &str) -> Results {
        let mut results = Results::new(String::new(), Default::default(), Default::default());
        results.programs = serde_json::from_str(programs).unwrap();
        results
    }

    #[test]
    fn gpu_check_times_a_training_run_to_the_first_epoch_with_95_percent() {
        let epochs = |accuracies: &[f64]| -> Vec<Epoch> {
            accuracies.iter().map(|accuracy| Epoch { seconds: 0.5, accuracy: *accuracy }).collect()
        };
        assert_eq!(seconds_to_target(&epochs(&[0.96, 0.94])), Some(0.5));
        assert_eq!(seconds_to_target(&epochs(&[0.93, 0.9499, 0.95, 0.97])), Some(1.5));
        assert_eq!(seconds_to_target(&epochs(&[0.93, 0.94])), None);

        let missed = results(r#"{"network": {"epochs": [{"seconds": 1.0, "accuracy": 0.9}]}}"#);
        assert!(Ours::ToTarget.find(&missed).is_none());
        assert!(Ours::Epoch.find(&missed).is_some());
    }
}
