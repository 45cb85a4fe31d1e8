//! Buffers on the device, the way there and back.

use bytemuck::Pod;
use wgpu::BufferUsages;
use wgpu::util::DeviceExt;

use crate::{Gpu, ShaderError};

impl Gpu {
    /// A buffer that holds `values` for shaders to read; at least one, since none may be empty.
    pub(crate) fn storage<T: Pod>(&self, values: &[T]) -> wgpu::Buffer {
        let contents: &[u8] = if values.is_empty() { &[0; 4] } else { bytemuck::cast_slice(values) };
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        self.device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: None, contents, usage })
    }

    /// A few numbers that all invocations share.
    pub(crate) fn uniform(&self, values: [u32; 4]) -> wgpu::Buffer {
        let (contents, usage) = (bytemuck::cast_slice(&values), BufferUsages::UNIFORM | BufferUsages::COPY_DST);
        self.device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: None, contents, usage })
    }

    /// A buffer for `count` numbers of 4 bytes that shaders read and write.
    pub(crate) fn numbers(&self, count: usize) -> wgpu::Buffer {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        self.buffer(count, usage)
    }

    /// A buffer for `count` numbers of 4 bytes that the CPU can read when the device has copied something to it.
    pub(crate) fn read_back(&self, count: usize) -> wgpu::Buffer {
        self.buffer(count, BufferUsages::MAP_READ | BufferUsages::COPY_DST)
    }

    fn buffer(&self, count: usize, usage: BufferUsages) -> wgpu::Buffer {
        let size = bytes_of(count.max(1));
        self.device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    }

    /// Binds buffers to a pipeline's bindings 0, 1, ….
    pub(crate) fn bind(&self, pipeline: &wgpu::ComputePipeline, buffers: &[&wgpu::Buffer]) -> wgpu::BindGroup {
        let entries: Vec<wgpu::BindGroupEntry> = (0..)
            .zip(buffers)
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        })
    }

    /// Waits for the submitted work, then gives `read` the first bytes of a buffer of [`Gpu::read_back`].
    pub(crate) fn map<R>(&self, buffer: &wgpu::Buffer, bytes: u64, read: impl FnOnce(&[u8]) -> R) -> Result<R, ShaderError> {
        self.check()?;
        let (sender, receiver) = std::sync::mpsc::channel();
        buffer.map_async(wgpu::MapMode::Read, ..bytes, move |outcome| {
            // Nobody listens any more where the wait has failed.
            let _ = sender.send(outcome);
        });
        self.wait()?;
        let lost = |reason: String| ShaderError::Lost { reason };
        match receiver.try_recv() {
            Ok(outcome) => outcome.map_err(|error| lost(error.to_string()))?,
            Err(error) => return Err(lost(error.to_string())),
        }
        let result = match buffer.get_mapped_range(..bytes) {
            Ok(range) => read(&range),
            Err(error) => return Err(lost(error.to_string())),
        };
        buffer.unmap();
        Ok(result)
    }
}

/// The bytes of `count` numbers of 4 bytes.
pub(crate) fn bytes_of(count: usize) -> u64 {
    4 * count as u64
}
