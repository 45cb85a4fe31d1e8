//! The compute pipelines: the shaders, compiled for an adapter.

use std::borrow::Cow;

use crate::Gpu;

/// The activation functions, prepended to each shader that calls `activate`.
const ACTIVATION: &str = include_str!("shaders/activation.wgsl");

/// Rows and units of the output tile that one workgroup of `dense.wgsl` computes.
pub(crate) const DENSE_TILE: (u32, u32) = (64, 16);
/// Rows per workgroup of `softmax.wgsl` and `classify.wgsl`, one per invocation.
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

/// Compiles the concatenation of `files`; its entry point is `name`.
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
