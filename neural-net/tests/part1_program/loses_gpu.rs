//! A GPU that runs out of memory, is lost or computes NaN causes one clear error line. Training
//! resumes from the last checkpoint.
//!
//! The GPU is a mock of the CUDA driver (the stand-in), since the emulated driver cannot lose a
//! device at a given call. The mock accepts every launch and runs no kernel. Its losses and weights
//! are not real, but everything else that the program does is.

#[path = "../../../rust-cuda/gpu/tests/support/stand_in.rs"]
mod stand_in;

use std::path::PathBuf;

use crate::support::names_in;
use crate::support::program::{ProgramRun, Sandbox, small};
use neural_net::checkpoint::{self, Checkpoint, FILE_NAME};
use neural_net::model_file;

/// The tested values of `--gpu-path`.
const PATHS: [&str; 2] = ["steps", "persistent"];

/// A failure of the device: an environment variable of the stand-in, and the number of calls before the failure.
type Failure<'a> = (&'a str, usize);

/// The program on a machine with a stand-in GPU.
struct WithGpu {
    sandbox: Sandbox,
    driver: PathBuf,
}

impl WithGpu {
    /// A machine for the test named `test`. `None` if there is no C compiler or no PTX of the kernels.
    fn new(test: &str, defines: &[&str]) -> Option<Self> {
        if !gpu_testing::require_ptx(&kernels_gpu::PTX) {
            return None;
        }
        let driver = stand_in::compile(test, defines)?;
        Some(Self { sandbox: Sandbox::new(), driver })
    }

    fn train(&self, failure: Option<Failure>, more: &[&str]) -> ProgramRun {
        let mut command = self.sandbox.command(&small(&[["--epochs", "3"].as_slice(), more].concat()));
        command.env("CUDA_DRIVER_LIBRARY", &self.driver);
        for variable in ["GPU_LAUNCH_BLOCKING", "STAND_IN_LOG"] {
            command.env_remove(variable);
        }
        command.envs(failure.map(|(variable, calls)| (variable, calls.to_string())));
        ProgramRun::of(command.output().unwrap())
    }

    fn kept(&self, directory: &str) -> Option<Checkpoint> {
        checkpoint::load(&self.sandbox.path(directory)).unwrap()
    }

    /// Resumes the checkpoint on the CPU and trains to the end.
    #[track_caller]
    fn check_resumes_on_the_cpu(&self, directory: &str) {
        let Checkpoint { run, .. } = self.kept(directory).unwrap();
        let resumed = self.train(None, &["--device", "cpu", "--checkpoint", directory, "--resume"]).success();
        let epoch = run.progress.epoch;
        if epoch > 0 {
            let line = format!("Resuming after epoch {epoch} and 0 steps.");
            assert!(resumed.stdout.contains(&line), "{}", resumed.stdout);
        }
        assert!(resumed.stdout.contains("Test Accuracy"), "{}", resumed.stdout);
        assert_eq!(self.kept(directory).unwrap().run.progress.epoch, 3);
    }

    /// Makes the device fail after 0, 1, 2, … calls, until it does not fail. Each failure must
    /// cause one error line with a hint and leave only complete files.
    fn check_a_failure_at_every_call(&self, variable: &str, path: &str, says: &str) {
        for calls in 0..400 {
            let (directory, model) = (format!("{variable}-{calls}"), format!("{variable}-{calls}.safetensors"));
            let more = ["--device", "cuda", "--gpu-path", path, "--checkpoint", &directory, "--save", &model];
            let run = self.train(Some((variable, calls)), &more);
            if run.code == Some(0) {
                assert!(calls > 10, "it never failed");
                assert_eq!(self.kept(&directory).unwrap().run.progress.epoch, 3);
                return;
            }
            let line = one_line(&run);
            let context = format!("{variable}={calls}, {path}: {line}");
            assert!(line.contains(says), "{context}");
            match self.kept(&directory) {
                _ if self.sandbox.path(&model).exists() => {
                    model_file::load(&self.sandbox.path(&model)).unwrap();
                    assert!(line.contains(&format!("it is saved: `neural-net evaluate {model}`")), "{context}");
                }
                Some(_) => {
                    assert_eq!(names_in(&self.sandbox.path(&directory)), [FILE_NAME], "{context}");
                    let hint = format!("the last checkpoint is valid: resume with --checkpoint {directory} --resume");
                    assert!(line.contains(&hint), "{context}");
                }
                None => assert!(line.contains("--device cpu"), "{context}"),
            }
            let left = names_in(&self.sandbox.path("."));
            assert!(!left.iter().any(|name| name.ends_with(".tmp")), "{context}: {left:?}");
        }
        panic!("it fails after any number of calls");
    }
}

/// The error line of a program after its GPU failed.
#[track_caller]
fn one_line(run: &ProgramRun) -> String {
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(!run.stdout.contains("Test Accuracy"), "{}", run.stdout);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(run.stderr.starts_with("error: ") && !run.stderr.contains("panicked"), "{}", run.stderr);
    run.stderr.trim_end().to_owned()
}

#[test]
fn part1_program_on_the_stand_in_names_the_device_in_its_results() {
    let test = "part1_program_on_the_stand_in_names_the_device_in_its_results";
    let Some(machine) = WithGpu::new(test, &[]) else { return };
    let ways =
        [("steps", "launches for each step"), ("persistent", "one launch for many steps, network_train_persistently")];
    for (path, shown) in ways {
        let device = format!("CUDA, Stand-in, {shown}");
        let more = ["--device", "cuda", "--gpu-path", path];
        let run = machine.train(None, &more).success();
        assert!(run.stdout.contains(&format!("; {device}.")), "{}", run.stdout);
        let run = machine.train(None, &[more.as_slice(), &["--json"]].concat()).success();
        let result: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(result["device"], device.as_str());
    }
    let run = machine.train(None, &["--json", "--device", "cpu"]).success();
    let result: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(result["device"].as_str().unwrap().starts_with("CPU, "), "{}", result["device"]);
    // The default device is the faster one. On a loaded machine, that may be the CPU. Both times
    // are then stated.
    let run = machine.train(None, &[]).success();
    let states_both = run.stdout.contains("GPU: ") && run.stdout.contains(" a step; CPU, ");
    assert!(run.stdout.contains("; CUDA, Stand-in, ") || states_both, "{}", run.stdout);
    assert!(!run.stdout.contains("not used"), "{}", run.stdout);
}

#[test]
fn part1_program_on_the_stand_in_names_the_data_that_do_not_fit_into_memory() {
    let test = "part1_program_on_the_stand_in_names_the_data_that_do_not_fit_into_memory";
    // 70 training images take 54,880 bytes, the 20 for validation 15,680, the 200 for testing
    // 156,800. A launch that runs many steps reads them as floats.
    let network = "the network: choose smaller --layers, or --device cpu: the GPU has no memory for a buffer of 4780";
    let images = "the training images: choose fewer --train-images, or --device cpu: the GPU has no memory for a buffer of 54880";
    let cases = [
        ("MEMORY=10000", network, &PATHS[..]),
        ("MEMORY=60000", images, &["steps"]),
        ("MEMORY=200000", images, &["persistent"]),
    ];
    for (number, (memory, says, paths)) in cases.into_iter().enumerate() {
        let Some(machine) = WithGpu::new(&format!("{test}_{number}"), &[memory]) else { return };
        for path in paths {
            let more = ["--device", "cuda", "--gpu-path", path, "--checkpoint", "run", "--save", "model"];
            let line = one_line(&machine.train(None, &more));
            assert!(line.starts_with(&format!("error: the GPU's memory does not hold {says}")), "{line}");
            assert_eq!(names_in(&machine.sandbox.path(".")), ["digits"], "no file is left");
        }
    }
}

#[test]
fn part1_program_on_the_stand_in_saves_the_network_without_memory_to_measure_it() {
    let test = "part1_program_on_the_stand_in_saves_the_network_without_memory_to_measure_it";
    let Some(machine) = WithGpu::new(&format!("{test}_1"), &["MEMORY=107000"]) else { return };
    let more = ["--device", "cuda", "--gpu-path", "steps"];
    let line = one_line(&machine.train(None, &more));
    assert!(line.contains("does not hold the buffers for measuring the accuracy, "), "{line}");
    assert!(line.contains(" in epoch 1: the GPU has no memory for a buffer of 15680 × 1 bytes"), "{line}");
    assert!(line.ends_with("choose fewer --validation-images, smaller --layers, or --device cpu"), "{line}");
    let line = one_line(&machine.train(None, &[more.as_slice(), &["--checkpoint", "run"]].concat()));
    assert!(line.ends_with("resume with --checkpoint run --resume --device cpu"), "{line}");
    machine.check_resumes_on_the_cpu("run");

    let Some(machine) = WithGpu::new(&format!("{test}_2"), &["MEMORY=150000"]) else { return };
    let save = ["--checkpoint", "run", "--save", "model"];
    let line = one_line(&machine.train(None, &[more.as_slice(), &save].concat()));
    assert!(line.contains("could not be measured on the test images: the GPU has no memory"), "{line}");
    assert!(line.ends_with("it is saved: `neural-net evaluate model` measures it on the CPU"), "{line}");
    machine.sandbox.run(&["evaluate", "model", "--data", "digits"]).success();
    let line = one_line(&machine.train(None, &more));
    assert!(line.ends_with("with --save FILE it is not lost, with --device cpu it needs no GPU"), "{line}");
    machine.check_resumes_on_the_cpu("run");
}

#[test]
fn part1_program_that_loses_the_stand_in_resumes_from_the_checkpoint() {
    let test = "part1_program_that_loses_the_stand_in_resumes_from_the_checkpoint";
    let Some(machine) = WithGpu::new(test, &[]) else { return };
    // An epoch of five steps and a measurement has six launches or two, so the failure is in the
    // second epoch.
    for (path, launches) in [("steps", 8), ("persistent", 2)] {
        let more = ["--device", "cuda", "--gpu-path", path, "--checkpoint", path];
        let run = machine.train(Some(("STAND_IN_LAUNCHES", launches)), &more);
        let line = one_line(&run);
        assert!(
            line.starts_with(
                "error: the training's device failed in epoch 2: unspecified launch failure (CUDA error 719)"
            ),
            "{line}"
        );
        assert!(
            line.ends_with(&format!("; the last checkpoint is valid: resume with --checkpoint {path} --resume")),
            "{line}"
        );
        assert!(run.stdout.contains("Epoch 1,") && !run.stdout.contains("Epoch 2,"), "{}", run.stdout);
        let progress = machine.kept(path).unwrap().run.progress;
        assert_eq!((progress.epoch, progress.step), (1, 0));
        machine.check_resumes_on_the_cpu(path);
    }
    // Without a checkpoint, the line names the flag that writes one.
    let line = one_line(&machine.train(Some(("STAND_IN_LAUNCHES", 8)), &["--device", "cuda", "--gpu-path", "steps"]));
    assert!(
        line.ends_with("; with --checkpoint DIR training can be resumed, with --device cpu it needs no GPU"),
        "{line}"
    );
}

#[test]
fn part1_program_reports_a_lost_stand_in_at_every_call() {
    let test = "part1_program_reports_a_lost_stand_in_at_every_call";
    let Some(machine) = WithGpu::new(test, &[]) else { return };
    machine.check_a_failure_at_every_call("STAND_IN_COPIES", "steps", "illegal address (CUDA error 700)");
    machine.check_a_failure_at_every_call("STAND_IN_LAUNCHES", "steps", "unspecified launch failure (CUDA error 719)");
}

#[test]
fn part1_program_reports_a_full_stand_in_at_every_allocation() {
    let test = "part1_program_reports_a_full_stand_in_at_every_allocation";
    let Some(machine) = WithGpu::new(test, &[]) else { return };
    machine.check_a_failure_at_every_call(
        "STAND_IN_ALLOCATIONS",
        "persistent",
        "the GPU has no memory for a buffer of ",
    );
}

#[test]
fn part1_program_on_the_stand_in_that_diverges_keeps_the_checkpoint() {
    let test = "part1_program_on_the_stand_in_that_diverges_keeps_the_checkpoint";
    let Some(machine) = WithGpu::new(test, &[]) else { return };
    for (path, in_first, in_second) in [("steps", 0, 6), ("persistent", 0, 2)] {
        for (epochs, launches) in [(0, in_first), (1, in_second)] {
            let directory = format!("{path}-{epochs}");
            let more = ["--device", "cuda", "--gpu-path", path, "--checkpoint", &directory, "--save", "model"];
            let run = machine.train(Some(("STAND_IN_FINITE_LAUNCHES", launches)), &more);
            assert_eq!(run.code, Some(1), "{run:?}");
            assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
            let line = format!("error: training diverged in epoch {}: the loss is no longer finite", epochs + 1);
            assert!(run.stderr.starts_with(&line), "{}", run.stderr);
            assert!(run.stderr.contains("choose a smaller learning rate"), "{}", run.stderr);
            assert!(!machine.sandbox.path("model").exists());
            assert_eq!(machine.kept(&directory).unwrap().run.progress.epoch, epochs);
            machine.check_resumes_on_the_cpu(&directory);
        }
    }
}

#[test]
fn part1_program_falls_back_to_steps_if_the_stand_in_has_no_other_path() {
    let test = "part1_program_falls_back_to_steps_if_the_stand_in_has_no_other_path";
    let cases = [
        ("COOPERATIVE=0", "Stand-in has no cooperative launches"),
        ("RESIDENT=0", "cannot run one block of this size"),
        ("STATIC_SHARED=90000", "90000 bytes of shared memory in arrays"),
        ("SHARED=20000", "bytes of shared memory per block; the limit is 19"),
    ];
    for (number, (define, why)) in cases.into_iter().enumerate() {
        let Some(machine) = WithGpu::new(&format!("{test}_{number}"), &[define]) else { return };
        let run = machine.train(None, &["--device", "cuda"]).success();
        assert!(run.stdout.contains("; CUDA, Stand-in, launches for each step."), "{define}: {}", run.stdout);
        // A mock's step takes an arbitrary time, so either device may be faster.
        let run = machine.train(None, &["--device", "auto"]).success();
        let is_on = |device: &str| run.stdout.contains(&format!("; {device}, "));
        assert!(is_on("CUDA, Stand-in, launches for each step") || is_on("CPU"), "{define}: {}", run.stdout);
        let line = run.stdout.lines().find(|line| line.starts_with("GPU: ")).expect("both times are said");
        assert!(line.contains(" a step; CPU, "), "{define}: {line}");
        let error = machine.train(None, &["--device", "cuda", "--gpu-path", "persistent"]).rejection();
        assert!(error.contains("--gpu-path steps") && error.contains(why), "{define}: {error}");
    }
}
