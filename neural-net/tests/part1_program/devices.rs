//! The program trains on the requested device, or prints why it cannot.

use std::fs;

use crate::support::program::{Sandbox, small};
use neural_net::checkpoint::FILE_NAME;
use neural_net::model_file;

#[test]
fn part1_program_trains_in_the_simulator_and_resumes_to_the_same_bits() {
    let sandbox = Sandbox::new();
    for path in ["steps", "persistent"] {
        let simulator = ["--device", "simulator", "--gpu-path", path];
        let train = |more: &[&str]| sandbox.run(&small(&[simulator.as_slice(), more].concat())).success();
        let run = train(&["--epochs", "3", "--save", "unbroken"]);
        assert!(run.stdout.contains("; GPU simulator, "), "{}", run.stdout);
        train(&["--epochs", "1", "--checkpoint", path]);
        let run = train(&["--epochs", "3", "--checkpoint", path, "--resume", "--save", "broken"]);
        assert!(run.stdout.contains("Resuming after epoch 1 and 0 steps."), "{}", run.stdout);
        let model = |name: &str| model_file::load(&sandbox.path(name)).unwrap();
        assert!(model("broken") == model("unbroken"), "{path}");
    }
}

#[test]
fn part1_program_resumes_a_checkpoint_on_another_device() {
    let sandbox = Sandbox::new();
    let run = |device: &str, epochs: &str| {
        let more = ["--device", device, "--epochs", epochs, "--checkpoint", "run", "--resume"];
        sandbox.run(&small(&more))
    };
    assert_eq!(run("cpu", "1").code, Some(0));
    assert!(run("simulator", "2").success().stdout.contains("Epoch 2,"));
    assert!(run("cpu", "3").success().stdout.contains("Epoch 3,"));
}

#[test]
fn part1_program_in_the_simulator_that_diverges_reports_it_and_keeps_the_checkpoint() {
    let sandbox = Sandbox::new();
    let more = ["--activation", "identity", "--output-activation", "identity", "--learning-rate", "1e8"];
    for path in ["steps", "persistent"] {
        let on = ["--device", "simulator", "--gpu-path", path, "--checkpoint", path, "--epochs", "9"];
        let run = sandbox.run(&small(&[more.as_slice(), &on].concat()));
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("\nerror: training diverged in epoch 1"), "{}", run.stderr);
        assert!(fs::metadata(sandbox.path(path).join(FILE_NAME)).is_ok(), "the first checkpoint exists");
    }
}

#[test]
fn part1_program_prints_why_it_does_not_train_on_a_gpu() {
    let sandbox = Sandbox::new();
    let error = sandbox.rejection(&small(&["--device", "cuda"]));
    assert!(error.contains("CUDA") || error.contains("GPU"), "{error}");

    let run = sandbox.run(&small(&["--epochs", "1"])).success();
    assert!(run.stdout.contains("CUDA: not used: "), "{}", run.stdout);
    assert!(run.stdout.contains("; CPU, "), "{}", run.stdout);
    let run = sandbox.run(&small(&["--epochs", "1", "--device", "cpu"])).success();
    assert!(!run.stdout.contains("CUDA"), "{}", run.stdout);
}

#[test]
fn part1_program_prints_why_one_launch_for_many_steps_is_not_possible() {
    let sandbox = Sandbox::new();
    let error = sandbox.rejection(&small(&["--gpu-path", "persistent", "--device", "cpu"]));
    assert!(error.contains("--gpu-path persistent needs a GPU"), "{error}");
    let persistent = ["--gpu-path", "persistent", "--device", "simulator"];
    let error = sandbox.rejection(&small(&[persistent.as_slice(), &["--batch-size", "65"]].concat()));
    assert!(error.contains("--gpu-path steps") && error.contains("the maximum is 64"), "{error}");
    let wide = ["--data", "digits", "--layers", "784,600,600,10", "--train-images", "70", "--validation-images", "20"];
    let error = sandbox.rejection(&[wide.as_slice(), &persistent].concat());
    assert!(error.contains("bytes of shared memory per block; the limit is "), "{error}");
}
