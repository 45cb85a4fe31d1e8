//! The simulator's speed on the course's problems: `cargo run -p cuda_std --example simulator_speed`.

use std::time::{Duration, Instant};

use cuda_std::LaunchConfig;
use cuda_std::simulator::{self, LaunchError, Options, SimulatorBuffer};

fn main() -> Result<(), LaunchError> {
    let a = SimulatorBuffer::from_slice(&(0..1_000_000).map(|i| (i * 7 % 1001) as f32).collect::<Vec<_>>());
    let b = SimulatorBuffer::from_slice(&(0..1_000_000).map(|i| (i * 13 % 997) as f32).collect::<Vec<_>>());
    let x = SimulatorBuffer::from_slice(&(0..784 * 128).map(|i| (i * 31 % 17) as f32 - 8.0).collect::<Vec<_>>());
    for check_races in [false, true] {
        let options = Options { check_races, ..Options::default() };
        let mut out = SimulatorBuffer::uninitialized(1_000_000);
        let maximum = fastest(5, || {
            let arguments = (&a, &b, &mut out);
            simulator::launch_with(options.clone(), &test_kernels::vector_max, LaunchConfig::new(1000, 1000), arguments)
        })?;
        let mut out = SimulatorBuffer::uninitialized(784 * 784);
        let product = fastest(2, || {
            let arguments = (&x, 784, 128, &mut out);
            simulator::launch_with(
                options.clone(),
                &test_kernels::matmul_transpose,
                LaunchConfig::new(1, (32, 32)),
                arguments,
            )
        })?;
        println!("race checks {check_races}: maximum of 1000 × 1000 {maximum:?}, X·Xᵀ of 784 × 128 {product:?}");
    }
    Ok(())
}

/// The time of the fastest of `repeats` runs.
fn fastest<R>(repeats: usize, mut run: impl FnMut() -> Result<R, LaunchError>) -> Result<Duration, LaunchError> {
    let mut fastest = Duration::MAX;
    for _ in 0..repeats {
        let start = Instant::now();
        run()?;
        fastest = fastest.min(start.elapsed());
    }
    Ok(fastest)
}
