//! A network on a device, and its forward pass.

mod single;
mod workspace;

use std::num::NonZeroUsize;

use ndarray::{Array2, ArrayView2, Axis};
use neural_net::{Activation, Architecture, Network};

use self::single::Single;
pub(crate) use self::workspace::Workspace;
use crate::buffers::bytes_of;
use crate::pipelines::{DENSE_TILE, Pipelines, ROWS_OF_WORKGROUP};
use crate::{Gpu, ShaderError};

/// The maximum size of one upload in bytes. A larger input is split into several batches.
const MAX_UPLOAD: u64 = 256 << 20;

/// The shaders used for a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// One launch per layer, and one for softmax; any number of samples.
    Batch,
    /// One launch of one workgroup for all layers; one sample.
    Single,
}

/// A network with its weights on a device.
#[derive(Debug)]
pub struct ShaderNetwork<'g> {
    pub(crate) gpu: &'g Gpu,
    pub(crate) architecture: Architecture,
    pub(crate) pipelines: Pipelines,
    pub(crate) layers: Vec<Layer>,
    /// `None` if all parameters together exceed the maximum binding size.
    single: Option<Single>,
    pub(crate) workspace: Option<Workspace>,
    largest_batch: usize,
}

/// One layer's parameters on the device.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) inputs: usize,
    pub(crate) units: usize,
    pub(crate) activation: Activation,
    pub(crate) weights: wgpu::Buffer,
    pub(crate) biases: wgpu::Buffer,
}

impl<'g> ShaderNetwork<'g> {
    /// Compiles the shaders and copies the network's parameters to the device.
    ///
    /// # Errors
    /// If a layer is too large for the adapter, or the device fails.
    pub fn new(gpu: &'g Gpu, network: &Network) -> Result<Self, ShaderError> {
        let architecture = network.architecture().clone();
        let mut layers = Vec::new();
        for (index, (weights, biases)) in network.weights().iter().zip(network.biases()).enumerate() {
            let (inputs, units) = weights.dim();
            require_binding(gpu, || format!("the weights of layer {index}, {inputs} × {units},"), weights.len())?;
            let weights: Vec<f32> = weights.iter().copied().collect();
            layers.push(Layer {
                inputs,
                units,
                activation: architecture.activation(index),
                weights: gpu.storage(&weights),
                biases: gpu.storage(&biases.to_vec()),
            });
        }
        let largest_batch = largest_batch(gpu, &architecture)?;
        let pipelines = Pipelines::new(gpu);
        let single = Single::new(gpu, &pipelines, network);
        gpu.wait()?;
        Ok(Self { gpu, architecture, pipelines, layers, single, workspace: None, largest_batch })
    }

    /// Limits a batch to `rows` samples.
    #[must_use]
    pub fn with_largest_batch(mut self, rows: NonZeroUsize) -> Self {
        self.largest_batch = self.largest_batch.min(rows.get());
        self
    }

    /// The maximum number of samples per batch; a larger input is split.
    pub fn largest_batch(&self) -> usize {
        self.largest_batch
    }

    /// The network's layer sizes and activations.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The shaders that [`ShaderNetwork::predict`] uses for `rows` samples.
    pub fn path_for(&self, rows: usize) -> Path {
        if rows == 1 && self.single.is_some() { Path::Single } else { Path::Batch }
    }

    /// The network's outputs, *N* × outputs, for the samples in the rows of `inputs`, *N* × inputs.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If `inputs` does not have as many columns as the network has inputs.
    pub fn predict(&mut self, inputs: ArrayView2<f32>) -> Result<Array2<f32>, ShaderError> {
        self.predict_by(self.path_for(inputs.nrows()), inputs)
    }

    /// Runs [`ShaderNetwork::predict`] on a given path. [`Path::Single`] computes one sample per
    /// launch. If the network's parameters exceed one binding, it falls back to the batch's
    /// shaders.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If `inputs` does not have as many columns as the network has inputs.
    pub fn predict_by(&mut self, path: Path, inputs: ArrayView2<f32>) -> Result<Array2<f32>, ShaderError> {
        let mut outputs = Vec::with_capacity(inputs.nrows() * self.architecture.outputs());
        let rows_at_once = match path {
            Path::Single => 1,
            Path::Batch => self.largest_batch,
        };
        for part in inputs.axis_chunks_iter(Axis(0), rows_at_once) {
            self.upload(path, part)?;
            self.gpu.queue.submit([self.encode(path, part.nrows(), None)?.finish()]);
            self.read_back(path, part.nrows(), &mut outputs)?;
        }
        let shape = (inputs.nrows(), self.architecture.outputs());
        Array2::from_shape_vec(shape, outputs)
            .map_err(|error| ShaderError::Rejected { reason: format!("too few outputs were returned: {error}") })
    }

    /// Enqueues the copy of at most [`ShaderNetwork::largest_batch`] samples to the device.
    pub(crate) fn upload(&mut self, path: Path, inputs: ArrayView2<f32>) -> Result<(), ShaderError> {
        assert_eq!(
            inputs.ncols(),
            self.architecture.inputs(),
            "predict: `inputs` must have one column per network input"
        );
        let inputs = inputs.as_standard_layout();
        let values = inputs.as_slice().expect("the standard layout is contiguous");
        self.reserve(inputs.nrows());
        let workspace = self.workspace.as_ref().expect("`reserve` allocates it");
        let target = match (path, &self.single) {
            (Path::Single, Some(single)) => &single.sample,
            _ => {
                workspace.set_rows(self.gpu, &self.layers, inputs.nrows());
                &workspace.inputs
            }
        };
        self.gpu.queue.write_buffer(target, 0, bytemuck::cast_slice(values));
        self.gpu.check()
    }

    /// Encodes the launches for the `rows` samples last uploaded.
    pub(crate) fn encode(
        &self,
        path: Path,
        rows: usize,
        timestamps: Option<wgpu::ComputePassTimestampWrites>,
    ) -> Result<wgpu::CommandEncoder, ShaderError> {
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let descriptor = wgpu::ComputePassDescriptor { label: None, timestamp_writes: timestamps };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        match (path, &self.single, &self.workspace) {
            (Path::Single, Some(single), _) => single.launch(&self.pipelines, &mut pass),
            (_, _, Some(workspace)) => self.launch_layers(&mut pass, workspace, &workspace.first_layer, rows),
            _ => unreachable!("`upload` allocates the workspace"),
        }
        drop(pass);
        self.gpu.check()?;
        Ok(encoder)
    }

    /// Encodes the launches of a batch. `first_layer` binds its inputs.
    pub(crate) fn launch_layers(
        &self,
        pass: &mut wgpu::ComputePass,
        workspace: &Workspace,
        first_layer: &wgpu::BindGroup,
        rows: usize,
    ) {
        let rows = rows as u32;
        pass.set_pipeline(&self.pipelines.dense);
        let groups = std::iter::once(first_layer).chain(&workspace.later_layers);
        for (layer, group) in self.layers.iter().zip(groups) {
            pass.set_bind_group(0, group, &[]);
            let (tile_rows, tile_units) = DENSE_TILE;
            pass.dispatch_workgroups((layer.units as u32).div_ceil(tile_units), rows.div_ceil(tile_rows), 1);
        }
        if let Some(softmax) = &workspace.softmax {
            pass.set_pipeline(&self.pipelines.softmax);
            pass.set_bind_group(0, softmax, &[]);
            pass.dispatch_workgroups(rows.div_ceil(ROWS_OF_WORKGROUP), 1, 1);
        }
    }

    /// Waits for the launches and appends their outputs to `outputs`, row by row.
    pub(crate) fn read_back(&self, path: Path, rows: usize, outputs: &mut Vec<f32>) -> Result<(), ShaderError> {
        let workspace = self.workspace.as_ref().expect("`upload` allocates it");
        let source = match (path, &self.single) {
            (Path::Single, Some(single)) => &single.result,
            _ => workspace.outputs(),
        };
        let bytes = bytes_of(rows * self.architecture.outputs());
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(source, 0, &workspace.staging, 0, bytes);
        self.gpu.queue.submit([encoder.finish()]);
        self.gpu.map(&workspace.staging, bytes, |read| {
            outputs.extend(read.as_chunks().0.iter().copied().map(f32::from_le_bytes));
        })
    }

    /// Allocates a workspace for `rows` samples unless the current one suffices.
    pub(crate) fn reserve(&mut self, rows: usize) {
        if self.workspace.as_ref().is_none_or(|workspace| workspace.rows < rows) {
            // Frees the old workspace first: the two never coexist.
            self.workspace = None;
            self.workspace = Some(Workspace::new(self, rows));
        }
    }
}

/// The maximum number of samples with inputs and activations that fit a binding and rows that fit a
/// launch.
fn largest_batch(gpu: &Gpu, architecture: &Architecture) -> Result<usize, ShaderError> {
    let widest = architecture.sizes().iter().copied().max().unwrap_or(1);
    require_binding(gpu, || format!("one row of a layer of {widest} units"), widest)?;
    let (tile_rows, tile_units) = DENSE_TILE;
    let max_units = gpu.max_workgroups() as usize * tile_units as usize;
    if widest > max_units {
        let what = format!("a layer of {widest} units");
        return Err(ShaderError::TooLarge { what, bytes: bytes_of(widest), limit: bytes_of(max_units) });
    }
    let by_memory = gpu.max_binding().min(MAX_UPLOAD.max(bytes_of(widest))) / bytes_of(widest);
    let by_launch = u64::from(gpu.max_workgroups()) * u64::from(tile_rows.min(ROWS_OF_WORKGROUP));
    Ok(usize::try_from(by_memory.min(by_launch)).unwrap_or(usize::MAX).max(1))
}

fn require_binding(gpu: &Gpu, what: impl Fn() -> String, count: usize) -> Result<(), ShaderError> {
    let (bytes, limit) = (bytes_of(count), gpu.max_binding());
    if bytes <= limit { Ok(()) } else { Err(ShaderError::TooLarge { what: what(), bytes, limit }) }
}

/// The activation's code in `activation.wgsl`.
pub(crate) fn activation_code(activation: Activation) -> u32 {
    match activation {
        Activation::Identity => 0,
        Activation::Relu => 1,
        Activation::Sigmoid => 2,
        Activation::Tanh => 3,
        Activation::Softmax => 4,
    }
}
