//! Benchmarks X·Xᵀ for several sizes: matrices of 128 columns, as in the homework, and square ones
//! too deep for the cache.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use matmul_functions::{MatmulElement, matmul_transpose_rayon, matmul_transpose_trivial};
use ndarray::Array2;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::ThreadPoolBuilder;

const SHAPES: [(usize, usize); 8] =
    [(250, 128), (500, 128), (784, 128), (2000, 128), (4000, 128), (250, 250), (1000, 1000), (2000, 2000)];
/// Maximum number of multiplications for which the slow three loops are measured.
const MAX_TRIVIAL_MULTIPLICATIONS: usize = 250 * 250 * 128;

fn product<F: MatmulElement>(criterion: &mut Criterion, name: &str)
where
    StandardNormal: Distribution<F>,
{
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_millis(300));
    let one_thread = ThreadPoolBuilder::new().num_threads(1).build().expect("one thread can be started");
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    for (rows, columns) in SHAPES {
        let x = Array2::<F>::from_shape_simple_fn((rows, columns), || StandardNormal.sample(&mut rng));
        let shape = format!("{rows}×{columns}");
        group.throughput(Throughput::Elements((rows * rows * columns) as u64));
        if rows * rows * columns <= MAX_TRIVIAL_MULTIPLICATIONS {
            group.bench_function(BenchmarkId::new("trivial", &shape), |bencher| {
                bencher.iter(|| matmul_transpose_trivial(&x));
            });
        }
        group.bench_function(BenchmarkId::new("one thread", &shape), |bencher| {
            one_thread.install(|| bencher.iter(|| matmul_transpose_rayon(&x)));
        });
        group.bench_function(BenchmarkId::new("all threads", &shape), |bencher| {
            bencher.iter(|| matmul_transpose_rayon(&x));
        });
    }
}

fn both_precisions(criterion: &mut Criterion) {
    product::<f32>(criterion, "product, f32");
    product::<f64>(criterion, "product, f64");
}

criterion_group!(benches, both_precisions);
criterion_main!(benches);
