//! Benchmarks the correlation of a 1000 × 1000 image with kernels of several sizes, separable and not.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use filters::picture::drawing;
use filters::{correlation_rayon, sobel_operator};
use ndarray::{Array2, ArrayRef2};
use rayon::ThreadPoolBuilder;

const SIDE: usize = 1000;

/// A kernel that is not separable.
fn kernel(side: usize) -> Array2<f32> {
    Array2::from_shape_fn((side, side), |(u, v)| 1.0 / (1 + u * u + 2 * v) as f32)
}

fn correlation(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("correlation");
    group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(600));
    group.throughput(Throughput::Elements((SIDE * SIDE) as u64));
    let one_thread = ThreadPoolBuilder::new().num_threads(1).build().expect("one thread can be started");
    let bytes = drawing(SIDE, SIDE);
    let image = bytes.mapv(f32::from);
    let mut both = |name: &str, work: &(dyn Fn() -> Array2<f32> + Sync)| {
        group.bench_function(BenchmarkId::new("one thread", name), |bencher| {
            one_thread.install(|| bencher.iter(work));
        });
        group.bench_function(BenchmarkId::new("all threads", name), |bencher| bencher.iter(work));
    };
    for side in [3, 5, 7, 11, 15] {
        let kernel = kernel(side);
        both(&format!("{side}x{side}"), &|| correlation_rayon(&kernel, &image));
    }
    let of_filter = |kernel: &ArrayRef2<f32>| correlation_rayon(kernel, &image);
    both("sobel", &|| of_filter(&filters::SOBEL.kernel()));
    both("sobel_5x5", &|| of_filter(&filters::SOBEL_5X5.kernel()));
    both("5x5 of u8", &|| correlation_rayon(&kernel(5), &bytes));
    both("sobel_operator", &|| sobel_operator(&filters::SOBEL.kernel(), &image));
}

criterion_group!(benches, correlation);
criterion_main!(benches);
