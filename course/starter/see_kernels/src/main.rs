//! Given: `cargo profile KERNEL` and `cargo debug KERNEL`. The launches are small, so that you see all of them; change their sizes as you like.

use std::process::ExitCode;

use kernel_tools::Kernel;
// part: any with kernels
use ndarray::Array2;
use teaching_tests::call;
// end part

fn main() -> ExitCode {
    let mut kernels: Vec<Kernel> = Vec::new();
    // part: max_functions
    kernels.push(Kernel {
        name: "max_kernel",
        package: "max_functions",
        module: "kernel",
        launch: "the maximum of two 40 × 60 matrices",
        run: |device| {
            let [a, b] =
                [7, 31].map(|factor| Array2::from_shape_fn((40, 60), |(i, j)| (60 * i + j) as i32 * factor % 256));
            call(|| max_functions::max_gpu(device, &a, &b)).map(drop)
        },
    });
    // end part
    // part: matmul_functions
    kernels.push(Kernel {
        name: "matmul_kernel",
        package: "matmul_functions",
        module: "kernel",
        launch: "X·Xᵀ for 48 × 40",
        run: |device| {
            let x = Array2::from_shape_fn((48, 40), |(i, j)| (40 * i + j) as f32);
            call(|| matmul_functions::matmul_transpose_gpu(device, &x)).map(drop)
        },
    });
    // end part
    // part: activation_functions
    for name in ["normalize_kernel", "weigh_kernel", "activate_kernel"] {
        kernels.push(Kernel {
            name,
            package: "activation_functions",
            module: "kernels",
            launch: "1000 greyscale values",
            run: |device| {
                let x: Vec<f32> = (0..1000).map(|i| (i % 256) as f32).collect();
                let w: Vec<f32> = (0..1000).map(|i| (i % 101) as f32 / 100.0).collect();
                call(|| activation_functions::activation_gpu(device, &x, &w)).map(drop)
            },
        });
    }
    // end part
    // part: filters
    kernels.push(Kernel {
        name: "correlation_kernel",
        package: "filters",
        module: "kernel",
        launch: "a 3 × 3 kernel and an image of 24 × 40",
        run: |device| {
            let image = Array2::from_shape_fn((24, 40), |(i, j)| ((40 * i + j) * 7 % 256) as f32);
            let kernel = Array2::from_shape_fn((3, 3), |(u, v)| (u + v) as f32);
            call(|| filters::correlation_gpu(device, &kernel, &image)).map(drop)
        },
    });
    // end part
    // part: learn
    kernels.extend(learn_kernels());
    // end part
    kernel_tools::run(&kernels)
}
// part: learn

/// The kernels of docs/learn, with the inputs for which its pages have counts: so that yours compare with the page's table.
fn learn_kernels() -> [Kernel; 10] {
    use gpu::LaunchConfig;
    use learn::checks::*;
    macro_rules! kernel {
        ($module:ident :: $name:ident, $check:ident, $size:expr, $config:expr) => {
            Kernel {
                name: stringify!($name),
                package: "learn",
                module: stringify!($module),
                launch: concat!("the launch of its page in docs/learn, size ", $size),
                run: |device| {
                    $check(device, $size, |arguments| device.launch(&learn::$module::$name, $config, arguments))
                        .map(drop)
                },
            }
        };
    }
    [
        kernel!(step01_index::double, doubles, 10_000, blocks(10_000, 256)),
        kernel!(step02_grid_stride::saxpy, computes_saxpy, 100_000, LaunchConfig::new(8, 256)),
        kernel!(step03_rows_and_columns::add_row, adds_a_row, 256, blocks(shape(256).0 * shape(256).1, 256)),
        kernel!(step04_atomics::histogram, counts_values, 100_000, blocks(100_000_usize.div_ceil(16), 256)),
        kernel!(step05_shared_memory::average, averages, 100_000, blocks(100_000, 256)),
        kernel!(step06_tree::sum_by_halves, sums_blocks, 100_000, blocks(100_000, 256)),
        kernel!(step07_shuffles::sum_by_shuffles, sums_blocks, 100_000, blocks(100_000, 256)),
        kernel!(step08_transposition::transpose, transposes, 512, tiles(shape(512), 32)),
        kernel!(step09_tiles::product_by_tiles, multiplies, 122, tiles((122, 122), 16)),
        kernel!(step10_double_buffer::product_double_buffered, multiplies, 122, tiles((122, 122), 16)),
    ]
}
// end part
