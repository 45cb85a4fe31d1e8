use gpu::{Buffer, Device, Error, LaunchConfig};
use kernels_gpu::product;
use ndarray::{Array2, ArrayRef2};

use crate::Element;

/// One version of the GPU kernel; each rung adds one idea to the one before ([`kernels_gpu::product`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// The definition: one thread computes one element at a time.
    Naive,
    /// Computes the lower triangle only.
    Symmetric,
    /// Tiles in shared memory.
    Tiles,
    /// Register tiles.
    Registers,
    /// 128-bit loads and double buffering: the default.
    Buffered,
}

impl Rung {
    /// All rungs in ascending order.
    pub const ALL: [Self; 5] = [Self::Naive, Self::Symmetric, Self::Tiles, Self::Registers, Self::Buffered];

    /// The rung's number and name, as shown in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "1 naive",
            Self::Symmetric => "2 symmetry",
            Self::Tiles => "3 shared tiles",
            Self::Registers => "4 register tiles",
            Self::Buffered => "5 wide, buffered",
        }
    }
}

/// The errors of [`matmul_transpose_gpu`].
#[derive(Debug, thiserror::Error)]
pub enum MatmulGpuError {
    /// X or the result has 2³² elements or more, beyond the kernels' 32-bit indices.
    #[error("X·Xᵀ for {rows} × {columns} on the GPU: X and the result must have fewer than 2³² elements")]
    TooLarge {
        /// Rows of X.
        rows: usize,
        /// Columns of X.
        columns: usize,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] Error),
}

/// The element types with GPU kernels.
pub trait OnGpu: gpu::Element {
    /// Launches the kernel of a rung.
    #[doc(hidden)]
    fn launch(
        rung: Rung,
        device: &Device,
        x: &Buffer<Self>,
        shape: (u32, u32),
        out: &mut Buffer<Self>,
    ) -> Result<(), Error>;
}

macro_rules! on_gpu {
    ($element:ty, $naive:ident, $symmetric:ident, $tiles:ident, $registers:ident, $buffered:ident) => {
        impl OnGpu for $element {
            fn launch(
                rung: Rung,
                device: &Device,
                x: &Buffer<Self>,
                (rows, columns): (u32, u32),
                out: &mut Buffer<Self>,
            ) -> Result<(), Error> {
                let config = LaunchConfig::new(1, product::THREADS);
                let arguments = (x, rows, columns, out);
                match rung {
                    Rung::Naive => device.launch(&product::$naive, config, arguments)?,
                    Rung::Symmetric => device.launch(&product::$symmetric, config, arguments)?,
                    Rung::Tiles => device.launch(&product::$tiles, config, arguments)?,
                    Rung::Registers => device.launch(&product::$registers, config, arguments)?,
                    Rung::Buffered => device.launch(&product::$buffered, config, arguments)?,
                };
                Ok(())
            }
        }
    };
}

on_gpu!(f32, matmul_naive_f32, matmul_symmetric_f32, matmul_tiles_f32, matmul_registers_f32, matmul_kernel_f32);
on_gpu!(f64, matmul_naive_f64, matmul_symmetric_f64, matmul_tiles_f64, matmul_registers_f64, matmul_kernel_f64);

/// X·Xᵀ on a device, by one block of 1024 threads: if `x` is *M* × *N*, the result is *M* × *M*.
///
/// # Errors
/// If X or the result has 2³² elements or more, or the device fails.
///
/// ```
/// use ndarray::array;
/// let device = gpu::Device::simulator();
/// let product = matmul_functions::matmul_transpose_gpu(&device, &array![[1.0, 2.0], [3.0, 4.0]])?;
/// assert_eq!(product, array![[5.0, 11.0], [11.0, 25.0]]);
/// # Ok::<(), matmul_functions::MatmulGpuError>(())
/// ```
pub fn matmul_transpose_gpu<F: Element>(device: &Device, x: &ArrayRef2<F>) -> Result<Array2<F>, MatmulGpuError> {
    let mut work = MatmulGpu::new(device, x)?;
    work.launch(Rung::Buffered)?;
    Ok(work.result()?)
}

/// The device buffers of X and the result, for launching a kernel without copies.
#[derive(Debug)]
pub struct MatmulGpu<'a, F: Element> {
    device: &'a Device,
    x: Buffer<F>,
    out: Buffer<F>,
    shape: (u32, u32),
}

impl<'a, F: Element> MatmulGpu<'a, F> {
    /// Copies X to the device.
    ///
    /// # Errors
    /// If X or the result has 2³² elements or more, or the device fails.
    pub fn new(device: &'a Device, x: &ArrayRef2<F>) -> Result<Self, MatmulGpuError> {
        let (rows, columns) = x.dim();
        let fits = |a: usize, b: usize| a.checked_mul(b).is_some_and(|count| u32::try_from(count).is_ok());
        let (Ok(m), Ok(n)) = (u32::try_from(rows), u32::try_from(columns)) else {
            return Err(MatmulGpuError::TooLarge { rows, columns });
        };
        if !fits(rows, columns) || !fits(rows, rows) {
            return Err(MatmulGpuError::TooLarge { rows, columns });
        }
        let x = x.as_standard_layout();
        let x = device.buffer_from_slice(x.as_slice().expect("the standard layout is row-major"))?;
        Ok(Self { device, x, out: device.uninitialized(rows * rows)?, shape: (m, n) })
    }

    /// Launches a rung's kernel; on a GPU the launch is asynchronous.
    ///
    /// # Errors
    /// If the device fails.
    pub fn launch(&mut self, rung: Rung) -> Result<(), Error> {
        F::launch(rung, self.device, &self.x, self.shape, &mut self.out)
    }

    /// Copies the result to the host.
    ///
    /// # Errors
    /// If the device or the kernel failed.
    pub fn result(&self) -> Result<Array2<F>, Error> {
        let rows = self.shape.0 as usize;
        match Array2::from_shape_vec((rows, rows), self.out.to_vec()?) {
            Ok(result) => Ok(result),
            Err(error) => unreachable!("the buffer has the result's size: {error}"),
        }
    }
}
