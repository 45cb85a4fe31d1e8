//! A training run interrupted by Ctrl-C is saved and resumes to the same network. A run that
//! diverges keeps its checkpoint.

use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::process::{Child, Command, Stdio};

use crate::support::names_in;
#[cfg(unix)]
use crate::support::program::ProgramRun;
use crate::support::program::{Sandbox, training};
use neural_net::checkpoint::{self, Checkpoint};
use neural_net::{Network, checksum, model_file};
use safetensors::SafeTensors;
#[cfg(unix)]
use test_support::wait_until;

fn kept(directory: &Path) -> Checkpoint {
    checkpoint::load(directory).unwrap().unwrap()
}

#[test]
fn part1_program_resumes_to_the_network_of_an_uninterrupted_run() {
    let sandbox = Sandbox::new();
    for momentum in ["0", "0.5"] {
        let settings = ["--momentum", momentum, "--target-accuracy", "0"];
        sandbox.train(4, &[settings.as_slice(), &["--save", "unbroken"]].concat()).success();
        let keep = [settings.as_slice(), &["--checkpoint", momentum]].concat();
        sandbox.train(2, &keep).success();
        let run = sandbox.train(4, &[keep.as_slice(), &["--resume", "--save", "broken"]].concat()).success();
        assert!(run.stdout.contains("Resuming after epoch 2 and 0 steps."), "{}", run.stdout);
        assert!(!run.stdout.contains("Epoch 2,") && run.stdout.contains("Epoch 3,"), "{}", run.stdout);
        let model = |name: &str| model_file::load(&sandbox.path(name)).unwrap();
        assert!(model("broken") == model("unbroken"), "momentum {momentum}");
        assert_eq!(names_in(&sandbox.path(momentum)), [checkpoint::FILE_NAME]);
    }
}

#[test]
fn part1_program_takes_the_settings_from_the_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox.train(1, &["--checkpoint", "run", "--learning-rate", "0.03", "--layers", "784,10"]);
    let arguments = ["--checkpoint", "run", "--resume", "--data", "digits", "--epochs", "2", "--target-accuracy", "0"];
    let run = sandbox.run(&arguments).success();
    assert!(run.stdout.contains("784-10,") && run.stdout.contains("learning rate 0.03,"), "{}", run.stdout);
    assert!(run.stdout.contains("500 images"), "{}", run.stdout);
}

#[test]
fn part1_program_starts_if_there_is_no_checkpoint_to_resume() {
    let sandbox = Sandbox::new();
    let run = sandbox.train(1, &["--checkpoint", "run", "--resume", "--target-accuracy", "0"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.stderr, "no checkpoint in run yet: starting from the beginning\n");
    assert_eq!(kept(&sandbox.path("run")).run.progress.epoch, 1);
}

#[test]
fn part1_program_that_diverges_reports_it_and_keeps_the_checkpoint() {
    let sandbox = Sandbox::new();
    let settings = ["--activation", "identity", "--output-activation", "identity", "--learning-rate", "1e6"];
    let more = ["--checkpoint", "run", "--save", "model.safetensors", "--target-accuracy", "0"];
    let run = sandbox.train(20, &[settings.as_slice(), &more].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{}", run.stderr);
    assert!(lines[0].starts_with("warning: gradients are summed"), "{}", run.stderr);
    assert!(lines[1].starts_with("error: training diverged in epoch 1"), "{}", run.stderr);
    assert!(run.stderr.contains("choose a smaller learning rate"), "{}", run.stderr);
    assert!(!run.stdout.contains("Test Accuracy"), "{}", run.stdout);
    assert!(!sandbox.path("model.safetensors").exists());
    assert_finite(&kept(&sandbox.path("run")));
}

/// With one step per epoch, the diverging step is an epoch's last.
#[test]
fn part1_program_that_diverges_in_an_epochs_last_step_keeps_the_checkpoint() {
    let sandbox = Sandbox::new();
    let settings = ["--activation", "identity", "--output-activation", "identity", "--learning-rate", "1e30"];
    let more = ["--batch-size", "full", "--checkpoint", "run", "--save", "model.safetensors", "--target-accuracy", "0"];
    let run = sandbox.train(1, &[settings.as_slice(), &more].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("training diverged in epoch 1"), "{}", run.stderr);
    assert!(!sandbox.path("model.safetensors").exists());
    assert_finite(&kept(&sandbox.path("run")));
}

/// Training cannot resume from such a network.
#[test]
fn part1_program_neither_saves_nor_loads_a_network_that_is_not_finite() {
    let sandbox = Sandbox::new();
    let settings = ["--checkpoint", "run", "--target-accuracy", "0"];
    sandbox.train(1, &settings).success();
    let good = kept(&sandbox.path("run"));
    let mut bad = good.clone();
    let network = &good.parameters.network;
    let mut weights = network.weights().to_vec();
    weights[0][(3, 5)] = f32::NAN;
    bad.parameters.network = Network::new(network.architecture().clone(), weights, network.biases().to_vec()).unwrap();
    let error = checkpoint::save(&sandbox.path("run"), &bad).unwrap_err().to_string();
    assert!(error.ends_with("the tensor layers.0.weight has a value that is not finite"), "{error}");
    assert_eq!(kept(&sandbox.path("run")), good);

    let path = checkpoint::path_in(&sandbox.path("run"));
    let mut bytes = fs::read(&path).unwrap();
    let weights = SafeTensors::deserialize(&bytes).unwrap().tensor("layers.0.weight").unwrap().data().as_ptr();
    let start = weights.addr() - bytes.as_ptr().addr();
    bytes[start..start + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(checksum::seal(&mut bytes));
    fs::write(&path, &bytes).unwrap();
    let message = sandbox.rejection(&training(2, &[settings.as_slice(), &["--resume"]].concat()));
    assert!(message.contains("the tensor layers.0.weight has a value that is not finite"), "{message}");
    assert_eq!(fs::read(&path).unwrap(), bytes, "the file is unchanged");
}

#[track_caller]
fn assert_finite(checkpoint: &Checkpoint) {
    let network = &checkpoint.parameters.network;
    let mut values = network.weights().iter().flatten().chain(network.biases().iter().flatten());
    assert!(values.all(|value| value.is_finite()), "the checkpoint has a value that is not finite");
}

/// A training run of a million epochs with its output in files. Dropping it kills it.
#[cfg(unix)]
struct Endless<'a> {
    sandbox: &'a Sandbox,
    program: Child,
}

#[cfg(unix)]
impl<'a> Endless<'a> {
    fn start(sandbox: &'a Sandbox, more: &[&str]) -> Self {
        let file = |name| Stdio::from(fs::File::create(sandbox.path(name)).unwrap());
        let mut command = sandbox.command(&training(1_000_000, more));
        let program = command.stdout(file("stdout")).stderr(file("stderr")).spawn().unwrap();
        Self { sandbox, program }
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.sandbox.path(name)).unwrap()
    }

    /// Sends a signal, waits for the program to end, and returns its exit code and output.
    fn end(mut self, signal: &str) -> ProgramRun {
        let id = self.program.id().to_string();
        let killed = Command::new("sh").args(["-c", r#"kill -s "$0" "$1""#, signal, &id]).status().unwrap();
        assert!(killed.success());
        let mut code = None;
        wait_until("the program's end", || {
            let status = self.program.try_wait().unwrap();
            code = status.and_then(|status| status.code());
            status.is_some()
        });
        ProgramRun { code, stdout: self.text("stdout"), stderr: self.text("stderr") }
    }
}

#[cfg(unix)]
impl Drop for Endless<'_> {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Reads the checkpoint while it is written: a reader never sees an incomplete one.
#[cfg(unix)]
#[test]
fn part1_program_that_is_interrupted_resumes_to_the_same_network() {
    let sandbox = Sandbox::new();
    let directory = sandbox.path("run");
    let endless = Endless::start(&sandbox, &["--checkpoint", "run"]);
    wait_until("an epoch", || checkpoint::load(&directory).unwrap().is_some_and(|kept| kept.run.progress.epoch >= 3));
    let run = endless.end("INT");
    assert_eq!(run.code, Some(130), "{run:?}");
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("the same command with --checkpoint run --resume"), "{}", run.stderr);
    assert_eq!(names_in(&directory), [checkpoint::FILE_NAME]);

    let progress = kept(&directory).run.progress;
    let (epoch, step) = (progress.epoch, progress.step);
    assert!(run.stderr.contains(&format!("after epoch {epoch} and {step} steps")), "{}", run.stderr);
    let more = ["--checkpoint", "run", "--resume", "--save", "broken", "--target-accuracy", "0"];
    let resumed = sandbox.train(epoch + 1, &more).success();
    let line = format!("Resuming after epoch {epoch} and {step} steps.");
    assert!(resumed.stdout.contains(&line), "{}", resumed.stdout);
    sandbox.train(epoch + 1, &["--save", "unbroken", "--target-accuracy", "0"]).success();
    let model = |name: &str| model_file::load(&sandbox.path(name)).unwrap();
    assert!(model("broken") == model("unbroken"));
}

#[cfg(unix)]
#[test]
fn part1_program_that_is_interrupted_without_a_checkpoint_writes_nothing_and_says_how_to() {
    let sandbox = Sandbox::new();
    let before = names_in(&sandbox.path("."));
    let endless = Endless::start(&sandbox, &[]);
    wait_until("an epoch", || endless.text("stdout").contains("Epoch 1,"));
    let run = endless.end("INT");
    assert_eq!(run.code, Some(130), "{run:?}");
    assert!(run.stderr.ends_with("Nothing was saved: a run with --checkpoint DIR can be resumed\n"), "{}", run.stderr);
    let written: Vec<String> = names_in(&sandbox.path(".")).into_iter().filter(|name| !before.contains(name)).collect();
    assert!(written.iter().all(|name| ["stdout", "stderr"].contains(&name.as_str())), "{written:?}");
}

/// SIGTERM, the signal of `kill` and of a system shutdown.
#[cfg(unix)]
#[test]
fn part1_program_that_is_terminated_writes_a_checkpoint() {
    let sandbox = Sandbox::new();
    let endless = Endless::start(&sandbox, &["--json", "--checkpoint", "run"]);
    // The folder exists before training starts, but after the signal handler is installed.
    wait_until("the folder", || sandbox.path("run").exists());
    let run = endless.end("TERM");
    assert_eq!((run.code, run.stdout.as_str()), (Some(130), ""), "{run:?}");
    kept(&sandbox.path("run"));
}

/// A killed process leaves the last checkpoint.
#[cfg(unix)]
#[test]
fn part1_program_that_is_killed_has_a_checkpoint_to_resume() {
    let sandbox = Sandbox::new();
    let directory = sandbox.path("run");
    let endless = Endless::start(&sandbox, &["--checkpoint", "run"]);
    wait_until("an epoch", || checkpoint::load(&directory).unwrap().is_some_and(|kept| kept.run.progress.epoch >= 2));
    assert_eq!(endless.end("KILL").code, None);
    let epoch = kept(&directory).run.progress.epoch;
    sandbox.train(epoch + 1, &["--checkpoint", "run", "--resume", "--target-accuracy", "0"]).success();
    assert_eq!(names_in(&directory), [checkpoint::FILE_NAME]);
}
