use std::array;

use gpu::{Buffer, Device, Error, LaunchConfig};
use kernels_gpu::correlation::{self, REGISTER_TILE_ROWS, Shape, THREADS, TILE_ROWS, shared_bytes};
use ndarray::{Array2, ArrayRef2};

use crate::pixel::{Pixel, row_major};

/// Maximum number of blocks per launch. The kernels' grid-stride loops cover the elements beyond
/// the grid.
const MAX_BLOCKS: u32 = 1 << 20;
/// Maximum number of elements. The kernels' indices have 32 bits, and sums of two of them must not
/// overflow.
const MAX_ELEMENTS: usize = (1 << 31) - 1;

/// Labels of the times on a GPU.
pub mod label {
    /// The time of the fastest rung's kernel, without the ladder.
    pub const KERNEL: &str = "CUDA kernel";
    /// The time of [`correlation_gpu`](super::correlation_gpu), including its copies.
    pub const WITH_COPIES: &str = "CUDA";
}

/// One version of the GPU kernel. Each rung adds one idea to the previous one
/// ([`kernels_gpu::correlation`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// The definition: one thread computes one pixel.
    Naive,
    /// A tile of the image, with its halo, in shared memory.
    Tiles,
    /// Eight pixels per thread, and a window of eight rows in registers.
    Registers,
    /// A constant size, 3 × 3, 5 × 5 or 7 × 7, and quads of pixels, for images with a multiple of 4
    /// columns. For other sizes, the same as [`Self::Registers`].
    FixedSize,
}

impl Rung {
    /// All rungs in ascending order.
    pub const ALL: [Self; 4] = [Self::Naive, Self::Tiles, Self::Registers, Self::FixedSize];

    /// The rung's number and name, as shown in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "1 naive",
            Self::Tiles => "2 shared tile",
            Self::Registers => "3 register rows",
            Self::FixedSize => "4 fixed size",
        }
    }
}

/// The errors of [`correlation_gpu`].
#[derive(Debug, thiserror::Error)]
pub enum CorrelationGpuError {
    /// The image or the kernel has 2³¹ elements or more, which exceeds the kernels' 32-bit indices.
    #[error("a {rows} × {columns} image or kernel on the GPU: both must have fewer than 2³¹ elements and rows")]
    TooLarge {
        /// Its number of rows.
        rows: usize,
        /// Its number of columns.
        columns: usize,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] Error),
}

/// Computes the correlation of `image` with `kernel` on a device. The result has the image's shape.
///
/// # Errors
/// If the image or the kernel has 2³¹ elements or more, or the device fails.
///
/// ```
/// use ndarray::array;
/// let (device, difference) = (gpu::Device::simulator(), array![[-1.0, 0.0, 1.0]]);
/// let result = filters::correlation_gpu(&device, &difference, &array![[1_u8, 2, 4]])?;
/// assert_eq!(result, array![[2.0, 3.0, -2.0]]);
/// # Ok::<(), filters::CorrelationGpuError>(())
/// ```
pub fn correlation_gpu<P: Pixel>(
    device: &Device,
    kernel: &ArrayRef2<f32>,
    image: &ArrayRef2<P>,
) -> Result<Array2<f32>, CorrelationGpuError> {
    let mut work = CorrelationGpu::new(device, kernel, image)?;
    work.launch(work.fastest())?;
    Ok(work.result()?)
}

/// The device buffers of an image, a kernel and the result, for launching without copies.
#[derive(Debug)]
pub struct CorrelationGpu<'a> {
    device: &'a Device,
    coefficients: Vec<f32>,
    kernel: Buffer<f32>,
    image: Buffer<f32>,
    out: Buffer<f32>,
    shape: Shape,
}

impl<'a> CorrelationGpu<'a> {
    /// Copies the image, as f32, and the kernel to the device.
    ///
    /// # Errors
    /// If the image or the kernel has 2³¹ elements or more, or the device fails.
    pub fn new<P: Pixel>(
        device: &'a Device,
        kernel: &ArrayRef2<f32>,
        image: &ArrayRef2<P>,
    ) -> Result<Self, CorrelationGpuError> {
        let [rows, columns] = size(image.dim())?;
        let [kernel_rows, kernel_columns] = size(kernel.dim())?;
        let shape = Shape { rows, columns, kernel_rows, kernel_columns };
        let coefficients: Vec<f32> = kernel.iter().copied().collect();
        Ok(Self {
            device,
            kernel: device.buffer_from_slice(&coefficients)?,
            coefficients,
            image: row_major(image, |pixels| device.buffer_from_slice(&pixels.to_f32(0..pixels.len())))?,
            out: device.uninitialized(image.len())?,
            shape,
        })
    }

    /// Makes as many copies of the buffers as [`Device::sets_beyond_cache`] says. Kernels that
    /// cycle through them find none in the L2 cache.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn beyond_cache<P: Pixel>(
        device: &'a Device,
        kernel: &ArrayRef2<f32>,
        image: &ArrayRef2<P>,
    ) -> Result<Vec<Self>, CorrelationGpuError> {
        let sets = device.sets_beyond_cache(2 * size_of::<f32>() * image.len());
        (0..sets).map(|_| Self::new(device, kernel, image)).collect()
    }

    /// The rungs that have distinct kernels for these sizes, in ascending order.
    pub fn rungs(&self) -> &'static [Rung] {
        const FIXED: [u32; 3] = [3, 5, 7];
        let Shape { columns, kernel_rows, kernel_columns, .. } = self.shape;
        let is_fixed = kernel_rows == kernel_columns && FIXED.contains(&kernel_rows) && columns.is_multiple_of(4);
        if is_fixed { &Rung::ALL } else { &Rung::ALL[..3] }
    }

    /// The last of [`Self::rungs`].
    pub fn fastest(&self) -> Rung {
        if self.rungs().contains(&Rung::FixedSize) { Rung::FixedSize } else { Rung::Registers }
    }

    /// Launches a rung's kernel. On a GPU, the launch is asynchronous.
    ///
    /// # Errors
    /// If the device fails.
    pub fn launch(&mut self, rung: Rung) -> Result<(), Error> {
        if self.out.is_empty() {
            return Ok(());
        }
        let rung = if self.rungs().contains(&rung) { rung } else { Rung::Registers };
        let Self { device, coefficients, kernel, image, out, shape } = self;
        let (blocks, shared_bytes) = match rung {
            Rung::Naive => ((shape.rows * shape.columns).div_ceil(THREADS), 0),
            Rung::Tiles => (shape.tiles(TILE_ROWS), shared_bytes(TILE_ROWS)),
            Rung::Registers => (shape.tiles(REGISTER_TILE_ROWS), shared_bytes(REGISTER_TILE_ROWS)),
            Rung::FixedSize => (shape.fixed_tiles(), 0),
        };
        let config = LaunchConfig::new(blocks.min(MAX_BLOCKS), THREADS).with_dynamic_shared(shared_bytes);
        macro_rules! fixed {
            ($n:literal) => {{
                let arguments = (square::<$n>(coefficients), &*image, *shape, out);
                device.launch(&correlation::correlation_fixed::<$n>, config, arguments)?;
            }};
        }
        macro_rules! any_size {
            ($kernel:ident) => {
                device.launch(&correlation::$kernel, config, (&*kernel, &*image, *shape, out)).map(drop)?
            };
        }
        match (rung, shape.kernel_rows) {
            (Rung::Naive, _) => any_size!(correlation_naive),
            (Rung::Tiles, _) => any_size!(correlation_tiles),
            (Rung::Registers, _) => any_size!(correlation_registers),
            (Rung::FixedSize, 3) => fixed!(3),
            (Rung::FixedSize, 5) => fixed!(5),
            (Rung::FixedSize, _) => fixed!(7),
        }
        Ok(())
    }

    /// Copies the result to the host.
    ///
    /// # Errors
    /// If the device or the kernel failed.
    pub fn result(&self) -> Result<Array2<f32>, Error> {
        let shape = (self.shape.rows as usize, self.shape.columns as usize);
        match Array2::from_shape_vec(shape, self.out.to_vec()?) {
            Ok(result) => Ok(result),
            Err(error) => unreachable!("the buffer has the image's size: {error}"),
        }
    }
}

/// The *N* × *N* coefficients in row-major order.
fn square<const N: usize>(coefficients: &[f32]) -> [[f32; N]; N] {
    array::from_fn(|u| array::from_fn(|v| coefficients[N * u + v]))
}

/// Checks that the kernels' indices can address an image or a kernel, and returns its rows and columns.
fn size((rows, columns): (usize, usize)) -> Result<[u32; 2], CorrelationGpuError> {
    let fits = rows.checked_mul(columns).is_some_and(|elements| elements.max(rows).max(columns) <= MAX_ELEMENTS);
    if fits { Ok([rows as u32, columns as u32]) } else { Err(CorrelationGpuError::TooLarge { rows, columns }) }
}
