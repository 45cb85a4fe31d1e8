//! Benchmarks normalizing, weighting and activating greyscale values on all of rayon's threads, in
//! three steps and in one pass.
//!
//! `cargo bench -p activation_functions` takes about 20 seconds.

use std::hint::black_box;
use std::time::{Duration, Instant};

use activation_functions::{LengthMismatch, activate_rayon, fused_rayon, normalize_rayon, weigh_rayon};
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Lengths that range from one that fits in L2 to one that exceeds all caches.
const LENGTHS: [usize; 3] = [10_000, 1_000_000, 10_000_000];

fn activation(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("activation");
    for length in LENGTHS {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let values: Vec<f32> = (0..length).map(|_| rng.random_range(0.0..255.0_f32).floor()).collect();
        let weights: Vec<f32> = (0..length).map(|_| rng.random_range(0.2..0.8)).collect();
        group.throughput(Throughput::Elements(length as u64)).sampling_mode(SamplingMode::Flat);
        group.bench_function(BenchmarkId::new("three steps", length), |bencher| {
            bencher.iter_custom(|calls| time(calls, || three_steps(black_box(&values), black_box(&weights))));
        });
        group.bench_function(BenchmarkId::new("fused", length), |bencher| {
            bencher.iter_custom(|calls| time(calls, || fused_rayon(black_box(&values), black_box(&weights))));
        });
    }
    group.finish();
}

/// The time of `calls` calls, without the time to free their results.
fn time<R>(calls: u64, mut work: impl FnMut() -> R) -> Duration {
    let one = |_| {
        let start = Instant::now();
        let result = black_box(work());
        let elapsed = start.elapsed();
        drop(result);
        elapsed
    };
    (0..calls).map(one).sum()
}

fn three_steps(values: &[f32], weights: &[f32]) -> Result<Vec<f32>, LengthMismatch> {
    Ok(activate_rayon(&weigh_rayon(&normalize_rayon(values), weights)?))
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2)).sample_size(30).nresamples(20_000);
    targets = activation
}
criterion_main!(benches);
