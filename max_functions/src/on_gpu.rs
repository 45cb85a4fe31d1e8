use gpu::{Buffer, Device, Error, LaunchConfig};
use kernels_gpu::maximum::{max_kernel, max_quads_kernel};
use ndarray::{Array2, ArrayRef2};

use crate::ShapeMismatch;

/// Number of threads per block, as in the homework: 1000 blocks of 1000 threads for 1000 × 1000 elements.
const THREADS: u32 = 1000;
/// Maximum number of blocks per launch. The kernel's grid-stride loop covers the elements beyond
/// the grid.
const MAX_BLOCKS: usize = 1_000_000;

/// Labels of the times on a GPU.
pub mod label {
    /// The kernel's time, with matrices in the GPU's memory.
    pub const KERNEL: &str = "CUDA kernel";
    /// The kernel's time, with matrices in the L2 cache.
    pub const KERNEL_IN_L2: &str = "CUDA kernel in L2";
    /// The time of the kernel with four elements per thread, with matrices in the GPU's memory.
    pub const QUADS: &str = "CUDA kernel, four elements a thread";
    /// The same, with matrices in the L2 cache.
    pub const QUADS_IN_L2: &str = "CUDA kernel, four elements a thread, in L2";
    /// The time of [`max_gpu`](super::max_gpu), including its copies.
    pub const WITH_COPIES: &str = "CUDA";
}

/// The errors of [`max_gpu`].
#[derive(Debug, thiserror::Error)]
pub enum MaxGpuError {
    /// The matrices' shapes differ.
    #[error(transparent)]
    Shape(#[from] ShapeMismatch),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] Error),
}

/// The element-wise maximum on a device: `a`, `b` and the result are *M* × *N*.
///
/// # Errors
/// If the shapes of `a` and `b` differ, or the device fails.
///
/// ```
/// use ndarray::array;
/// let device = gpu::Device::simulator();
/// let maximum = max_functions::max_gpu(&device, &array![[1, 7], [255, 0]], &array![[3, 2], [9, 0]])?;
/// assert_eq!(maximum, array![[3, 7], [255, 0]]);
/// # Ok::<(), max_functions::MaxGpuError>(())
/// ```
pub fn max_gpu(device: &Device, a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Result<Array2<i32>, MaxGpuError> {
    let mut work = MaxGpu::new(device, a, b)?;
    work.launch()?;
    Ok(work.result()?)
}

/// The device buffers of the two matrices and the result, for launching the kernel without copies.
#[derive(Debug)]
pub struct MaxGpu<'a> {
    device: &'a Device,
    a: Buffer<i32>,
    b: Buffer<i32>,
    out: Buffer<i32>,
    shape: (usize, usize),
}

impl<'a> MaxGpu<'a> {
    /// Makes as many copies of the matrices and the result as [`Device::sets_beyond_cache`] says.
    /// Kernels that cycle through them find none in the L2 cache.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn beyond_cache(device: &'a Device, a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Result<Vec<Self>, MaxGpuError> {
        let sets = device.sets_beyond_cache(3 * size_of::<i32>() * a.len());
        (0..sets).map(|_| Self::new(device, a, b)).collect()
    }

    /// Copies the matrices to the device.
    ///
    /// # Errors
    /// If their shapes differ, or the device fails.
    pub fn new(device: &'a Device, a: &ArrayRef2<i32>, b: &ArrayRef2<i32>) -> Result<Self, MaxGpuError> {
        ShapeMismatch::check(a.dim(), b.dim())?;
        let copy = |matrix: &ArrayRef2<i32>| {
            let matrix = matrix.as_standard_layout();
            device.buffer_from_slice(matrix.as_slice().expect("the standard layout is row-major"))
        };
        let (shape, out) = (a.dim(), device.uninitialized(a.len())?);
        Ok(Self { device, a: copy(a)?, b: copy(b)?, out, shape })
    }

    /// Launches the homework's kernel, with one element per thread. On a GPU, the launch is asynchronous.
    ///
    /// # Errors
    /// If the device fails.
    pub fn launch(&mut self) -> Result<(), Error> {
        let Some(config) = config(self.out.len()) else { return Ok(()) };
        self.device.launch(&max_kernel, config, (&self.a, &self.b, &mut self.out))?;
        Ok(())
    }

    /// Launches the kernel with four elements per thread, in a quarter of the blocks. On a GPU, the
    /// launch is asynchronous.
    ///
    /// # Errors
    /// If the device fails.
    pub fn launch_quads(&mut self) -> Result<(), Error> {
        let Some(config) = config(self.out.len().div_ceil(4)) else { return Ok(()) };
        self.device.launch(&max_quads_kernel, config, (&self.a, &self.b, &mut self.out))?;
        Ok(())
    }

    /// Copies the result to the host.
    ///
    /// # Errors
    /// If the device or the kernel failed.
    pub fn result(&self) -> Result<Array2<i32>, Error> {
        let values = self.out.to_vec()?;
        match Array2::from_shape_vec(self.shape, values) {
            Ok(result) => Ok(result),
            Err(error) => unreachable!("the buffer has the matrix's size: {error}"),
        }
    }
}

/// The launch configuration for this many threads; `None` if there are none.
fn config(threads: usize) -> Option<LaunchConfig> {
    let blocks = threads.div_ceil(THREADS as usize).min(MAX_BLOCKS);
    (blocks > 0).then(|| LaunchConfig::new(blocks as u32, THREADS))
}
