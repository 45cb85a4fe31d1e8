//! Launches of the kernels at the homework's sizes, for profiling.

use std::ops::ControlFlow;

use anyhow::Result;
use cuda_std::F32x4;
use gpu::{Device, Element, LaunchConfig};
use kernels_gpu::{correlation, greyscale, latency, maximum, product};
use matmul_functions::{MatmulElement, MatmulGpu, Rung};
use ndarray::Array2;
use neural_net::engine::{Engine, GpuEngine, GpuOptions, GpuPath, Parameters};
use neural_net::network::Initialization;
use neural_net::preset::Preset;
use neural_net::training::Optimizer;
use neural_net::{Architecture, Hyperparameters, Network, Samples};
use ptx_interpreter::LaunchReport;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// The kernels that [`run`] can launch.
pub(super) fn names() -> Vec<&'static str> {
    let mut names = MAXIMUM.to_vec();
    names.extend(LATENCY);
    names.extend(PRODUCTS.iter().flat_map(|(single, double)| [single, double]));
    names.push(RESIDENT_PRODUCT);
    names.extend(ONE_BLOCK_TENSOR_PRODUCTS);
    names.extend(GRID_PRODUCTS);
    names.push(DOUBLE_TENSOR_PRODUCT);
    names.extend(CORRELATION);
    names.extend(GREYSCALE);
    names.extend(NETWORK);
    names
}

/// The kernels of the element-wise maximum.
const MAXIMUM: [&str; 2] = ["max_kernel", "max_quads_kernel"];

/// The kernel ladder of X·Xᵀ, in single and double precision.
const PRODUCTS: [(&str, &str); 5] = [
    ("matmul_naive_f32", "matmul_naive_f64"),
    ("matmul_symmetric_f32", "matmul_symmetric_f64"),
    ("matmul_tiles_f32", "matmul_tiles_f64"),
    ("matmul_registers_f32", "matmul_registers_f64"),
    ("matmul_kernel_f32", "matmul_kernel_f64"),
];

/// The last single-block rung, which exists only in single precision.
const RESIDENT_PRODUCT: &str = "matmul_resident_f32";

/// The single-block products with tensor cores, in single and in double precision.
const ONE_BLOCK_TENSOR_PRODUCTS: [&str; 2] = ["matmul_one_block_tensor_f32", "matmul_one_block_tensor_f64"];

/// The multi-block rungs in single precision.
const GRID_PRODUCTS: [&str; 2] = ["matmul_grid_f32", "matmul_tensor_f32"];

/// The multi-block rung in double precision.
const DOUBLE_TENSOR_PRODUCT: &str = "matmul_tensor_f64";

/// The kernel ladder of the correlation.
const CORRELATION: [&str; 6] = [
    "correlation_naive",
    "correlation_tiles",
    "correlation_registers",
    "correlation_fixed__3",
    "correlation_fixed__5",
    "correlation_fixed__7",
];

/// The kernels that measure latencies.
const LATENCY: [&str; 12] = [
    "empty_kernel",
    "block_barriers",
    "grid_barriers",
    "cluster_barriers",
    "cluster_loads",
    "cluster_exchanges__2",
    "cluster_exchanges__4",
    "cluster_exchanges__8",
    "cluster_exchanges__16",
    "tensor_rate_tf32",
    "tensor_rate_bf16",
    "multiply_add_rate_f64",
];

/// The steps of the activation exercise.
const GREYSCALE: [&str; 5] = [
    "normalize_kernel",
    "weigh_kernel",
    "activate_kernel",
    "normalize_weigh_activate_kernel",
    "normalize_weigh_activate_fast_kernel",
];

/// The kernels of network training.
const NETWORK: [&str; 33] = [
    "network_forward_16",
    "network_forward_64",
    "network_forward_bytes_16",
    "network_forward_bytes_64",
    "network_forward_bytes_tensor",
    "network_backward_16",
    "network_backward_64",
    "network_update_16",
    "network_update_64",
    "network_update_bytes_16",
    "network_update_bytes_64",
    "network_gradient_16",
    "network_gradient_64",
    "network_gradient_bytes_16",
    "network_gradient_bytes_64",
    "network_gradient_bytes_tensor",
    "network_update_from_parts",
    "network_update_by_adam",
    "network_output",
    "network_last_layer",
    "network_evaluate",
    "network_next_step",
    "network_train_persistently",
    "network_train_homework",
    "network_train_cluster",
    "network_train_small__12",
    "network_train_small__28",
    "network_train_small__84",
    "network_train_small__142",
    "network_train_small__244",
    "network_train_small__384",
    "network_train_small__844",
    "network_train_small__2442",
];

/// Launches a kernel on a device that keeps reports. Returns a description of the workload and the
/// report of the kernel's first launch, or `None` if no launch of the kernel is known.
pub(super) fn run(device: &Device, kernel: &str) -> Result<Option<(String, LaunchReport)>> {
    let what = match kernel {
        _ if MAXIMUM.contains(&kernel) => Some(run_maximum(device, kernel)?),
        _ if CORRELATION.contains(&kernel) => Some(run_correlation(device, kernel)?),
        _ if LATENCY.contains(&kernel) => Some(run_latency(device, kernel)?),
        _ if GREYSCALE.contains(&kernel) => Some(run_greyscale(device, kernel)?),
        _ if NETWORK.contains(&kernel) => return run_network(device, kernel),
        _ => run_product(device, kernel)?,
    };
    Ok(what.zip(first_report(device, kernel)))
}

/// Runs a kernel of `docs/learn`, like [`run`].
pub(super) fn run_to_learn(
    device: &Device,
    version: learn::host::Version,
    size: usize,
) -> Result<Option<(String, LaunchReport)>> {
    (version.check)(device, size).map_err(anyhow::Error::msg)?;
    let what = format!("the launch of its page in docs/learn, size {size}");
    Ok(first_report(device, version.name).map(|report| (what, report)))
}

/// Report of the kernel's first launch since the last call.
fn first_report(device: &Device, kernel: &str) -> Option<LaunchReport> {
    device.take_ptx_reports().into_iter().find(|report| *report.kernel == *kernel)
}

fn run_latency(device: &Device, kernel: &str) -> Result<String> {
    let (grid, cluster) = (LaunchConfig::new(32, 256), LaunchConfig::new(16, 256).clusters_of(16));
    let rate = LaunchConfig::new(1, 512);
    macro_rules! exchanges {
        ($blocks:literal) => {{
            let threads = $blocks * latency::EXCHANGED;
            let config = LaunchConfig::new($blocks, threads).clusters_of($blocks).with_dynamic_shared(32 * threads);
            let mut out = device.uninitialized(($blocks * threads) as usize)?;
            device.launch(&latency::cluster_exchanges::<$blocks>, config, (10, &mut out))?;
            concat!("10 exchanges of 256 bytes between each two of the ", $blocks, " blocks of a cluster")
        }};
    }
    let what = match kernel {
        "empty_kernel" => {
            device.launch(&latency::empty_kernel, LaunchConfig::new(1, 32), ())?;
            "an empty launch of one warp"
        }
        "block_barriers" => {
            device.launch(&latency::block_barriers, LaunchConfig::new(1, 256), (10,))?;
            "10 barriers of a block of 256 threads"
        }
        "cluster_barriers" => {
            device.launch(&latency::cluster_barriers, cluster, (10,))?;
            "10 barriers of a cluster of 16 blocks of 256 threads"
        }
        "cluster_loads" => {
            let config = cluster.with_dynamic_shared(16 * 256);
            device.launch(&latency::cluster_loads, config, (1, 10, &mut device.uninitialized(16)?))?;
            "10 loads in a row from another block's shared memory, in a cluster of 16 blocks of 256 threads"
        }
        "cluster_exchanges__2" => exchanges!(2),
        "cluster_exchanges__4" => exchanges!(4),
        "cluster_exchanges__8" => exchanges!(8),
        "cluster_exchanges__16" => exchanges!(16),
        "tensor_rate_tf32" => {
            device.launch(&latency::tensor_rate_tf32, rate, (10, &mut device.uninitialized(512)?))?;
            "10 products for each of four sums of 16 warps"
        }
        "tensor_rate_bf16" => {
            device.launch(&latency::tensor_rate_bf16, rate, (10, &mut device.uninitialized(512)?))?;
            "10 products for each of four sums of 16 warps"
        }
        "multiply_add_rate_f64" => {
            device.launch(&latency::multiply_add_rate_f64, rate, (10, 1.0, &mut device.uninitialized(512)?))?;
            "10 multiply-adds for each of four sums of 512 threads"
        }
        _ => {
            device.launch(&latency::grid_barriers, grid.cooperative(), (10, &mut device.zeroed(1)?))?;
            "10 barriers of 32 blocks of 256 threads"
        }
    };
    Ok(what.to_owned())
}

fn run_maximum(device: &Device, kernel: &str) -> Result<String> {
    let values = |factor: i32| (0..1_000_000).map(|i| i % 1009 * factor % 256).collect::<Vec<i32>>();
    let (a, b) = (device.buffer_from_slice(&values(7))?, device.buffer_from_slice(&values(31))?);
    let mut out = device.uninitialized(1_000_000)?;
    let blocks = match kernel {
        "max_kernel" => {
            device.launch(&maximum::max_kernel, LaunchConfig::new(1000, 1000), (&a, &b, &mut out))?;
            1000
        }
        _ => {
            device.launch(&maximum::max_quads_kernel, LaunchConfig::new(250, 1000), (&a, &b, &mut out))?;
            250
        }
    };
    Ok(format!("the maximum of two 1000 × 1000 matrices by {blocks} blocks of 1000 threads"))
}

fn run_correlation(device: &Device, kernel: &str) -> Result<String> {
    let side = kernel.strip_prefix("correlation_fixed__").map_or(Ok(5), str::parse)?;
    let shape = correlation::Shape { rows: 1000, columns: 1000, kernel_rows: side, kernel_columns: side };
    let values = |count: u32| (0..count).map(|i| (i * 7919 % 251) as f32).collect::<Vec<f32>>();
    let (coefficients, image) = (device.buffer_from_slice(&values(25))?, device.buffer_from_slice(&values(1_000_000))?);
    let mut out = device.uninitialized(1_000_000)?;
    let of_naive = LaunchConfig::new(1_000_000_u32.div_ceil(correlation::THREADS), correlation::THREADS);
    let of_tiles = |tile_rows| {
        let config = LaunchConfig::new(shape.tiles(tile_rows), correlation::THREADS);
        config.with_dynamic_shared(correlation::shared_bytes(tile_rows))
    };
    let of_fixed = LaunchConfig::new(shape.fixed_tiles(), correlation::THREADS);
    let arguments = (&coefficients, &image, shape, &mut out);
    macro_rules! fixed {
        ($n:literal) => {{
            let arguments = ([[0.5; $n]; $n], &image, shape, &mut out);
            device.launch(&correlation::correlation_fixed::<$n>, of_fixed, arguments)?
        }};
    }
    match kernel {
        "correlation_fixed__3" => fixed!(3),
        "correlation_fixed__5" => fixed!(5),
        "correlation_fixed__7" => fixed!(7),
        "correlation_naive" => device.launch(&correlation::correlation_naive, of_naive, arguments)?,
        "correlation_tiles" => {
            device.launch(&correlation::correlation_tiles, of_tiles(correlation::TILE_ROWS), arguments)?
        }
        _ => {
            device.launch(&correlation::correlation_registers, of_tiles(correlation::REGISTER_TILE_ROWS), arguments)?
        }
    };
    Ok(format!("the correlation of a 1000 × 1000 image with a {side} × {side} kernel"))
}

fn run_greyscale(device: &Device, kernel: &str) -> Result<String> {
    let quads = 250_000;
    let x: Vec<F32x4> = (0..quads).map(|i| F32x4::splat((i % 255) as f32)).collect();
    let w: Vec<F32x4> = (0..quads).map(|i| F32x4::splat((i % 101) as f32 / 100.0)).collect();
    let (x, w) = (device.buffer_from_slice(&x)?, device.buffer_from_slice(&w)?);
    let mut out = device.uninitialized(quads)?;
    let config = LaunchConfig::for_elements(quads, 256);
    match kernel {
        "normalize_kernel" => device.launch(&greyscale::normalize_kernel, config, (&x, &mut out))?,
        "weigh_kernel" => device.launch(&greyscale::weigh_kernel, config, (&x, &w, &mut out))?,
        "activate_kernel" => device.launch(&greyscale::activate_kernel, config, (&w, &mut out))?,
        "normalize_weigh_activate_kernel" => {
            device.launch(&greyscale::normalize_weigh_activate_kernel, config, (&x, &w, &mut out))?
        }
        _ => device.launch(&greyscale::normalize_weigh_activate_fast_kernel, config, (&x, &w, &mut out))?,
    };
    Ok(format!("{} greyscale values, four per thread, in blocks of 256 threads", 4 * quads))
}

/// Trains networks of several sizes, since a step's kernels depend on the sizes, until one launches
/// the kernel.
fn run_network(device: &Device, kernel: &str) -> Result<Option<(String, LaunchReport)>> {
    let homework = Preset::Homework.sizes();
    let one_wide_layer = vec![33, 4033, 2];
    let is_persistent = kernel.starts_with("network_train_");
    // The largest network for the kernel with this many tiles of eight units.
    let tiles = kernel.strip_prefix("network_train_small__");
    let of_tiles = tiles.map_or(vec![], |tiles| {
        tiles.bytes().map(|digit| 8 * usize::from(digit - b'0')).chain([1]).collect::<Vec<usize>>()
    });
    let sizes_and_steps = match kernel {
        // The homework's network with a different batch size, which has no specialized kernel.
        "network_train_persistently" => vec![(homework, 4, 20)],
        "network_train_homework" | "network_train_cluster" => vec![(homework, 4, 16)],
        _ if kernel.ends_with("_tensor") => vec![(vec![784, 10, 10], 1, 4096)],
        _ if !of_tiles.is_empty() => vec![(of_tiles, 4, 128)],
        _ => vec![
            (homework.clone(), 1, 16),
            (homework, 1, 1024),
            (one_wide_layer.clone(), 1, 257),
            (one_wide_layer, 1, 33),
        ],
    };
    for (sizes, steps, batch_size) in sizes_and_steps {
        let path = if is_persistent { GpuPath::Persistent } else { GpuPath::Steps };
        let by_adam = kernel.ends_with("_by_adam") || tiles.is_some();
        let optimizer = if by_adam { Optimizer::Adam } else { Optimizer::Sgd };
        let options = GpuOptions { path, max_blocks: None, no_clusters: kernel == "network_train_homework" };
        let count = (steps * batch_size, kernel.contains("_bytes_"));
        train(device, &options, optimizer, &sizes, count, batch_size)?;
        if let Some(report) = first_report(device, kernel) {
            let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
            let steps = if steps == 1 { "one step".to_owned() } else { format!("{steps} steps") };
            let what = format!("a network {}, the first launch in {steps} of {batch_size} samples", sizes.join("-"));
            return Ok(Some((what, report)));
        }
    }
    Ok(None)
}

fn train(
    device: &Device,
    options: &GpuOptions,
    optimizer: Optimizer,
    sizes: &[usize],
    (count, are_bytes): (usize, bool),
    batch_size: usize,
) -> Result<()> {
    let preset = Preset::Homework;
    let architecture = Architecture::new(sizes.to_vec(), preset.hidden_activation(), preset.output_activation())?;
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let network = Network::random(architecture, Initialization::Xavier, &mut rng);
    let (inputs, outputs) = (sizes[0], sizes[sizes.len() - 1]);
    // Four pixels out of five are black, roughly as in MNIST.
    let pixels = Array2::from_shape_fn((count, inputs), |(i, p)| if (i + p) % 5 == 0 { 51 } else { 0_u8 });
    let targets = Array2::from_shape_fn((count, outputs), |(i, k)| if i % outputs == k { 1.0 } else { 0.0 });
    let samples = match are_bytes {
        true => Samples::from_bytes(pixels.into(), 255.0, targets)?,
        false => Samples::new(pixels.map(|&pixel| f32::from(pixel) / 255.0), targets)?,
    };
    let hyperparameters = Hyperparameters { optimizer, batch_size: Some(batch_size), ..preset.hyperparameters() };
    let parameters = Parameters::new(network);
    let mut engine = GpuEngine::new(device, &samples, &parameters, &hyperparameters, options)?;
    let order: Vec<u32> = (0..count as u32).collect();
    engine.train(&order, 0, &mut |_, _| ControlFlow::Continue(()))?;
    engine.evaluate_training_samples()?;
    Ok(())
}

fn run_product(device: &Device, kernel: &str) -> Result<Option<String>> {
    let what = format!("X·Xᵀ for {ROWS} × {COLUMNS} by one block of {} threads", product::THREADS);
    if kernel == RESIDENT_PRODUCT {
        let (x, mut out) = (device.buffer_from_slice(&values::<f32>())?, device.uninitialized(ROWS * ROWS)?);
        let (rows, columns, depth) = (ROWS as u32, COLUMNS as u32, COLUMNS as u32 / 2);
        let shared_bytes = depth * product::resident_stride(rows) * size_of::<F32x4>() as u32;
        let config = LaunchConfig::new(1, product::THREADS).with_dynamic_shared(shared_bytes);
        device.launch(&product::matmul_resident_f32, config, (&x, rows, columns, depth, &mut out))?;
        return Ok(Some(what));
    }
    if ONE_BLOCK_TENSOR_PRODUCTS.contains(&kernel) {
        match kernel == ONE_BLOCK_TENSOR_PRODUCTS[0] {
            true => run_rung::<f32>(device, Rung::OneBlockTensor)?,
            false => run_rung::<f64>(device, Rung::OneBlockTensor)?,
        }
        return Ok(Some(what));
    }
    if GRID_PRODUCTS.contains(&kernel) || kernel == DOUBLE_TENSOR_PRODUCT {
        match kernel {
            DOUBLE_TENSOR_PRODUCT => run_rung::<f64>(device, Rung::TensorCores)?,
            _ if kernel == GRID_PRODUCTS[0] => run_rung::<f32>(device, Rung::Grid)?,
            _ => run_rung::<f32>(device, Rung::TensorCores)?,
        }
        return Ok(Some(format!("X·Xᵀ for {ROWS} × {COLUMNS} by {} blocks", product::grid_tiles(ROWS as u32))));
    }
    macro_rules! launch {
        ($($name:ident: $number:ty),* $(,)?) => {
            match kernel {
                $(stringify!($name) => {
                    let x: Vec<$number> = values();
                    let x = device.buffer_from_slice(&x)?;
                    let mut out = device.uninitialized::<$number>(ROWS * ROWS)?;
                    let config = LaunchConfig::new(1, product::THREADS);
                    device.launch(&product::$name, config, (&x, ROWS as u32, COLUMNS as u32, &mut out))?;
                })*
                _ => return Ok(None),
            }
        };
    }
    launch! {
        matmul_naive_f32: f32, matmul_naive_f64: f64, matmul_symmetric_f32: f32, matmul_symmetric_f64: f64,
        matmul_tiles_f32: f32, matmul_tiles_f64: f64, matmul_registers_f32: f32, matmul_registers_f64: f64,
        matmul_kernel_f32: f32, matmul_kernel_f64: f64,
    }
    Ok(Some(what))
}

/// Launches a rung's kernel.
fn run_rung<F: MatmulElement + From<u8>>(device: &Device, rung: Rung) -> Result<()> {
    let x = Array2::from_shape_vec((ROWS, COLUMNS), values::<F>())?;
    Ok(MatmulGpu::new(device, &x)?.launch(rung)?)
}

const ROWS: usize = 784;
const COLUMNS: usize = 128;

/// `ROWS` × `COLUMNS` values.
fn values<F: Element + From<u8>>() -> Vec<F> {
    (0..ROWS * COLUMNS).map(|i| F::from((i * 7919 % 251) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_compiled_kernel_can_be_profiled() {
        for variant in gpu_testing::fresh_ptx(&kernels_gpu::PTX) {
            let entries = variant.text().split(".visible .entry ").skip(1).filter_map(|entry| entry.split('(').next());
            let (mut compiled, mut known): (Vec<&str>, Vec<&str>) = (entries.collect(), names());
            // The kernels for clusters and tensor cores are compiled only for the architectures
            // that have them.
            let since = |kernel: &str| match kernel {
                _ if kernel.contains("cluster") => (9, 0),
                _ if ["tensor", "train_small"].iter().any(|part| kernel.contains(part)) => (8, 0),
                _ => (0, 0),
            };
            known.retain(|kernel| variant.compute_capability() >= since(kernel));
            compiled.sort_unstable();
            known.sort_unstable();
            assert_eq!(known, compiled);
        }
    }
}
