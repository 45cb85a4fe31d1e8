//! Floats have the same bits on every device, and exact operations match `std`. NaNs count as
//! equal, because their signs and payloads differ between processors.

use crate::interpreters::same_everywhere;
use cuda_launch::SplitMix;
use cuda_std::{Kernel, LaunchConfig};
use gpu::Device;
use test_kernels::floats::*;
use test_support::seed;

/// The bits of a float, equal for all NaNs.
trait Bits: Copy + PartialEq + std::fmt::Debug {
    fn bits(self) -> u128;
}

impl Bits for f32 {
    fn bits(self) -> u128 {
        if self.is_nan() { u128::MAX } else { self.to_bits().into() }
    }
}

impl Bits for f64 {
    fn bits(self) -> u128 {
        if self.is_nan() { u128::MAX } else { self.to_bits().into() }
    }
}

impl Bits for u128 {
    fn bits(self) -> u128 {
        self
    }
}

/// All pairs of edge cases, then as many pairs of random ones.
fn pairs<T: Copy>(edges: &[T], count: usize, mut random: impl FnMut() -> T) -> (Vec<T>, Vec<T>) {
    let of_edges = edges.iter().flat_map(|&x| edges.iter().map(move |&y| (x, y)));
    let mut pairs: Vec<(T, T)> = of_edges.collect();
    for i in 0..count {
        let edge = edges[i % edges.len()];
        pairs.push(match i % 4 {
            0 => (random(), edge),
            1 => (edge, random()),
            _ => (random(), random()),
        });
    }
    pairs.into_iter().unzip()
}

/// Declares the edge cases of a float with both signs: zeros, subnormals, halves, neighbors of
/// powers of two and of integer limits, extremes, infinities, and quiet and signaling NaNs.
macro_rules! edge_cases {
    ($($name:ident: $float:ident;)*) => {$(
        fn $name() -> Vec<$float> {
            let (one, infinity) = ((1.0 as $float).to_bits(), $float::INFINITY.to_bits());
            let nans = [infinity + 1, infinity | infinity >> 1, infinity + 77];
            let subnormal = [0, 1, 2, 3, $float::MIN_POSITIVE.to_bits() / 2, $float::MIN_POSITIVE.to_bits() - 1];
            let bits = subnormal.into_iter().chain(nans).map($float::from_bits);
            let beside = |x: $float| [x.next_down(), x, x.next_up()];
            let powers = [-1, 0, 1, 7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64, 127].map(|n| (2.0 as $float).powi(n));
            let beside = powers.into_iter().chain([$float::MIN_POSITIVE, $float::from_bits(one + one % 999)]).flat_map(beside);
            let others = [1.5, 2.5, 3.7, 0.1, 88.5, 128.5, 709.7, 1e5, 1e10, 1e20, $float::MAX, $float::MAX / 2.0, $float::INFINITY];
            bits.chain(beside).chain(others).flat_map(|x| [x, -x]).collect()
        }
    )*};
}

edge_cases! {
    edges_f32: f32;
    edges_f64: f64;
}

/// Integers of all lengths with both signs, and neighbors of rounding ties.
fn integers(random: &mut SplitMix) -> Vec<u128> {
    let mut all: Vec<u128> = (0..128).flat_map(|n| [1 << n, (1 << n) - 1, (1 << n) + 1, u128::MAX << n]).collect();
    for _ in 0..1500 {
        let (high, low, length) = (random.number(), random.number(), random.number() % 128);
        let any = (u128::from(high) << 64 | u128::from(low)) >> length;
        // After 24 or 53 bits, half a unit and a bit far below it.
        let bits = 128 - any.leading_zeros();
        let tie = [24, 53].map(|kept| {
            if bits > kept + 1 { any >> (bits - kept) << (bits - kept) | 1 << (bits - kept - 1) } else { any }
        });
        all.extend([any, any.wrapping_neg(), tie[0], tie[1], tie[0] + 1, tie[1] - 1]);
    }
    all
}

/// Computes a list of values for each pair on all devices, and asserts that they agree. Returns
/// each value with its expression and the host's value.
#[track_caller]
fn compare<K, X, R, L>(
    kernel: &K,
    (x, y): &(Vec<X>, Vec<X>),
    host: impl Fn(X, X) -> L,
    launch: impl Fn(&Device, &[X], &[X], usize) -> Vec<R>,
    is_of_std: impl Fn(&str, X, X) -> bool,
) where
    K: Kernel,
    X: Bits,
    R: Bits,
    L: ExactSizeIterator<Item = (&'static str, R)>,
{
    let names: Vec<&str> = host(x[0], y[0]).map(|(name, _)| name).collect();
    let results = crate::interpreters::on_every_device(kernel, |device| launch(device, x, y, names.len()));
    let (_, simulated) = &results[0];
    let mut differences = Vec::new();
    for (i, (&x, &y)) in x.iter().zip(y).enumerate() {
        for (k, (name, of_host)) in host(x, y).enumerate() {
            let own = simulated[i * names.len() + k];
            for (device, others) in &results[1..] {
                let other = others[i * names.len() + k];
                if own.bits() != other.bits() {
                    differences.push(format!("{name} of {x:?} and {y:?}: {own:?}, on {device} {other:?}"));
                }
            }
            if is_of_std(name, x, y) && own.bits() != of_host.bits() {
                differences.push(format!("{name} of {x:?} and {y:?}: {own:?}, of std {of_host:?}"));
            }
        }
    }
    let count = differences.len();
    differences.truncate(40);
    assert!(differences.is_empty(), "{}: {count} differences: {differences:#?}", K::NAME);
}

/// A closure that launches a kernel with two buffers.
macro_rules! launched {
    ($kernel:ident) => {
        |device: &Device, x: &[_], y: &[_], results: usize| {
            let mut out = device.uninitialized(x.len() * results).unwrap();
            let config = LaunchConfig::for_elements(x.len(), 64);
            let (x, y) = (device.buffer_from_slice(x).unwrap(), device.buffer_from_slice(y).unwrap());
            device.launch(&$kernel, config, (&x, &y, &mut out)).unwrap();
            out.to_vec().unwrap()
        }
    };
}

#[test]
fn exact_operations_are_those_of_std() {
    let mut random = SplitMix(seed(1));
    let pairs_f32 = pairs(&edges_f32(), 4000, || f32::from_bits(random.number() as u32));
    compare(&exact_f32, &pairs_f32, exact_f32_of_std, launched!(exact_f32), |_, _, _| true);
    let pairs_f64 = pairs(&edges_f64(), 4000, || f64::from_bits(random.number()));
    compare(&exact_f64, &pairs_f64, exact_f64_of_std, launched!(exact_f64), |_, _, _| true);
}

#[test]
fn casts_and_comparisons_are_those_of_std() {
    let mut random = SplitMix(seed(2));
    // Random exponents up to the integers' 128 bits, where casts differ.
    let pairs_f32 = pairs(&edges_f32(), 3000, || {
        f32::from_bits((random.number() as u32 & !(1 << 30)) ^ (random.number() as u32 & 0x3f) << 24)
    });
    compare(&integers_of_f32, &pairs_f32, integers_of_f32_of_std, launched!(integers_of_f32), |_, _, _| true);
    let pairs_f64 = pairs(&edges_f64(), 3000, || {
        let bits = random.number();
        f64::from_bits(bits & !(0x7ff << 52) | (1023 - 4 + random.number() % 136) << 52)
    });
    compare(&integers_of_f64, &pairs_f64, integers_of_f64_of_std, launched!(integers_of_f64), |_, _, _| true);
}

#[test]
fn casts_of_integers_are_those_of_std() {
    let all = integers(&mut SplitMix(seed(3)));
    let pairs: (Vec<u128>, Vec<u128>) = (all.clone(), all.into_iter().rev().collect());
    compare(&f32_of_integers, &pairs, f32_of_integers_of_std, launched!(f32_of_integers), |_, _, _| true);
    compare(&f64_of_integers, &pairs, f64_of_integers_of_std, launched!(f64_of_integers), |_, _, _| true);
}

#[test]
fn functions_have_the_same_bits_on_all_devices() {
    let mut random = SplitMix(seed(4));
    let (x, y) = pairs(&edges_f32(), 1000, || f32::from_bits(random.number() as u32));
    let some = |x: Vec<f32>| x.into_iter().step_by(3).collect();
    compare(&functions_f32, &(some(x), some(y)), functions_f32_of_std, launched!(functions_f32), |_, _, _| false);
    let (x, y) = pairs(&edges_f64(), 1000, || f64::from_bits(random.number()));
    let some = |x: Vec<f64>| x.into_iter().step_by(3).collect();
    compare(&functions_f64, &(some(x), some(y)), functions_f64_of_std, launched!(functions_f64), |_, _, _| false);
}

/// The larger or smaller number by IEEE 754-2019's maximumNumber and minimumNumber.
fn extreme(is_max: bool, x: f64, y: f64) -> f64 {
    match (x.is_nan(), y.is_nan()) {
        (true, _) => y,
        (_, true) => x,
        _ if (x.total_cmp(&y).is_gt()) == is_max => x,
        _ => y,
    }
}

#[test]
fn maxima_and_minima_order_zeros_on_all_devices() {
    let mut random = SplitMix(seed(5));
    let pairs_f32 = pairs(&edges_f32(), 2000, || f32::from_bits(random.number() as u32));
    // For two zeros, which small f64 values become as f32, `std` may return either one.
    let has_zero = |name: &str, x: f64, y: f64| match name.contains("as f32") {
        true => x as f32 == 0.0 || y as f32 == 0.0,
        false => x == 0.0 || y == 0.0,
    };
    compare(&extremes_f32, &pairs_f32, extremes_f32_of_std, launched!(extremes_f32), |name, x, y| {
        !has_zero(name, x.into(), y.into())
    });
    let pairs_f64 = pairs(&edges_f64(), 2000, || f64::from_bits(random.number()));
    compare(&extremes_f64, &pairs_f64, extremes_f64_of_std, launched!(extremes_f64), |name, x, y| {
        !has_zero(name, x, y)
    });

    let values = [0.0, -0.0, 1.0, -1.0, f32::NAN];
    let (x, y) = pairs(&values, 0, || 0.0);
    let found = launched!(extremes_f32)(&Device::simulator(), &x, &y, extremes_f32_of_std(0.0, 0.0).len());
    for (found, (&x, &y)) in found.chunks(extremes_f32_of_std(0.0, 0.0).len()).zip(x.iter().zip(&y)) {
        let (x, y) = (f64::from(x), f64::from(y));
        let [greater, lesser] = [true, false].map(|is_max| extreme(is_max, x, y) as f32);
        let with_zero = [(true, 0.0), (false, 0.0), (true, -0.0), (false, -0.0)]
            .map(|(is_max, zero)| extreme(is_max, x, zero) as f32);
        let expected = [[greater, lesser].repeat(3), with_zero.to_vec()].concat();
        assert_eq!(
            found[..10].iter().map(|x| x.bits()).collect::<Vec<_>>(),
            expected.iter().map(|x| x.bits()).collect::<Vec<_>>(),
            "{x} and {y}"
        );
    }
}

#[test]
fn maxima_and_minima_order_zeros_beside_the_body_of_a_kernel() {
    let values = [0.0, -0.0, 2.5, -3.0, f32::INFINITY, f32::NAN, f32::from_bits(1)];
    let (x, y) = pairs(&values, 0, || 0.0);
    let (results, cells) = same_everywhere(&extremes_elsewhere, |device| {
        let inputs = [&x, &y].map(|values| device.buffer_from_slice(values).unwrap());
        let mut cells = device.buffer_from_slice(&[f32::NEG_INFINITY, f32::INFINITY].repeat(x.len())).unwrap();
        let mut out = device.uninitialized(x.len() * ELSEWHERE).unwrap();
        let config = LaunchConfig::new(x.len() as u32, 64);
        device.launch(&extremes_elsewhere, config, (&inputs[0], &inputs[1], &mut cells, &mut out)).unwrap();
        let bits = |values: Vec<f32>| values.into_iter().map(Bits::bits).collect::<Vec<_>>();
        (bits(out.to_vec().unwrap()), bits(cells.to_vec().unwrap()))
    });
    for (i, (&x, &y)) in x.iter().zip(&y).enumerate() {
        let [greatest, least] = [true, false].map(|is_max| extreme(is_max, x.into(), y.into()) as f32);
        let maximum = if x.is_nan() || y.is_nan() { f32::NAN } else { greatest };
        let positive = |value: f32| extreme(false, extreme(true, value.into(), 0.0), y.into());
        let of_all = extreme(true, extreme(true, 0.0, positive(x)), positive(y)) as f32;
        let expected = [least, greatest, maximum, maximum, greatest, least, greatest, greatest, least, of_all];
        assert_eq!(results[i * ELSEWHERE..][..10], expected.map(Bits::bits), "{x} and {y}");
        if !x.is_nan() || !y.is_nan() {
            assert_eq!(cells[2 * i..][..2], [greatest, least].map(Bits::bits), "{x} and {y}, by atomic operations");
        }
    }
}
