//! A network on a device, and its predictions.

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

/// The most bytes of inputs that a batch brings to the device at once; more are cut into several.
const LARGEST_UPLOAD: u64 = 256 << 20;

/// Which shaders make a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// A launch for each layer, and one for softmax; for any number of samples.
    Batch,
    /// One launch of one workgroup for all layers; for one sample.
    Single,
}

/// A network whose weights are on a device.
#[derive(Debug)]
pub struct ShaderNetwork<'g> {
    pub(crate) gpu: &'g Gpu,
    pub(crate) architecture: Architecture,
    pub(crate) pipelines: Pipelines,
    pub(crate) layers: Vec<Layer>,
    /// None where its parameters are too many for one binding.
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
    /// Compiles the shaders and brings the network's parameters to the device.
    ///
    /// # Errors
    /// If a layer is too large for the adapter, or the device fails.
    pub fn new(gpu: &'g Gpu, network: &Network<f32>) -> Result<Self, ShaderError> {
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

    /// The same with batches of at most `rows` samples on the device at once.
    #[must_use]
    pub fn with_largest_batch(mut self, rows: NonZeroUsize) -> Self {
        self.largest_batch = self.largest_batch.min(rows.get());
        self
    }

    /// The most samples that are on the device at once; more are predicted part by part.
    pub fn largest_batch(&self) -> usize {
        self.largest_batch
    }

    /// The network's shape.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The shaders that [`ShaderNetwork::predict`] takes for so many samples.
    pub fn path_for(&self, rows: usize) -> Path {
        if rows == 1 && self.single.is_some() { Path::Single } else { Path::Batch }
    }

    /// The outputs for the samples that are the rows of `inputs`, *N* × inputs; the result is *N* × outputs.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If `inputs` does not have as many columns as the network has inputs.
    pub fn predict(&mut self, inputs: ArrayView2<f32>) -> Result<Array2<f32>, ShaderError> {
        self.predict_by(self.path_for(inputs.nrows()), inputs)
    }

    /// The same by the shaders of one's choice. [`Path::Single`] takes the samples one by one, or, where the network's
    /// parameters are too many for it, as [`Path::Batch`] does.
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
            .map_err(|error| ShaderError::Refused { reason: format!("it returned too few outputs: {error}") })
    }

    /// Queues the way of at most [`ShaderNetwork::largest_batch`] samples to the device.
    pub(crate) fn upload(&mut self, path: Path, inputs: ArrayView2<f32>) -> Result<(), ShaderError> {
        assert_eq!(inputs.ncols(), self.architecture.inputs(), "predict: wrong number of inputs");
        let inputs = inputs.as_standard_layout();
        let values = inputs.as_slice().expect("the standard layout is row by row");
        self.reserve(inputs.nrows());
        let workspace = self.workspace.as_ref().expect("there is room since `reserve`");
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

    /// The launches for the samples that are on the device.
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
            _ => unreachable!("there is room since `upload`"),
        }
        drop(pass);
        self.gpu.check()?;
        Ok(encoder)
    }

    /// The launches of a batch whose first layer reads what `first_layer` binds.
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

    /// Waits for the launches, and appends the outputs to `outputs`.
    pub(crate) fn read_back(&self, path: Path, rows: usize, outputs: &mut Vec<f32>) -> Result<(), ShaderError> {
        let workspace = self.workspace.as_ref().expect("there is room since `upload`");
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

    /// Makes room for `rows` samples.
    pub(crate) fn reserve(&mut self, rows: usize) {
        if self.workspace.as_ref().is_none_or(|workspace| workspace.rows < rows) {
            // The old one first, so that the two are not there at once.
            self.workspace = None;
            self.workspace = Some(Workspace::new(self, rows));
        }
    }
}

/// The most samples whose inputs, and each layer's outputs, fit a binding, and whose rows fit a launch.
fn largest_batch(gpu: &Gpu, architecture: &Architecture) -> Result<usize, ShaderError> {
    let widest = architecture.sizes().iter().copied().max().unwrap_or(1);
    require_binding(gpu, || format!("one sample's layer of {widest} units"), widest)?;
    let (tile_rows, tile_units) = DENSE_TILE;
    let most_units = gpu.most_workgroups() as usize * tile_units as usize;
    if widest > most_units {
        let what = format!("a layer of {widest} units");
        return Err(ShaderError::TooLarge { what, bytes: bytes_of(widest), limit: bytes_of(most_units) });
    }
    let by_memory = gpu.largest_binding().min(LARGEST_UPLOAD.max(bytes_of(widest))) / bytes_of(widest);
    let by_launch = u64::from(gpu.most_workgroups()) * u64::from(tile_rows.min(ROWS_OF_WORKGROUP));
    Ok(usize::try_from(by_memory.min(by_launch)).unwrap_or(usize::MAX).max(1))
}

fn require_binding(gpu: &Gpu, what: impl Fn() -> String, numbers: usize) -> Result<(), ShaderError> {
    let (bytes, limit) = (bytes_of(numbers), gpu.largest_binding());
    if bytes <= limit { Ok(()) } else { Err(ShaderError::TooLarge { what: what(), bytes, limit }) }
}

/// How `activation.wgsl` calls it.
pub(crate) fn activation_code(activation: Activation) -> u32 {
    match activation {
        Activation::Identity => 0,
        Activation::Relu => 1,
        Activation::Sigmoid => 2,
        Activation::Tanh => 3,
        Activation::Softmax => 4,
    }
}
