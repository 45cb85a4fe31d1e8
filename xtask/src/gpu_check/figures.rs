//! The figures that the results are judged by, in one list: our time, a peer's time of the same work, and a goal.

use activation_functions::Version;
use kernels_gpu::network::persistent::cluster;
use matmul_functions::Rung;
use neural_net::engine::TrainingKernel;
use serde::Deserialize;
use serde_json::{Map, Value};
use timing::Measurement;

use super::python::Times;
use super::results::Results;

/// The runs of our program that train the homework's network, from one seed each.
const TRAININGS: [&str; 3] = ["network", "network_seed_1", "network_seed_2"];
/// The validation accuracy that ends the time of a training run.
const TARGET: f64 = 0.95;

/// Where our time is in the results.
#[derive(Clone, Debug)]
pub(super) enum Ours {
    /// The time with this label in the run of that name.
    Program(&'static str, String),
    /// The time with this label in that part of the sweep.
    Sweep(&'static str, String),
    /// Every epoch of the training runs.
    Epoch,
    /// Of each training run the epochs until the first with the target's validation accuracy.
    ToTarget,
}

/// The time of a kind of work.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub(super) title: &'static str,
    pub(super) ours: Ours,
    /// The peers' script that does the same, and what it calls the time.
    pub(super) peers: Option<(&'static str, &'static str)>,
    /// Maximum seconds.
    pub(super) goal: Option<f64>,
}

/// The fastest rung of X·Xᵀ for the homework's matrix, in single and in double precision.
const FASTEST_RUNGS: [Rung; 2] = [Rung::Resident, Rung::Buffered];

/// All figures, in the order in which they are shown.
pub(super) fn figures() -> Vec<Figure> {
    let program = |run, label: &str| Ours::Program(run, label.to_owned());
    let figure = |title, ours, script, group| Figure { title, ours, peers: Some((script, group)), goal: None };
    let [single, double] = FASTEST_RUNGS.map(Rung::label);
    let (max, matmul) = (["kernel", "kernel in L2", "with copies"], matmul_functions::label::WITH_COPIES);
    let step = TrainingKernel::Cluster.step_label(cluster::BLOCKS);
    vec![
        // By the cycle model 6,300 cycles at 1.98 GHz.
        Figure {
            title: "training step, 784-128-64-10, batch 16",
            ours: Ours::Sweep("persistent", step),
            peers: None,
            goal: Some(3.2e-6),
        },
        Figure {
            goal: Some(0.28e-3),
            ..figure("X·Xᵀ 784×128 f32, kernel", program("matmul_f32", &single), "matmul_f32", "kernel")
        },
        figure(
            "X·Xᵀ 784×128 f32, all multiprocessors, kernel",
            program("matmul_f32", &Rung::Grid.label()),
            "matmul_f32",
            "kernel",
        ),
        figure(
            "X·Xᵀ 784×128 f32, tensor cores, kernel",
            program("matmul_f32", &Rung::TensorCores.label()),
            "matmul_f32",
            "kernel",
        ),
        figure("X·Xᵀ 784×128 f32, with copies", program("matmul_f32", matmul), "matmul_f32", "with copies"),
        figure("X·Xᵀ 784×128 f64, kernel", program("matmul_f64", &double), "matmul_f64", "kernel"),
        figure("X·Xᵀ 784×128 f64, with copies", program("matmul_f64", matmul), "matmul_f64", "with copies"),
        figure("max 1000×1000 i32, kernel", program("max", max_functions::label::KERNEL), "max", max[0]),
        figure("max 1000×1000 i32, kernel, in L2", program("max", max_functions::label::KERNEL_IN_L2), "max", max[1]),
        figure("max 1000×1000 i32, with copies", program("max", max_functions::label::WITH_COPIES), "max", max[2]),
        figure(
            "activation 10⁶, three kernels",
            program("activation", &Version::ThreeLaunches.kernel_label()),
            "activation",
            "three steps",
        ),
        figure("activation 10⁶, fused kernel", fused(), "activation", "fused"),
        figure(
            "activation 10⁶, fused kernel, in L2",
            program("activation", &Version::Fused.kernel_in_l2_label()),
            "activation",
            "fused in L2",
        ),
        figure("epoch of 50000 images", Ours::Epoch, "network", "epoch"),
        figure("training to 95 %", Ours::ToTarget, "network", "to 95 %"),
    ]
}

/// Where the time of our fused activation is.
pub(super) fn fused() -> Ours {
    Ours::Program("activation", Version::Fused.kernel_label())
}

/// Times that can be divided by.
pub(super) fn measurement(times: &Times) -> Option<Measurement> {
    let Times { min, median, repeats } = *times;
    let positive = |seconds: f64| seconds.is_finite() && seconds > 0.0;
    (positive(min) && positive(median)).then_some(Measurement { min, median, repeats })
}

impl Ours {
    /// The time in the results; None in those of the emulated driver.
    pub(super) fn find(&self, results: &Results) -> Option<Measurement> {
        if results.is_emulated() {
            return None;
        }
        let histories = || TRAININGS.iter().filter_map(|name| history(results.programs.get(*name)?));
        match self {
            Self::Program(run, label) => time(&results.programs, run, label),
            Self::Sweep(part, label) => time(&results.sweep, part, label),
            Self::Epoch => Measurement::of(histories().flatten().map(|epoch| epoch.seconds).collect()),
            Self::ToTarget => {
                // A run that misses the target has no time, and leaving it out would make the others' look better.
                Measurement::of(histories().map(|history| seconds_to_target(&history)).collect::<Option<_>>()?)
            }
        }
    }
}

fn time(programs: &Map<String, Value>, run: &str, label: &str) -> Option<Measurement> {
    measurement(&Times::deserialize(&programs.get(run)?["seconds"][timing::key(label)]).ok()?)
}

/// An epoch in the JSON of `neural-net`; the accuracy is of the validation images.
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

    use super::super::plan::{PROGRAMS, SWEEP_PARTS};
    use super::super::python;
    use super::*;

    /// The judged rungs are those that the program runs without the ladder, where a block has an H100's shared memory.
    #[test]
    fn gpu_check_judges_the_fastest_rungs() {
        let device = Device::simulator();
        let single = MatmulGpu::new(&device, &Array2::<f32>::zeros((784, 128))).unwrap();
        let double = MatmulGpu::new(&device, &Array2::<f64>::zeros((784, 128))).unwrap();
        assert_eq!(FASTEST_RUNGS, [single.fastest(), double.fastest()]);
        assert!(single.rungs().contains(&FASTEST_RUNGS[0]) && double.rungs().contains(&FASTEST_RUNGS[1]));
    }

    #[test]
    fn gpu_checks_figures_are_of_runs_and_scripts_that_exist() {
        for figure in figures() {
            let is_known = match &figure.ours {
                Ours::Program(run, _) => PROGRAMS.iter().any(|program| program.name == *run),
                Ours::Sweep(part, _) => SWEEP_PARTS.contains(part),
                Ours::Epoch | Ours::ToTarget => {
                    TRAININGS.iter().all(|run| PROGRAMS.iter().any(|program| program.name == *run))
                }
            };
            assert!(is_known, "{}", figure.title);
            let Some((script, group)) = figure.peers else { continue };
            let text = python::text_of(script).unwrap_or_else(|| panic!("{script}"));
            // A script derives the groups in the L2 cache from the others.
            let group = group.strip_suffix(" in L2").filter(|_| text.contains("{group} in L2")).unwrap_or(group);
            assert!(text.contains(&format!("\"{group}\"")), "{script} has no group {group}");
        }
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
