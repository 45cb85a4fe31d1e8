use std::num::NonZeroUsize;

use anyhow::{Context, Result};
use clap::ValueEnum;
use command_line::MAX_REPEATS;

use super::goal::{GOALS, GROWTH_AT_MOST};
use super::rust_program::{CUDA, CUDA_FUSED, EPOCH_IMAGES, OurTime, RAYON, RAYON_FUSED};
use super::workload_name::WorkloadName;
use crate::programs::{Executables, Program, Run, TIME_CORRELATION, TIME_MATMUL, TIME_PREDICTION, TIME_REGRESSOR};

/// Validation accuracy in percent that stops a to-target training run, on both sides. It exceeds
/// [`TARGET`], since a given accuracy is a little easier to reach on the 10,000 validation images
/// than on the test images.
const STOP_AT: f64 = 95.8;
/// Test accuracy in percent that such a training run must have at its end, on both sides.
const TARGET: f64 = 95.0;
/// Our arguments for that stop. Both sides check twice per epoch. Few checks favor NumPy, since its
/// checks take longer.
const UNTIL_TARGET: &str = "--epochs 20 --stop-at 95.8 --check-every 25000";

/// Iterations of the notebook's network between two timed records.
const ITERATIONS: usize = 10;

/// A workload that our program and a Python script both run.
pub(super) struct Workload {
    /// Name in the table.
    pub(super) title: String,
    /// Acceptance bounds for the ratios.
    pub(super) goals: Goals,
    /// Our program.
    pub(super) program: Program,
    /// The program's arguments, without the number of threads.
    pub(super) program_arguments: Vec<String>,
    /// Source of our time.
    pub(super) time: OurTime,
    /// The script's file name in `xtask/peers`.
    pub(super) script: &'static str,
    /// The script's arguments, without the number of threads.
    pub(super) script_arguments: Vec<String>,
}

/// Acceptance bounds for a workload's time ratios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goals {
    /// No bound.
    None,
    /// The bounds in [`GOALS`] for this workload.
    Of(WorkloadName),
    /// [`GROWTH_AT_MOST`] for every peer.
    Growth,
}

impl Workload {
    /// Runs our program and returns its time in seconds.
    ///
    /// # Errors
    /// If there is no such program, it fails, or it does not print the expected JSON object.
    pub(super) fn time_our_program(
        &self,
        executables: &Executables,
        threads: NonZeroUsize,
        round: usize,
    ) -> Result<f64> {
        let mut arguments = [self.program_arguments.clone(), self.seed(round)].concat();
        arguments.extend(["--json".to_owned(), "-c".to_owned(), threads.to_string()]);
        let Run { output, seconds } = executables.run(self.program, arguments)?;
        self.time
            .read(&output, seconds)
            .with_context(|| format!("{} --json did not print the expected object", self.program.name()))
    }

    /// The largest accepted ratio to a peer with this number of threads on both sides, if there is
    /// a goal.
    pub(super) fn goal(&self, peer: &str, threads: NonZeroUsize) -> Option<f64> {
        match self.goals {
            Goals::Of(_) => self.peers_with_goals(threads).find(|(known, _)| *known == peer).map(|(_, goal)| goal),
            Goals::Growth => Some(GROWTH_AT_MOST),
            Goals::None => None,
        }
    }

    /// The peers with a goal for this number of threads, each with its largest accepted ratio.
    pub(super) fn peers_with_goals(&self, threads: NonZeroUsize) -> impl Iterator<Item = (&'static str, f64)> {
        let goals =
            GOALS.iter().filter(move |goal| Goals::Of(goal.work) == self.goals && goal.threads == threads.get());
        goals.map(|goal| (goal.peer, goal.at_most))
    }

    /// The seed argument of a to-target training run. It differs between rounds, since the number
    /// of steps depends on the random numbers.
    pub(super) fn seed(&self, round: usize) -> Vec<String> {
        if self.time == OurTime::Process { words(&format!("--seed {round}")) } else { Vec::new() }
    }
}

/// All workloads, or the chosen ones, in the table's order, followed by their GPU versions if there is a GPU.
pub(super) fn all(
    only: Option<WorkloadName>,
    repeats: NonZeroUsize,
    epochs: NonZeroUsize,
    with_gpu: bool,
) -> Vec<Workload> {
    let chosen = WorkloadName::value_variants().iter().copied().filter(|name| only.is_none_or(|only| only == *name));
    chosen
        .flat_map(|name| match name {
            WorkloadName::Max => with_gpus(|| max(repeats), "max_functions", CUDA, with_gpu),
            WorkloadName::Matmul => {
                let with_gpus = |dtype| with_gpus(|| matmul(dtype, repeats), "matmul_functions", CUDA, with_gpu);
                ["f32", "f64"].into_iter().flat_map(with_gpus).collect()
            }
            WorkloadName::Activation => with_gpus(|| activation(repeats), "activation_functions", CUDA_FUSED, with_gpu),
            WorkloadName::Correlation => correlations(repeats),
            WorkloadName::Network => vec![network(epochs)],
            WorkloadName::Notebook => vec![notebook(repeats)],
            WorkloadName::Prediction => vec![prediction()],
            WorkloadName::Regressor => vec![regressor(epochs)],
            WorkloadName::ToTarget => vec![to_target()],
        })
        .collect()
}

/// A workload, followed by its GPU versions if there is a GPU: with copies, and only the kernel.
/// Only the CPU workload has goals.
fn with_gpus(work: impl Fn() -> Workload, program: &'static str, times: [OurTime; 2], with_gpu: bool) -> Vec<Workload> {
    let gpu = ["on the GPU", "GPU kernel"].into_iter().zip(times).filter(|_| with_gpu);
    let on_gpu = gpu.map(|(place, time)| {
        let work = work();
        let title = format!("{}, {place}", work.title);
        Workload { title, program: Program::Main(program), time, goals: Goals::None, ..work }
    });
    std::iter::once(work()).chain(on_gpu).collect()
}

/// Repeats for calls that take a millisecond or less: five times as many, since another process on
/// the second core would dominate a very short run.
fn of_short_calls(repeats: NonZeroUsize) -> usize {
    repeats.get().saturating_mul(5).min(MAX_REPEATS)
}

fn max(repeats: NonZeroUsize) -> Workload {
    let arguments = words(&format!("--repeats {}", of_short_calls(repeats)));
    Workload {
        title: "max 1000×1000 i32".to_owned(),
        goals: Goals::Of(WorkloadName::Max),
        program: Program::Main("max_functions"),
        program_arguments: arguments.clone(),
        time: RAYON,
        script: "max.py",
        script_arguments: arguments,
    }
}

fn matmul(dtype: &str, repeats: NonZeroUsize) -> Workload {
    let arguments = words(&format!("--dtype {dtype} --repeats {}", of_short_calls(repeats)));
    Workload {
        title: format!("X·Xᵀ 784×128 {dtype}"),
        goals: Goals::Of(WorkloadName::Matmul),
        program: TIME_MATMUL,
        program_arguments: arguments.clone(),
        time: RAYON,
        script: "matmul.py",
        script_arguments: arguments,
    }
}

fn activation(repeats: NonZeroUsize) -> Workload {
    let arguments = words(&format!("--repeats {}", of_short_calls(repeats)));
    Workload {
        title: "activation 10⁶ f32".to_owned(),
        goals: Goals::Of(WorkloadName::Activation),
        program: Program::Main("activation_functions"),
        program_arguments: arguments.clone(),
        time: RAYON_FUSED,
        script: "activation.py",
        script_arguments: arguments,
    }
}

/// Kernels with random coefficients, and a separable one.
fn correlations(repeats: NonZeroUsize) -> Vec<Workload> {
    let kernels = ["3×3", "5×5", "7×7"].map(|size| (size, format!("--kernel {}", size.replace('×', " "))));
    let separable = ("sobel 5×5", "--filter sobel_5x5".to_owned());
    let of_kernel = |(name, kernel): (&str, String)| {
        let arguments = words(&format!("{kernel} --repeats {}", of_short_calls(repeats)));
        Workload {
            title: format!("correlation {name}"),
            goals: Goals::Of(WorkloadName::Correlation),
            program: TIME_CORRELATION,
            program_arguments: arguments.clone(),
            time: RAYON,
            script: "correlation.py",
            script_arguments: arguments,
        }
    };
    kernels.into_iter().chain([separable]).map(of_kernel).collect()
}

fn network(epochs: NonZeroUsize) -> Workload {
    Workload {
        title: format!("epoch of {EPOCH_IMAGES} images"),
        goals: Goals::Of(WorkloadName::Network),
        program: Program::Main("neural-net"),
        program_arguments: words(&format!("--preset homework --device cpu --epochs {epochs} --target-accuracy 0")),
        time: OurTime::Epoch,
        script: "network.py",
        script_arguments: words(&format!("--images {EPOCH_IMAGES} --repeats {epochs}")),
    }
}

fn notebook(repeats: NonZeroUsize) -> Workload {
    let iterations = repeats.get().saturating_mul(ITERATIONS);
    Workload {
        title: "iteration of the notebook".to_owned(),
        goals: Goals::Of(WorkloadName::Notebook),
        program: Program::Main("neural-net"),
        program_arguments: words(&format!(
            "--preset notebook --device cpu --epochs {iterations} --report-every {ITERATIONS} --target-accuracy 0"
        )),
        time: OurTime::Iteration,
        script: "notebook.py",
        script_arguments: words(&format!("--repeats {repeats} --iterations {ITERATIONS}")),
    }
}

fn prediction() -> Workload {
    Workload {
        title: "one prediction 784-10-10".to_owned(),
        goals: Goals::Of(WorkloadName::Prediction),
        program: TIME_PREDICTION,
        program_arguments: words("--batch 1 --repeats 200"),
        time: OurTime::Batch(1),
        script: "prediction.py",
        script_arguments: words("--batch 1 --repeats 200"),
    }
}

fn regressor(epochs: NonZeroUsize) -> Workload {
    let arguments = words(&format!("--repeats {epochs}"));
    Workload {
        title: "epoch of the regressor".to_owned(),
        goals: Goals::Of(WorkloadName::Regressor),
        program: TIME_REGRESSOR,
        program_arguments: arguments.clone(),
        time: OurTime::Call("epoch"),
        script: "regressor.py",
        script_arguments: arguments,
    }
}

fn to_target() -> Workload {
    Workload {
        title: format!("start to {TARGET} % of the test"),
        goals: Goals::Of(WorkloadName::ToTarget),
        program: Program::Main("neural-net"),
        program_arguments: words(&format!("--preset homework --device cpu {UNTIL_TARGET} --target-accuracy {TARGET}")),
        time: OurTime::Process,
        script: "to_target.py",
        script_arguments: words(&format!("--stop-at {STOP_AT} --target {TARGET}")),
    }
}

pub(super) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_of(only: Option<WorkloadName>) -> Vec<Workload> {
        all(only, NonZeroUsize::MIN, NonZeroUsize::MIN, false)
    }

    #[test]
    fn peers_only_chooses_one_program() {
        let programs = |only| all_of(only).iter().map(|work| work.program.name()).collect();
        let (everything, matmul): (Vec<_>, Vec<_>) = (programs(None), programs(Some(WorkloadName::Matmul)));
        let kernels = ["max_functions", "time_matmul", "time_matmul", "activation_functions"];
        let correlations = ["time_correlation"; 4];
        let networks = ["neural-net", "neural-net", "time_prediction", "time_regressor", "neural-net"];
        assert_eq!(everything, [&kernels[..], &correlations, &networks].concat());
        assert_eq!(matmul, ["time_matmul"; 2]);
    }

    #[test]
    fn peers_a_gpu_adds_its_two_times_without_goals() {
        let workloads = all(Some(WorkloadName::Max), NonZeroUsize::MIN, NonZeroUsize::MIN, true);
        let titles: Vec<&str> = workloads.iter().map(|work| work.title.as_str()).collect();
        assert_eq!(titles, ["max 1000×1000 i32", "max 1000×1000 i32, on the GPU", "max 1000×1000 i32, GPU kernel"]);
        let works_of_matmul = all(Some(WorkloadName::Matmul), NonZeroUsize::MIN, NonZeroUsize::MIN, true);
        let programs: Vec<&str> = works_of_matmul[..3].iter().map(|work| work.program.name()).collect();
        assert_eq!(programs, ["time_matmul", "matmul_functions", "matmul_functions"]);
        let goals = workloads.iter().map(|work| work.goal("NumPy", NonZeroUsize::MIN));
        assert_eq!(goals.collect::<Vec<_>>(), [Some(0.85), None, None]);
    }

    #[test]
    fn peers_both_sides_have_the_same_number_of_repeats() {
        let five = NonZeroUsize::MIN.saturating_add(4);
        let network = network(five);
        assert_eq!(network.program_arguments[..6], ["--preset", "homework", "--device", "cpu", "--epochs", "5"]);
        assert_eq!(network.script_arguments, ["--images", "60000", "--repeats", "5"]);
        let notebook = notebook(five);
        assert_eq!(notebook.program_arguments[4..8], ["--epochs", "50", "--report-every", "10"]);
        assert_eq!(notebook.script_arguments, ["--repeats", "5", "--iterations", "10"]);
    }

    #[test]
    fn peers_only_a_to_target_run_has_a_seed_per_round() {
        for work in all_of(None) {
            let expected: &[&str] =
                if work.goals == Goals::Of(WorkloadName::ToTarget) { &["--seed", "2"] } else { &[] };
            assert_eq!(work.seed(2), expected, "{}", work.title);
        }
    }
}
