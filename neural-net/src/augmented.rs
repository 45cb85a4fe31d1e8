//! Training on images that are distorted differently in each epoch.

use std::ops::ControlFlow;

use augmentation::{Distortion, PIXELS, in_order};
use command_line::counted;
use ndarray::{ArcArray2, Array2, Axis};
use perceptron::engine::{DeviceError, Engine, EngineError, Evaluation, Parameters};
use perceptron::{CpuEngine, Hyperparameters, InputRow, Samples};

/// Minimum number of images distorted together.
const BLOCK: usize = 2048;

/// Trains on the CPU on a distorted version of each image, which worker threads compute ahead. The
/// distortion depends only on the seed, the epoch and the image's position in it, so the weights do
/// not depend on the number of workers. Evaluations use the undistorted images.
#[derive(Debug)]
pub struct AugmentedEngine<'a> {
    images: Images<'a>,
    parameters: Parameters,
    hyperparameters: Hyperparameters,
    workers: usize,
    /// Number of steps in the epochs before this one.
    steps_before: usize,
}

/// The data that workers read.
#[derive(Clone, Copy, Debug)]
struct Images<'a> {
    samples: &'a Samples,
    distortion: Distortion,
    seed: u64,
}

/// Distorted images and their targets.
type Block = (ArcArray2<u8>, Array2<f32>);

impl Images<'_> {
    /// Distorts the images of these samples. `first` is the number of the first one in the run.
    fn block(self, samples: &[u32], first: u64) -> Block {
        let mut images = Array2::zeros((samples.len(), PIXELS));
        for ((mut out, &sample), number) in images.outer_iter_mut().zip(samples).zip(first..) {
            let InputRow::Bytes(image, _) = self.samples.input_row(sample as usize) else {
                unreachable!("the samples were checked to be bytes")
            };
            let out = out.as_slice_mut().expect("a row of a new array");
            self.distortion.apply(image, out, self.seed, number);
        }
        let indices: Vec<usize> = samples.iter().map(|&sample| sample as usize).collect();
        (images.into_shared(), self.samples.targets().select(Axis(0), &indices))
    }
}

impl<'a> AugmentedEngine<'a> {
    /// Creates an engine that trains the given parameters. Without workers, the training thread
    /// distorts the images.
    ///
    /// # Panics
    /// If the samples are not images of bytes of a digit, or do not have the network's numbers of inputs and outputs.
    pub fn new(
        samples: &'a Samples,
        parameters: &Parameters,
        hyperparameters: &Hyperparameters,
        distortion: Distortion,
        workers: usize,
    ) -> Self {
        assert!(samples.byte_values().is_some() && samples.input_count() == PIXELS, "images of digits, in bytes");
        Self {
            images: Images { samples, distortion, seed: hyperparameters.seed },
            parameters: parameters.clone(),
            hyperparameters: hyperparameters.clone(),
            workers,
            steps_before: 0,
        }
    }

    fn engine<'b>(&self, samples: &'b Samples) -> CpuEngine<'b> {
        CpuEngine::new(samples, &self.parameters, &self.hyperparameters)
    }
}

impl Engine for AugmentedEngine<'_> {
    fn device(&self) -> String {
        format!(
            "{}, images distorted by {}",
            self.engine(self.images.samples).device(),
            counted(self.workers, "worker")
        )
    }

    fn start_epoch(&mut self, learning_rate: f64, steps_before: usize) {
        self.hyperparameters.learning_rate = learning_rate;
        self.steps_before = steps_before;
    }

    fn train(
        &mut self,
        order: &[u32],
        first_step: usize,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        let batch_size = self.hyperparameters.batch_size.unwrap_or(order.len()).max(1);
        let steps_of_block = BLOCK.div_ceil(batch_size);
        let steps = order.len().div_ceil(batch_size);
        let blocks = steps.saturating_sub(first_step).div_ceil(steps_of_block);
        let samples_of = |block: usize| {
            let start = (first_step + block * steps_of_block) * batch_size;
            start..order.len().min(start + steps_of_block * batch_size)
        };
        let (images, before) = (self.images, self.steps_before * batch_size);
        let make = |block: usize| {
            let samples = samples_of(block);
            let first = (before + samples.start) as u64;
            images.block(&order[samples], first)
        };
        let ended = in_order(blocks, self.workers, make, |block, (images, targets)| {
            let samples = match Samples::from_bytes(images, 255.0, targets) {
                Ok(samples) => samples,
                Err(error) => unreachable!("a block has as many images as targets: {error}"),
            };
            let in_block: Vec<u32> = (0..samples.len() as u32).collect();
            let first = first_step + block * steps_of_block;
            let mut engine = self.engine(&samples);
            engine.start_epoch(self.hyperparameters.learning_rate, self.steps_before + first);
            let mut has_ended = false;
            let trained = engine.train(&in_block, 0, &mut |step, loss| {
                let flow = observe(first + step, loss);
                has_ended = flow.is_break();
                flow
            });
            let trained = trained.and_then(|()| Ok(engine.parameters()?));
            match trained {
                Ok(parameters) => self.parameters = parameters,
                Err(EngineError::Diverged(mut diverged)) => {
                    diverged.step += first;
                    return ControlFlow::Break(Err(diverged.into()));
                }
                Err(error) => return ControlFlow::Break(Err(error)),
            }
            if has_ended { ControlFlow::Break(Ok(())) } else { ControlFlow::Continue(()) }
        });
        match ended {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(result) => result,
        }
    }

    fn evaluate(&mut self, samples: &Samples) -> Result<Evaluation, DeviceError> {
        self.engine(self.images.samples).evaluate(samples)
    }

    fn evaluate_training_samples(&mut self) -> Result<Evaluation, DeviceError> {
        self.engine(self.images.samples).evaluate_training_samples()
    }

    fn parameters(&self) -> Result<Parameters, DeviceError> {
        Ok(self.parameters.clone())
    }
}
