use gpu::{Buffer, Device, Error, F32x4, LaunchConfig};
use kernels_gpu::product;
use ndarray::{Array2, ArrayRef2};

use crate::MatmulElement;

/// Labels of the times on a GPU.
pub mod label {
    /// The time of the kernel of [`MatmulGpu::fastest`](super::MatmulGpu::fastest), without the ladder.
    pub const KERNEL: &str = "CUDA kernel";
    /// The time of [`matmul_transpose_gpu`](super::matmul_transpose_gpu), including its copies.
    pub const WITH_COPIES: &str = "CUDA";
}

/// One version of the GPU kernel. Each rung adds one idea to the previous one ([`kernels_gpu::product`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// The definition: one thread computes one element at a time.
    Naive,
    /// Computes only the lower triangle.
    Symmetric,
    /// Tiles in shared memory.
    Tiles,
    /// Register tiles.
    Registers,
    /// 128-bit loads and double buffering.
    Buffered,
    /// A K-block of all rows stays in shared memory. Only in single precision, and only if at least
    /// [`MIN_RESIDENT_COLUMNS`] columns of the rows fit: see [`MatmulGpu::rungs`].
    Resident,
    /// Tiles for all multiprocessors, in several blocks. Only in single precision.
    Grid,
    /// The same tiles on tensor cores. Only if the device's PTX has the kernel.
    TensorCores,
    /// One block with tensor cores. Only if the device's PTX has the kernel. In single precision, a
    /// K-block of all rows stays in shared memory, which must have room for at least
    /// [`TENSOR_DEPTH`](product::TENSOR_DEPTH) columns of the rows.
    OneBlockTensor,
}

impl Rung {
    /// All rungs in ascending order.
    pub const ALL: [Self; 9] = [
        Self::Naive,
        Self::Symmetric,
        Self::Tiles,
        Self::Registers,
        Self::Buffered,
        Self::Resident,
        Self::Grid,
        Self::TensorCores,
        Self::OneBlockTensor,
    ];

    /// The rungs with one block of 1024 threads, as the homework asks, in ascending order.
    pub const ONE_BLOCK: [Self; 7] = [
        Self::Naive,
        Self::Symmetric,
        Self::Tiles,
        Self::Registers,
        Self::Buffered,
        Self::Resident,
        Self::OneBlockTensor,
    ];

    /// The rung's number and name, as shown in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "1 naive",
            Self::Symmetric => "2 symmetry",
            Self::Tiles => "3 shared tiles",
            Self::Registers => "4 register tiles",
            Self::Buffered => "5 wide, buffered",
            Self::Resident => "6 resident",
            Self::Grid => "7 all multiprocessors",
            Self::TensorCores => "8 tensor cores",
            Self::OneBlockTensor => "9 one block, tensor cores",
        }
    }

    /// Label of the time of the rung's kernel in the ladder.
    pub fn label(self) -> String {
        format!("{} {}", label::KERNEL, self.name())
    }
}

/// Minimum number of columns of X in shared memory for [`Rung::Resident`], unless X has fewer. With
/// fewer columns, loading and storing the sums takes longer than the rung saves.
pub const MIN_RESIDENT_COLUMNS: u32 = 32;

/// The errors of [`matmul_transpose_gpu`].
#[derive(Debug, thiserror::Error)]
pub enum MatmulGpuError {
    /// X or the result has 2³² elements or more, which exceeds the kernels' 32-bit indices.
    #[error("X·Xᵀ for {rows} × {columns} on the GPU: X and the result must have fewer than 2³² elements")]
    TooLarge {
        /// Rows of X.
        rows: usize,
        /// Columns of X.
        columns: usize,
    },
    /// The rung has no kernel for the device, the element type and the shape. See [`MatmulGpu::rungs`].
    #[error("X·Xᵀ on the GPU: rung {} has no kernel for this device, this element type and {rows} rows", rung.name())]
    NoKernel {
        /// The rung.
        rung: Rung,
        /// Rows of X.
        rows: u32,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] Error),
}

/// The element types with GPU kernels.
pub trait OnGpu: gpu::Element {
    /// Whether [`Rung::Resident`] and [`Rung::Grid`] have a kernel for the element type.
    #[doc(hidden)]
    const HAS_ALL_RUNGS: bool;

    /// Threads and bytes of shared memory of a block of [`Rung::TensorCores`].
    #[doc(hidden)]
    const TENSOR_BLOCK: [u32; 2];

    /// Whether the device has the kernels of [`Rung::TensorCores`] and [`Rung::OneBlockTensor`] for the element type.
    #[doc(hidden)]
    fn has_tensor_cores(device: &Device) -> bool;

    /// The K-blocks of [`Rung::OneBlockTensor`] for X of this shape; `None` if they do not fit into `shared_bytes`.
    #[doc(hidden)]
    fn tensor_blocks(shape: (u32, u32), shared_bytes: u32) -> Option<TensorBlocks>;

    /// Launches the kernel of a rung; `None` if the element type has none.
    #[doc(hidden)]
    fn launch(work: &mut MatmulGpu<Self>, rung: Rung, config: LaunchConfig) -> Option<Result<(), Error>>
    where
        Self: MatmulElement;
}

/// The K-blocks of [`Rung::OneBlockTensor`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorBlocks {
    /// Their number of columns of X.
    depth: u32,
    /// Their bytes of shared memory.
    shared_bytes: u32,
}

impl OnGpu for f32 {
    const HAS_ALL_RUNGS: bool = true;
    const TENSOR_BLOCK: [u32; 2] = [product::TENSOR_THREADS, product::TENSOR_SHARED_BYTES];

    fn has_tensor_cores(device: &Device) -> bool {
        device.has(&product::matmul_tensor_f32)
    }

    fn tensor_blocks(shape: (u32, u32), shared_bytes: u32) -> Option<TensorBlocks> {
        one_block_tensor_depth(shape, shared_bytes).map(|depth| TensorBlocks {
            depth,
            shared_bytes: depth / product::TENSOR_DEPTH * product::one_block_tensor_bytes(shape.0),
        })
    }

    fn launch(work: &mut MatmulGpu<Self>, rung: Rung, config: LaunchConfig) -> Option<Result<(), Error>> {
        let MatmulGpu { device, ref x, ref mut out, shape: (rows, columns), depth, tensor_blocks } = *work;
        let arguments = (x, rows, columns, &mut *out);
        let launched = match rung {
            Rung::Naive => device.launch(&product::matmul_naive_f32, config, arguments),
            Rung::Symmetric => device.launch(&product::matmul_symmetric_f32, config, arguments),
            Rung::Tiles => device.launch(&product::matmul_tiles_f32, config, arguments),
            Rung::Registers => device.launch(&product::matmul_registers_f32, config, arguments),
            Rung::Buffered => device.launch(&product::matmul_kernel_f32, config, arguments),
            Rung::Resident => device.launch(&product::matmul_resident_f32, config, (x, rows, columns, depth?, out)),
            Rung::Grid => device.launch(&product::matmul_grid_f32, config, arguments),
            Rung::TensorCores => device.launch(&product::matmul_tensor_f32, config, arguments),
            Rung::OneBlockTensor => {
                let arguments = (x, rows, columns, tensor_blocks?.depth, out);
                device.launch(&product::matmul_one_block_tensor_f32, config, arguments)
            }
        };
        Some(launched.map(drop))
    }
}

impl OnGpu for f64 {
    const HAS_ALL_RUNGS: bool = false;
    const TENSOR_BLOCK: [u32; 2] = [product::DOUBLE_TENSOR_THREADS, product::DOUBLE_TENSOR_SHARED_BYTES];

    fn has_tensor_cores(device: &Device) -> bool {
        device.has(&product::matmul_tensor_f64)
    }

    /// The kernel's K-blocks are of one size.
    fn tensor_blocks(_: (u32, u32), shared_bytes: u32) -> Option<TensorBlocks> {
        let blocks =
            TensorBlocks { depth: product::DOUBLE_TENSOR_DEPTH, shared_bytes: product::DOUBLE_ONE_BLOCK_BYTES };
        (blocks.shared_bytes <= shared_bytes).then_some(blocks)
    }

    fn launch(work: &mut MatmulGpu<Self>, rung: Rung, config: LaunchConfig) -> Option<Result<(), Error>> {
        let MatmulGpu { device, ref x, ref mut out, shape: (rows, columns), .. } = *work;
        let arguments = (x, rows, columns, out);
        let launched = match rung {
            Rung::Naive => device.launch(&product::matmul_naive_f64, config, arguments),
            Rung::Symmetric => device.launch(&product::matmul_symmetric_f64, config, arguments),
            Rung::Tiles => device.launch(&product::matmul_tiles_f64, config, arguments),
            Rung::Registers => device.launch(&product::matmul_registers_f64, config, arguments),
            Rung::Buffered => device.launch(&product::matmul_kernel_f64, config, arguments),
            Rung::TensorCores => device.launch(&product::matmul_tensor_f64, config, arguments),
            Rung::OneBlockTensor => device.launch(&product::matmul_one_block_tensor_f64, config, arguments),
            Rung::Resident | Rung::Grid => return None,
        };
        Some(launched.map(drop))
    }
}

/// The launch configuration of a rung's kernel for X with `rows` rows. [`Rung::Resident`] has
/// K-blocks of `depth` columns, [`Rung::OneBlockTensor`] has `tensor_blocks`. `None` without them.
fn launch_config<F: OnGpu>(
    rung: Rung,
    rows: u32,
    depth: Option<u32>,
    tensor_blocks: Option<TensorBlocks>,
) -> Option<LaunchConfig> {
    let one_block = LaunchConfig::new(1, product::THREADS);
    let for_tiles = |[threads, shared_bytes]: [u32; 2]| {
        LaunchConfig::new(product::grid_tiles(rows).max(1), threads).with_dynamic_shared(shared_bytes)
    };
    Some(match rung {
        Rung::Naive | Rung::Symmetric | Rung::Tiles | Rung::Registers | Rung::Buffered => one_block,
        Rung::Resident => one_block.with_dynamic_shared(depth? * bytes_per_column(rows)),
        Rung::OneBlockTensor => one_block.with_dynamic_shared(tensor_blocks?.shared_bytes),
        Rung::Grid => for_tiles([product::GRID_THREADS, product::GRID_SHARED_BYTES]),
        Rung::TensorCores => for_tiles(F::TENSOR_BLOCK),
    })
}

/// Bytes of shared memory that [`Rung::Resident`] needs per column of X.
fn bytes_per_column(rows: u32) -> u32 {
    product::resident_stride(rows) * size_of::<F32x4>() as u32
}

/// Depth of the K-blocks of [`Rung::Resident`]: as few K-blocks as fit in `shared_bytes`, of nearly
/// equal depth. `None` if fewer than [`MIN_RESIDENT_COLUMNS`] columns fit, unless that is all of X.
fn resident_depth((rows, columns): (u32, u32), shared_bytes: u32) -> Option<u32> {
    // The kernel's depths are even.
    let most = shared_bytes / bytes_per_column(rows) / 2 * 2;
    let needed = columns.clamp(1, MIN_RESIDENT_COLUMNS).next_multiple_of(2);
    (most >= needed).then(|| {
        let blocks = columns.div_ceil(most).max(1);
        columns.div_ceil(blocks).max(1).next_multiple_of(2)
    })
}

/// Depth of the K-blocks of [`Rung::OneBlockTensor`]: as few K-blocks as fit in `shared_bytes`, of
/// nearly equal depth. `None` if fewer than [`TENSOR_DEPTH`](product::TENSOR_DEPTH) columns fit.
fn one_block_tensor_depth((rows, columns): (u32, u32), shared_bytes: u32) -> Option<u32> {
    let steps = columns.div_ceil(product::TENSOR_DEPTH).max(1);
    let most = shared_bytes.checked_div(product::one_block_tensor_bytes(rows)).unwrap_or(steps);
    (most > 0).then(|| product::TENSOR_DEPTH * steps.div_ceil(steps.div_ceil(most)))
}

/// Computes X·Xᵀ on a device, with one block of 1024 threads. If `x` is *M* × *N*, the result is
/// *M* × *M*.
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
pub fn matmul_transpose_gpu<F: MatmulElement>(device: &Device, x: &ArrayRef2<F>) -> Result<Array2<F>, MatmulGpuError> {
    let mut work = MatmulGpu::new(device, x)?;
    work.launch(work.fastest())?;
    Ok(work.result()?)
}

/// The device buffers of X and the result, for launching a kernel without copies.
#[derive(Debug)]
pub struct MatmulGpu<'a, F: MatmulElement> {
    device: &'a Device,
    x: Buffer<F>,
    out: Buffer<F>,
    shape: (u32, u32),
    /// Depth of the K-blocks of [`Rung::Resident`], if it has a kernel for the element type and the shape.
    depth: Option<u32>,
    /// The K-blocks of [`Rung::OneBlockTensor`]. The device's PTX may also lack that kernel.
    tensor_blocks: Option<TensorBlocks>,
}

impl<'a, F: MatmulElement> MatmulGpu<'a, F> {
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
        let depth = match F::HAS_ALL_RUNGS {
            true => resident_depth((m, n), device.max_shared_bytes()),
            false => None,
        };
        let tensor_blocks = match F::has_tensor_cores(device) {
            true => F::tensor_blocks((m, n), device.max_shared_bytes()),
            false => None,
        };
        Ok(Self { device, x, out: device.uninitialized(rows * rows)?, shape: (m, n), depth, tensor_blocks })
    }

    /// The rungs with a kernel for the device, the element type and the shape, in ascending order.
    /// These are the first five, and in single precision [`Rung::Grid`] and, if enough columns of X
    /// fit in the device's shared memory, [`Rung::Resident`]. [`Rung::TensorCores`] and
    /// [`Rung::OneBlockTensor`] follow if the device's PTX has their kernels and, for the latter,
    /// columns fit.
    pub fn rungs(&self) -> Vec<Rung> {
        let has_kernel = |rung: &Rung| match rung {
            Rung::Resident => self.depth.is_some(),
            Rung::Grid => F::HAS_ALL_RUNGS,
            Rung::TensorCores => F::has_tensor_cores(self.device),
            Rung::OneBlockTensor => self.tensor_blocks.is_some(),
            _ => true,
        };
        Rung::ALL.into_iter().filter(has_kernel).collect()
    }

    /// The last single-block rung of [`Self::rungs`], as the homework asks for one block. Without a
    /// GPU, [`Rung::OneBlockTensor`] is excluded: its products take the simulator and the
    /// interpreter longer.
    pub fn fastest(&self) -> Rung {
        if self.tensor_blocks.is_some() && self.device.is_gpu() {
            return Rung::OneBlockTensor;
        }
        if self.depth.is_some() { Rung::Resident } else { Rung::Buffered }
    }

    /// Launches a rung's kernel. On a GPU, the launch is asynchronous.
    ///
    /// # Errors
    /// If the rung is not one of [`Self::rungs`], or the device fails.
    pub fn launch(&mut self, rung: Rung) -> Result<(), MatmulGpuError> {
        let rows = self.shape.0;
        let no_kernel = || MatmulGpuError::NoKernel { rung, rows };
        let config = launch_config::<F>(rung, rows, self.depth, self.tensor_blocks).ok_or_else(no_kernel)?;
        match F::launch(self, rung, config).ok_or_else(no_kernel)? {
            Err(Error::NoSuchKernel { .. }) if rung == Rung::TensorCores => Err(no_kernel()),
            launched => Ok(launched?),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part3_k_blocks_of_tensor_cores_are_of_whole_steps_and_fit() {
        const LIMIT: u32 = 227 * 1024;
        assert_eq!(one_block_tensor_depth((784, 128), LIMIT), Some(48));
        assert_eq!(one_block_tensor_depth((784, 48), LIMIT), Some(48));
        assert_eq!(one_block_tensor_depth((784, 64), LIMIT), Some(32));
        assert_eq!(one_block_tensor_depth((0, 0), LIMIT), Some(16));
        assert_eq!(one_block_tensor_depth((0, 50), LIMIT), Some(64));
        assert_eq!(one_block_tensor_depth((5, 0), LIMIT), Some(16));
        // An A100, and GPUs with compute capability 8.6 and later.
        assert_eq!(one_block_tensor_depth((784, 128), 163 * 1024), Some(32));
        assert_eq!(one_block_tensor_depth((784, 128), 99 * 1024), Some(16));
        assert_eq!(one_block_tensor_depth((2416, 7), LIMIT), Some(16));
        assert_eq!(one_block_tensor_depth((2417, 7), LIMIT), None);
        for rows in [1, 31, 500, 1700] {
            for columns in 1..300 {
                let depth = one_block_tensor_depth((rows, columns), LIMIT).expect("16 columns of 1700 rows fit");
                let steps = depth / product::TENSOR_DEPTH;
                assert_eq!(depth, steps * product::TENSOR_DEPTH);
                assert!(
                    steps > 0 && steps * product::one_block_tensor_bytes(rows) <= LIMIT,
                    "{rows} × {columns}: {depth}"
                );
            }
        }
    }

    #[test]
    fn part3_k_blocks_of_doubles_by_tensor_cores_fit_into_any_gpu_with_them() {
        let shared_bytes = 2 * 256 * 20 * 8;
        assert_eq!(f64::tensor_blocks((784, 128), 99 * 1024), Some(TensorBlocks { depth: 16, shared_bytes }));
        assert_eq!(f64::tensor_blocks((9000, 0), shared_bytes), f64::tensor_blocks((1, 1), 227 * 1024));
        assert_eq!(f64::tensor_blocks((784, 128), shared_bytes - 1), None);
    }

    #[test]
    fn part3_k_blocks_are_of_nearly_equal_depth_and_fit() {
        const LIMIT: u32 = 227 * 1024;
        assert_eq!(resident_depth((784, 128), LIMIT), Some(64));
        assert_eq!(resident_depth((784, 129), LIMIT), Some(66));
        assert_eq!(resident_depth((784, 145), LIMIT), Some(50));
        assert_eq!(resident_depth((0, 0), LIMIT), Some(2));
        assert_eq!(resident_depth((1, 5), LIMIT), Some(6));
        // 64 KiB: a GPU with compute capability 7.5.
        assert_eq!(resident_depth((784, 128), 64 * 1024), None);
        assert_eq!(resident_depth((784, 17), 64 * 1024), Some(18));
        assert_eq!(resident_depth((70_000, 1), LIMIT), None);
        for rows in [1, 31, 500, 1700] {
            for columns in 1..300 {
                let depth = resident_depth((rows, columns), LIMIT).expect("32 columns of 1700 rows fit");
                assert!(
                    depth.is_multiple_of(2) && depth * bytes_per_column(rows) <= LIMIT,
                    "{rows} × {columns}: {depth}"
                );
            }
        }
    }
}
