//! Many steps in one launch.

mod plan;

use ::gpu::{Buffer, Device, F32x4, LaunchConfig};
use kernels_gpu::network::persistent::{THREADS, network_train_persistently};

pub use self::plan::NotPersistent;
use self::plan::{Limits, Plan, STATIC_SHARED_BYTES};
use super::layout::{Layout, loss_code};
use super::samples::SamplesOnDevice;
use super::steps::Rule;
use super::{GpuEngineError, GpuOptions};
use crate::Loss;
use crate::engine::DeviceError;

/// A launch that can be made, and the memory for it.
#[derive(Debug)]
pub(super) struct Persistent {
    plan: Plan,
    table: Buffer<u32>,
    workspace: Buffer<F32x4>,
    exchange: Buffer<F32x4>,
    barrier: Buffer<u32>,
}

/// All that a launch reads and writes beside its own.
pub(super) struct Work<'a> {
    pub(super) device: &'a Device,
    pub(super) samples: &'a SamplesOnDevice,
    pub(super) order: &'a Buffer<u32>,
    pub(super) parameters: &'a mut Buffer<f32>,
    pub(super) velocities: &'a mut Buffer<f32>,
    pub(super) losses: &'a mut Buffer<f32>,
    pub(super) batch_size: u32,
    pub(super) loss: Loss,
}

impl Persistent {
    /// Prepares the launch, if the network, the batch and the device are such that there can be one.
    ///
    /// # Errors
    /// If there cannot, or the device fails.
    pub(super) fn new(
        device: &Device,
        layout: &Layout,
        batch_size: usize,
        has_momentum: bool,
        options: &GpuOptions,
    ) -> Result<Self, GpuEngineError> {
        let mut limits = Limits {
            shared_bytes: device.max_shared_bytes().saturating_sub(STATIC_SHARED_BYTES),
            blocks: device.multiprocessors().unwrap_or(u32::MAX),
        };
        if let Some(blocks) = options.most_blocks {
            limits.blocks = limits.blocks.min(blocks.get());
        }
        let mut plan = Plan::new(layout, batch_size, has_momentum, limits)?;
        let most = device.most_cooperative_blocks(&network_train_persistently, THREADS, plan.shared_bytes());
        let most = match most {
            Err(error @ (DeviceError::NotCooperative { .. } | DeviceError::SharedMemory { .. })) => {
                return Err(NotPersistent::Device(error.to_string()).into());
            }
            most => most?,
        };
        if most < plan.blocks() {
            plan = Plan::new(layout, batch_size, has_momentum, Limits { blocks: most, ..limits })?;
        }
        let making = GpuEngineError::making("what blocks of one launch exchange", "smaller --layers");
        Ok(Self {
            table: device.buffer_from_slice(plan.table()).map_err(&making)?,
            workspace: device.uninitialized(plan.workspace_quads()).map_err(&making)?,
            exchange: device.uninitialized(plan.exchange_quads()).map_err(&making)?,
            barrier: device.zeroed(1).map_err(&making)?,
            plan,
        })
    }

    /// Whether it can be expected to be faster than launches for each step.
    pub(super) fn is_worth_it(&self) -> bool {
        self.plan.is_worth_it()
    }

    /// The largest batch that fits.
    pub(super) fn rows(&self) -> usize {
        self.plan.batch_rows()
    }

    /// Trains `steps` steps from `first_step` on. Each one's loss goes to its place in `work.losses`.
    pub(super) fn train(
        &mut self,
        work: Work,
        (first_step, steps): (usize, usize),
        rule: Rule,
    ) -> Result<(), DeviceError> {
        let arguments = (
            work.samples.inputs(),
            work.samples.targets(),
            work.order,
            &self.table,
            work.parameters,
            work.velocities,
            &mut self.workspace,
            &mut self.exchange,
            &mut self.barrier,
            work.losses,
            first_step as u32,
            (first_step + steps) as u32,
            work.batch_size,
            work.order.len() as u32,
            loss_code(work.loss),
            rule.rate,
            rule.is_mean,
            rule.momentum,
            rule.decay,
        );
        let config = LaunchConfig::new(self.plan.blocks(), THREADS).with_dynamic_shared(self.plan.shared_bytes());
        work.device.launch(&network_train_persistently, config.cooperative(), arguments)?;
        Ok(())
    }
}
