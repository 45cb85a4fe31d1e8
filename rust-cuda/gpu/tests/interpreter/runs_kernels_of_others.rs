//! Kernels in the style of other projects give the right results in the simulator and compiled.

use crate::interpreters::same_everywhere;
use cuda_std::LaunchConfig;
use proptest::collection::vec;
use proptest::prelude::*;
use test_kernels::others::*;

/// Equal for all NaNs.
fn bits(x: f32) -> u32 {
    if x.is_nan() { u32::MAX } else { x.to_bits() }
}

fn long_bits(x: f64) -> u64 {
    if x.is_nan() { u64::MAX } else { x.to_bits() }
}

/// Floats of every magnitude and sign, and the special ones.
fn floats() -> impl Strategy<Value = f32> {
    static EDGES: [f32; 11] =
        [0.0, -0.0, 1.0, -1.0, f32::MIN_POSITIVE, 1e-45, f32::MAX, f32::INFINITY, f32::NAN, 0.1, 7.0];
    prop_oneof![any::<u32>().prop_map(f32::from_bits), -100.0_f32..100.0, proptest::sample::select(&EDGES[..])]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn remainders_are_exact(x in vec(floats(), 200), y in vec(floats(), 200)) {
        let found = same_everywhere(&remainders, |device| {
            let (x, y) = (device.buffer_from_slice(&x).unwrap(), device.buffer_from_slice(&y).unwrap());
            let mut out = device.uninitialized(200 * REMAINDERS).unwrap();
            device.launch(&remainders, LaunchConfig::for_elements(200, 64), (&x, &y, &mut out)).unwrap();
            out.to_vec().unwrap().into_iter().map(bits).collect::<Vec<_>>()
        });
        for (found, (&x, &y)) in found.chunks(REMAINDERS).zip(x.iter().zip(&y)) {
            prop_assert_eq!(found, &[x % y, x % 0.7, 5.0 % y].map(bits)[..], "{} and {}", x, y);
        }
        let (x, y): (Vec<f64>, Vec<f64>) = x.iter().zip(&y).map(|(x, y)| (f64::from(*x) * 1.1, f64::from(*y) / 3.0)).unzip();
        let found = same_everywhere(&remainders_f64, |device| {
            let (x, y) = (device.buffer_from_slice(&x).unwrap(), device.buffer_from_slice(&y).unwrap());
            let mut out = device.uninitialized(200 * REMAINDERS).unwrap();
            device.launch(&remainders_f64, LaunchConfig::for_elements(200, 64), (&x, &y, &mut out)).unwrap();
            out.to_vec().unwrap().into_iter().map(long_bits).collect::<Vec<_>>()
        });
        for (found, (&x, &y)) in found.chunks(REMAINDERS).zip(x.iter().zip(&y)) {
            prop_assert_eq!(found, &[x % y, x % 0.7, 5.0 % y].map(long_bits)[..], "{} and {}", x, y);
        }
    }

    #[test]
    fn remainders_beside_quotients_are_exact(x in vec(floats(), 100), y in vec(floats(), 100)) {
        // Computed by the simulator, which uses the host's `%`.
        let found = same_everywhere(&beside_quotients, |device| {
            let (x, y) = (device.buffer_from_slice(&x).unwrap(), device.buffer_from_slice(&y).unwrap());
            let mut out = device.uninitialized(100 * BESIDE_QUOTIENTS).unwrap();
            device.launch(&beside_quotients, LaunchConfig::for_elements(100, 64), (&x, &y, 5, &mut out)).unwrap();
            out.to_vec().unwrap().into_iter().map(bits).collect::<Vec<_>>()
        });
        for (found, (&x, &y)) in found.chunks(BESIDE_QUOTIENTS).zip(x.iter().zip(&y)) {
            let own = x - y * (x / y).trunc();
            prop_assert_eq!(&found[..5], &[x / y, x % y, (x / y).trunc(), own, x % 3.0].map(bits)[..], "{} and {}", x, y);
        }
        let (x, y): (Vec<f64>, Vec<f64>) = x.iter().zip(&y).map(|(x, y)| (f64::from(*x) * 1.1, f64::from(*y) / 3.0)).unzip();
        same_everywhere(&beside_quotients_f64, |device| {
            let (x, y) = (device.buffer_from_slice(&x).unwrap(), device.buffer_from_slice(&y).unwrap());
            let mut out = device.uninitialized(100 * BESIDE_QUOTIENTS).unwrap();
            device.launch(&beside_quotients_f64, LaunchConfig::for_elements(100, 64), (&x, &y, 5, &mut out)).unwrap();
            out.to_vec().unwrap().into_iter().map(long_bits).collect::<Vec<_>>()
        });
    }

    #[test]
    fn functions_of_floats_have_the_same_bits(x in vec(floats(), 64)) {
        let x: Vec<f64> = x.iter().map(|x| f64::from(*x) / 3.0).collect();
        same_everywhere(&float_functions_f64, |device| {
            let input = device.buffer_from_slice(&x).unwrap();
            let mut out = device.uninitialized(64).unwrap();
            device.launch(&float_functions_f64, LaunchConfig::for_elements(64, 64), (&input, &mut out)).unwrap();
            out.to_vec().unwrap().into_iter().map(long_bits).collect::<Vec<_>>()
        });
    }
}

#[test]
fn remainders_of_the_first_report() {
    let x = [1.0_f32, 2.0, 6.0, 8.0, 100.0, 1e10, 1e8, 1e30];
    let y = [0.1_f32, 0.2, 0.6, 0.8, 0.1, 3.0, 0.7, 7.0];
    let found = same_everywhere(&remainders, |device| {
        let (x, y) = (device.buffer_from_slice(&x).unwrap(), device.buffer_from_slice(&y).unwrap());
        let mut out = device.uninitialized(8 * REMAINDERS).unwrap();
        device.launch(&remainders, LaunchConfig::new(1, 32), (&x, &y, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    let found: Vec<f32> = found.chunks(REMAINDERS).map(|each| each[0]).collect();
    assert_eq!(
        found,
        [0.099_999_99, 0.199_999_97, 0.599_999_8, 0.799_999_9, 0.099_998_51, 1.0, 0.202_989_88, 1e30 % 7.0]
    );
}

#[test]
fn arrays_are_compared() {
    let a: Vec<u32> =
        [[1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 9], [5, 0, 0, 0, 4, 9, 9, 9], [256, 0, 0, 0, 1, 0, 0, 0]]
            .concat();
    let found = same_everywhere(&compares_arrays, |device| {
        let input = device.buffer_from_slice(&a).unwrap();
        let mut out = device.uninitialized(4).unwrap();
        device.launch(&compares_arrays, LaunchConfig::new(1, 32), (&input, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    // Counts bytes: 256 begins with 0.
    assert_eq!(found, [3, 2, 0, 2]);
}

#[test]
fn a_shared_array_has_a_constant_of_the_function() {
    let x: Vec<f32> = (0..128).map(|i| i as f32).collect();
    let found = same_everywhere(&tile_of_the_function, |device| {
        let input = device.buffer_from_slice(&x).unwrap();
        let mut out = device.uninitialized(128).unwrap();
        device.launch(&tile_of_the_function, LaunchConfig::new(2, 64), (&input, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    let expected: Vec<f32> = (0..64).rev().chain((64..128).rev()).map(|i| i as f32).collect();
    assert_eq!(found, expected);
}

#[test]
fn warps_go_on_without_lanes_that_have_returned() {
    let found = same_everywhere(&rotate, |device| {
        let mut out = device.uninitialized(32).unwrap();
        device.launch(&rotate, LaunchConfig::new(1, 32), (&mut out,)).unwrap();
        out.to_vec().unwrap()
    });
    assert_eq!(found, (0..32).map(|i| 10 * ((i + 1) % 32)).collect::<Vec<u32>>());
    let x: Vec<u32> = (0..40).collect();
    let found = same_everywhere(&vote_after_return, |device| {
        let input = device.buffer_from_slice(&x).unwrap();
        let mut out = device.uninitialized(40).unwrap();
        device.launch(&vote_after_return, LaunchConfig::new(2, 32), (&input, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    assert_eq!(&found[32..], [0x92; 8]);
}

#[test]
fn an_atomic_sum_has_no_subnormal_numbers() {
    for (x, start, sum) in
        [([1e-40_f32, 1e-40], 0.0, 0.0_f32), ([-1e-40, -0.0], -0.0, -0.0), ([1e-38, 1e-40], 2.0, 2.0)]
    {
        let found = same_everywhere(&atomic_total, |device| {
            let input = device.buffer_from_slice(&x).unwrap();
            let mut out = device.buffer_from_slice(&[start]).unwrap();
            device.launch(&atomic_total, LaunchConfig::new(1, 32), (&input, &mut out)).unwrap();
            out.to_vec().unwrap()[0].to_bits()
        });
        assert_eq!(found, sum.to_bits(), "{x:?}");
    }
}

#[test]
fn a_local_array_may_be_large() {
    let x: Vec<f32> = (0..100).map(|k| k as f32).collect();
    let found = same_everywhere(&large_local_array, |device| {
        let input = device.buffer_from_slice(&x).unwrap();
        let mut out = device.uninitialized(3).unwrap();
        device.launch(&large_local_array, LaunchConfig::new(1, 3), (&input, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    assert_eq!(found, [4917.0, 4917.0, 5016.0]);
}

#[test]
fn names_and_fragments_keep_their_meaning() {
    let x = [1.0_f32, 2.0, 3.0];
    let found = same_everywhere(&sum, |device| {
        let input = device.buffer_from_slice(&x).unwrap();
        let mut out = device.uninitialized(1).unwrap();
        device.launch(&sum, LaunchConfig::new(1, 1), (&input, 10, 20, &input, 30, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    assert_eq!(found, [74.0]);
    let found = same_everywhere(&twice_the_sum, |device| {
        let input = device.buffer_from_slice(&x).unwrap();
        let mut out = device.uninitialized(3).unwrap();
        device.launch(&twice_the_sum, LaunchConfig::new(1, 3), (&input, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    assert_eq!(found, [4.0, 6.0, 8.0]);
    let found = same_everywhere(&axpy_f64, |device| {
        let input = device.buffer_from_slice(&[1.0_f64, 2.0]).unwrap();
        let mut y = device.buffer_from_slice(&[10.0_f64, 20.0]).unwrap();
        device.launch(&axpy_f64, LaunchConfig::new(1, 32), (0.5, &input, &mut y)).unwrap();
        y.to_vec().unwrap()
    });
    assert_eq!(found, [10.5, 21.0]);
    let found = same_everywhere(&axpy_f32, |device| {
        let input = device.buffer_from_slice(&x).unwrap();
        let mut y = device.buffer_from_slice(&x).unwrap();
        device.launch(&axpy_f32, LaunchConfig::new(1, 32), (2.0, &input, &mut y)).unwrap();
        y.to_vec().unwrap()
    });
    assert_eq!(found, [3.0, 6.0, 9.0]);
}
