//! A data set resident on the device: it is uploaded once and evaluated there. Only one integer is
//! read back.

use ndarray::{ArrayView2, Axis};

use crate::pipelines::ROWS_OF_WORKGROUP;
use crate::{Gpu, ShaderError, ShaderNetwork};

/// Samples and their labels on a device.
#[derive(Debug)]
pub struct Resident {
    /// The samples, split into parts that each fit a binding.
    parts: Vec<Part>,
    labels: wgpu::Buffer,
    count: wgpu::Buffer,
    staging: wgpu::Buffer,
    len: usize,
}

#[derive(Debug)]
struct Part {
    inputs: wgpu::Buffer,
    rows: usize,
}

impl Resident {
    /// The number of samples.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl ShaderNetwork<'_> {
    /// Copies the samples in the rows of `inputs`, *N* × inputs, and their *N* labels to the device.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If the number of labels is not the number of samples, or `inputs` does not have one column per network input.
    pub fn place(&self, inputs: ArrayView2<f32>, labels: &[u8]) -> Result<Resident, ShaderError> {
        assert_eq!(inputs.nrows(), labels.len(), "place: each sample needs one label");
        assert_eq!(
            inputs.ncols(),
            self.architecture().inputs(),
            "place: `inputs` must have one column per network input"
        );
        let gpu: &Gpu = self.gpu;
        let part = |rows: ArrayView2<f32>| {
            let values = rows.as_standard_layout();
            Part {
                inputs: gpu.storage(values.as_slice().expect("the standard layout is contiguous")),
                rows: rows.nrows(),
            }
        };
        let parts = inputs.axis_chunks_iter(Axis(0), self.largest_batch()).map(part).collect();
        let labels: Vec<u32> = labels.iter().copied().map(u32::from).collect();
        let resident = Resident {
            parts,
            labels: gpu.storage(&labels),
            count: gpu.storage(&[0_u32]),
            staging: gpu.read_back(1),
            len: labels.len(),
        };
        gpu.queue.submit([]);
        gpu.wait()?;
        Ok(resident)
    }

    /// The number of samples with the largest output at the label's index. If several outputs are
    /// largest, the first one counts. Only this number leaves the device.
    ///
    /// # Errors
    /// If the device fails.
    pub fn count_correct(&mut self, resident: &Resident) -> Result<usize, ShaderError> {
        self.reserve(resident.parts.iter().map(|part| part.rows).max().unwrap_or(1));
        let (gpu, workspace) = (self.gpu, self.workspace.as_ref().expect("`reserve` allocates it"));
        gpu.queue.write_buffer(&resident.count, 0, bytemuck::bytes_of(&0_u32));
        let buffers = [&workspace.outputs_shape, workspace.outputs(), &resident.labels, &resident.count];
        let classify = gpu.bind(&self.pipelines.classify, &buffers);
        let mut first = 0;
        for part in &resident.parts {
            workspace.set_rows_from(gpu, &self.layers, part.rows, first);
            let first_layer = workspace.bind_inputs(self, &part.inputs);
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            self.launch_layers(&mut pass, workspace, &first_layer, part.rows);
            pass.set_pipeline(&self.pipelines.classify);
            pass.set_bind_group(0, &classify, &[]);
            pass.dispatch_workgroups((part.rows as u32).div_ceil(ROWS_OF_WORKGROUP), 1, 1);
            drop(pass);
            gpu.queue.submit([encoder.finish()]);
            first += part.rows;
        }
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(&resident.count, 0, &resident.staging, 0, 4);
        gpu.queue.submit([encoder.finish()]);
        gpu.map(&resident.staging, 4, |bytes| {
            u32::from_le_bytes(*bytes.first_chunk().expect("four bytes are mapped")) as usize
        })
    }
}
