//! 16-bit floats, asynchronous copies and tensor cores on every device.

use crate::interpreters::same_everywhere;
use cuda_std::half::{bf16, f16};
use cuda_std::matrix::{Bf16, Tf32};
use cuda_std::{F32x4, LaunchConfig};
use proptest::collection::vec;
use proptest::prelude::*;
use test_kernels::copies::{ROW, copies_past_registers, sums_of_rows};
use test_kernels::half_precision::{narrowed, scaled_sum, squares_by_half, widened};
use test_kernels::tensor_cores::{double_tile_product, tile_product, tile_product_of_rows};

/// The bits of a float, equal for all NaNs.
fn bits_of(x: f32) -> u32 {
    if x.is_nan() { u32::MAX } else { x.to_bits() }
}

/// The results of a launch with `$out` elements.
macro_rules! results {
    ($kernel:expr, $config:expr, $out:expr, [$($buffer:ident),+] $(, $value:expr)?) => {
        same_everywhere(&$kernel, |device| {
            $(let $buffer = device.buffer_from_slice(&$buffer).unwrap();)+
            let mut out = device.uninitialized($out).unwrap();
            device.launch(&$kernel, $config, ($($value,)? $(&$buffer,)+ &mut out)).unwrap();
            Bits(out.to_vec().unwrap())
        })
        .0
    };
}

/// Results that are equal if their bits are equal, except for NaNs.
#[derive(Debug)]
struct Bits<T>(Vec<T>);

impl<T: HasBits> PartialEq for Bits<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().map(|&x| x.bits()).eq(other.0.iter().map(|&x| x.bits()))
    }
}

trait HasBits: Copy {
    fn bits(self) -> u128;
}

macro_rules! has_bits {
    ($($type:ty: $bits:expr;)*) => {$(
        impl HasBits for $type {
            fn bits(self) -> u128 {
                u128::from($bits(self))
            }
        }
    )*};
}

has_bits! {
    f32: bits_of;
    u64: u64::from;
    f64: |x: f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
    f16: f16::to_bits;
    bf16: bf16::to_bits;
    F32x4: |x: F32x4| x.to_array().into_iter().fold(0_u128, |bits, x| bits << 32 | u128::from(bits_of(x)));
}

/// Sums of 16 products of numbers below 2. A GPU's sums are within 2⁻²⁰ of the sum of the products'
/// magnitudes, at most 64: its tensor cores add in an unspecified order and may truncate.
#[derive(Debug)]
struct TileSums {
    on_gpu: bool,
    sums: Vec<f32>,
}

impl PartialEq for TileSums {
    fn eq(&self, other: &Self) -> bool {
        let bound = if self.on_gpu || other.on_gpu { 64.0 / (1 << 20) as f32 } else { 0.0 };
        self.sums.len() == other.sums.len() && self.sums.iter().zip(&other.sums).all(|(a, b)| (a - b).abs() <= bound)
    }
}

/// The simulator's product of two tiles, which the other devices must equal. Shared memory has room
/// for the tiles' rows.
macro_rules! rounded_product {
    ($kernel:expr, $a:expr, $b:expr) => {
        same_everywhere(&$kernel, |device| {
            let [a, b] = [&$a, &$b].map(|tile| device.buffer_from_slice(tile).unwrap());
            let mut sums = device.uninitialized(128).unwrap();
            let config = LaunchConfig::new(1, 32).with_dynamic_shared(48 * 16);
            device.launch(&$kernel, config, (&a, &b, &mut sums)).unwrap();
            TileSums { on_gpu: device.is_gpu(), sums: sums.to_vec().unwrap() }
        })
        .sums
    };
}

/// a · b computed in f64, with elements rounded by `rounded`. The depth is `DEPTH`, 16.
fn product(a: &[f32], b: &[f32], rounded: fn(f32) -> f32) -> Vec<f32> {
    let sum =
        |i: usize| (0..16).map(move |k| f64::from(rounded(a[i / 8 * 16 + k])) * f64::from(rounded(b[k * 8 + i % 8])));
    (0..16 * 8).map(|i| sum(i).sum::<f64>() as f32).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn asynchronous_copies(x in vec(-100f32..100.0, 256), y in vec(-100f32..100.0, 256), whole_block: bool) {
        let threads = if whole_block { 64 } else { 16 };
        let in_fours = |values: &[f32]| -> Vec<F32x4> {
            values.chunks(4).map(|four| F32x4::new(four[0], four[1], four[2], four[3])).collect()
        };
        let (x, y) = (in_fours(&x), in_fours(&y));
        let config = LaunchConfig::for_elements(64, threads).with_dynamic_shared(threads * 32);
        let result = results!(copies_past_registers, config, 64, [x, y]);
        for (i, result) in result.iter().enumerate() {
            let threads = threads as usize;
            let opposite = i / threads * threads + threads - 1 - i % threads;
            let (x, y) = (x[opposite].to_array(), y[opposite].to_array());
            prop_assert_eq!(result.to_array(), [x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3]]);
        }
    }

    #[test]
    fn pipelines_of_copies(x in vec(any::<u64>(), 7 * ROW * 2), rows in 1usize..=7) {
        let config = LaunchConfig::new(2, ROW as u32);
        let x = &x[..rows * ROW * 2];
        let floats: Vec<f32> = x.iter().map(|&x| (x % 1000) as f32).collect();
        let of_floats = results!(sums_of_rows::<f32>, config, 2 * ROW, [floats], rows as u32);
        let of_longs = results!(sums_of_rows::<u64>, config, 2 * ROW, [x], rows as u32);
        for i in 0..2 * ROW {
            let column = (0..rows).map(|row| (i / ROW * rows + row) * ROW + ROW - 1 - i % ROW);
            prop_assert_eq!(of_longs[i], column.clone().fold(0_u64, |sum, place| sum.wrapping_add(x[place])));
            prop_assert_eq!(of_floats[i], column.map(|place| floats[place]).sum::<f32>());
        }
    }

    /// Small integers with sums and products that are exact in every precision.
    #[test]
    fn products_of_tiles(a in vec(-16i32..=16, 256), b in vec(-16i32..=16, 128)) {
        let floats = |integers: &[i32]| -> Vec<f32> { integers.iter().map(|&integer| integer as f32).collect() };
        let (config, left, right) = (LaunchConfig::new(1, 32), floats(&a), floats(&b));
        let (half_left, half_right) = (&left[..128], &right[..64]);
        let results = [
            (8, results!(tile_product::<Tf32>, config, 16 * 8, [half_left, half_right])),
            (16, results!(tile_product::<f16>, config, 16 * 8, [left, right])),
            (16, results!(tile_product::<bf16>, config, 16 * 8, [left, right])),
        ];
        for (depth, result) in results {
            for (i, &result) in result.iter().enumerate() {
                let sum: i32 = (0..depth).map(|k| a[i / 8 * depth + k] * b[k * 8 + i % 8]).sum();
                prop_assert_eq!(result, sum as f32, "depth {}", depth);
            }
        }
    }

    /// Any numbers: each sum is the chain of multiply-adds from c on, in the order of k.
    #[test]
    fn products_of_tiles_of_doubles(
        a in vec(any::<f64>(), 128), b in vec(any::<f64>(), 64), c in vec(any::<f64>(), 128), are_near in any::<bool>()
    ) {
        // Between 1 and 2, where each addition rounds.
        let near = |x: Vec<f64>| -> Vec<f64> {
            let fraction = |x: f64| f64::from_bits(x.to_bits() & ((1 << 52) - 1) | 1023 << 52);
            if are_near { x.into_iter().map(fraction).collect() } else { x }
        };
        let (a, b, c) = (near(a), near(b), near(c));
        let result = results!(double_tile_product, LaunchConfig::new(1, 32), 128, [a, b, c]);
        for (i, result) in result.into_iter().enumerate() {
            let sum = (0..8).fold(c[i], |sum, k| a[i / 8 * 8 + k].mul_add(b[k * 8 + i % 8], sum));
            prop_assert_eq!(result.bits(), sum.bits(), "{} instead of {}", result, sum);
        }
    }

    /// Other numbers: the elements are rounded, and the sum is rounded once.
    #[test]
    fn rounded_products_of_tiles(a in vec(-2f32..2.0, 256), b in vec(-2f32..2.0, 128)) {
        let of_bf16 = product(&a, &b, |x| bf16::from_f32(x).to_f32());
        prop_assert_eq!(rounded_product!(tile_product::<f16>, a, b), product(&a, &b, |x| f16::from_f32(x).to_f32()));
        prop_assert_eq!(rounded_product!(tile_product::<bf16>, a, b), of_bf16.clone());
        prop_assert_eq!(rounded_product!(tile_product::<Bf16>, a, b), of_bf16);
        let truncated = |x: f32| f32::from_bits(x.to_bits() & 0xffff_0000);
        prop_assert_eq!(rounded_product!(tile_product_of_rows, a, b), product(&a, &b, truncated));
    }

    #[test]
    fn conversions_of_halves(random in vec(any::<f32>(), 60), near in vec(-70000f32..70000.0, 60)) {
        let mut x = [random, near].concat();
        x.extend([0.1, -65520.0, 65519.99, 2f32.powi(-25), 1e-7, f32::NEG_INFINITY, f32::NAN, -0.0, f32::MAX]);
        let (config, count) = (LaunchConfig::for_elements(x.len(), 32), x.len());
        let f16s = results!(narrowed::<f16>, config, count, [x]);
        let bf16s = results!(narrowed::<bf16>, config, count, [x]);
        let of_f16s = results!(widened::<f16>, config, count, [f16s]);
        let of_bf16s = results!(widened::<bf16>, config, count, [bf16s]);
        for (i, &x) in x.iter().enumerate() {
            let bits = |bits: u16| if x.is_nan() { 0x7fff } else { bits };
            prop_assert_eq!(f16s[i].to_bits(), bits(f16::from_f32(x).to_bits()), "{}", x);
            prop_assert_eq!(bf16s[i].to_bits(), bits(bf16::from_f32(x).to_bits()), "{}", x);
            prop_assert_eq!(bits_of(of_f16s[i]), bits_of(f16::from_f32(x).to_f32()), "{}", x);
            prop_assert_eq!(bits_of(of_bf16s[i]), bits_of(bf16::from_f32(x).to_f32()), "{}", x);
        }
    }

    #[test]
    fn arithmetic_of_halves(bits in vec(any::<u16>(), 64), y in vec(-100f32..100.0, 64), a in -4f32..4.0) {
        let config = LaunchConfig::for_elements(64, 32);
        let x: Vec<f16> = bits.iter().map(|&bits| f16::from_bits(bits)).collect();
        let f16s: Vec<f16> = y.iter().map(|&y| f16::from_f32(y)).collect();
        let bf16s: Vec<bf16> = y.iter().map(|&y| bf16::from_f32(y)).collect();
        let sums = results!(scaled_sum::<f16>, config, 64, [x, f16s], a);
        let same = &bf16s;
        let of_bf16s = results!(scaled_sum::<bf16>, config, 64, [bf16s, same], a);
        let squares = results!(squares_by_half, config, 64, [f16s]);
        for i in 0..64 {
            let sum = a * x[i].to_f32() + f16s[i].to_f32();
            prop_assert_eq!(sums[i].to_bits(), if sum.is_nan() { 0x7fff } else { f16::from_f32(sum).to_bits() });
            let wide = bf16s[i].to_f32();
            prop_assert_eq!(of_bf16s[i], bf16::from_f32(a * wide + wide));
            prop_assert_eq!(squares[i], f16::from_f32(f16s[i].to_f32() * f16s[i].to_f32()));
        }
    }
}

/// All f16, and the next f32 above and below the midpoint between two of them.
#[test]
fn every_half_is_converted() {
    let x: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    let config = LaunchConfig::for_elements(x.len(), 256);
    let wide = results!(widened::<f16>, config, 1 << 16, [x]);
    assert!(wide.iter().zip(&x).all(|(&wide, x)| bits_of(wide) == bits_of(x.to_f32())));
    let near = |x: &f32| [x.next_down(), *x, x.next_up()];
    let middles: Vec<f32> = (0..0x7c00)
        .map(|bits| {
            let [low, high] = [bits, bits + 1].map(|bits| f16::from_bits(bits).to_f64());
            // Above the largest f16 comes 65536, which is not an f16.
            (if high.is_infinite() { 65520.0 } else { (low + high) / 2.0 }) as f32
        })
        .collect();
    let x: Vec<f32> = middles.iter().flat_map(near).collect();
    let config = LaunchConfig::for_elements(x.len(), 256);
    let rounded = results!(narrowed::<f16>, config, x.len(), [x]);
    for (bits, rounded) in (0..0x7c00).zip(rounded.chunks(3)) {
        let even = bits + bits % 2;
        assert_eq!([rounded[0], rounded[1], rounded[2]].map(f16::to_bits), [bits, even, bits + 1]);
    }
}
