//! A training run that is stopped or killed at any step resumes and ends with the weights of an
//! uninterrupted run.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ndarray::Array2;
use neural_net::checkpoint::{self, Checkpoint, Run};
use neural_net::data::{builtin_digits, idx};
use neural_net::engine::{CpuEngine, Engine};
use neural_net::preset::Preset;
use neural_net::training::{EpochRecord, Observer, Outcome, Progress, Training, Validation, initial_parameters};
use neural_net::{Activation, Architecture, Hyperparameters, Samples, model_file};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Stops after n steps, counted over all epochs, and stays stopped: at the end of an epoch, `step`
/// is called once more.
struct StopAfter(usize);

impl<E: Engine> Observer<E> for StopAfter {
    type Error = std::convert::Infallible;

    fn step(&mut self, _epoch: usize, _step: usize, _steps: usize) -> ControlFlow<()> {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn epoch(&mut self, _record: &EpochRecord, _training: &Training<E>) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[test]
fn part1_a_training_run_stopped_at_any_step_resumes_bit_identically() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(9));
    let inputs = Array2::from_shape_simple_fn((50, 6), || rng.random_range(-1.0..1.0));
    let targets = Array2::from_shape_fn((50, 3), |(sample, output)| f32::from(u8::from(sample % 3 == output)));
    let samples = Samples::new(inputs, targets).unwrap();
    let architecture = Architecture::new(vec![6, 5, 3], Activation::Tanh, Activation::Softmax).unwrap();
    let hyperparameters = Hyperparameters {
        momentum: 0.9,
        weight_decay: 1e-3,
        batch_size: Some(8),
        epochs: 3,
        ..Preset::Homework.hyperparameters()
    };
    let run = |progress: Progress| Run {
        preset: Preset::Homework,
        hyperparameters: hyperparameters.clone(),
        dataset: "random".to_owned(),
        convention: Default::default(),
        data_checksum: 1,
        images: (50, 0),
        augment: false,
        progress,
    };
    let train = |parameters, progress, steps| {
        let engine = CpuEngine::new(&samples, &parameters, &hyperparameters);
        let mut training = Training::new(engine, samples.len(), hyperparameters.clone(), progress);
        let outcome = training.run(&Validation::Training, &mut StopAfter(steps)).unwrap();
        let checkpoint =
            Checkpoint { parameters: training.engine().parameters().unwrap(), run: run(training.progress().clone()) };
        (outcome, checkpoint)
    };
    let start = initial_parameters(architecture, &hyperparameters);
    let (outcome, unbroken) = train(start.clone(), Progress::default(), usize::MAX);
    assert_eq!(outcome, Outcome::Finished);

    let steps = 3 * 50_usize.div_ceil(8);
    for stop in 1..steps {
        let directory = tempfile::tempdir().unwrap();
        let (_, stopped) = train(start.clone(), Progress::default(), stop);
        checkpoint::save(directory.path(), &stopped).unwrap();
        let loaded = checkpoint::load(directory.path()).unwrap().unwrap();
        assert_eq!(loaded, stopped, "the checkpoint after {stop} steps is loaded as it was saved");
        let (outcome, resumed) = train(loaded.parameters, loaded.run.progress, usize::MAX);
        assert_eq!(outcome, Outcome::Finished);
        assert_eq!(resumed.parameters, unbroken.parameters, "stopped after {stop} of {steps} steps");
        let figures = |checkpoint: &Checkpoint| -> Vec<(usize, f64, f64)> {
            checkpoint.run.progress.history.iter().map(|record| (record.epoch, record.loss, record.accuracy)).collect()
        };
        assert_eq!(figures(&resumed), figures(&unbroken), "stopped after {stop} of {steps} steps");
    }
}

#[test]
fn part1_a_damaged_checkpoint_is_an_error_that_names_the_file() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(checkpoint::load(directory.path()).unwrap(), None, "a missing checkpoint is not an error");
    let path = checkpoint::path_in(directory.path());
    for bytes in [&b""[..], b"rubbish", &[255; 64]] {
        fs::write(&path, bytes).unwrap();
        let error = checkpoint::load(directory.path()).unwrap_err().to_string();
        assert!(error.starts_with(&path.display().to_string()) && !error.contains('\n'), "{error}");
    }
}

/// Number of epochs of a run that gets killed.
const EPOCHS: usize = 40;

/// Writes four IDX files of built-in digits.
fn write_small_data(directory: &Path) {
    let idx_bytes = |magic: u32, sizes: &[u32], bytes: &[u8]| -> Vec<u8> {
        let header = std::iter::once(&magic).chain(sizes).flat_map(|word| word.to_be_bytes());
        header.chain(bytes.iter().copied()).collect()
    };
    for (part, count, seed) in [("train", 1200_u32, 1), ("t10k", 200, 2)] {
        let (pixels, labels) = builtin_digits::draw(count as usize, seed);
        let images = idx_bytes(0x803, &[count, 28, 28], &pixels);
        fs::write(directory.join(format!("{part}-images-idx3-ubyte")), images).unwrap();
        fs::write(directory.join(format!("{part}-labels-idx1-ubyte")), idx_bytes(0x801, &[count], &labels)).unwrap();
    }
    idx::read_labelled_images(directory, "train").unwrap();
}

fn program(data: &Path, directory: &Path, cores: usize, save: Option<&Path>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_neural-net"));
    command.arg("--data").arg(data).args(["--train-images", "1000", "--validation-images", "200"]);
    command.args([
        "--epochs",
        &EPOCHS.to_string(),
        "--optimizer",
        "adam",
        "--momentum",
        "0.5",
        "--schedule",
        "cosine",
        "--target-accuracy",
        "0",
    ]);
    command.args(["-c", &cores.to_string(), "--resume", "--checkpoint"]).arg(directory);
    if let Some(save) = save {
        command.arg("--save").arg(save);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// The number of complete epochs in a directory's checkpoint.
fn epoch_in(directory: &Path) -> usize {
    checkpoint::load(directory).unwrap().map_or(0, |checkpoint| checkpoint.run.progress.epoch)
}

/// Whether a process has the threads of a training team. False if that cannot be determined.
fn has_team(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads.flat_map(|thread| fs::read(thread.path().join("comm"))).any(|name| name.starts_with(b"team"))
}

#[test]
fn part1_a_training_run_killed_at_any_moment_resumes_to_the_same_weights() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    fs::create_dir(path("data")).unwrap();
    write_small_data(&path("data"));

    let output = program(&path("data"), &path("unbroken"), 1, Some(&path("unbroken.safetensors"))).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let unbroken = model_file::load(&path("unbroken.safetensors")).unwrap();

    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(20));
    let (mut killed, mut killed_in_between, mut with_team) = (0, 0, 0);
    // A kill may come before the first epoch or after the last one. Then there are more attempts.
    for attempt in 0..64 {
        if attempt >= 8 && killed_in_between >= 2 {
            break;
        }
        let (directory, save) = (path(&format!("killed-{attempt}")), path(&format!("resumed-{attempt}.safetensors")));
        let cores = 1 + attempt % 2;
        // Each run is killed in a random epoch, and half of the runs a second time.
        for _ in 0..1 + attempt / 2 % 2 {
            let mut child = program(&path("data"), &directory, cores, None).spawn().unwrap();
            let epoch = rng.random_range(epoch_in(&directory).min(EPOCHS - 1)..EPOCHS);
            while epoch_in(&directory) < epoch && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_micros(200));
            }
            std::thread::sleep(Duration::from_micros(rng.random_range(0..3000)));
            with_team += usize::from(has_team(child.id()));
            child.kill().unwrap();
            killed += usize::from(!child.wait().unwrap().success());
        }
        let epoch = epoch_in(&directory);
        killed_in_between += usize::from((1..EPOCHS).contains(&epoch));

        let output = program(&path("data"), &directory, 3 - cores, Some(&save)).output().unwrap();
        assert!(output.status.success(), "attempt {attempt}: {}", String::from_utf8_lossy(&output.stderr));
        let resumed = model_file::load(&save).unwrap();
        assert!(resumed == unbroken, "attempt {attempt}, killed after epoch {epoch}: other weights");
        let files: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(files, [checkpoint::FILE_NAME], "no temporary file is left");
    }
    println!("{killed} runs were killed, {with_team} with a team; {killed_in_between} directories in between");
    assert!(killed_in_between >= 2, "kills must hit the training itself: {killed_in_between} of 64 did");
}
