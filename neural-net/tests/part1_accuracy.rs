//! The networks' accuracies are above their targets but not suspiciously high.

use std::path::PathBuf;
use std::process::Command;

use neural_net::data::{Dataset, ToSamples};
use neural_net::engine::{CpuEngine, Engine};
use neural_net::network::Initialization;
use neural_net::preset::Preset;
use neural_net::training::{EpochRecord, GradientScale, Observer, Progress};
use neural_net::training::{Training, Validation, initial_parameters};
use neural_net::{Activation, Architecture, Hyperparameters, Loss};

fn mnist_directory() -> Option<PathBuf> {
    test_support::path_in("MNIST_DIR", test_support::Need::Mnist)
}

/// Returns the test accuracy that the program reports, in percent.
fn test_accuracy(arguments: &[&str], mnist: &PathBuf) -> f64 {
    let output =
        Command::new(env!("CARGO_BIN_EXE_neural-net")).args(arguments).env("MNIST_DIR", mnist).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {stdout}{stderr}");
    let line = stdout.lines().find_map(|line| line.strip_prefix("Test Accuracy: ")).expect("a line with the accuracy");
    line.split(" %").next().and_then(|percent| percent.parse().ok()).expect("a number")
}

#[test]
fn part1_the_homework_network_passes_95_percent_on_mnist_for_seeds_0_to_4() {
    let Some(mnist) = mnist_directory() else { return };
    for seed in ["0", "1", "2", "3", "4"] {
        let accuracy = test_accuracy(&["--seed", seed], &mnist);
        println!("seed {seed}: {accuracy} %");
        assert!((95.0..99.5).contains(&accuracy), "seed {seed}: {accuracy} %");
    }
}

#[test]
fn part1_the_notebook_network_passes_90_percent_on_mnist() {
    let Some(mnist) = mnist_directory() else { return };
    let accuracy = test_accuracy(&["--preset", "notebook"], &mnist);
    println!("{accuracy} %; the notebook reports 91.02 %");
    assert!((90.0..95.0).contains(&accuracy), "{accuracy} %");
}

struct Silent;

impl<E: Engine> Observer<E> for Silent {
    type Error = std::convert::Infallible;

    fn step(&mut self, _epoch: usize, _step: usize, _steps: usize) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }

    fn epoch(&mut self, _record: &EpochRecord, _training: &Training<E>) -> Result<(), Self::Error> {
        Ok(())
    }
}

fn accuracy_on_builtin_digits(dataset: &Dataset, architecture: Architecture, hyperparameters: &Hyperparameters) -> f64 {
    let train = dataset.train.samples(0, 50_000);
    let test = dataset.test.samples(0, dataset.test.len());
    let parameters = initial_parameters(architecture, hyperparameters);
    let engine = CpuEngine::new(&train, &parameters, hyperparameters);
    let mut training = Training::new(engine, train.len(), hyperparameters.clone(), Progress::default());
    training.run(&Validation::Training, &mut Silent).unwrap();
    training.engine_mut().evaluate(&test).unwrap().accuracy()
}

#[test]
fn part1_the_builtin_digits_need_more_than_a_linear_model() {
    let dataset = Dataset::builtin(0);
    let homework = Preset::Homework.hyperparameters();
    let accuracy = accuracy_on_builtin_digits(&dataset, Preset::Homework.architecture().unwrap(), &homework);
    assert!((0.95..0.999).contains(&accuracy), "the homework network reaches {accuracy}");

    // Softmax regression is the best linear model. Try several learning rates.
    let linear = Architecture::new(vec![784, 10], Activation::Identity, Activation::Softmax).unwrap();
    let best = [0.05, 0.1, 0.2].map(|learning_rate| {
        let hyperparameters = Hyperparameters {
            loss: Loss::CrossEntropy,
            learning_rate,
            batch_size: Some(64),
            gradient: GradientScale::Mean,
            epochs: 8,
            initialization: Initialization::Xavier,
            ..homework.clone()
        };
        accuracy_on_builtin_digits(&dataset, linear.clone(), &hyperparameters)
    });
    println!("homework network {accuracy}, linear {best:?}");
    assert!(best.iter().all(|&accuracy| (0.5..0.95).contains(&accuracy)), "linear models reach {best:?}");
}
