//! The device buffers of a batch (inputs, activations, shapes) and their bind groups.

use neural_net::Activation;

use super::{Layer, ShaderNetwork, activation_code};
use crate::Gpu;

#[derive(Debug)]
pub(crate) struct Workspace {
    /// Capacity in samples.
    pub(crate) rows: usize,
    pub(crate) inputs: wgpu::Buffer,
    /// Each layer's outputs, rows × units.
    activations: Vec<wgpu::Buffer>,
    /// Each layer's shape in `dense.wgsl`'s format.
    shapes: Vec<wgpu::Buffer>,
    pub(crate) first_layer: wgpu::BindGroup,
    pub(crate) later_layers: Vec<wgpu::BindGroup>,
    /// `Some` if the output activation is softmax.
    pub(crate) softmax: Option<wgpu::BindGroup>,
    /// The last layer's shape in the format of `softmax.wgsl` and `classify.wgsl`.
    pub(crate) outputs_shape: wgpu::Buffer,
    pub(crate) staging: wgpu::Buffer,
}

impl Workspace {
    pub(super) fn new(network: &ShaderNetwork, rows: usize) -> Self {
        let (gpu, pipelines, architecture) = (network.gpu, &network.pipelines, &network.architecture);
        let inputs = gpu.empty_storage(rows * architecture.inputs());
        let activations: Vec<wgpu::Buffer> =
            network.layers.iter().map(|layer| gpu.empty_storage(rows * layer.units)).collect();
        let shapes: Vec<wgpu::Buffer> = network.layers.iter().map(|_| gpu.uniform()).collect();
        let bind = |index: usize, input: &wgpu::Buffer| {
            let layer = &network.layers[index];
            let buffers = [&shapes[index], input, &layer.weights, &layer.biases, &activations[index]];
            gpu.bind(&pipelines.dense, &buffers)
        };
        let first_layer = bind(0, &inputs);
        let later_layers = (1..network.layers.len()).map(|index| bind(index, &activations[index - 1])).collect();
        let outputs_shape = gpu.uniform();
        let outputs = &activations[activations.len() - 1];
        let softmax = (architecture.output_activation() == Activation::Softmax)
            .then(|| gpu.bind(&pipelines.softmax, &[&outputs_shape, outputs]));
        let staging = gpu.read_back(rows * architecture.outputs());
        Self { rows, first_layer, later_layers, softmax, inputs, activations, shapes, outputs_shape, staging }
    }

    /// The last layer's outputs, rows × outputs.
    pub(crate) fn outputs(&self) -> &wgpu::Buffer {
        &self.activations[self.activations.len() - 1]
    }

    /// The first layer's bind group with `inputs` instead of the workspace's own inputs.
    pub(crate) fn bind_inputs(&self, network: &ShaderNetwork, inputs: &wgpu::Buffer) -> wgpu::BindGroup {
        let layer = &network.layers[0];
        let buffers = [&self.shapes[0], inputs, &layer.weights, &layer.biases, &self.activations[0]];
        network.gpu.bind(&network.pipelines.dense, &buffers)
    }

    /// Writes the number of rows of the next launches to the uniforms.
    pub(crate) fn set_rows(&self, gpu: &Gpu, layers: &[Layer], rows: usize) {
        self.set_rows_from(gpu, layers, rows, 0);
    }

    /// Like [`Workspace::set_rows`], for a batch that begins at row `first` of a data set.
    pub(crate) fn set_rows_from(&self, gpu: &Gpu, layers: &[Layer], rows: usize, first: usize) {
        for (layer, shape) in layers.iter().zip(&self.shapes) {
            let fields = [rows as u32, layer.inputs as u32, layer.units as u32, activation_code(layer.activation)];
            gpu.queue.write_buffer(shape, 0, bytemuck::cast_slice(&fields));
        }
        let units = layers.last().map_or(0, |layer| layer.units);
        let fields = [rows as u32, units as u32, first as u32, 0];
        gpu.queue.write_buffer(&self.outputs_shape, 0, bytemuck::cast_slice(&fields));
    }
}
