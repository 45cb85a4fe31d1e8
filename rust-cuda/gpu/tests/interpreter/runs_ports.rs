//! Ports of other projects' kernels match plain loops, Rust's 128-bit integers, and the crate
//! `sha2`.

use crate::interpreters::{of_pointers, on_every_device, same_everywhere};
use cuda_std::LaunchConfig;
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use test_kernels::ports::cuda_oxide::{
    NEIGHBOURS, SGEMM_SIDE, adds_neighbours, claims_once, scales, sgemm_by_elements, sgemm_by_tiles, shifts_and_scales,
    sums_by_butterfly,
};
use test_kernels::ports::rust_cuda::{GEMM_SIDE, gemm_by_elements, gemm_by_tiles, long_arithmetic};
use test_kernels::ports::sha256::{DIGEST, sha256_of_message, sha256_of_parts};

/// The product's sizes m, n and k: single elements, whole tiles, and sizes that are not multiples
/// of a tile's side.
const SIZES: [(usize, usize, usize); 4] = [(1, 1, 1), (16, 32, 16), (17, 5, 33), (9, 40, 0)];

/// Small integers with exact sums of products.
fn matrix(rows: usize, columns: usize, seed: usize) -> Vec<f32> {
    (0..rows * columns).map(|i| ((i * 7 + seed) % 11) as f32 - 5.0).collect()
}

/// 2 · A · B − 3 · C by three loops, where A is m × k and B is k × n.
fn product(a: &[f32], b: &[f32], c: &[f32], (m, n, k): (usize, usize, usize)) -> Vec<f32> {
    let mut out = Vec::new();
    for row in 0..m {
        for column in 0..n {
            let dot: f32 = (0..k).map(|p| a[row * k + p] * b[p * n + column]).sum();
            out.push(2.0 * dot - 3.0 * c[row * n + column]);
        }
    }
    out
}

/// Blocks of `side` × `side` threads, `along_x` elements along x and `along_y` along y.
fn squares(side: usize, along_x: usize, along_y: usize) -> LaunchConfig {
    let (blocks_x, blocks_y) = (along_x.div_ceil(side) as u32, along_y.div_ceil(side) as u32);
    LaunchConfig::new((blocks_x, blocks_y), (side as u32, side as u32))
}

#[test]
fn products_through_pointers() {
    // SAFETY: the matrices have the sizes that are passed.
    #[allow(unsafe_code)]
    let (gemm_by_elements, gemm_by_tiles) = unsafe { (gemm_by_elements(), gemm_by_tiles()) };
    for sizes @ (m, n, k) in SIZES {
        let (a, b, c) = (matrix(m, k, 1), matrix(k, n, 2), matrix(m, n, 3));
        let expected = product(&a, &b, &c, sizes);
        let by_elements = of_pointers(&gemm_by_elements, |device| {
            let (a, b) = (device.buffer_from_slice(&a).unwrap(), device.buffer_from_slice(&b).unwrap());
            let mut c = device.buffer_from_slice(&c).unwrap();
            let arguments = (&a, &b, &mut c, m, n, k, 2.0, -3.0);
            device.launch(&gemm_by_elements, squares(8, m, n), arguments)?;
            c.to_vec()
        });
        assert_eq!(by_elements, expected, "{sizes:?}");
        let by_tiles = of_pointers(&gemm_by_tiles, |device| {
            let (a, b) = (device.buffer_from_slice(&a).unwrap(), device.buffer_from_slice(&b).unwrap());
            let mut c = device.buffer_from_slice(&c).unwrap();
            let arguments = (&a, &b, &mut c, m, n, k, 2.0, -3.0);
            device.launch(&gemm_by_tiles, squares(GEMM_SIDE, m, n), arguments)?;
            c.to_vec()
        });
        assert_eq!(by_tiles, expected, "{sizes:?}, by tiles");
    }
}

#[test]
fn products_of_safe_kernels() {
    for sizes @ (m, n, k) in SIZES {
        let (a, b, c) = (matrix(m, k, 4), matrix(k, n, 5), matrix(m, n, 6));
        let expected = product(&a, &b, &c, sizes);
        let by_elements = same_everywhere(&sgemm_by_elements, |device| {
            let (a, b) = (device.buffer_from_slice(&a).unwrap(), device.buffer_from_slice(&b).unwrap());
            let mut c = device.buffer_from_slice(&c).unwrap();
            let arguments = (m as u32, n as u32, k as u32, 2.0, &a, &b, -3.0, &mut c);
            device.launch(&sgemm_by_elements, squares(8, n, m), arguments).unwrap();
            c.to_vec().unwrap()
        });
        assert_eq!(by_elements, expected, "{sizes:?}");
        let by_tiles = same_everywhere(&sgemm_by_tiles, |device| {
            let (a, b) = (device.buffer_from_slice(&a).unwrap(), device.buffer_from_slice(&b).unwrap());
            let mut c = device.buffer_from_slice(&c).unwrap();
            let arguments = (m as u32, n as u32, k as u32, 2.0, &a, &b, -3.0, &mut c);
            device.launch(&sgemm_by_tiles, squares(SGEMM_SIDE, n, m), arguments).unwrap();
            c.to_vec().unwrap()
        });
        assert_eq!(by_tiles, expected, "{sizes:?}, by tiles");
    }
}

/// 128-bit integers of every magnitude.
fn long_integers() -> impl Strategy<Value = u128> {
    prop_oneof![
        any::<u128>(),
        any::<u64>().prop_map(u128::from),
        (0..128u32).prop_map(|bit| 1 << bit),
        any::<u8>().prop_map(|x| !u128::from(x))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arithmetic_on_128_bits(pairs in prop::collection::vec((long_integers(), long_integers()), 1..100)) {
        let is_defined = |&(x, y): &(u128, u128)| y != 0 && (x as i128).checked_div(y as i128).is_some();
        let (a, b): (Vec<u128>, Vec<u128>) = pairs.into_iter().filter(is_defined).unzip();
        let count = a.len();
        // SAFETY: all results have as many elements as `a` and `b`.
        #[allow(unsafe_code)]
        let long_arithmetic = unsafe { long_arithmetic() };
        let results = of_pointers(&long_arithmetic, |device| {
            let (a, b) = (device.buffer_from_slice(&a).unwrap(), device.buffer_from_slice(&b).unwrap());
            let mut out: Vec<_> = (0..12).map(|_| device.uninitialized::<u128>(count).unwrap()).collect();
            let [sum, difference, product, and, xor, left, right, signed_right, quotient, signed_quotient, rest, signed_rest] =
                &mut out[..] else { unreachable!() };
            let arguments = (
                &a, &b, sum, difference, product, and, xor, left, right, signed_right, quotient, signed_quotient, rest,
                signed_rest,
            );
            device.launch(&long_arithmetic, LaunchConfig::for_elements(count, 64), arguments)?;
            out.iter().map(|out| out.to_vec()).collect::<Result<Vec<_>, _>>()
        });
        for (i, (x, y)) in a.into_iter().zip(b).enumerate() {
            let (count, signed_x, signed_y) = ((y % 128) as u32, x as i128, y as i128);
            let expected = [
                x.wrapping_add(y),
                x.wrapping_sub(y),
                x.wrapping_mul(y),
                x & y,
                x ^ y,
                x << count,
                x >> count,
                (signed_x >> count) as u128,
                x / y,
                (signed_x / signed_y) as u128,
                x % y,
                (signed_x % signed_y) as u128,
            ];
            for (operation, (result, expected)) in results.iter().zip(expected).enumerate() {
                prop_assert_eq!(result[i], expected, "operation {} on {:#x} and {:#x}", operation, x, y);
            }
        }
    }
}

#[test]
fn digests() {
    // SAFETY: the digest buffers have `DIGEST` bytes.
    #[allow(unsafe_code)]
    let (sha256_of_message, sha256_of_parts) = unsafe { (sha256_of_message(), sha256_of_parts()) };
    // 55 bytes are the maximum that fits in one block with the padding.
    for length in [0, 1, 55, 56, 64, 200] {
        let message: Vec<u8> = (0..length).map(|i| (i * 37 + 11) as u8).collect();
        let expected = Sha256::digest(&message).to_vec();
        let digest = of_pointers(&sha256_of_message, |device| {
            let (message, mut digest) =
                (device.buffer_from_slice(&message).unwrap(), device.uninitialized(DIGEST).unwrap());
            device.launch(&sha256_of_message, LaunchConfig::new(2, 32), (&message, &mut digest))?;
            digest.to_vec()
        });
        assert_eq!(digest, expected, "{length} bytes");
        let (first, second) = message.split_at(length / 3);
        let digest = of_pointers(&sha256_of_parts, |device| {
            let (first, second) = (device.buffer_from_slice(first).unwrap(), device.buffer_from_slice(second).unwrap());
            let mut digest = device.uninitialized(DIGEST).unwrap();
            device.launch(&sha256_of_parts, LaunchConfig::new(1, 1), (&first, &second, &mut digest))?;
            digest.to_vec()
        });
        assert_eq!(digest, expected, "{length} bytes in two parts");
    }
}

/// Declares a test of the generic kernels for each type that they are instantiated with.
macro_rules! generic_kernels {
    ($($test:ident of $element:ident;)*) => {$(
        #[test]
        fn $test() {
            let x: Vec<$element> = (0..300).map(|i| (i * i % 101 - 50) as $element).collect();
            let (offset, factor) = (7 as $element, -3 as $element);
            for length in [1, 64, 300] {
                let config = LaunchConfig::for_elements(length, 64);
                let scaled = same_everywhere(&scales::<$element>, |device| {
                    let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(length).unwrap());
                    device.launch(&scales, config, (factor, &x, &mut out)).unwrap();
                    out.to_vec().unwrap()
                });
                assert_eq!(scaled, x[..length].iter().map(|x| x * factor).collect::<Vec<_>>());
                let changed = same_everywhere(&shifts_and_scales::<$element>, |device| {
                    let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(length).unwrap());
                    device.launch(&shifts_and_scales, config, (offset, factor, &x, &mut out)).unwrap();
                    out.to_vec().unwrap()
                });
                assert_eq!(changed, x[..length].iter().map(|x| (x + offset) * factor).collect::<Vec<_>>());
            }
        }
    )*};
}

generic_kernels! {
    generic_kernels_of_floats of f32;
    generic_kernels_of_integers of i32;
}

#[test]
fn neighbours_through_shared_memory() {
    let count = 2 * NEIGHBOURS;
    let (a, b) = (matrix(count, 1, 1), matrix(count, 1, 8));
    let sums = same_everywhere(&adds_neighbours, |device| {
        let (a, b) = (device.buffer_from_slice(&a).unwrap(), device.buffer_from_slice(&b).unwrap());
        let mut out = device.uninitialized(count).unwrap();
        device.launch(&adds_neighbours, LaunchConfig::new(2, NEIGHBOURS as u32), (&a, &b, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    let next = |i: usize| i / NEIGHBOURS * NEIGHBOURS + (i + 1) % NEIGHBOURS;
    assert_eq!(sums, (0..count).map(|i| a[next(i)] + b[next(i)]).collect::<Vec<_>>());
}

#[test]
fn sums_of_warps() {
    let x = matrix(32 * 5, 1, 4);
    let sums = same_everywhere(&sums_by_butterfly, |device| {
        let (x, mut sums) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(5).unwrap());
        device.launch(&sums_by_butterfly, LaunchConfig::new(5, 32), (&x, &mut sums)).unwrap();
        sums.to_vec().unwrap()
    });
    assert_eq!(sums, x.chunks(32).map(|warp| warp.iter().sum::<f32>()).collect::<Vec<_>>());
}

#[test]
fn one_thread_claims() {
    let results = on_every_device(&claims_once, |device| {
        let (mut owner, mut is_owner) = (device.zeroed(1).unwrap(), device.uninitialized(150).unwrap());
        device.launch(&claims_once, LaunchConfig::new(3, 50), (&mut owner, &mut is_owner)).unwrap();
        (owner.to_vec().unwrap()[0], is_owner.to_vec().unwrap())
    });
    for (device, (owner, is_owner)) in results {
        let owners: Vec<u32> = (0..150).filter(|&i| is_owner[i as usize] == 1).collect();
        let [only] = owners[..] else { panic!("{owners:?} on the {device}") };
        assert_eq!(owner, only % 50 + 1, "{device}");
    }
}
