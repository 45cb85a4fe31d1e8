//! The shaders, compiled for an adapter.

use std::borrow::Cow;

use crate::Gpu;

/// What every shader that activates begins with.
const ACTIVATION: &str = include_str!("shaders/activation.wgsl");

/// Rows and units of the tile of outputs that a workgroup of `dense.wgsl` computes.
pub(crate) const DENSE_TILE: (u32, u32) = (64, 16);
/// Rows of a workgroup of `softmax.wgsl` and `classify.wgsl`.
pub(crate) const ROWS_OF_WORKGROUP: u32 = 64;

#[derive(Debug)]
pub(crate) struct Pipelines {
    pub(crate) dense: wgpu::ComputePipeline,
    pub(crate) softmax: wgpu::ComputePipeline,
    pub(crate) single: wgpu::ComputePipeline,
    pub(crate) classify: wgpu::ComputePipeline,
}

impl Pipelines {
    pub(crate) fn new(gpu: &Gpu) -> Self {
        Self {
            dense: pipeline(gpu, "dense", &[ACTIVATION, include_str!("shaders/dense.wgsl")]),
            softmax: pipeline(gpu, "softmax", &[include_str!("shaders/softmax.wgsl")]),
            single: pipeline(gpu, "single", &[ACTIVATION, include_str!("shaders/single.wgsl")]),
            classify: pipeline(gpu, "classify", &[include_str!("shaders/classify.wgsl")]),
        }
    }
}

/// The shader of several files, one after the other, whose entry point is called `name`.
fn pipeline(gpu: &Gpu, name: &'static str, files: &[&str]) -> wgpu::ComputePipeline {
    let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(name),
        source: wgpu::ShaderSource::Wgsl(Cow::Owned(files.concat())),
    });
    gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(name),
        layout: None,
        module: &module,
        entry_point: Some(name),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    })
}
