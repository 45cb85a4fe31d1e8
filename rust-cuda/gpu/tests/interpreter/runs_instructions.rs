//! The test kernels for single instructions, interpreted with all checks, match the simulator and
//! an independent computation. Kernels that the simulator cannot run are compared only with the
//! latter.

use crate::interpreters::same_everywhere;
use cuda_std::{F32x4, LaunchConfig};
use proptest::collection::vec;
use proptest::prelude::*;
use ptx_interpreter::{Machine, Options};
use test_kernels::control_flow::{calls, collatz_steps, interpreter};
use test_kernels::integers::{BITS, DIVISIONS, SHIFTS, bits, bytes, divisions, shifts};
use test_kernels::memory::{DOUBLES, LOCAL_BINS, PRIMES, WEIGHTS, doubles, local_counts, quads, table, turned_vectors};
use test_kernels::{PTX, atomics};

/// Integers of every magnitude, and the limits of their types.
fn words(length: usize) -> impl Strategy<Value = Vec<u32>> {
    vec(prop_oneof![any::<u32>(), 0u32..70, Just(u32::MAX), Just(1 << 31), Just((1 << 31) - 1)], length)
}

/// The bits of a float, equal for all NaNs.
fn bits_of(x: f64) -> u64 {
    if x.is_nan() { u64::MAX } else { x.to_bits() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn quotients_and_remainders(a in words(77), b in words(77)) {
        let result = same_everywhere(&divisions, |device| {
            let (a, b) = (device.buffer_from_slice(&a).unwrap(), device.buffer_from_slice(&b).unwrap());
            let mut out = device.uninitialized(77 * DIVISIONS).unwrap();
            device.launch(&divisions, LaunchConfig::for_elements(77, 32), (&a, &b, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        for (i, results) in result.chunks(DIVISIONS).enumerate() {
            let (a, b) = (i128::from(a[i]), i128::from(b[i]));
            if b == 0 {
                prop_assert_eq!(results, &[0; DIVISIONS]);
                continue;
            }
            let (signed_a, signed_b) = (i128::from(a as u32 as i32), i128::from(b as u32 as i32));
            let (long_a, long_b) = ((a << 32) + b, b + (1 << 34));
            let (quotient, remainder) = (long_a / long_b, long_a % long_b);
            let expected = [
                signed_a / signed_b, signed_a % signed_b, a / b, a % b,
                quotient, quotient >> 32, remainder, remainder >> 32,
            ];
            prop_assert_eq!(results, &expected.map(|value| value as u32)[..]);
        }
    }

    #[test]
    fn wide_shifts(low in words(40), high in words(40), shift in vec(0u32..200, 40)) {
        let result = same_everywhere(&shifts, |device| {
            let buffers = [&low, &high, &shift].map(|words| device.buffer_from_slice(words).unwrap());
            let mut out = device.uninitialized(40 * SHIFTS).unwrap();
            let arguments = (&buffers[0], &buffers[1], &buffers[2], &mut out);
            device.launch(&shifts, LaunchConfig::for_elements(40, 32), arguments).unwrap();
            out.to_vec().unwrap()
        });
        for (i, results) in result.chunks(SHIFTS).enumerate() {
            let wide = u128::from(high[i]) << 32 | u128::from(low[i]);
            let (n, m) = (shift[i] % 64, shift[i] % 128);
            let widest = (wide << 64 | wide) >> m;
            let signed = i128::from(wide as u64 as i64) >> n;
            let rotated = u64::from(low[i]) << (n % 32);
            let expected = [
                wide << n, wide << n >> 32, wide >> n, wide >> n >> 32, signed as u128, (signed >> 32) as u128,
                u128::from(rotated | rotated >> 32), widest, widest >> 64, widest >> 96,
            ];
            prop_assert_eq!(results, &expected.map(|value| value as u32)[..]);
        }
    }

    #[test]
    fn bits_and_bytes(x in words(40), small in vec(any::<u8>(), 1..300)) {
        let result = same_everywhere(&bits, |device| {
            let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(40 * BITS).unwrap());
            device.launch(&bits, LaunchConfig::for_elements(40, 32), (&x, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        for (&x, results) in x.iter().zip(result.chunks(BITS)) {
            let text = format!("{x:032b}");
            let reversed: String = text.chars().rev().collect();
            let [a, b, c, d] = x.to_be_bytes().map(u32::from);
            let expected = [
                text.matches('1').count() as u32,
                text.find('1').unwrap_or(32) as u32,
                reversed.find('1').unwrap_or(32) as u32,
                u32::from_str_radix(&reversed, 2).unwrap(),
                (((d << 8 | c) << 8) | b) << 8 | a,
                i64::from(x as i32).unsigned_abs() as u32,
                (u128::from(x).pow(2) >> 32) as u32,
                (a + b + c + d).min(255),
            ];
            prop_assert_eq!(results, &expected[..]);
        }

        let result = same_everywhere(&bytes, |device| {
            let (x, mut out) = (device.buffer_from_slice(&small).unwrap(), device.uninitialized(small.len()).unwrap());
            device.launch(&bytes, LaunchConfig::for_elements(small.len(), 64), (&x, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        for (i, (&value, &result)) in small.iter().zip(&result).enumerate() {
            let signed = i32::from(value) - if value > 127 { 256 } else { 0 };
            let expected = if i % 2 == 0 { 255 - i32::from(value) } else { (signed / 2).rem_euclid(256) };
            prop_assert_eq!(i32::from(result), expected);
        }
    }

    #[test]
    fn local_memory(x in words(300), count in 1usize..9) {
        let threads = x.len() / count;
        let result = same_everywhere(&local_counts, |device| {
            let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(threads * LOCAL_BINS).unwrap());
            device.launch(&local_counts, LaunchConfig::for_elements(threads, 32), (&x, count as u32, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        for (thread, elements) in x.chunks_exact(count).enumerate() {
            for bin in 0..LOCAL_BINS {
                let expected = elements.iter().filter(|&&x| x as usize % LOCAL_BINS == bin).count();
                prop_assert_eq!(result[thread * LOCAL_BINS + bin], expected as u32);
            }
        }
    }

    #[test]
    fn tables_and_quads(codes in vec(any::<u8>(), 1..200), x in vec(-100f32..100.0, 44)) {
        let result = same_everywhere(&table, |device| {
            let (x, mut out) = (device.buffer_from_slice(&codes).unwrap(), device.uninitialized(codes.len()).unwrap());
            device.launch(&table, LaunchConfig::for_elements(codes.len(), 32), (&x, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        for (&code, result) in codes.iter().zip(result) {
            prop_assert_eq!(result, f64::from(PRIMES[usize::from(code & 15)]) * WEIGHTS[usize::from(code & 7)]);
        }

        let result = same_everywhere(&quads, |device| {
            let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(11).unwrap());
            device.launch(&quads, LaunchConfig::for_elements(11, 32), (&x, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        let reversed: Vec<_> = x.chunks(4).map(|four| F32x4::new(four[3], four[2], four[1], four[0])).collect();
        prop_assert_eq!(&result, &reversed);

        let vectors = reversed.repeat(6)[..64].to_vec();
        let result = same_everywhere(&turned_vectors, |device| {
            let (x, mut out) = (device.buffer_from_slice(&vectors).unwrap(), device.uninitialized(64).unwrap());
            device.launch(&turned_vectors, LaunchConfig::new(2, 32), (&x, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        let turned: Vec<_> = vectors.chunks(32).flat_map(|block| block.iter().rev().copied()).collect();
        prop_assert_eq!(result, turned);
    }

    #[test]
    fn calls_and_branch_tables(x in words(90), codes in vec(0u8..9, 1..40)) {
        let result = same_everywhere(&calls, |device| {
            let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.uninitialized(90 * 3).unwrap());
            device.launch(&calls, LaunchConfig::for_elements(90, 32), (&x, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        for (&x, results) in x.iter().zip(result.chunks(3)) {
            let value = f64::from(x % 1024);
            let values = [value, value + 1.0, 3.0 * value, 7.0];
            let mean = values.iter().sum::<f64>() / 4.0;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 4.0;
            prop_assert_eq!(results[0], collatz_steps(x) as f32);
            prop_assert!((f64::from(results[1]) - mean).abs() <= 1e-6 * mean.max(1.0));
            prop_assert!((f64::from(results[2]) - variance).abs() <= 1e-5 * variance.max(1.0));
        }

        let result = same_everywhere(&interpreter, |device| {
            let (codes, x) = (device.buffer_from_slice(&codes).unwrap(), device.buffer_from_slice(&x).unwrap());
            let mut out = device.uninitialized(90).unwrap();
            device.launch(&interpreter, LaunchConfig::for_elements(90, 32), (&codes, &x, &mut out)).unwrap();
            out.to_vec().unwrap()
        });
        for (i, &result) in result.iter().enumerate() {
            let mut value = x[i];
            for code in codes.iter().skip(i % codes.len()).take_while(|&&code| code < 8) {
                value = match code {
                    0 => value.wrapping_add(x[(i + 1) % 90]),
                    1 => value.wrapping_mul(2_654_435_761),
                    2 => value ^ (value >> 15),
                    3 => (u64::from(value) << 7 | u64::from(value) >> 25) as u32,
                    4 => value / 3,
                    5 => collatz_steps(value),
                    6 => value.reverse_bits(),
                    _ => value,
                };
            }
            prop_assert_eq!(result, value);
        }
    }

    #[test]
    fn operations_on_doubles(a in vec(any::<f64>(), 33), b in vec(any::<f64>(), 33)) {
        let result = same_everywhere(&doubles, |device| {
            let (a, b) = (device.buffer_from_slice(&a).unwrap(), device.buffer_from_slice(&b).unwrap());
            let mut out = device.uninitialized(33 * DOUBLES).unwrap();
            device.launch(&doubles, LaunchConfig::for_elements(33, 32), (&a, &b, &mut out)).unwrap();
            out.to_vec().unwrap().into_iter().map(bits_of).collect::<Vec<u64>>()
        });
        for (i, results) in result.chunks(DOUBLES).enumerate() {
            let (a, b) = (a[i], b[i]);
            let (smaller, larger) = if a.total_cmp(&b).is_lt() { (a, b) } else { (b, a) };
            let expected = [
                a + b, a - b, a * b, a / b, a.mul_add(b, 1.0), a.abs().sqrt(), smaller, larger,
                if a.is_sign_negative() { -a } else { a }, f64::from(a as i32), f64::from(a as f32),
                if a < b { 1.0 } else { 0.0 },
            ];
            for (&result, expected) in results.iter().zip(expected) {
                prop_assert_eq!(result, bits_of(expected), "{} and {}, not {}", a, b, expected);
            }
        }
    }

    #[test]
    fn atomic_operations(x in words(300), threads in 1u32..300) {
        // The floats' sums are exact, so the order of the additions does not matter.
        for ptx in PTX {
            prop_assert_eq!(launch_atomics("atomics", ptx.text(), &x, threads), atomics::expected(&x));
        }
    }
}

/// The kernel's results in its cells. It is not a `#[kernel]`, so the machine gets the parameters
/// as bytes.
fn launch_atomics(kernel: &str, text: &str, x: &[u32], threads: u32) -> ([u64; atomics::CELLS], [u32; 2]) {
    let mut machine = Machine::new(text).unwrap();
    let [input, cells, words] = [x.len() * 4, atomics::CELLS * 8, 8].map(|size| machine.allocate(size as u64).unwrap());
    let mut initial = [0u64; atomics::CELLS];
    (initial[2], initial[4]) = (u64::MAX, u64::MAX);
    let memory = machine.memory();
    memory.write(input, &x.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    memory.write(cells, &initial.map(u64::to_le_bytes).concat()).unwrap();
    memory.write(words, &[0; 8]).unwrap();

    let parameters = [input, x.len() as u64, cells, words].map(u64::to_le_bytes);
    let config = LaunchConfig::for_elements(x.len(), threads);
    machine.launch(Options::default(), kernel, config, &parameters.each_ref().map(|value| &value[..])).unwrap();
    let read = |address: u64, size: usize| {
        let mut value = [0; 8];
        memory.read(address, &mut value[..size]).unwrap();
        u64::from_le_bytes(value)
    };
    let cells = std::array::from_fn(|index| read(cells + 8 * index as u64, 8));
    (cells, [0, 4].map(|offset| read(words + offset, 4) as u32))
}
