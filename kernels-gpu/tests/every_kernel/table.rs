//! Table of every kernel of kernels-gpu: its launch, its reference and its shapes.
//!
//! To add a kernel, write the launch and the reference once for its family, and add a line to [`ENTRIES`].

use cuda_std::{F32x4, LaunchConfig, PtxVariant};
use kernels_gpu::correlation::{
    self, SLAB, Shape, correlation_fixed, correlation_naive, correlation_registers, correlation_tiles,
};
use kernels_gpu::greyscale::*;
use kernels_gpu::latency::{CLUSTER, cluster_loads};
use kernels_gpu::maximum::{max_kernel, max_quads_kernel};
use kernels_gpu::network::small::network_train_small;
use kernels_gpu::product::*;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::bytes;
use crate::device::{Device, Gpu, Interpreter, Plain, Simulator, bytes_of};
use crate::small::{self, SMALL_CASES, is_near_in_tf32, random_small, small_reference};
use crate::training::{is_close, random_training, train_cluster, train_homework, training_case, training_reference};

/// One launch: sizes in the order that the kernel's family defines, the launch configuration, and the input's seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) sizes: [usize; 2],
    pub(crate) config: LaunchConfig,
    pub(crate) seed: u64,
}

/// A kernel, with its launch, reference and cases.
pub(crate) struct Entry {
    /// The name of the PTX entry.
    pub(crate) kernel: &'static str,
    /// Runs a case of the kernel's source on the simulator, and returns the outputs' bytes.
    pub(crate) on_simulator: fn(&mut Simulator, &Case) -> Result<Vec<u8>, String>,
    /// Runs a case of the kernel's PTX on the interpreter, and returns the outputs' bytes.
    pub(crate) on_interpreter: fn(&mut Interpreter, &Case) -> Result<Vec<u8>, String>,
    /// Runs a case on a GPU, and returns the outputs' bytes.
    pub(crate) on_gpu: fn(&mut Gpu, &Case) -> Result<Vec<u8>, String>,
    /// The outputs' bytes, computed by a slow and simple reference.
    pub(crate) reference: fn(&Case) -> Vec<u8>,
    /// Whether a result agrees with the reference: to the bit, except for approximated functions.
    pub(crate) agrees: fn(&[u8], &[u8]) -> bool,
    /// Whether a result of the PTX agrees with the source's: to the bit, except where the PTX uses a GPU approximation,
    /// for which the simulator and the interpreter each have their own, more accurate function.
    pub(crate) is_same: fn(&[u8], &[u8]) -> bool,
    /// How far a value on a GPU may be from the interpreter's for the same PTX: 0, so that the bits are the same, except
    /// for kernels with an approximate instruction, whose bound is that of the PTX ISA.
    pub(crate) gpu_error: f32,
    /// A random case; small cases are for race checks.
    pub(crate) random_case: fn(&mut ChaCha8Rng, small: bool) -> Case,
    /// The lowest compute capability whose PTX has the kernel.
    pub(crate) since: (u32, u32),
    /// Shapes that exercise all loops and bounds checks of the kernel: edited PTX must fail on one of them.
    pub(crate) boundary_cases: &'static [fn() -> Case],
}

impl Entry {
    /// Whether the PTX has the kernel.
    pub(crate) fn is_in(&self, ptx: &PtxVariant) -> bool {
        ptx.compute_capability() >= self.since
    }
}

/// An entry whose launch is the given expression, on a `device` and a `case`.
macro_rules! entry {
    ($kernel:ident, |$device:ident, $case:ident| $run:expr, $reference:expr, $random_case:expr, $boundary:expr) => {{
        fn run<D: Device>($device: &mut D, $case: &Case) -> Result<Vec<u8>, String> {
            $run
        }
        Entry {
            kernel: stringify!($kernel),
            on_simulator: run::<Simulator>,
            on_interpreter: run::<Interpreter>,
            on_gpu: run::<Gpu>,
            reference: $reference,
            agrees: |result, reference| result == reference,
            is_same: |result, source| result == source,
            gpu_error: 0.0,
            random_case: $random_case,
            since: (0, 0),
            boundary_cases: $boundary,
        }
    }};
}

macro_rules! small {
    ($kernel:ident, $tiles:literal) => {
        Entry {
            agrees: is_near_in_tf32,
            since: (8, 0),
            gpu_error: SMALL_ERROR,
            ..entry!(
                $kernel,
                |device, case| small::train!($tiles, device, case),
                small_reference::<$tiles>,
                random_small,
                SMALL_CASES
            )
        }
    };
}

macro_rules! product {
    ($kernel:ident, $float:ty, $boundary:expr) => {
        entry!(
            $kernel,
            |device, case| {
                let [rows, columns] = case.sizes;
                let x = device.upload(&<$float>::random_values(rows * columns, case.seed));
                let mut out = device.uninitialized::<$float>(rows * rows);
                device.launch(&$kernel, case.config, (&x, rows as u32, columns as u32, &mut out))?;
                device.download(&out)
            },
            product_reference::<$float>,
            random_product,
            $boundary
        )
    };
}

/// X·Xᵀ of f64 by tensor cores, with the bits of the other rungs.
macro_rules! double_tensor {
    ($kernel:ident, |$case:ident| $config:expr) => {
        Entry {
            since: (8, 0),
            ..entry!(
                $kernel,
                |device, $case| {
                    let [rows, columns] = $case.sizes;
                    let x = device.upload(&f64::random_values(rows * columns, $case.seed));
                    let mut out = device.uninitialized::<f64>(rows * rows);
                    device.launch(&$kernel, $config, (&x, rows as u32, columns as u32, &mut out))?;
                    device.download(&out)
                },
                product_reference::<f64>,
                random_product,
                DOUBLE_TENSOR_CASES
            )
        }
    };
}

macro_rules! maximum {
    ($kernel:ident, $boundary:expr) => {
        entry!(
            $kernel,
            |device, case| {
                let count = case.sizes[0];
                let [a, b] = maximum_input(case);
                let (a, b) = (device.upload(&a), device.upload(&b));
                let mut out = device.uninitialized::<i32>(count);
                device.launch(&$kernel, case.config, (&a, &b, &mut out))?;
                device.download(&out)
            },
            maximum_reference,
            random_maximum,
            $boundary
        )
    };
}

macro_rules! correlation {
    ($kernel:ident, $tile_rows:expr, $order:expr) => {
        entry!(
            $kernel,
            |device, case| {
                let (shape, [kernel, image]) = correlation_input(case);
                let (kernel, image) = (device.upload(&kernel), device.upload(&image));
                let mut out = device.uninitialized::<f32>((shape.rows * shape.columns) as usize);
                let tile_rows: Option<u32> = $tile_rows;
                let config = case.config.with_dynamic_shared(tile_rows.map_or(0, correlation::shared_bytes));
                device.launch(&$kernel, config, (&kernel, &image, shape, &mut out))?;
                device.download(&out)
            },
            |case| correlation_reference(case, $order),
            random_correlation,
            CORRELATION_CASES
        )
    };
}

macro_rules! correlation_fixed {
    ($kernel:ident, $n:literal) => {
        entry!(
            $kernel,
            |device, case| {
                let (shape, [kernel, image]) = correlation_input(&fixed_size(case, $n));
                let image = device.upload(&image);
                let mut out = device.uninitialized::<f32>((shape.rows * shape.columns) as usize);
                let coefficients: [[f32; $n]; $n] = std::array::from_fn(|u| *kernel[$n * u..].first_chunk().unwrap());
                device.launch(&correlation_fixed::<$n>, case.config, (coefficients, &image, shape, &mut out))?;
                device.download(&out)
            },
            |case| correlation_reference(&fixed_size(case, $n), Order::Rows),
            |random, small| {
                let case = random_correlation(random, small);
                Case { sizes: [case.sizes[0], 4 * case.sizes[1]], ..case }
            },
            CORRELATION_FIXED_CASES
        )
    };
}

/// A kernel of the first layer for samples of bytes, with sums of up to 91 products below 1.
macro_rules! of_bytes {
    ($kernel:ident, $run:path, $reference:path) => {
        Entry {
            agrees: |result, reference| is_within(result, reference, 2e-5),
            ..entry!($kernel, |device, case| $run(device, case), $reference, bytes::random_layer, bytes::LAYER_CASES)
        }
    };
}

/// The same by tensor cores.
macro_rules! of_bytes_by_tensor_cores {
    ($kernel:ident, $run:path, $reference:path) => {
        Entry {
            since: (8, 0),
            agrees: |result, reference| is_within(result, reference, 2e-5),
            gpu_error: BYTES_ERROR,
            ..entry!(
                $kernel,
                |device, case| $run(device, case),
                $reference,
                bytes::random_layer_of_quads,
                bytes::QUAD_CASES
            )
        }
    };
}

macro_rules! greyscale {
    ($kernel:ident, |$x:ident, $w:ident, $out:ident| $arguments:expr, $reference:expr, $agrees:expr) => {
        Entry {
            agrees: $agrees,
            ..entry!(
                $kernel,
                |device, case| {
                    let [x, w] = greyscale_input(case).map(|values| device.upload(&values));
                    let ($x, $w, mut $out) = (&x, &w, device.uninitialized::<F32x4>(case.sizes[0]));
                    let _ = ($x, $w);
                    device.launch(&$kernel, case.config, $arguments)?;
                    device.download(&$out)
                },
                |case| {
                    let [x, w] = greyscale_input(case);
                    let of: fn(f32, f32) -> f32 = $reference;
                    let quad = |(x, w): (&F32x4, &F32x4)| {
                        let (x, w) = (x.to_array(), w.to_array());
                        F32x4::from(std::array::from_fn(|i| of(x[i], w[i])))
                    };
                    bytes_of(&x.iter().zip(&w).map(quad).collect::<Vec<_>>())
                },
                random_greyscale,
                &[|| greyscale_case(100, 3, 96), || greyscale_case(33, 2, 64), || greyscale_case(0, 1, 32)]
            )
        }
    };
}

/// All kernels, except those that [`is_checked_elsewhere`] names.
pub(crate) static ENTRIES: &[Entry] = &[
    maximum!(max_kernel, &[|| maximum_case(1000, 3, 96), || maximum_case(33, 2, 64), || maximum_case(0, 1, 32)]),
    maximum!(max_quads_kernel, MAXIMUM_QUADS_CASES),
    product!(matmul_naive_f32, f32, STRIDED_PRODUCT_CASES),
    product!(matmul_naive_f64, f64, STRIDED_PRODUCT_CASES),
    product!(matmul_symmetric_f32, f32, STRIDED_PRODUCT_CASES),
    product!(matmul_symmetric_f64, f64, STRIDED_PRODUCT_CASES),
    product!(matmul_tiles_f32, f32, PRODUCT_CASES),
    product!(matmul_tiles_f64, f64, PRODUCT_CASES),
    product!(matmul_registers_f32, f32, PRODUCT_CASES),
    product!(matmul_registers_f64, f64, PRODUCT_CASES),
    product!(matmul_kernel_f32, f32, PRODUCT_CASES),
    product!(matmul_kernel_f64, f64, PRODUCT_CASES),
    entry!(
        matmul_resident_f32,
        |device, case| {
            let [rows, columns] = case.sizes;
            let x = device.upload(&f32::random_values(rows * columns, case.seed));
            let mut out = device.uninitialized::<f32>(rows * rows);
            // More than one K-block, except of the narrowest matrices.
            let depth = 2 + case.seed as u32 % 4 * 2;
            let shared_bytes = 16 * depth * resident_stride(rows as u32);
            let config = case.config.with_dynamic_shared(shared_bytes);
            device.launch(&matmul_resident_f32, config, (&x, rows as u32, columns as u32, depth, &mut out))?;
            device.download(&out)
        },
        product_reference::<f32>,
        random_product,
        RESIDENT_PRODUCT_CASES
    ),
    entry!(
        matmul_grid_f32,
        |device, case| {
            let [rows, columns] = case.sizes;
            let x = device.upload(&f32::random_values(rows * columns, case.seed));
            let mut out = device.uninitialized::<f32>(rows * rows);
            let config =
                LaunchConfig::new(1 + case.seed as u32 % 4, GRID_THREADS).with_dynamic_shared(GRID_SHARED_BYTES);
            device.launch(&matmul_grid_f32, config, (&x, rows as u32, columns as u32, &mut out))?;
            device.download(&out)
        },
        product_reference::<f32>,
        random_product,
        GRID_PRODUCT_CASES
    ),
    Entry {
        since: (8, 0),
        agrees: |result, reference| is_within(result, reference, TENSOR_ERROR),
        gpu_error: TENSOR_ERROR,
        ..entry!(
            matmul_tensor_f32,
            |device, case| {
                let [rows, columns] = case.sizes;
                let x = device.upload(&tensor_values(case));
                let mut out = device.uninitialized::<f32>(rows * rows);
                let config = LaunchConfig::new(1 + case.seed as u32 % 4, TENSOR_THREADS)
                    .with_dynamic_shared(TENSOR_SHARED_BYTES);
                device.launch(&matmul_tensor_f32, config, (&x, rows as u32, columns as u32, &mut out))?;
                device.download(&out)
            },
            |case| product_of(case.sizes, &tensor_values(case)),
            random_product,
            TENSOR_PRODUCT_CASES
        )
    },
    Entry {
        since: (8, 0),
        agrees: |result, reference| is_within(result, reference, TENSOR_ERROR),
        gpu_error: TENSOR_ERROR,
        ..entry!(
            matmul_one_block_tensor_f32,
            |device, case| {
                let [rows, columns] = case.sizes;
                let x = device.upload(&tensor_values(case));
                let mut out = device.uninitialized::<f32>(rows * rows);
                // Several K-blocks, except of the narrowest matrices.
                let steps = 1 + case.seed as u32 % 2;
                let config = case.config.with_dynamic_shared(steps * one_block_tensor_bytes(rows as u32));
                let arguments = (&x, rows as u32, columns as u32, steps * TENSOR_DEPTH, &mut out);
                device.launch(&matmul_one_block_tensor_f32, config, arguments)?;
                device.download(&out)
            },
            |case| product_of(case.sizes, &tensor_values(case)),
            random_product,
            ONE_BLOCK_TENSOR_CASES
        )
    },
    double_tensor!(matmul_tensor_f64, |case| {
        LaunchConfig::new(1 + case.seed as u32 % 4, DOUBLE_TENSOR_THREADS)
            .with_dynamic_shared(DOUBLE_TENSOR_SHARED_BYTES)
    }),
    double_tensor!(matmul_one_block_tensor_f64, |case| case.config.with_dynamic_shared(DOUBLE_ONE_BLOCK_BYTES)),
    of_bytes!(network_forward_bytes_16, bytes::small::forward, bytes::forward_reference),
    of_bytes!(network_forward_bytes_64, bytes::large::forward, bytes::forward_reference),
    of_bytes!(network_update_bytes_16, bytes::small::update, bytes::update_reference),
    of_bytes!(network_update_bytes_64, bytes::large::update, bytes::update_reference),
    of_bytes!(network_gradient_bytes_16, bytes::small::gradient, bytes::gradient_reference),
    of_bytes!(network_gradient_bytes_64, bytes::large::gradient, bytes::gradient_reference),
    of_bytes_by_tensor_cores!(network_forward_bytes_tensor, bytes::tensor::forward, bytes::forward_reference),
    of_bytes_by_tensor_cores!(network_gradient_bytes_tensor, bytes::tensor::gradient, bytes::gradient_reference),
    correlation!(correlation_naive, None, Order::Rows),
    correlation!(correlation_tiles, Some(correlation::TILE_ROWS), Order::RowsOfSlabs),
    correlation!(correlation_registers, Some(correlation::REGISTER_TILE_ROWS), Order::ColumnsOfSlabs),
    correlation_fixed!(correlation_fixed__3, 3),
    correlation_fixed!(correlation_fixed__5, 5),
    correlation_fixed!(correlation_fixed__7, 7),
    greyscale!(normalize_kernel, |x, w, out| (x, &mut out), |x, _| x / 255.0, |result, reference| result == reference),
    greyscale!(weigh_kernel, |x, w, out| (x, w, &mut out), |x, w| x * w, |result, reference| result == reference),
    Entry {
        gpu_error: RECIPROCAL_ERROR,
        ..greyscale!(activate_kernel, |x, w, out| (w, &mut out), |_, w| exact_tanh(w), is_near)
    },
    Entry {
        gpu_error: RECIPROCAL_ERROR,
        ..greyscale!(normalize_weigh_activate_kernel, |x, w, out| (x, w, &mut out), exact_neuron, is_near)
    },
    Entry {
        is_same: is_near,
        gpu_error: HYPERBOLIC_TANGENT_ERROR,
        ..greyscale!(normalize_weigh_activate_fast_kernel, |x, w, out| (x, w, &mut out), exact_neuron, is_near)
    },
    Entry {
        since: (9, 0),
        ..entry!(
            cluster_loads,
            |device, case| {
                let [rounds, distance] = case.sizes.map(|size| size as u32);
                let mut out = device.uninitialized::<u32>(case.config.grid.x as usize);
                let config = case.config.with_dynamic_shared(16 * case.config.block.x);
                device.launch(&cluster_loads, config, (distance, rounds, &mut out))?;
                device.download(&out)
            },
            |case| {
                let last = case.sizes[0] as u32 % case.config.block.x;
                bytes_of(&vec![last; case.config.grid.x as usize])
            },
            random_cluster,
            CLUSTER_CASES
        )
    },
    small!(network_train_small__12, 12),
    small!(network_train_small__28, 28),
    small!(network_train_small__84, 84),
    small!(network_train_small__142, 142),
    small!(network_train_small__244, 244),
    small!(network_train_small__384, 384),
    small!(network_train_small__844, 844),
    small!(network_train_small__2442, 2442),
    Entry {
        agrees: is_close,
        is_same: is_close,
        ..entry!(
            network_train_homework,
            |device, case| train_homework(device, case),
            training_reference,
            random_training,
            TRAINING_CASES
        )
    },
    Entry {
        agrees: is_close,
        since: (9, 0),
        gpu_error: LOSS_ERROR,
        ..entry!(
            network_train_cluster,
            |device, case| train_cluster(device, case),
            training_reference,
            random_training,
            TRAINING_CASES
        )
    },
];

/// `rcp.approx.ftz.f32` has an error of 1 unit in the last place (PTX ISA 9.7.3), which is at most 2⁻²³ of the reciprocal.
/// The tanh is its product with another value, at most 1: 2⁻²³, and half as much by the product's rounding.
const RECIPROCAL_ERROR: f32 = 1.5 / (1 << 23) as f32;
/// A sigmoid has an error of less than 3 · 10⁻⁷, and a loss is the sum of 160 terms, whose slopes are at most 4 for outputs from ¼ to ¾.
const LOSS_ERROR: f32 = 160.0 * 4.0 * 3e-7;
/// PTX gives no bound for tensor cores, which may truncate: each of 24 additions loses at most 2⁻²³ of a sum of 70 products, at most 1.
const TENSOR_ERROR: f32 = 70.0 * 24.0 / (1 << 23) as f32;
/// The same of at most 50 additions, of a sum of at most 300 products.
const BYTES_ERROR: f32 = 300.0 * 50.0 / (1 << 23) as f32;
/// Approximate square roots, reciprocals and powers have errors of 2⁻²², products of tensor cores those of 300 truncated additions, in each of
/// three steps, of values of at most 4. The loss is a sum of 2,000 terms.
const SMALL_ERROR: f32 = 1e-3;
/// `tanh.approx.f32` has a relative error of 2⁻¹¹ (PTX ISA 9.7.3), and the value is at most 1.
const HYPERBOLIC_TANGENT_ERROR: f32 = 1.0 / (1 << 11) as f32;

/// Steps with whole batches and with fewer samples than rows, by each loss, with and without weight decay.
const TRAINING_CASES: &[fn() -> Case] = &[|| training_case(16, 21, 1), || training_case(13, 13, 2)];

/// Whether another test checks the kernel from each PTX: neural-net/tests/part1_gpu_engine.rs checks the network's other
/// ones, whose launches are long sequences, and tests/latency.rs those that measure barriers, exchanges and rates.
pub(crate) fn is_checked_elsewhere(kernel: &str) -> bool {
    let is_trained_here = ENTRIES.iter().any(|entry| entry.kernel == kernel);
    let is_measuring = ["empty_kernel", "_barriers", "_exchanges_", "_rate_"].iter().any(|part| kernel.contains(part));
    kernel.starts_with("network_") && !is_trained_here || is_measuring
}

/// `rounds` and the distance of a kernel that measures a cluster.
fn cluster_case(rounds: usize, distance: usize, clusters: u32, threads: u32) -> Case {
    let config = LaunchConfig::new(CLUSTER * clusters, threads).clusters_of(CLUSTER);
    Case { sizes: [rounds, distance], config, seed: 0 }
}

const CLUSTER_CASES: &[fn() -> Case] = &[
    || cluster_case(0, 0, 1, 1),
    || cluster_case(3, 0, 1, 2),
    || cluster_case(5, 1, 2, 33),
    || cluster_case(21, 15, 1, 5),
];

fn random_cluster(random: &mut ChaCha8Rng, _small: bool) -> Case {
    let (rounds, distance) = (random.random_range(0..40), random.random_range(0..16));
    cluster_case(rounds, distance, random.random_range(1..3), random.random_range(1..70))
}

fn greyscale_case(quads: usize, blocks: u32, threads: u32) -> Case {
    Case { sizes: [quads, 0], config: LaunchConfig::new(blocks, threads), seed: 4 }
}

/// A random case with at least one thread per quad of values.
fn random_greyscale(random: &mut ChaCha8Rng, small: bool) -> Case {
    let quads = random.random_range(0..if small { 100 } else { 10_000 });
    let config = LaunchConfig::for_elements(quads, random.random_range(1..=1024_u32));
    Case { sizes: [quads, 0], config, seed: random.random() }
}

/// Greyscale values, and weights around a half; about one value in 50 is special, such as an infinity or NaN.
fn greyscale_input(case: &Case) -> [Vec<F32x4>; 2] {
    const RARE: [f32; 7] = [0.0, -0.0, f32::MIN_POSITIVE / 8.0, 40.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let mut random = ChaCha8Rng::seed_from_u64(case.seed);
    let mut values = |max: f32| {
        let mut value = || match random.random_ratio(1, 50) {
            true => *RARE.choose(&mut random).expect("RARE is not empty"),
            false => random.random_range(-0.1..1.0) * max,
        };
        (0..case.sizes[0]).map(|_| F32x4::from(std::array::from_fn(|_| value()))).collect()
    };
    [values(255.0), values(1.0)]
}

fn exact_tanh(x: f32) -> f32 {
    f64::from(x).tanh() as f32
}

fn exact_neuron(x: f32, w: f32) -> f32 {
    (f64::from(x) / 255.0 * f64::from(w)).tanh() as f32
}

/// Whether a result is within 5e-7 of the reference: the kernels' documented bound is 1e-6.
fn is_near(result: &[u8], reference: &[u8]) -> bool {
    is_within(result, reference, 5e-7)
}

/// Whether floats are within `error` of others, or equal, or both NaN.
pub(crate) fn is_within(result: &[u8], reference: &[u8], error: f32) -> bool {
    let floats = |bytes: &[u8]| bytes.chunks(4).map(f32::from_bytes).collect::<Vec<_>>();
    let near = |(a, b): (f32, f32)| (a.is_nan() && b.is_nan()) || a == b || (a - b).abs() <= error;
    result.len() == reference.len() && floats(result).into_iter().zip(floats(reference)).all(near)
}

/// More quads than threads and fewer; one to three elements beyond the quads, also for fewer threads than that.
const MAXIMUM_QUADS_CASES: &[fn() -> Case] = &[
    || maximum_case(1003, 3, 32),
    || maximum_case(34, 2, 64),
    || maximum_case(13, 1, 1),
    || maximum_case(7, 1, 2),
    || maximum_case(0, 1, 32),
];

fn maximum_case(count: usize, blocks: u32, threads: u32) -> Case {
    Case { sizes: [count, 0], config: LaunchConfig::new(blocks, threads), seed: 1 }
}

fn random_maximum(random: &mut ChaCha8Rng, small: bool) -> Case {
    let count = random.random_range(0..if small { 200 } else { 20_000 });
    let config = LaunchConfig::new(random.random_range(1..6_u32), random.random_range(1..=1024_u32));
    Case { sizes: [count, 0], config, seed: random.random() }
}

fn maximum_input(case: &Case) -> [Vec<i32>; 2] {
    let mut random = ChaCha8Rng::seed_from_u64(case.seed);
    let mut values = || {
        let value =
            |_| if random.random_ratio(1, 4) { *EDGES.choose(&mut random).expect("edges") } else { random.random() };
        (0..case.sizes[0]).map(value).collect()
    };
    [values(), values()]
}

const EDGES: [i32; 5] = [i32::MIN, -1, 0, 1, i32::MAX];

fn maximum_reference(case: &Case) -> Vec<u8> {
    let [a, b] = maximum_input(case);
    bytes_of(&a.iter().zip(&b).map(|(&a, &b)| a.max(b)).collect::<Vec<i32>>())
}

/// Sizes around a tile of 32 and one of 128, with remaining rows in either half of the latter; odd, even and single
/// columns; more than one tile in each dimension; empty matrices.
const PRODUCT_CASES: &[fn() -> Case] = &[
    || product_case(37, 21),
    || product_case(2, 1),
    || product_case(1, 33),
    || product_case(3, 0),
    || product_case(0, 4),
    || product_case(101, 6),
    || product_case(133, 19),
];

/// Similar shapes, of which some have rows of whole quads, with one tile, several, and one that is cut off; the seed sets
/// the depth too.
const RESIDENT_PRODUCT_CASES: &[fn() -> Case] = &[
    || product_case(36, 21),
    || product_case(37, 21),
    || product_case(2, 1),
    || product_case(3, 0),
    || product_case(0, 4),
    || product_case(100, 6),
    || product_case(101, 6),
    || Case { seed: 3, ..product_case(132, 19) },
];

/// Shapes around the tiles of the last rung, with rows of whole quads and others, and with one K-block and several; the seed
/// sets the number of blocks too.
const GRID_PRODUCT_CASES: &[fn() -> Case] = &[
    || product_case(37, 21),
    || product_case(2, 1),
    || product_case(1, 33),
    || product_case(3, 0),
    || product_case(0, 4),
    || product_case(64, 36),
    || product_case(100, 8),
    || Case { seed: 3, ..product_case(133, 19) },
    // Of a fourth row of tiles, and of K-blocks that are not aligned.
    || product_case(200, 3),
    || product_case(200, 4),
    || product_case(70, 133),
];

/// Shapes around the tiles and K-blocks of the rung with tensor cores.
const TENSOR_PRODUCT_CASES: &[fn() -> Case] = &[
    || product_case(37, 21),
    || product_case(2, 1),
    || product_case(1, 65),
    || product_case(70, 71),
    || product_case(3, 0),
    || product_case(0, 4),
    || product_case(64, 68),
    || product_case(100, 8),
    || Case { seed: 3, ..product_case(133, 19) },
    || product_case(200, 3),
    || product_case(200, 4),
    || product_case(70, 133),
];

/// Shapes around the tiles of 64 × 48 and 128 × 128 cells, the sets of 16 rows and the K-blocks; the seed sets the number of blocks too.
const DOUBLE_TENSOR_CASES: &[fn() -> Case] = &[
    || product_case(37, 21),
    || product_case(2, 1),
    || product_case(1, 33),
    || product_case(3, 0),
    || product_case(0, 4),
    || product_case(64, 16),
    || product_case(100, 48),
    || Case { seed: 3, ..product_case(133, 19) },
    || product_case(260, 9),
];

/// Shapes with an odd and an even number of sets of 16 rows, whole and cut ones, one K-block and several.
const ONE_BLOCK_TENSOR_CASES: &[fn() -> Case] = &[
    || product_case(37, 21),
    || product_case(2, 1),
    || product_case(1, 33),
    || product_case(3, 0),
    || product_case(0, 4),
    || product_case(112, 36),
    || product_case(100, 40),
    || Case { seed: 3, ..product_case(133, 49) },
    || Case { seed: 3, ..product_case(64, 48) },
];

/// Similar shapes. The last case has fewer threads than a row has cells, so that each computes several cells of a row.
const STRIDED_PRODUCT_CASES: &[fn() -> Case] = &[
    || product_case(37, 21),
    || product_case(2, 1),
    || product_case(1, 33),
    || product_case(3, 0),
    || product_case(0, 4),
    || Case { config: LaunchConfig::new(1, 32), ..product_case(101, 6) },
];

fn product_case(rows: usize, columns: usize) -> Case {
    Case { sizes: [rows, columns], config: LaunchConfig::new(1, THREADS), seed: 2 }
}

fn random_product(random: &mut ChaCha8Rng, small: bool) -> Case {
    let (rows, columns) = if small { (45, 20) } else { (170, 50) };
    let sizes = [random.random_range(0..rows), random.random_range(0..columns)];
    Case { seed: random.random(), ..product_case(sizes[0], sizes[1]) }
}

/// Images of one tile and of several, with rows and columns beyond a tile; even kernels, kernels larger than the image and
/// larger than a slab; no pixels and no coefficients. The seed sets the kernel's shape, and the last grid has fewer threads
/// than the image has tiles.
const CORRELATION_CASES: &[fn() -> Case] = &[
    || correlation_case(9, 33, (3, 3)),
    || correlation_case(70, 40, (5, 4)),
    || correlation_case(1, 1, (2, 7)),
    || correlation_case(4, 3, (19, 18)),
    || correlation_case(0, 5, (3, 3)),
    || correlation_case(5, 4, (0, 2)),
    || Case { config: LaunchConfig::new(1, correlation::THREADS), ..correlation_case(67, 35, (17, 3)) },
];

/// Images of one tile and of several, with rows and quads beyond a tile, of a single quad, and without pixels. The last grid
/// has fewer blocks than the image has tiles.
const CORRELATION_FIXED_CASES: &[fn() -> Case] = &[
    || correlation_case(9, 36, (0, 1)),
    || correlation_case(33, 132, (0, 2)),
    || correlation_case(1, 4, (0, 3)),
    || correlation_case(2, 8, (0, 4)),
    || correlation_case(0, 4, (0, 5)),
    || correlation_case(5, 0, (0, 6)),
    || Case { config: LaunchConfig::new(1, correlation::THREADS), ..correlation_case(67, 260, (0, 7)) },
];

/// The case with a kernel of *n* × *n* coefficients.
fn fixed_size(case: &Case, n: usize) -> Case {
    let sides = KERNEL_SIDES as u64;
    Case { seed: case.seed % (1 << 32) * sides * sides + n as u64 * sides + n as u64, ..*case }
}

/// Bounds of a kernel's rows and columns: a little more than a slab.
const KERNEL_SIDES: usize = SLAB as usize + 4;

fn correlation_case(rows: usize, columns: usize, kernel: (usize, usize)) -> Case {
    let config = LaunchConfig::new(3, correlation::THREADS);
    Case { sizes: [rows, columns], config, seed: (kernel.0 * KERNEL_SIDES + kernel.1) as u64 }
}

fn random_correlation(random: &mut ChaCha8Rng, small: bool) -> Case {
    let sides = if small { 36 } else { 80 };
    let sizes = [random.random_range(0..sides), random.random_range(0..sides)];
    let config = LaunchConfig::new(random.random_range(1..6_u32), correlation::THREADS);
    Case { sizes, config, seed: random.random() }
}

/// The shapes of the image and the kernel, and the values of the kernel and the image.
fn correlation_input(case: &Case) -> (Shape, [Vec<f32>; 2]) {
    let ([rows, columns], sides) = (case.sizes, KERNEL_SIDES as u64);
    let (kernel_rows, kernel_columns) = (case.seed / sides % sides, case.seed % sides);
    let kernel = f32::random_values((kernel_rows * kernel_columns) as usize, case.seed);
    let image = f32::random_values(rows * columns, !case.seed);
    let (kernel_rows, kernel_columns) = (kernel_rows as u32, kernel_columns as u32);
    (Shape { rows: rows as u32, columns: columns as u32, kernel_rows, kernel_columns }, [kernel, image])
}

/// The order of a sum's terms.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Rows,
    RowsOfSlabs,
    ColumnsOfSlabs,
}

/// Sums with fused multiply-adds in a rung's documented order.
fn correlation_reference(case: &Case, order: Order) -> Vec<u8> {
    let (Shape { rows, columns, kernel_rows, kernel_columns }, [kernel, image]) = correlation_input(case);
    let mut terms: Vec<(u32, u32)> = (0..kernel_rows).flat_map(|u| (0..kernel_columns).map(move |v| (u, v))).collect();
    terms.sort_by_key(|&(u, v)| match order {
        Order::Rows => (0, 0, u, v),
        Order::RowsOfSlabs => (u / SLAB, v / SLAB, u, v),
        Order::ColumnsOfSlabs => (u / SLAB, v / SLAB, v, u),
    });
    let pixel = |i: u32, j: u32| if i < rows && j < columns { image[(i * columns + j) as usize] } else { 0.0 };
    let cell = |cell: u32| {
        let (i, j) = (cell / columns, cell % columns);
        terms.iter().fold(0.0_f32, |sum, &(u, v)| {
            let pixel = pixel((i + u).wrapping_sub(kernel_rows / 2), (j + v).wrapping_sub(kernel_columns / 2));
            kernel[(u * kernel_columns + v) as usize].mul_add(pixel, sum)
        })
    };
    bytes_of(&(0..rows * columns).map(cell).collect::<Vec<f32>>())
}

/// Sums in ascending order with fused multiply-adds, the order that every kernel of the ladder documents.
fn product_reference<T: Float>(case: &Case) -> Vec<u8> {
    let [rows, columns] = case.sizes;
    product_of(case.sizes, &T::random_values(rows * columns, case.seed))
}

/// Values for tensor cores: of huge ones an error would be huge too.
fn tensor_values(case: &Case) -> Vec<f32> {
    let [rows, columns] = case.sizes;
    let values = f32::random_values(rows * columns, case.seed);
    values.into_iter().map(|x| if x.abs() == f32::MAX { 0.25 } else { x }).collect()
}

fn product_of<T: Float>([rows, columns]: [usize; 2], x: &[T]) -> Vec<u8> {
    let cell = |cell: usize| {
        let (i, j) = (cell / rows, cell % rows);
        (0..columns).fold(T::default(), |sum, p| x[i * columns + p].multiply_add(x[j * columns + p], sum))
    };
    bytes_of(&(0..rows * rows).map(cell).collect::<Vec<T>>())
}

/// An element type of a matrix product.
trait Float: Plain + Default {
    fn multiply_add(self, by: Self, sum: Self) -> Self;
    /// Values between −1 and 1, with a few zeros, subnormals, huge values, infinities and NaN.
    fn random_values(count: usize, seed: u64) -> Vec<Self>;
}

macro_rules! float {
    ($($float:ident)*) => {$(
        impl Float for $float {
            fn multiply_add(self, by: Self, sum: Self) -> Self {
                self.mul_add(by, sum)
            }

            fn random_values(count: usize, seed: u64) -> Vec<Self> {
                const RARE: [$float; 8] =
                    [0.0, -0.0, $float::MIN_POSITIVE / 8.0, -$float::MIN_POSITIVE, $float::MAX, $float::MIN, $float::INFINITY, $float::NAN];
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                let mut value = || match random.random_ratio(1, 500) {
                    true => *RARE.choose(&mut random).expect("RARE is not empty"),
                    false => random.random_range(-1.0..1.0),
                };
                (0..count).map(|_| value()).collect()
            }
        }
    )*};
}

float! { f32 f64 }
