use std::num::NonZeroUsize;

use clap::ValueEnum;
use timing::program::MAX_REPEATS;

use super::goal::{GOALS, GROWTH_AT_MOST};
use super::rust_program::{CUDA, CUDA_FUSED, OurTime, RAYON, RAYON_FUSED};
use crate::programs::{Program, TIME_MATMUL, TIME_PREDICTION};

/// The images that a time of the network stands for, whatever the number a run trained on.
pub(super) const EPOCH_IMAGES: f64 = 60_000.0;

/// The validation accuracy in percent that ends a training to its target, on both sides. On 10,000 validation images it is a
/// little easier to reach than on the test images.
const STOP_AT: f64 = 95.8;
/// The test accuracy in percent that such a training must then have, on both sides.
const TARGET: f64 = 95.0;
/// What makes our training stop there. Both sides check twice an epoch: NumPy, whose checks take longer, is faster with few.
const UNTIL_TARGET: &str = "--epochs 20 --stop-at 95.8 --check-every 25000";

/// Iterations of the notebook's network between two records, each of which is a time.
const ITERATIONS: usize = 10;

/// What `--only` chooses from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum WorkName {
    Max,
    Matmul,
    Activation,
    Network,
    Notebook,
    Prediction,
    ToTarget,
}

/// One piece of work that our program and a Python script both do.
pub(super) struct Work {
    /// Its name in the table.
    pub(super) title: String,
    /// What is asked of the ratios.
    pub(super) goals: Goals,
    /// Our program.
    pub(super) program: Program,
    /// The program's arguments, without the number of threads.
    pub(super) program_arguments: Vec<String>,
    /// Where our seconds are found.
    pub(super) time: OurTime,
    /// The script's file name in `xtask/peers`.
    pub(super) script: &'static str,
    /// The script's arguments, without the number of threads.
    pub(super) script_arguments: Vec<String>,
}

/// What is asked of a work's ratios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goals {
    /// Nothing.
    None,
    /// What [`GOALS`] has of this work.
    Of(WorkName),
    /// [`GROWTH_AT_MOST`] beside every peer.
    Growth,
}

impl Work {
    /// The largest good ratio to a peer at so many threads on both sides, if one is asked for.
    pub(super) fn goal(&self, peer: &str, threads: NonZeroUsize) -> Option<f64> {
        match self.goals {
            Goals::Of(_) => self.peers_with_goals(threads).find(|(known, _)| *known == peer).map(|(_, goal)| goal),
            Goals::Growth => Some(GROWTH_AT_MOST),
            Goals::None => None,
        }
    }

    /// The peers that must be there for all goals to be measured, each with its goal.
    pub(super) fn peers_with_goals(&self, threads: NonZeroUsize) -> impl Iterator<Item = (&'static str, f64)> {
        let goals =
            GOALS.iter().filter(move |goal| Goals::Of(goal.work) == self.goals && goal.threads == threads.get());
        goals.map(|goal| (goal.peer, goal.at_most))
    }

    /// The arguments by which each round of a training to its target begins with other random numbers, as luck decides how
    /// many steps it takes.
    pub(super) fn seed(&self, round: usize) -> Vec<String> {
        if self.time == OurTime::Process { words(&format!("--seed {round}")) } else { Vec::new() }
    }
}

/// All works, or the chosen one's, in the table's order; on a GPU too where there is one.
pub(super) fn all(only: Option<WorkName>, repeats: NonZeroUsize, epochs: NonZeroUsize, with_gpu: bool) -> Vec<Work> {
    let chosen = WorkName::value_variants().iter().copied().filter(|name| only.is_none_or(|only| only == *name));
    chosen
        .flat_map(|name| match name {
            WorkName::Max => with_gpus(|| max(repeats), "max_functions", CUDA, with_gpu),
            WorkName::Matmul => {
                let with_gpus = |dtype| with_gpus(|| matmul(dtype, repeats), "matmul_functions", CUDA, with_gpu);
                ["f32", "f64"].into_iter().flat_map(with_gpus).collect()
            }
            WorkName::Activation => with_gpus(|| activation(repeats), "activation_functions", CUDA_FUSED, with_gpu),
            WorkName::Network => vec![network(epochs)],
            WorkName::Notebook => vec![notebook(repeats)],
            WorkName::Prediction => vec![prediction()],
            WorkName::ToTarget => vec![to_target()],
        })
        .collect()
}

/// A work, and beside it the same by a program on the GPU: with its copies, and the kernel alone. The goals are the CPU's.
fn with_gpus(work: impl Fn() -> Work, program: &'static str, times: [OurTime; 2], with_gpu: bool) -> Vec<Work> {
    let gpu = ["on the GPU", "GPU kernel"].into_iter().zip(times).filter(|_| with_gpu);
    let on_gpu = gpu.map(|(place, time)| {
        let work = work();
        let title = format!("{}, {place}", work.title);
        Work { title, program: Program::Main(program), time, goals: Goals::None, ..work }
    });
    std::iter::once(work()).chain(on_gpu).collect()
}

/// Calls of a millisecond and less are repeated more often: else a run is over in so short a time that another process on the
/// second core decides it.
fn of_short_calls(repeats: NonZeroUsize) -> usize {
    repeats.get().saturating_mul(5).min(MAX_REPEATS)
}

fn max(repeats: NonZeroUsize) -> Work {
    let arguments = words(&format!("--repeats {}", of_short_calls(repeats)));
    Work {
        title: "max 1000×1000 i32".to_owned(),
        goals: Goals::Of(WorkName::Max),
        program: Program::Main("max_functions"),
        program_arguments: arguments.clone(),
        time: RAYON,
        script: "max.py",
        script_arguments: arguments,
    }
}

fn matmul(dtype: &str, repeats: NonZeroUsize) -> Work {
    let arguments = words(&format!("--dtype {dtype} --repeats {}", of_short_calls(repeats)));
    Work {
        title: format!("X·Xᵀ 784×128 {dtype}"),
        goals: Goals::Of(WorkName::Matmul),
        program: TIME_MATMUL,
        program_arguments: arguments.clone(),
        time: RAYON,
        script: "matmul.py",
        script_arguments: arguments,
    }
}

fn activation(repeats: NonZeroUsize) -> Work {
    let arguments = words(&format!("--repeats {}", of_short_calls(repeats)));
    Work {
        title: "activation 10⁶ f32".to_owned(),
        goals: Goals::Of(WorkName::Activation),
        program: Program::Main("activation_functions"),
        program_arguments: arguments.clone(),
        time: RAYON_FUSED,
        script: "activation.py",
        script_arguments: arguments,
    }
}

fn network(epochs: NonZeroUsize) -> Work {
    Work {
        title: format!("epoch of {EPOCH_IMAGES} images"),
        goals: Goals::Of(WorkName::Network),
        program: Program::Main("neural-net"),
        program_arguments: words(&format!("--preset homework --device cpu --epochs {epochs} --target-accuracy 0")),
        time: OurTime::Epoch,
        script: "network.py",
        script_arguments: words(&format!("--images {EPOCH_IMAGES} --repeats {epochs}")),
    }
}

fn notebook(repeats: NonZeroUsize) -> Work {
    let iterations = repeats.get().saturating_mul(ITERATIONS);
    Work {
        title: "iteration of the notebook".to_owned(),
        goals: Goals::Of(WorkName::Notebook),
        program: Program::Main("neural-net"),
        program_arguments: words(&format!(
            "--preset notebook --device cpu --epochs {iterations} --report-every {ITERATIONS} --target-accuracy 0"
        )),
        time: OurTime::Iteration,
        script: "notebook.py",
        script_arguments: words(&format!("--repeats {repeats} --iterations {ITERATIONS}")),
    }
}

fn prediction() -> Work {
    Work {
        title: "one prediction 784-10-10".to_owned(),
        goals: Goals::Of(WorkName::Prediction),
        program: TIME_PREDICTION,
        program_arguments: words("--batch 1 --repeats 200"),
        time: OurTime::Batch(1),
        script: "prediction.py",
        script_arguments: words("--batch 1 --repeats 200"),
    }
}

fn to_target() -> Work {
    Work {
        title: format!("start to {TARGET} % of the test"),
        goals: Goals::Of(WorkName::ToTarget),
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

    fn all_of(only: Option<WorkName>) -> Vec<Work> {
        all(only, NonZeroUsize::MIN, NonZeroUsize::MIN, false)
    }

    #[test]
    fn peers_only_chooses_one_program() {
        let programs = |only| all_of(only).iter().map(|work| work.program.name()).collect();
        let (everything, matmul): (Vec<_>, Vec<_>) = (programs(None), programs(Some(WorkName::Matmul)));
        let kernels = ["max_functions", "time_matmul", "time_matmul", "activation_functions"];
        let networks = ["neural-net", "neural-net", "time_prediction", "neural-net"];
        assert_eq!(everything, [kernels, networks].concat());
        assert_eq!(matmul, ["time_matmul"; 2]);
    }

    #[test]
    fn peers_a_gpu_adds_its_two_times_without_goals() {
        let works = all(Some(WorkName::Max), NonZeroUsize::MIN, NonZeroUsize::MIN, true);
        let titles: Vec<&str> = works.iter().map(|work| work.title.as_str()).collect();
        assert_eq!(titles, ["max 1000×1000 i32", "max 1000×1000 i32, on the GPU", "max 1000×1000 i32, GPU kernel"]);
        let works_of_matmul = all(Some(WorkName::Matmul), NonZeroUsize::MIN, NonZeroUsize::MIN, true);
        let programs: Vec<&str> = works_of_matmul[..3].iter().map(|work| work.program.name()).collect();
        assert_eq!(programs, ["time_matmul", "matmul_functions", "matmul_functions"]);
        let goals = works.iter().map(|work| work.goal("NumPy", NonZeroUsize::MIN));
        assert_eq!(goals.collect::<Vec<_>>(), [Some(0.85), None, None]);
    }

    #[test]
    fn peers_both_sides_repeat_as_often() {
        let five = NonZeroUsize::MIN.saturating_add(4);
        let network = network(five);
        assert_eq!(network.program_arguments[..6], ["--preset", "homework", "--device", "cpu", "--epochs", "5"]);
        assert_eq!(network.script_arguments, ["--images", "60000", "--repeats", "5"]);
        let notebook = notebook(five);
        assert_eq!(notebook.program_arguments[4..8], ["--epochs", "50", "--report-every", "10"]);
        assert_eq!(notebook.script_arguments, ["--repeats", "5", "--iterations", "10"]);
    }

    #[test]
    fn peers_only_a_training_to_its_target_has_a_seed_a_round() {
        for work in all_of(None) {
            let expected: &[&str] = if work.goals == Goals::Of(WorkName::ToTarget) { &["--seed", "2"] } else { &[] };
            assert_eq!(work.seed(2), expected, "{}", work.title);
        }
    }
}
