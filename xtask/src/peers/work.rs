use std::num::NonZeroUsize;

use anyhow::Result;
use clap::ValueEnum;

use super::rust_program::{
    seconds_of_cuda, seconds_of_cuda_fused, seconds_of_cuda_fused_kernel, seconds_of_cuda_kernel, seconds_of_epoch,
    seconds_of_rayon, seconds_of_rayon_fused,
};

/// The images that a time of the network stands for, whatever the number a run trained on.
pub(super) const EPOCH_IMAGES: f64 = 60_000.0;

/// What `--only` chooses from.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(super) enum WorkName {
    Max,
    Matmul,
    Activation,
    Network,
}

/// Reads a time from the JSON that a program prints.
type ReadSeconds = fn(&str) -> Result<f64>;

/// One piece of work that our program and a Python script both do.
pub(super) struct Work {
    /// Its name in the table.
    pub(super) title: String,
    /// Our package and program.
    pub(super) program: &'static str,
    /// The program's arguments, without the number of threads.
    pub(super) program_arguments: Vec<String>,
    /// Reads our seconds from the program's JSON.
    pub(super) read_seconds: ReadSeconds,
    /// The script's file name in `xtask/peers`.
    pub(super) script: &'static str,
    /// The script's arguments, without the number of threads.
    pub(super) script_arguments: Vec<String>,
}

/// All works, or the chosen one's, in the table's order; on a GPU too where there is one.
pub(super) fn all(only: Option<WorkName>, repeats: NonZeroUsize, epochs: NonZeroUsize, with_gpu: bool) -> Vec<Work> {
    let names = [WorkName::Max, WorkName::Matmul, WorkName::Activation, WorkName::Network];
    let chosen = names.into_iter().filter(|name| only.is_none_or(|only| only == *name));
    chosen
        .flat_map(|name| match name {
            WorkName::Max => on_both(|| max(repeats), CUDA, with_gpu),
            WorkName::Matmul => {
                ["f32", "f64"].into_iter().flat_map(|t| on_both(|| matmul(t, repeats), CUDA, with_gpu)).collect()
            }
            WorkName::Activation => on_both(|| activation(repeats), CUDA_FUSED, with_gpu),
            WorkName::Network => vec![network(epochs)],
        })
        .collect()
}

/// How the GPU's two times are read: with the copies, and the kernel alone.
const CUDA: [ReadSeconds; 2] = [seconds_of_cuda, seconds_of_cuda_kernel];
const CUDA_FUSED: [ReadSeconds; 2] = [seconds_of_cuda_fused, seconds_of_cuda_fused_kernel];

/// A work, and beside it the same on the GPU: with its copies, and the kernel alone.
fn on_both(work: impl Fn() -> Work, gpu_seconds: [ReadSeconds; 2], with_gpu: bool) -> Vec<Work> {
    let gpu = ["on the GPU", "GPU kernel"].into_iter().zip(gpu_seconds);
    let on_gpu = gpu.filter(|_| with_gpu).map(|(place, read_seconds)| {
        let work = work();
        Work { title: format!("{}, {place}", work.title), read_seconds, ..work }
    });
    std::iter::once(work()).chain(on_gpu).collect()
}

fn max(repeats: NonZeroUsize) -> Work {
    let arguments = words(&format!("--repeats {repeats}"));
    Work {
        title: "max 1000×1000 i32".to_owned(),
        program: "max_functions",
        program_arguments: arguments.clone(),
        read_seconds: seconds_of_rayon,
        script: "max.py",
        script_arguments: arguments,
    }
}

fn matmul(dtype: &str, repeats: NonZeroUsize) -> Work {
    let arguments = words(&format!("--dtype {dtype} --repeats {repeats}"));
    Work {
        title: format!("X·Xᵀ 784×128 {dtype}"),
        program: "matmul_functions",
        program_arguments: arguments.clone(),
        read_seconds: seconds_of_rayon,
        script: "matmul.py",
        script_arguments: arguments,
    }
}

fn activation(repeats: NonZeroUsize) -> Work {
    let arguments = words(&format!("--repeats {repeats}"));
    Work {
        title: "activation 10⁶ f32".to_owned(),
        program: "activation_functions",
        program_arguments: arguments.clone(),
        read_seconds: seconds_of_rayon_fused,
        script: "activation.py",
        script_arguments: arguments,
    }
}

fn network(epochs: NonZeroUsize) -> Work {
    Work {
        title: format!("epoch of {EPOCH_IMAGES} images"),
        program: "neural-net",
        program_arguments: words(&format!("--preset homework --device cpu --epochs {epochs}")),
        read_seconds: seconds_of_epoch,
        script: "network.py",
        script_arguments: words(&format!("--images {EPOCH_IMAGES} --repeats {epochs}")),
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_only_chooses_one_program() {
        let all = |only| all(only, NonZeroUsize::MIN, NonZeroUsize::MIN, false);
        let programs = |only| all(only).iter().map(|work| work.program).collect();
        let (everything, matmul): (Vec<_>, Vec<_>) = (programs(None), programs(Some(WorkName::Matmul)));
        assert_eq!(
            everything,
            ["max_functions", "matmul_functions", "matmul_functions", "activation_functions", "neural-net"]
        );
        assert_eq!(matmul, ["matmul_functions"; 2]);
    }

    #[test]
    fn peers_a_gpu_adds_its_two_times() {
        let works = all(Some(WorkName::Max), NonZeroUsize::MIN, NonZeroUsize::MIN, true);
        let titles: Vec<&str> = works.iter().map(|work| work.title.as_str()).collect();
        assert_eq!(titles, ["max 1000×1000 i32", "max 1000×1000 i32, on the GPU", "max 1000×1000 i32, GPU kernel"]);
    }

    #[test]
    fn peers_both_sides_repeat_as_often() {
        let epochs = NonZeroUsize::MIN.saturating_add(4);
        let network = network(epochs);
        assert_eq!(network.program_arguments, ["--preset", "homework", "--device", "cpu", "--epochs", "5"]);
        assert_eq!(network.script_arguments, ["--images", "60000", "--repeats", "5"]);
    }
}
