//! One block that trains a small network.

use gpu::{AtOnce, Device, Error, LaunchConfig};
use kernels_gpu::network::Batches;
use kernels_gpu::network::small::{Plan, SmallRule, THREADS, Unsuitable, network_train_small};
use perceptron::{Hyperparameters, Samples};

use super::super::layout::{Layout, loss_code};
use super::super::samples::Inputs;
use super::super::steps::Rule;
use super::{NotPersistent, PersistentRun, name_of};

/// A feasible launch.
#[derive(Debug)]
pub(in super::super) struct Small {
    plan: Plan,
    rows: usize,
}

/// Evaluates an expression with the kernel for these tiles.
macro_rules! with_kernel {
    ($tiles:expr, |$kernel:ident| $expression:expr) => {
        with_kernel!($tiles, $kernel, $expression, [12, 28, 84, 142, 244, 384, 844, 2442])
    };
    ($tiles:expr, $kernel:ident, $expression:expr, [$($number:literal),*]) => {
        match $tiles {
            $($number => {
                let $kernel = &network_train_small::<$number>;
                $expression
            })*
            tiles => unreachable!("{tiles} is one of the kernels' tiles"),
        }
    };
}

/// The name of the kernel for these tiles.
pub(super) fn name(tiles: u32) -> &'static str {
    with_kernel!(tiles, |kernel| name_of(kernel))
}

impl Small {
    /// Plans the launch.
    ///
    /// # Errors
    /// If the network, the batch or the device does not permit it.
    pub(super) fn new(
        device: &Device,
        samples: &Samples,
        layout: &Layout,
        batch_size: usize,
        hyperparameters: &Hyperparameters,
    ) -> Result<Self, NotPersistent> {
        let layers = layout.layers().iter().enumerate();
        let layers: Vec<_> = layers
            .map(|(index, layer)| (layer.shape(), layer.activation, hyperparameters.learning_rate_factor(index) as f32))
            .collect();
        let values = samples.len().saturating_mul(layout.layers()[0].features as usize);
        if u32::try_from(values).is_err() {
            return Err(NotPersistent::Samples);
        }
        let limit = device.max_shared_bytes();
        let plan = Plan::new(&layers, batch_size as u32, loss_code(hyperparameters.loss), limit);
        let plan = plan.map_err(|reason| match reason {
            Unsuitable::Layers | Unsuitable::Outputs => NotPersistent::Layers,
            Unsuitable::Batch(maximum) => NotPersistent::Batch { batch_size, maximum },
            Unsuitable::SharedMemory(needed) => NotPersistent::SharedMemory { needed: needed.into(), limit },
        })?;
        match with_kernel!(plan.tiles(), |kernel| device.has(kernel)) {
            true => Ok(Self { plan, rows: batch_size }),
            false => Err(NotPersistent::Device("its kernel needs compute capability 8.0".to_owned())),
        }
    }

    pub(super) fn tiles(&self) -> u32 {
        self.plan.tiles()
    }

    /// Maximum batch size.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds the launch that trains `steps` steps from `first_step` on.
    pub(in super::super) fn add<'a>(
        &self,
        at_once: &AtOnce<'a>,
        run: PersistentRun<'a>,
        (first_step, steps): (usize, usize),
        rule: Rule,
    ) -> Result<(), Error> {
        let Inputs::Floats(inputs) = run.samples.inputs() else {
            unreachable!("the samples are on the device as floats, since the kernel reads those")
        };
        let config = LaunchConfig::new(1, THREADS).with_dynamic_shared(self.plan.shared_bytes());
        let arguments = (
            inputs,
            run.samples.targets(),
            run.order,
            run.adam_steps,
            run.parameters,
            run.velocities,
            run.squares,
            run.losses,
            first_step as u32,
            (first_step + steps) as u32,
            Batches { size: run.batch_size, samples: run.order.len() as u32 },
            self.plan.network(),
            small_rule(rule),
        );
        with_kernel!(self.plan.tiles(), |kernel| at_once.launch(kernel, config, arguments))
    }
}

/// Converts the rule to the kernel's argument. The layers' factors are in the plan.
fn small_rule(rule: Rule) -> SmallRule {
    let adam = rule.by_adam(0);
    SmallRule {
        is_adam: u32::from(adam.is_some()),
        is_mean: rule.common.is_mean,
        rate: rule.common.rate,
        decay: rule.common.decay,
        momentum: rule.common.momentum,
        beta_2: adam.map_or(0.0, |adam| adam.beta_2),
        one_minus_beta_2: adam.map_or(0.0, |adam| adam.one_minus_beta_2),
        epsilon: adam.map_or(0.0, |adam| adam.epsilon),
    }
}
