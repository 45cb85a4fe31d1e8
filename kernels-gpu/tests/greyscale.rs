//! The greyscale kernels are correct on the simulator, with all its checks, for any size and launch configuration.

use cuda_std::simulator::{self, LaunchReport, SimulatorBuffer};
use cuda_std::{F32x4, LaunchConfig};
use kernels_gpu::greyscale::*;
use proptest::prelude::*;

/// `values` as a buffer of quads; their count is a multiple of four.
fn buffer(values: &[f32]) -> SimulatorBuffer<F32x4> {
    let quads: Vec<F32x4> = values.as_chunks::<4>().0.iter().map(|quad| F32x4::from(*quad)).collect();
    SimulatorBuffer::from_slice(&quads)
}

/// The `length` floats that `launch` writes; asserts that it stores each quad exactly once.
fn written(
    length: usize,
    launch: impl FnOnce(&mut SimulatorBuffer<F32x4>) -> Result<LaunchReport, simulator::LaunchError>,
) -> Vec<f32> {
    let mut out = SimulatorBuffer::uninitialized(length / 4);
    let report = launch(&mut out).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.global_stores, length as u64 / 4, "each quad is stored once");
    out.to_vec().into_iter().flat_map(F32x4::to_array).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn greyscale_kernels_are_right_for_any_size_and_launch(
        quads in prop::collection::vec(prop::array::uniform4((0..256_u16, -2.0..2.0_f32)), 0..500),
        threads in 1_u32..300,
        more_blocks in 0_u32..3,
    ) {
        let (x, w): (Vec<f32>, Vec<f32>) = quads.iter().flatten().map(|&(x, w)| (f32::from(x), w)).unzip();
        let (x_buffer, w_buffer, length) = (buffer(&x), buffer(&w), x.len());
        let mut config = LaunchConfig::for_elements(length / 4, threads);
        config.grid.x += more_blocks;

        let normalized = written(length, |out| simulator::launch(&normalize_kernel, config, (&x_buffer, out)));
        let expected: Vec<f32> = x.iter().map(|x| x / 255.0).collect();
        prop_assert_eq!(normalized, expected);
        let weighed = written(length, |out| simulator::launch(&weigh_kernel, config, (&x_buffer, &w_buffer, out)));
        let expected: Vec<f32> = x.iter().zip(&w).map(|(x, w)| x * w).collect();
        prop_assert_eq!(&weighed, &expected);

        let activated = written(length, |out| simulator::launch(&activate_kernel, config, (&w_buffer, out)));
        for (w, got) in w.iter().zip(activated) {
            let exact = f64::from(*w).tanh();
            prop_assert!((f64::from(got) - exact).abs() <= 3e-7 && got.abs() <= 1.0, "tanh {w}: {got}");
        }
        let fused = written(length, |out| {
            simulator::launch(&normalize_weigh_activate_kernel, config, (&x_buffer, &w_buffer, out))
        });
        let fast = written(length, |out| {
            simulator::launch(&normalize_weigh_activate_fast_kernel, config, (&x_buffer, &w_buffer, out))
        });
        for (((x, w), fused), fast) in x.iter().zip(&w).zip(fused).zip(fast) {
            let exact = (f64::from(*x) / 255.0 * f64::from(*w)).tanh();
            prop_assert!((f64::from(fused) - exact).abs() <= 3e-7, "{x}, {w}: {fused} instead of {exact}");
            prop_assert!((f64::from(fast) - exact).abs() <= 5e-4, "{x}, {w}: {fast} instead of {exact}");
        }
    }
}

/// Every 9973rd float from 1e-30 to 20, some outside that range, and all of them negated.
#[test]
fn greyscale_activate_kernel_is_accurate_over_the_f32_range() {
    let mut x: Vec<f32> = (1e-30_f32.to_bits()..20_f32.to_bits()).step_by(9973).map(f32::from_bits).collect();
    x.extend([1e30, f32::MAX, f32::INFINITY, 0.0]);
    x.extend(x.clone().iter().map(|x| -x));
    x.push(f32::NAN);
    x.resize(x.len().next_multiple_of(4), 0.0);
    let config = LaunchConfig::for_elements(x.len() / 4, 256);
    let got = written(x.len(), |out| simulator::launch(&activate_kernel, config, (&buffer(&x), out)));
    for (&x, got) in x.iter().zip(got) {
        let exact = f64::from(x).tanh();
        let agrees =
            (f64::from(got) - exact).abs() <= 5e-7 * exact.abs() && got.is_sign_negative() == x.is_sign_negative();
        assert!(agrees && got.abs() <= 1.0 || x.is_nan() && got.is_nan(), "tanh {x}: {got} instead of {exact}");
    }
}
