//! Buffers on the device, the way there and back.

use bytemuck::Pod;
use wgpu::BufferUsages;

use crate::{Gpu, ShaderError};

impl Gpu {
    /// A buffer that holds `values` for shaders to read; at least four bytes, since none may be empty.
    pub(crate) fn storage<T: Pod>(&self, values: &[T]) -> wgpu::Buffer {
        let buffer = self.numbers(size_of_val(values) / 4);
        self.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(values));
        buffer
    }

    /// Four numbers that all invocations share, to be written later.
    pub(crate) fn uniform(&self) -> wgpu::Buffer {
        self.buffer(4, BufferUsages::UNIFORM | BufferUsages::COPY_DST)
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

    /// Not created with contents: where the device is lost, that panics.
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
    pub(crate) fn map<R>(
        &self,
        buffer: &wgpu::Buffer,
        bytes: u64,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ShaderError> {
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
