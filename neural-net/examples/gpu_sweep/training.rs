//! Training steps of the homework's network and of the regressor.

use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::ControlFlow;

use anyhow::{Context, Result, ensure};
use ndarray::Array2;
use neural_net::engine::{Engine, GpuEngine, GpuOptions, GpuPath, Parameters};
use neural_net::network::Initialization;
use neural_net::preset::Preset;
use neural_net::training::{GradientScale, Optimizer};
use neural_net::{Activation, Architecture, Hyperparameters, Network, Samples};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use timing::seconds_of_repeats;

use super::Sweep;

/// The block limits to compare. The plan for the homework's network has at most 32 blocks.
pub(super) const BLOCKS: [u32; 3] = [8, 16, 32];

/// The layers of the regressor, which is regression-studio's default.
const REGRESSOR: [usize; 4] = [8, 32, 16, 1];

impl Sweep {
    /// Times steps in one launch, by number of blocks, and with the engine's choice.
    pub(super) fn persistent(&mut self, problem: &Problem) -> Result<()> {
        for max_blocks in BLOCKS.map(NonZeroU32::new) {
            let options = GpuOptions { path: GpuPath::Persistent, max_blocks, no_clusters: true };
            self.training(&options, problem, "")?;
        }
        self.training(&GpuOptions { path: GpuPath::Persistent, ..GpuOptions::default() }, problem, "")
    }

    /// Times steps that take several launches each.
    pub(super) fn launches(&mut self, problem: &Problem) -> Result<()> {
        self.training(&GpuOptions { path: GpuPath::Steps, ..GpuOptions::default() }, problem, "")
    }

    /// Times the regressor's steps, in one launch and with several launches per step.
    pub(super) fn adam(&mut self, problem: &Problem) -> Result<()> {
        for path in [GpuPath::Persistent, GpuPath::Steps] {
            self.training(&GpuOptions { path, ..GpuOptions::default() }, problem, ", regressor")?;
        }
        Ok(())
    }

    /// Times steps by the host's clock, around calls that run all of them. The label names the
    /// kernel that the engine chose.
    fn training(&mut self, options: &GpuOptions, problem: &Problem, of: &str) -> Result<()> {
        let Problem { hyperparameters, samples, parameters, order, steps } = problem;
        let mut engine = GpuEngine::new(&self.device, samples, parameters, hyperparameters, options)?;
        let label = match engine.training_kernel() {
            Some((kernel, blocks)) => kernel.step_label(blocks),
            None => format!("step as launches{of}"),
        };
        let mut done = 0;
        let mut outcome = Ok(());
        let seconds = seconds_of_repeats(self.repeats, || {
            if outcome.is_ok() {
                done = 0;
                outcome = engine.train(order, 0, &mut |_, _| {
                    done += 1;
                    ControlFlow::Continue(())
                });
            }
        });
        outcome?;
        ensure!(done == steps.get(), "{done} steps were made instead of {steps}");
        self.time(&label, self.device.is_gpu().then_some(seconds), u32::try_from(steps.get())?);
        Ok(())
    }
}

/// The samples of the steps, and the settings of the network that trains on them.
pub(super) struct Problem {
    hyperparameters: Hyperparameters,
    samples: Samples,
    parameters: Parameters,
    order: Vec<u32>,
    steps: NonZeroUsize,
}

impl Problem {
    /// The homework's network on random images with random labels. Four pixels out of five are
    /// zero, as in MNIST.
    pub(super) fn homework(steps: NonZeroUsize) -> Result<Self> {
        let pixel =
            |rng: &mut ChaCha8Rng| if rng.random_bool(0.8) { 0.0 } else { f32::from(rng.random::<u8>()) / 255.0 };
        let label = |rng: &mut ChaCha8Rng, target: &mut [f32]| target[rng.random_range(0..target.len())] = 1.0;
        Self::random(Preset::Homework.hyperparameters(), Preset::Homework.architecture()?, steps, pixel, label)
    }

    /// regression-studio's default network and hyperparameters on random rows.
    pub(super) fn regressor(steps: NonZeroUsize) -> Result<Self> {
        let hyperparameters = Hyperparameters {
            optimizer: Optimizer::Adam,
            learning_rate: 0.003,
            momentum: 0.9,
            batch_size: Some(128),
            gradient: GradientScale::Mean,
            ..Preset::Homework.hyperparameters()
        };
        let architecture = Architecture::new(REGRESSOR.to_vec(), Activation::Relu, Activation::Identity)?;
        let value = |rng: &mut ChaCha8Rng| rng.random_range(-1.0..1.0);
        let target = |rng: &mut ChaCha8Rng, target: &mut [f32]| target[0] = rng.random_range(-1.0..1.0);
        Self::random(hyperparameters, architecture, steps, value, target)
    }

    fn random(
        hyperparameters: Hyperparameters,
        architecture: Architecture,
        steps: NonZeroUsize,
        input: impl Fn(&mut ChaCha8Rng) -> f32,
        target: impl Fn(&mut ChaCha8Rng, &mut [f32]),
    ) -> Result<Self> {
        let count = hyperparameters.batch_size.context("steps are of batches")? * steps.get();
        let end = u32::try_from(count).context("fewer steps: the samples are counted in 32 bits")?;
        let mut rng = ChaCha8Rng::seed_from_u64(hyperparameters.seed);
        let network = Network::random(architecture, Initialization::Xavier, &mut rng);
        let (columns, outputs) = (network.architecture().inputs(), network.architecture().outputs());
        let inputs = Array2::from_shape_simple_fn((count, columns), || input(&mut rng));
        let mut targets = Array2::zeros((count, outputs));
        for mut row in targets.outer_iter_mut() {
            target(&mut rng, row.as_slice_mut().context("a new array is contiguous")?);
        }
        let (samples, parameters) = (Samples::new(inputs, targets)?, Parameters::new(network));
        Ok(Self { hyperparameters, samples, parameters, order: (0..end).collect(), steps })
    }
}
