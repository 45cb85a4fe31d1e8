//! A training run stops at the first measurement that reaches its target, and at the same step
//! wherever it was interrupted.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use crate::support::program::{Sandbox, training};
use crate::support::small_dataset;
use gpu::{Device, SimulatorOptions};
use neural_net::checkpoint;
use neural_net::data::ToSamples;
use neural_net::engine::{CpuEngine, Engine, GpuEngine, GpuOptions, GpuPath, Parameters};
use neural_net::preset::Preset;
use neural_net::training::{
    EpochRecord, Observer, Outcome, Progress, StopAt, Training, Validation, initial_parameters, order_of_epoch,
};
use neural_net::{Activation, Architecture, Hyperparameters, Samples, model_file};
use serde_json::{Value, json};

/// Stops after `steps` steps, counted over all epochs, and collects the records.
struct StopAfter {
    steps: usize,
    records: Vec<EpochRecord>,
}

impl<E: Engine> Observer<E> for StopAfter {
    type Error = std::convert::Infallible;

    fn step(&mut self, _epoch: usize, _step: usize, _steps: usize) -> ControlFlow<()> {
        self.steps = self.steps.saturating_sub(1);
        if self.steps == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn epoch(&mut self, record: &EpochRecord, training: &Training<E>) -> Result<(), Self::Error> {
        assert_eq!(training.progress().history.last(), Some(record), "the progress has the record");
        self.records.push(*record);
        Ok(())
    }
}

struct StopCase {
    train: Samples,
    validation: Samples,
    architecture: Architecture,
    hyperparameters: Hyperparameters,
}

/// 250 images in 16 steps of up to 16 images. `percent` is the target and `every` the number of
/// images between measurements.
fn case(percent: f64, every: usize) -> StopCase {
    let dataset = small_dataset();
    let stop_at = StopAt { accuracy: percent / 100.0, check_every: NonZeroUsize::new(every).unwrap() };
    StopCase {
        train: dataset.train.samples(0, 250),
        validation: dataset.train.samples(250, 200),
        architecture: Architecture::new(vec![784, 14, 10], Activation::Tanh, Activation::Sigmoid).unwrap(),
        hyperparameters: Hyperparameters {
            epochs: 12,
            learning_rate: 0.1,
            momentum: 0.5,
            stop_at: Some(stop_at),
            ..Preset::Homework.hyperparameters()
        },
    }
}

impl StopCase {
    fn start(&self) -> Parameters {
        initial_parameters(self.architecture.clone(), &self.hyperparameters)
    }

    fn cpu(&self, parameters: &Parameters) -> CpuEngine<'_> {
        CpuEngine::new(&self.train, parameters, &self.hyperparameters)
    }

    /// Trains starting from `progress` until the training run ends or `steps` are done.
    fn run<E: Engine>(&self, engine: E, progress: Progress, steps: usize) -> Ended {
        let mut training = Training::new(engine, self.train.len(), self.hyperparameters.clone(), progress);
        let mut observer = StopAfter { steps, records: vec![] };
        let outcome = training.run(&Validation::Apart(&self.validation), &mut observer).unwrap();
        assert_eq!(training.reached().is_some(), outcome == Outcome::Reached);
        Ended {
            outcome,
            progress: training.progress().clone(),
            parameters: training.engine().parameters().unwrap(),
            records: observer.records,
        }
    }

    /// The epoch with its steps and samples at the first measurement that reaches the target,
    /// computed step by step.
    fn expected(&self) -> Option<(usize, usize, usize, Parameters)> {
        let (stop_at, samples) = (self.hyperparameters.stop_at.unwrap(), self.train.len());
        let (mut engine, mut total) = (self.cpu(&self.start()), 0);
        for epoch in 0..self.hyperparameters.epochs {
            let order = order_of_epoch(&self.hyperparameters, samples, epoch);
            for (step, batch) in order.chunks(16).enumerate() {
                engine.train(&order, step, &mut |_, _| ControlFlow::Break(())).unwrap();
                let before = total;
                total += batch.len();
                let is_last = step + 1 == order.len().div_ceil(16);
                let is_due = total / stop_at.check_every > before / stop_at.check_every || is_last;
                if is_due && engine.evaluate(&self.validation).unwrap().accuracy() >= stop_at.accuracy {
                    return Some((epoch + 1, step + 1, total - epoch * samples, engine.parameters().unwrap()));
                }
            }
        }
        None
    }
}

#[derive(Debug)]
struct Ended {
    outcome: Outcome,
    progress: Progress,
    parameters: Parameters,
    records: Vec<EpochRecord>,
}

fn figures(progress: &Progress) -> Vec<(usize, Option<usize>, f64, f64)> {
    let figures = |record: &EpochRecord| (record.epoch, record.samples, record.loss, record.accuracy);
    progress.history.iter().map(figures).collect()
}

#[test]
fn part1_stop_at_stops_at_the_first_measurement_that_reaches_the_target() {
    let mut within_an_epoch = 0;
    for percent in [20.0, 40.0, 50.0, 60.0] {
        for every in [1, 16, 40, 100, 250, 300, 1000] {
            let case = case(percent, every);
            let (epoch, step, samples, parameters) = case.expected().expect("the target is low enough");
            let ended = case.run(case.cpu(&case.start()), Progress::default(), usize::MAX);
            assert_eq!(ended.outcome, Outcome::Reached, "{percent} %, every {every}");
            assert_eq!(ended.parameters, parameters, "{percent} %, every {every}");

            let is_complete = samples == 250;
            let position = if is_complete { (epoch, 0) } else { (epoch - 1, step) };
            assert_eq!((ended.progress.epoch, ended.progress.step), position, "{percent} %, every {every}");
            let last = ended.progress.history.last().unwrap();
            assert_eq!((last.epoch, last.samples), (epoch, (!is_complete).then_some(samples)));
            assert!(last.accuracy >= percent / 100.0 && last.loss.is_finite() && last.loss > 0.0, "{last:?}");
            let epochs: Vec<usize> = ended.progress.history.iter().map(|record| record.epoch).collect();
            assert_eq!(epochs, (1..=epoch).collect::<Vec<_>>(), "one record for each epoch that was started");
            assert_eq!(ended.records, ended.progress.history, "the observer received each");
            within_an_epoch += usize::from(!is_complete);
        }
    }
    assert!(within_an_epoch >= 10, "{within_an_epoch} stopped within an epoch");
}

#[test]
fn part1_stop_at_an_unreachable_target_changes_nothing() {
    let never = case(100.1, 40);
    let ended = never.run(never.cpu(&never.start()), Progress::default(), usize::MAX);
    let mut without = case(100.1, 40);
    without.hyperparameters.stop_at = None;
    let expected = without.run(without.cpu(&without.start()), Progress::default(), usize::MAX);
    assert_eq!((ended.outcome, expected.outcome), (Outcome::Finished, Outcome::Finished));
    assert_eq!(ended.parameters, expected.parameters);
    assert_eq!(figures(&ended.progress), figures(&expected.progress));
    assert_eq!(ended.progress.history.len(), 12);
}

/// Epochs that are not reported are also not measured.
#[test]
fn part1_stop_at_measures_the_training_images_without_validation_images() {
    let mut case = case(30.0, 10_000);
    case.hyperparameters.report_every = 4;
    let mut training = Training::new(case.cpu(&case.start()), 250, case.hyperparameters.clone(), Progress::default());
    let mut observer = StopAfter { steps: usize::MAX, records: vec![] };
    assert_eq!(training.run(&Validation::Training, &mut observer).unwrap(), Outcome::Reached);
    let accuracy = training.engine_mut().evaluate_training_samples().unwrap().accuracy();
    let record = training.reached().unwrap();
    assert!(record.epoch.is_multiple_of(4) && record.epoch < 12, "{record:?}");
    assert_eq!((record.samples, record.accuracy), (None, accuracy));
}

#[test]
fn part1_stop_at_a_run_interrupted_at_any_step_stops_at_the_same_step() {
    let case = case(55.0, 40);
    let unbroken = case.run(case.cpu(&case.start()), Progress::default(), usize::MAX);
    assert_eq!(unbroken.outcome, Outcome::Reached);
    let steps = unbroken.progress.epoch * 16 + unbroken.progress.step;
    assert!(steps > 16, "more than one epoch: {steps} steps");
    for stop in 1..=steps {
        let first = case.run(case.cpu(&case.start()), Progress::default(), stop);
        let json = serde_json::to_string(&first.progress).unwrap();
        let progress: Progress = serde_json::from_str(&json).unwrap();
        let resumed = case.run(case.cpu(&first.parameters), progress, usize::MAX);
        assert_eq!(resumed.outcome, Outcome::Reached, "interrupted after {stop} steps");
        assert_eq!(resumed.parameters, unbroken.parameters, "interrupted after {stop} steps");
        assert_eq!(figures(&resumed.progress), figures(&unbroken.progress), "interrupted after {stop} steps");
    }
}

#[test]
fn part1_stop_at_a_stopped_run_resumes_only_without_the_target() {
    let mut case = case(50.0, 40);
    let ended = case.run(case.cpu(&case.start()), Progress::default(), usize::MAX);
    let again = case.run(case.cpu(&ended.parameters), ended.progress.clone(), usize::MAX);
    assert_eq!((again.outcome, again.parameters), (Outcome::Reached, ended.parameters.clone()));
    assert_eq!(again.progress, ended.progress);

    let unbroken = {
        case.hyperparameters.stop_at = None;
        case.run(case.cpu(&case.start()), Progress::default(), usize::MAX)
    };
    let resumed = case.run(case.cpu(&ended.parameters), ended.progress, usize::MAX);
    assert_eq!((resumed.outcome, resumed.parameters), (Outcome::Finished, unbroken.parameters));
    let whole =
        |progress: &Progress| figures(progress).into_iter().filter(|record| record.1.is_none()).collect::<Vec<_>>();
    assert_eq!(whole(&resumed.progress), whole(&unbroken.progress), "an epoch's loss is that of all its samples");
}

#[test]
fn part1_stop_at_does_not_depend_on_threads() {
    let case = case(60.0, 40);
    let ended = [1, 2, 3, 8].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| case.run(case.cpu(&case.start()), Progress::default(), usize::MAX))
    });
    for other in &ended[1..] {
        assert_eq!(other.parameters, ended[0].parameters);
        assert_eq!(figures(&other.progress), figures(&ended[0].progress));
    }
}

/// The GPU engine submits many steps at once, but none beyond the next measurement.
#[test]
fn part1_stop_at_the_gpu_engine_stops_at_the_same_step() {
    for every in [40, 100] {
        let case = case(40.0, every);
        let expected = case.run(case.cpu(&case.start()), Progress::default(), usize::MAX);
        for path in [GpuPath::Steps, GpuPath::Persistent] {
            let options = GpuOptions { path, ..GpuOptions::default() };
            let start = case.start();
            let device = Device::simulator_with(SimulatorOptions { check_races: false, ..SimulatorOptions::default() });
            let engine = GpuEngine::new(&device, &case.train, &start, &case.hyperparameters, &options).unwrap();
            let ended = case.run(engine, Progress::default(), usize::MAX);
            assert_eq!(ended.outcome, Outcome::Reached, "{path:?}");
            let position = |ended: &Ended| (ended.progress.epoch, ended.progress.step, ended.records.len());
            assert_eq!(position(&ended), position(&expected), "{path:?}, every {every}");
        }
    }
}

/// Checkpoints without the keys `samples` and `stop_at` are valid.
#[test]
fn part1_stop_at_is_none_in_checkpoints_without_it() {
    let record = json!({ "epoch": 1, "seconds": 0.5, "loss": 0.1, "accuracy": 0.9 });
    let read: EpochRecord = serde_json::from_value(record.clone()).unwrap();
    assert_eq!(read.samples, None);
    assert_eq!(serde_json::to_value(read).unwrap(), record);
    let mut hyperparameters = serde_json::to_value(Preset::Homework.hyperparameters()).unwrap();
    assert_eq!(hyperparameters.as_object_mut().unwrap().remove("stop_at"), Some(Value::Null));
    let read: Hyperparameters = serde_json::from_value(hyperparameters).unwrap();
    assert_eq!(read, Preset::Homework.hyperparameters());
}

const STOP: [&str; 6] = ["--stop-at", "40", "--check-every", "100", "--target-accuracy", "0"];

#[test]
fn part1_stop_at_program_prints_where_it_stopped() {
    let sandbox = Sandbox::new();
    let run = sandbox.train(50, &STOP).success();
    let line = run.stdout.lines().find(|line| line.contains("stopped after")).unwrap();
    assert!(line.starts_with("Epoch ") && line.contains(" of 500 images: accuracy "), "{line}");
    assert!(line.ends_with("%, the target is 40.00 %."), "{line}");
    assert!(run.stdout.contains("Time to train: ") && run.stdout.contains("Test Accuracy: "), "{}", run.stdout);

    let run = sandbox.train(50, &[STOP.as_slice(), &["--json"]].concat()).success();
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    let (stopped, last) = (&object["stopped_at"], object["epochs"].as_array().unwrap().last().unwrap());
    assert_eq!((&stopped["epoch"], &stopped["accuracy"]), (&last["epoch"], &last["accuracy"]));
    assert!(stopped["accuracy"].as_f64().unwrap() >= 0.4, "{stopped}");
    let epochs_before = stopped["epoch"].as_u64().unwrap() - 1;
    let samples = last.get("samples").map_or(500, |samples| samples.as_u64().unwrap());
    assert_eq!(stopped["images_seen"].as_u64().unwrap(), 500 * epochs_before + samples);
    assert_eq!(object["hyperparameters"]["stop_at"], json!({ "accuracy": 0.4, "check_every": 100 }));
}

/// 95.7 / 100 in floating point is more than 0.957.
#[test]
fn part1_stop_at_program_converts_a_percentage_to_the_nearest_share() {
    let sandbox = Sandbox::new();
    for (percent, share) in [("95.7", 0.957), ("0", 0.0), ("100", 1.0), ("7", 0.07), ("94.03", 0.9403), ("1e1", 0.1)] {
        let run = sandbox.train(1, &["--stop-at", percent, "--target-accuracy", "0", "--json"]).success();
        let object: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(object["hyperparameters"]["stop_at"]["accuracy"].as_f64(), Some(share), "{percent}");
    }
    // A seed's test accuracy is the same in each run, so it reaches itself.
    let run = sandbox.train(1, &["--target-accuracy", "0", "--json"]).success();
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    let percent = format!("{:.1}", 100.0 * object["test_accuracy"].as_f64().unwrap());
    sandbox.train(1, &["--target-accuracy", &percent]).success();
}

#[test]
fn part1_stop_at_program_prints_that_it_did_not_stop() {
    let sandbox = Sandbox::new();
    let never = ["--stop-at", "100", "--target-accuracy", "0"];
    let run = sandbox.train(2, &never).success();
    let line = "Not stopped early: the accuracy has not reached the target of 100.00 %.\n";
    assert!(run.stdout.contains("Epoch 2, accuracy") && run.stdout.contains(line), "{}", run.stdout);
    let run = sandbox.train(2, &[never.as_slice(), &["--json"]].concat()).success();
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(object["stopped_at"], Value::Null);
    assert_eq!(object["hyperparameters"]["stop_at"]["check_every"], 5000);
}

#[test]
fn part1_stop_at_program_resumes_to_the_same_stop() {
    let sandbox = Sandbox::new();
    let with = |more: &[&'static str]| [STOP.as_slice(), more].concat();
    let stop = sandbox.train(50, &with(&["--save", "unbroken"])).success();
    let stopped = stop.stdout.lines().find(|line| line.contains("stopped after")).unwrap();
    sandbox.train(1, &with(&["--checkpoint", "run"])).success();
    let before = checkpoint::load(&sandbox.path("run")).unwrap().unwrap();
    assert_eq!((before.run.progress.epoch, before.run.progress.step), (1, 0), "it has not stopped before");
    // The target is in the checkpoint.
    let resume = ["--checkpoint", "run", "--resume", "--target-accuracy", "0", "--save", "broken"];
    for _ in 0..2 {
        let run = sandbox.train(50, &resume).success();
        assert!(run.stdout.contains(stopped), "{stopped}: {}", run.stdout);
        let model = |name: &str| model_file::load(&sandbox.path(name)).unwrap();
        assert!(model("broken") == model("unbroken"));
    }
}

#[test]
fn part1_stop_at_program_rejects_invalid_values() {
    let sandbox = Sandbox::new();
    for (flag, values) in [
        ("--stop-at", ["-1", "101", "nan", "much", ""].as_slice()),
        ("--check-every", &["0", "-1", "1.5", "often", ""]),
    ] {
        for value in values {
            let argument = format!("{flag}={value}");
            let mut more = vec![argument.as_str()];
            if flag == "--check-every" {
                more.extend(["--stop-at", "95"]);
            }
            let message = sandbox.rejection(&training(1, &more));
            assert!(message.contains(flag), "{argument}: {message}");
        }
    }
    let output = sandbox.train(1, &["--check-every", "100"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("--stop-at"), "{}", output.stderr);
}
