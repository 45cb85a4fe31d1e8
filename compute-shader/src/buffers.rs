//! Device buffers: creation, binding and read-back.

use bytemuck::Pod;
use wgpu::BufferUsages;

use crate::{Gpu, ShaderError};

impl Gpu {
    /// A storage buffer with a copy of `values`. It has at least 4 bytes, since a binding must not
    /// be empty.
    pub(crate) fn storage<T: Pod>(&self, values: &[T]) -> wgpu::Buffer {
        let buffer = self.empty_storage(size_of_val(values) / 4);
        self.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(values));
        buffer
    }

    /// A uniform buffer of four 4-byte values, written before each launch.
    pub(crate) fn uniform(&self) -> wgpu::Buffer {
        self.buffer(4, BufferUsages::UNIFORM | BufferUsages::COPY_DST)
    }

    /// A storage buffer for `count` 4-byte values that shaders read and write; initially zero.
    pub(crate) fn empty_storage(&self, count: usize) -> wgpu::Buffer {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        self.buffer(count, usage)
    }

    /// A staging buffer for `count` 4-byte values: the device copies to it, and the CPU maps it.
    pub(crate) fn read_back(&self, count: usize) -> wgpu::Buffer {
        self.buffer(count, BufferUsages::MAP_READ | BufferUsages::COPY_DST)
    }

    /// Creates a buffer without contents: `create_buffer_init` panics on a lost device.
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

    /// Waits for the submitted work, then passes the first `bytes` bytes of a [`Gpu::read_back`]
    /// buffer to `read`.
    pub(crate) fn map<R>(
        &self,
        buffer: &wgpu::Buffer,
        bytes: u64,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ShaderError> {
        self.check()?;
        let (sender, receiver) = std::sync::mpsc::channel();
        buffer.map_async(wgpu::MapMode::Read, ..bytes, move |outcome| {
            // The receiver no longer exists if the wait has failed.
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

/// The size of `count` 4-byte values, in bytes.
pub(crate) fn bytes_of(count: usize) -> u64 {
    4 * count as u64
}
