//! Monte Carlo, N-body, attention, and a matrix product on tensor cores.

use cuda_std::half::{bf16, f16};
use cuda_std::matrix::Tf32;
use cuda_std::{F32x4, LaunchConfig};
use test_kernels::teaching::attention::{self, WIDTH, attention};
use test_kernels::teaching::simulations::{THREADS, count_hits_for_pi, n_body, philox};
use test_kernels::tensor_cores::matmul_by_tiles;

use super::{bits, floats, words};
use crate::interpreters::same_everywhere;

/// The known answers from the generator's authors (Random123, `kat_vectors`).
#[test]
fn philox_has_the_known_answers() {
    for (counter, key, expected) in [
        ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
        ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        (
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        ),
    ] {
        assert_eq!(philox(counter, key), expected);
    }
}

#[test]
fn pi_by_monte_carlo() {
    for (blocks, threads, draws) in [(1, 1, 0), (1, 1, 1), (2, 33, 3), (8, 256, 8)] {
        let key = [2026, 7];
        let hits = same_everywhere(&count_hits_for_pi, |device| {
            let mut hits = device.zeroed(1).unwrap();
            device.launch(&count_hits_for_pi, LaunchConfig::new(blocks, threads), (key, draws, &mut hits)).unwrap();
            hits.to_vec().unwrap()[0]
        });
        let counters = (0..blocks * threads).flat_map(|thread| (0..draws).map(move |draw| [draw, thread, 0, 0]));
        let points = counters.flat_map(|counter| {
            let [a, b, c, d] = philox(counter, key).map(|word| u128::from(word / 2));
            [[a, b], [c, d]]
        });
        let expected = points.filter(|[x, y]| x * x + y * y < 1 << 62).count() as u64;
        assert_eq!(hits, expected, "{blocks} × {threads}, {draws} draws");
        if draws == 8 {
            // The standard deviation of the estimate is 4 · √(p · (1 − p) / points) = 0.009.
            let estimate = 4.0 * hits as f64 / f64::from(2 * blocks * threads * draws);
            assert!((estimate - std::f64::consts::PI).abs() < 0.03, "{estimate}");
        }
    }
}

#[test]
fn n_bodies() {
    let softening = 0.05f32;
    for count in [0, 1, 2, 63, 64, 65, 130] {
        let bodies: Vec<F32x4> =
            floats(4 * count, 40).chunks(4).map(|four| F32x4::new(four[0], four[1], four[2], four[3].abs())).collect();
        let found = same_everywhere(&n_body, |device| {
            let (bodies, mut out) = (device.buffer_from_slice(&bodies).unwrap(), device.uninitialized(count).unwrap());
            let config = LaunchConfig::for_elements(count, THREADS as u32);
            device.launch(&n_body, config, (&bodies, softening, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        let mut momentum = [0.0; 3];
        for (own, found) in bodies.iter().zip(&found) {
            let mut sum = [0.0f32; 3];
            for other in &bodies {
                let [dx, dy, dz] = [other.x - own.x, other.y - own.y, other.z - own.z];
                let square = dx * dx + dy * dy + dz * dz + softening * softening;
                let factor = other.w / (square * square.sqrt());
                sum = [sum[0] + dx * factor, sum[1] + dy * factor, sum[2] + dz * factor];
            }
            assert_eq!(bits(&found.to_array()), bits(&[sum[0], sum[1], sum[2], 0.0]), "{count} bodies");
            for (axis, momentum) in momentum.iter_mut().enumerate() {
                *momentum += f64::from(own.w) * f64::from(found.to_array()[axis]);
            }
        }
        // Action equals reaction.
        assert!(momentum.iter().all(|sum| sum.abs() < 1e-2), "{count} bodies: {momentum:?}");
    }
}

/// Within 10⁻⁵ for values of at most 1: the error of a score of at most 64 changes a weight by up
/// to 64 units in the last place.
#[test]
fn attention_of_one_head() {
    for (queries, keys, size) in [(0, 1, 1.0), (1, 1, 1.0), (31, 33, 1.0), (33, 32, 4.0), (40, 100, 4.0)] {
        let q: Vec<f32> = floats(queries * WIDTH, 41).iter().map(|x| size * x).collect();
        let k: Vec<f32> = floats(keys * WIDTH, 42).iter().map(|x| size * x).collect();
        let v = floats(keys * WIDTH, 43);
        let found = same_everywhere(&attention, |device| {
            let (q, mut out) = (device.buffer_from_slice(&q).unwrap(), device.uninitialized(q.len()).unwrap());
            let (k, v) = (device.buffer_from_slice(&k).unwrap(), device.buffer_from_slice(&v).unwrap());
            let config = LaunchConfig::for_elements(queries, attention::THREADS as u32);
            device.launch(&attention, config, (&q, &k, &v, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        for (query, found) in q.chunks(WIDTH).zip(found.chunks(WIDTH)) {
            let product = |key: &[f32]| query.iter().zip(key).map(|(&q, &k)| f64::from(q) * f64::from(k)).sum::<f64>();
            let scores: Vec<f64> = k.chunks(WIDTH).map(|key| product(key) / (WIDTH as f64).sqrt()).collect();
            let sum: f64 = scores.iter().map(|score| score.exp()).sum();
            for (column, found) in found.iter().enumerate() {
                let weighted = scores.iter().zip(v.chunks(WIDTH)).map(|(s, v)| s.exp() / sum * f64::from(v[column]));
                let expected: f64 = weighted.sum();
                assert!(
                    (f64::from(*found) - expected).abs() <= 1e-5,
                    "{queries} queries, {keys} keys: {found}, not {expected}"
                );
            }
        }
    }
}

/// a · b for (rows, columns, depth).
macro_rules! product {
    ($kernel:expr, $a:expr, $b:expr, $sizes:expr) => {
        same_everywhere(&$kernel, |device| {
            let (a, b) = (device.buffer_from_slice($a).unwrap(), device.buffer_from_slice($b).unwrap());
            let (rows, columns, depth) = $sizes;
            let mut d = device.uninitialized(rows * columns).unwrap();
            let config = LaunchConfig::new((columns.div_ceil(8) as u32, rows.div_ceil(16) as u32), 32);
            let size = [rows, columns, depth].map(|size| size as u32);
            device.launch(&$kernel, config, (&a, &b, size, &mut d)).unwrap();
            d.to_vec().unwrap()
        })
    };
}

/// Small integers have exact sums regardless of the tensor cores' unspecified rounding order.
#[test]
fn a_product_on_tensor_cores() {
    for (rows, columns, depth) in [(1, 1, 1), (16, 8, 16), (17, 9, 15), (5, 20, 50), (40, 8, 0)] {
        let integers = |count, seed| words(count, seed).iter().map(|word| (word % 17) as f32 - 8.0).collect();
        let (a, b): (Vec<f32>, Vec<f32>) = (integers(rows * depth, 44), integers(depth * columns, 45));
        let sizes = (rows, columns, depth);
        let found = [
            product!(matmul_by_tiles::<f16>, &a, &b, sizes),
            product!(matmul_by_tiles::<bf16>, &a, &b, sizes),
            product!(matmul_by_tiles::<Tf32>, &a, &b, sizes),
        ];
        let sum = |i: usize| (0..depth).map(|k| a[i / columns * depth + k] * b[k * columns + i % columns]).sum();
        let expected: Vec<f32> = (0..rows * columns).map(sum).collect();
        for found in found {
            assert_eq!(found, expected, "{rows} × {columns} × {depth}");
        }
    }
}
