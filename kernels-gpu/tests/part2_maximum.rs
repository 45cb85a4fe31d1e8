//! The maximum kernels are correct on the simulator, with all its checks, for any size and launch configuration.

use cuda_std::LaunchConfig;
use cuda_std::simulator::{self, SimulatorBuffer};
use kernels_gpu::maximum::{max_kernel, max_quads_kernel};
use proptest::prelude::*;

macro_rules! maximum {
    ($kernel:ident, $a:expr, $b:expr, $config:expr) => {{
        let (a, b) = (SimulatorBuffer::from_slice($a), SimulatorBuffer::from_slice($b));
        let mut out = SimulatorBuffer::uninitialized(a.len());
        let report = simulator::launch(&$kernel, $config, (&a, &b, &mut out)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(report.global_stores, a.len() as u64, "each element is stored once");
        out.to_vec()
    }};
}

/// The homework's launch, 1000 blocks of 1000 threads, and that of quads.
#[test]
fn part2_max_kernel_is_right_in_the_homeworks_launch() {
    let a: Vec<i32> = (0..1_000_000).map(|i| i % 256 * 7919 % 256).collect();
    let b: Vec<i32> = (0..1_000_000).map(|i| i % 256 * 104_729 % 256).collect();
    let expected: Vec<i32> = a.iter().zip(&b).map(|(&a, &b)| a.max(b)).collect();
    assert!(maximum!(max_kernel, &a, &b, LaunchConfig::new(1000, 1000)) == expected);
    assert!(maximum!(max_quads_kernel, &a, &b, LaunchConfig::new(250, 1000)) == expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn part2_max_kernel_is_right_for_any_size_and_launch(
        pairs in prop::collection::vec((any::<i32>(), any::<i32>()), 0..3000),
        blocks in 1_u32..5,
        threads in 1_u32..300,
    ) {
        let (a, b): (Vec<i32>, Vec<i32>) = pairs.iter().copied().unzip();
        let expected: Vec<i32> = pairs.iter().map(|&(a, b)| a.max(b)).collect();
        let config = LaunchConfig::new(blocks, threads);
        prop_assert_eq!(&maximum!(max_kernel, &a, &b, config), &expected);
        prop_assert_eq!(maximum!(max_quads_kernel, &a, &b, config), expected);
    }
}
