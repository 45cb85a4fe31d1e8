//! Kernels that train many steps in one launch: small networks in one block, others in a
//! cooperative launch.

mod plan;
mod small;

use gpu::{Buffer, Device, F32x4, Kernel, LaunchConfig};
use kernels_gpu::network::Batches;
use kernels_gpu::network::persistent::cluster::{self, network_train_cluster};
use kernels_gpu::network::persistent::{MAX_BATCH, THREADS, network_train_homework, network_train_persistently};

use self::plan::{Limits, Plan};
use self::small::Small;
use super::layout::{Layout, loss_code};
use super::samples::{Inputs, SamplesOnDevice};
use super::steps::Rule;
use super::{GpuEngineError, GpuOptions, NotPersistent};
use gpu::Error;
use perceptron::training::Optimizer;
use perceptron::{Hyperparameters, Loss, Samples};

/// A feasible launch.
#[derive(Debug)]
pub(super) enum Persistent {
    Small(Small),
    Blocks(Blocks),
}

/// A cooperative launch or the launch of one cluster, and its buffers.
#[derive(Debug)]
pub(super) struct Blocks {
    plan: Plan,
    kernel: TrainingKernel,
    table: Buffer<u32>,
    workspace: Buffer<F32x4>,
    exchange: Buffer<F32x4>,
    barrier: Buffer<u32>,
    /// The samples' images, for [`TrainingKernel::Cluster`].
    images: Option<Buffer<F32x4>>,
}

/// The kernel for many steps in one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainingKernel {
    /// `network_train_persistently`, for any network.
    Any,
    /// `network_train_homework`, with the homework's sizes as constants.
    Homework,
    /// `network_train_cluster`, for the homework's network and images on one cluster of blocks.
    /// Requires compute capability 9.0 or higher.
    Cluster,
    /// `network_train_small`, for small networks, on one block. The value is the number of tiles in
    /// its layers.
    Small(u32),
}

impl TrainingKernel {
    /// Label for this kernel's time per step on `blocks` blocks, in tables of times.
    pub fn step_label(self, blocks: u32) -> String {
        format!("step in one launch, {}, {blocks} blocks", self.name())
    }

    /// The name of the PTX entry.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => name_of(&network_train_persistently),
            Self::Homework => name_of(&network_train_homework),
            Self::Cluster => name_of(&network_train_cluster),
            Self::Small(tiles) => small::name(tiles),
        }
    }
}

/// The name of a kernel's PTX entry.
fn name_of<K: Kernel>(_: &K) -> &'static str {
    K::NAME
}

/// Size of the kernels' static shared memory in bytes: one loss per sample.
const STATIC_SHARED_BYTES: u32 = MAX_BATCH * size_of::<f32>() as u32;

/// Packs the samples for `network_train_cluster`, if they are images.
fn packed_images(samples: &Samples) -> Option<Vec<F32x4>> {
    let is_image = samples.byte_values().is_some_and(|values| cluster::pixels_of(values).is_some());
    match samples.bytes().filter(|_| is_image) {
        Some(pixels) => Some(cluster::packed_images(pixels)),
        None => Some(cluster::packed_images(&cluster::pixels_of(samples.inputs().as_slice()?)?)),
    }
}

/// The launch configuration of `network_train_cluster`.
fn cluster_config() -> LaunchConfig {
    let config = LaunchConfig::new(cluster::BLOCKS, cluster::THREADS).with_dynamic_shared(cluster::SHARED_BYTES);
    config.clusters_of(cluster::BLOCKS)
}

/// The engine's data that a launch reads and writes.
pub(super) struct PersistentRun<'a> {
    pub(super) device: &'a Device,
    pub(super) samples: &'a SamplesOnDevice,
    pub(super) order: &'a Buffer<u32>,
    pub(super) parameters: &'a mut Buffer<f32>,
    pub(super) velocities: &'a mut Buffer<f32>,
    pub(super) squares: &'a mut Buffer<f32>,
    pub(super) adam_steps: &'a Buffer<f32>,
    pub(super) losses: &'a mut Buffer<f32>,
    pub(super) batch_size: u32,
    pub(super) loss: Loss,
}

impl Persistent {
    /// Plans the launch and allocates its buffers.
    ///
    /// # Errors
    /// If the network, the batch, the optimizer or the device does not allow many steps in one
    /// launch, or if the device fails.
    pub(super) fn new(
        device: &Device,
        samples: &Samples,
        layout: &Layout,
        batch_size: usize,
        hyperparameters: &Hyperparameters,
        has_velocities: bool,
        options: &GpuOptions,
    ) -> Result<Self, GpuEngineError> {
        match Small::new(device, samples, layout, batch_size, hyperparameters) {
            Ok(small) => return Ok(Self::Small(small)),
            Err(reason) if hyperparameters.optimizer == Optimizer::Adam => return Err(reason.into()),
            Err(_) => {}
        }
        if hyperparameters.learning_rate_factors.iter().any(|&factor| factor != 1.0) {
            return Err(NotPersistent::LearningRateFactors.into());
        }
        Blocks::new(device, samples, layout, batch_size, has_velocities, options).map(Self::Blocks)
    }

    /// Whether the kernel reads the samples' inputs as floats.
    pub(super) fn reads_floats(&self) -> bool {
        match self {
            Self::Small(_) => true,
            Self::Blocks(blocks) => blocks.images.is_none(),
        }
    }

    /// Whether it is probably faster than separate launches for each step.
    pub(super) fn is_worth_it(&self) -> bool {
        match self {
            Self::Small(_) => true,
            Self::Blocks(blocks) => blocks.plan.is_worth_it(),
        }
    }

    /// The kernel, and its number of blocks.
    pub(super) fn kernel(&self) -> (TrainingKernel, u32) {
        match self {
            Self::Small(small) => (TrainingKernel::Small(small.tiles()), 1),
            Self::Blocks(Blocks { kernel: TrainingKernel::Cluster, .. }) => (TrainingKernel::Cluster, cluster::BLOCKS),
            Self::Blocks(blocks) => (blocks.kernel, blocks.plan.blocks()),
        }
    }

    /// Maximum batch size.
    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Small(small) => small.rows(),
            Self::Blocks(blocks) => blocks.plan.batch_rows(),
        }
    }

    /// Trains `steps` steps, starting with `first_step`. The loss of step i is written to
    /// `run.losses`\[i\].
    pub(super) fn train(
        &mut self,
        run: PersistentRun,
        (first_step, steps): (usize, usize),
        rule: Rule,
    ) -> Result<(), Error> {
        match self {
            Self::Small(small) => {
                let device = run.device;
                device.launch_at_once(|at_once| small.add(at_once, run, (first_step, steps), rule))
            }
            Self::Blocks(blocks) => blocks.train(run, (first_step, steps), rule),
        }
    }
}

impl Blocks {
    fn new(
        device: &Device,
        samples: &Samples,
        layout: &Layout,
        batch_size: usize,
        has_velocities: bool,
        options: &GpuOptions,
    ) -> Result<Self, GpuEngineError> {
        let mut limits = Limits {
            shared_bytes: device.max_shared_bytes().saturating_sub(STATIC_SHARED_BYTES),
            blocks: device.multiprocessors().unwrap_or(u32::MAX),
        };
        if let Some(blocks) = options.max_blocks {
            limits.blocks = limits.blocks.min(blocks.get());
        }
        let mut plan = Plan::new(layout, batch_size, has_velocities, limits)?;
        // The other kernels have the same limits: blocks of THREADS threads with up to 255
        // registers.
        let resident = device.max_cooperative_blocks(&network_train_persistently, THREADS, plan.shared_bytes());
        let resident = match resident {
            Err(error @ (Error::NotCooperative { .. } | Error::SharedMemory { .. })) => {
                return Err(NotPersistent::Device(error.to_string()).into());
            }
            resident => resident?,
        };
        if resident < plan.blocks() {
            plan = Plan::new(layout, batch_size, has_velocities, Limits { blocks: resident, ..limits })?;
        }
        let may_be_cluster = !options.no_clusters && limits.blocks >= cluster::BLOCKS;
        let (mut kernel, mut images) = (TrainingKernel::Homework, None);
        if !plan.has_constant_table() {
            kernel = TrainingKernel::Any;
        } else if may_be_cluster
            && device.max_clusters(&network_train_cluster, cluster_config())? > 0
            && let Some(packed) = packed_images(samples)
        {
            let allocating = GpuEngineError::allocating("the training images", "fewer --train-images");
            kernel = TrainingKernel::Cluster;
            images = Some(device.buffer_from_slice(&packed).map_err(allocating)?);
        }
        let allocating = GpuEngineError::allocating("the exchange buffer of a launch's blocks", "smaller --layers");
        Ok(Self {
            table: device.buffer_from_slice(plan.table()).map_err(&allocating)?,
            workspace: device.uninitialized(plan.workspace_quads()).map_err(&allocating)?,
            exchange: device.uninitialized(plan.exchange_quads()).map_err(&allocating)?,
            barrier: device.zeroed(1).map_err(&allocating)?,
            plan,
            kernel,
            images,
        })
    }

    fn train(&mut self, run: PersistentRun, (first_step, steps): (usize, usize), rule: Rule) -> Result<(), Error> {
        let (end_step, loss) = ((first_step + steps) as u32, loss_code(run.loss));
        let first_step = first_step as u32;
        let batches = Batches { size: run.batch_size, samples: run.order.len() as u32 };
        let targets = run.samples.targets();
        if let Some(images) = &self.images {
            let arguments = (
                images,
                targets,
                run.order,
                run.parameters,
                run.losses,
                first_step,
                end_step,
                batches,
                loss,
                rule.common,
            );
            run.device.launch(&network_train_cluster, cluster_config(), arguments)?;
            return Ok(());
        }
        let Inputs::Floats(inputs) = run.samples.inputs() else {
            unreachable!("the samples are on the device as floats, since the kernel reads those")
        };
        let config = LaunchConfig::new(self.plan.blocks(), THREADS).with_dynamic_shared(self.plan.shared_bytes());
        let config = config.cooperative();
        let arguments = (
            inputs,
            targets,
            run.order,
            &self.table,
            run.parameters,
            run.velocities,
            &mut self.workspace,
            &mut self.exchange,
            &mut self.barrier,
            run.losses,
            first_step,
            end_step,
            batches,
            loss,
            rule.common,
        );
        match self.kernel == TrainingKernel::Homework {
            true => run.device.launch(&network_train_homework, config, arguments)?,
            false => run.device.launch(&network_train_persistently, config, arguments)?,
        };
        Ok(())
    }
}
