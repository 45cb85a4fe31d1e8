//! The forward pass of one sample in one launch.

use neural_net::Network;

use super::activation_code;
use crate::Gpu;
use crate::buffers::bytes_of;
use crate::pipelines::Pipelines;

#[derive(Debug)]
pub(super) struct Single {
    pub(super) sample: wgpu::Buffer,
    pub(super) result: wgpu::Buffer,
    group: wgpu::BindGroup,
}

impl Single {
    /// `None` if all parameters together exceed the adapter's maximum binding size.
    pub(super) fn new(gpu: &Gpu, pipelines: &Pipelines, network: &Network) -> Option<Self> {
        let architecture = network.architecture();
        let count: usize = network.weights().iter().map(|weights| weights.len()).sum::<usize>()
            + network.biases().iter().map(|biases| biases.len()).sum::<usize>();
        if bytes_of(count) > gpu.max_binding() || u32::try_from(count).is_err() {
            return None;
        }
        let mut parameters: Vec<f32> = Vec::with_capacity(count);
        let mut layers: Vec<[u32; 5]> = Vec::new();
        for (index, (weights, biases)) in network.weights().iter().zip(network.biases()).enumerate() {
            let (inputs, units) = weights.dim();
            let first_weight = parameters.len() as u32;
            parameters.extend(weights);
            let first_bias = parameters.len() as u32;
            parameters.extend(biases);
            let activation = activation_code(architecture.activation(index));
            layers.push([inputs as u32, units as u32, activation, first_weight, first_bias]);
        }
        let widest = architecture.sizes()[1..].iter().copied().max().unwrap_or(1);
        let (sample, result) = (gpu.empty_storage(architecture.inputs()), gpu.empty_storage(architecture.outputs()));
        let buffers =
            [&gpu.storage(&layers), &gpu.storage(&parameters), &sample, &gpu.empty_storage(2 * widest), &result];
        let group = gpu.bind(&pipelines.single, &buffers);
        Some(Self { sample, result, group })
    }

    pub(super) fn launch(&self, pipelines: &Pipelines, pass: &mut wgpu::ComputePass) {
        pass.set_pipeline(&pipelines.single);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
    }
}
