//! The times of a prediction's phases: upload, compute, read-back.

use std::time::Instant;

use ndarray::{ArrayView2, Axis};

use crate::network::Path;
use crate::{ShaderError, ShaderNetwork};

/// Elapsed times of one prediction's phases, in seconds. The phases do not overlap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phases {
    /// The copy from host to device.
    pub upload: f64,
    /// The launches alone, by device timestamps; `None` if the adapter has no timestamp queries.
    pub compute: Option<f64>,
    /// The copy from device to host, after the launches.
    pub read_back: f64,
}

impl ShaderNetwork<'_> {
    /// Predicts, and waits after each phase to time it. The sum exceeds the time of
    /// [`ShaderNetwork::predict`], which waits only once. An input with more rows than
    /// [`ShaderNetwork::largest_batch`] is split, and its times are summed.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If `inputs` does not have as many columns as the network has inputs.
    pub fn time_phases(&mut self, inputs: ArrayView2<f32>) -> Result<Phases, ShaderError> {
        let path = self.path_for(inputs.nrows());
        let mut sum = Phases { upload: 0.0, compute: self.gpu.has_timestamps().then_some(0.0), read_back: 0.0 };
        for part in inputs.axis_chunks_iter(Axis(0), self.largest_batch()) {
            let Phases { upload, compute, read_back } = self.time_part(path, part)?;
            sum.upload += upload;
            sum.compute = sum.compute.zip(compute).map(|(sum, compute)| sum + compute);
            sum.read_back += read_back;
        }
        Ok(sum)
    }

    /// Runs [`ShaderNetwork::time_phases`] for at most [`ShaderNetwork::largest_batch`] rows.
    fn time_part(&mut self, path: Path, inputs: ArrayView2<f32>) -> Result<Phases, ShaderError> {
        let (gpu, rows) = (self.gpu, inputs.nrows());
        self.reserve(rows);
        gpu.wait()?;

        let start = Instant::now();
        self.upload(path, inputs)?;
        gpu.queue.submit([]);
        gpu.wait()?;
        let upload = start.elapsed().as_secs_f64();

        let stamps = gpu.has_timestamps().then(|| Stamps::new(gpu));
        let mut encoder = self.encode(path, rows, stamps.as_ref().map(Stamps::writes))?;
        if let Some(stamps) = &stamps {
            stamps.resolve(&mut encoder);
        }
        gpu.queue.submit([encoder.finish()]);
        gpu.wait()?;
        let compute = stamps.map(|stamps| stamps.seconds(gpu)).transpose()?;

        let mut outputs = Vec::with_capacity(rows * self.architecture().outputs());
        let start = Instant::now();
        self.read_back(path, rows, &mut outputs)?;
        Ok(Phases { upload, compute, read_back: start.elapsed().as_secs_f64() })
    }
}

/// Device timestamps at the beginning and the end of a compute pass.
struct Stamps {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    staging: wgpu::Buffer,
}

/// The size of two timestamps, in bytes.
const BYTES: u64 = 16;

impl Stamps {
    fn new(gpu: &crate::Gpu) -> Self {
        let descriptor = wgpu::QuerySetDescriptor { label: None, ty: wgpu::QueryType::Timestamp, count: 2 };
        let resolved = wgpu::BufferDescriptor {
            label: None,
            size: BYTES,
            usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        };
        Self {
            set: gpu.device.create_query_set(&descriptor),
            resolved: gpu.device.create_buffer(&resolved),
            staging: gpu.read_back(4),
        }
    }

    fn writes(&self) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.set,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        }
    }

    fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.resolve_query_set(&self.set, 0..2, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.staging, 0, BYTES);
    }

    fn seconds(&self, gpu: &crate::Gpu) -> Result<f64, ShaderError> {
        let ticks = gpu.map(&self.staging, BYTES, |bytes| match bytes.as_chunks().0 {
            [begin, end, ..] => u64::from_le_bytes(*end).saturating_sub(u64::from_le_bytes(*begin)),
            _ => unreachable!("{BYTES} bytes are mapped"),
        })?;
        Ok(ticks as f64 * f64::from(gpu.queue.get_timestamp_period()) * 1e-9)
    }
}
