//! Benchmarks the element-wise maximum for sizes with data in L2, in L3, and in newly mapped memory.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use max_functions::{max_cpu, max_rayon, random_matrix};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rayon::ThreadPoolBuilder;

const SIZES: [usize; 5] = [250, 500, 1000, 2000, 4000];
/// Largest size for which the slow two loops are measured.
const MAX_TRIVIAL_SIZE: usize = 500;

fn maximum(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("maximum");
    group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(600));
    let one_thread = ThreadPoolBuilder::new().num_threads(1).build().expect("one thread can be started");
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    for size in SIZES {
        let (a, b) = (random_matrix(size, size, &mut rng), random_matrix(size, size, &mut rng));
        group.throughput(Throughput::Elements((size * size) as u64));
        if size <= MAX_TRIVIAL_SIZE {
            group.bench_function(BenchmarkId::new("trivial", size), |bencher| {
                bencher.iter(|| max_cpu(&a, &b));
            });
        }
        group.bench_function(BenchmarkId::new("one thread", size), |bencher| {
            one_thread.install(|| bencher.iter(|| max_rayon(&a, &b)));
        });
        group.bench_function(BenchmarkId::new("all threads", size), |bencher| {
            bencher.iter(|| max_rayon(&a, &b));
        });
    }
}

criterion_group!(benches, maximum);
criterion_main!(benches);
