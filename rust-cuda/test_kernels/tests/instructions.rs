//! In the simulator, the kernels for single instructions match independent computations.

use cuda_std::simulator::{self, SimulatorBuffer};
use cuda_std::{F32x4, LaunchConfig};
use proptest::collection::vec;
use proptest::prelude::*;
use test_kernels::control_flow::{self, collatz_steps};
use test_kernels::{integers, memory};

/// Words of every magnitude, and edge cases.
fn words(length: usize) -> impl Strategy<Value = Vec<u32>> {
    vec(prop_oneof![any::<u32>(), 0u32..70, Just(u32::MAX), Just(1 << 31), Just((1 << 31) - 1)], length)
}

/// Whether a and b are equal or both NaN.
fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn divisions(a in words(77), b in words(77)) {
        let mut out = SimulatorBuffer::uninitialized(77 * integers::DIVISIONS);
        let buffers = (SimulatorBuffer::from_slice(&a), SimulatorBuffer::from_slice(&b));
        let arguments = (&buffers.0, &buffers.1, &mut out);
        simulator::launch(&integers::divisions, LaunchConfig::for_elements(77, 32), arguments).unwrap();
        for (i, results) in out.as_slice().chunks(integers::DIVISIONS).enumerate() {
            let (a, b) = (i128::from(a[i]), i128::from(b[i]));
            if b == 0 {
                prop_assert_eq!(results, &[0; integers::DIVISIONS]);
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
    fn shifts(low in words(40), high in words(40), shift in vec(0u32..200, 40)) {
        let mut out = SimulatorBuffer::uninitialized(40 * integers::SHIFTS);
        let buffers = [&low, &high, &shift].map(|words| SimulatorBuffer::from_slice(words));
        let arguments = (&buffers[0], &buffers[1], &buffers[2], &mut out);
        simulator::launch(&integers::shifts, LaunchConfig::for_elements(40, 32), arguments).unwrap();
        for (i, results) in out.as_slice().chunks(integers::SHIFTS).enumerate() {
            // Bit by bit: bit i of the result is bit i ± the shift of the operand.
            let wide = |bit: i64| match bit {
                0..32 => low[i] >> bit & 1,
                32..64 => high[i] >> (bit - 32) & 1,
                _ => 0,
            };
            let (n, m) = (i64::from(shift[i] % 64), i64::from(shift[i] % 128));
            let word = |bit_at: &dyn Fn(i64) -> u32| (0..32).fold(0, |sum, bit| sum | bit_at(bit) << bit);
            let widest = |bit: i64| if bit < 128 { wide(bit % 64) } else { 0 };
            let expected = [
                word(&|bit| wide(bit - n)),
                word(&|bit| wide(bit + 32 - n)),
                word(&|bit| wide(bit + n)),
                word(&|bit| wide(bit + 32 + n)),
                word(&|bit| wide((bit + n).min(63))),
                word(&|bit| wide((bit + 32 + n).min(63))),
                word(&|bit| wide((bit - n).rem_euclid(32))),
                word(&|bit| widest(bit + m)),
                word(&|bit| widest(bit + 64 + m)),
                word(&|bit| widest(bit + 96 + m)),
            ];
            prop_assert_eq!(results, &expected[..]);
        }
    }

    #[test]
    fn bits_and_bytes(x in words(40), small in vec(any::<u8>(), 1..300)) {
        let mut out = SimulatorBuffer::uninitialized(40 * integers::BITS);
        let config = LaunchConfig::for_elements(40, 32);
        simulator::launch(&integers::bits, config, (&SimulatorBuffer::from_slice(&x), &mut out)).unwrap();
        for (&x, results) in x.iter().zip(out.as_slice().chunks(integers::BITS)) {
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

        let mut out = SimulatorBuffer::uninitialized(small.len());
        let config = LaunchConfig::for_elements(small.len(), 64);
        simulator::launch(&integers::bytes, config, (&SimulatorBuffer::from_slice(&small), &mut out)).unwrap();
        for (i, (&value, &result)) in small.iter().zip(out.as_slice()).enumerate() {
            let signed = i32::from(value) - if value > 127 { 256 } else { 0 };
            let expected = if i % 2 == 0 { 255 - i32::from(value) } else { (signed / 2).rem_euclid(256) };
            prop_assert_eq!(i32::from(result), expected);
        }
    }

    #[test]
    fn local_memory(x in words(300), count in 1usize..9) {
        let threads = x.len() / count;
        let mut out = SimulatorBuffer::uninitialized(threads * memory::LOCAL_BINS);
        let arguments = (&SimulatorBuffer::from_slice(&x), count as u32, &mut out);
        simulator::launch(&memory::local_counts, LaunchConfig::for_elements(threads, 32), arguments).unwrap();
        for (thread, elements) in x.chunks_exact(count).enumerate() {
            for bin in 0..memory::LOCAL_BINS {
                let expected = elements.iter().filter(|&&x| x as usize % memory::LOCAL_BINS == bin).count();
                prop_assert_eq!(out.as_slice()[thread * memory::LOCAL_BINS + bin], expected as u32);
            }
        }
    }

    #[test]
    fn tables_and_quads(codes in vec(any::<u8>(), 1..200), x in vec(-100f32..100.0, 44)) {
        let mut out = SimulatorBuffer::uninitialized(codes.len());
        let config = LaunchConfig::for_elements(codes.len(), 32);
        simulator::launch(&memory::table, config, (&SimulatorBuffer::from_slice(&codes), &mut out)).unwrap();
        for (&code, &result) in codes.iter().zip(out.as_slice()) {
            let prime = memory::PRIMES[usize::from(code & 15)];
            prop_assert_eq!(result, f64::from(prime) * memory::WEIGHTS[usize::from(code & 7)]);
        }

        let mut out = SimulatorBuffer::uninitialized(11);
        let config = LaunchConfig::for_elements(11, 32);
        simulator::launch(&memory::quads, config, (&SimulatorBuffer::from_slice(&x), &mut out)).unwrap();
        let reversed: Vec<_> = x.chunks(4).map(|four| F32x4::new(four[3], four[2], four[1], four[0])).collect();
        prop_assert_eq!(out.as_slice(), &reversed[..]);
    }

    #[test]
    fn calls_and_jumps(x in words(90), codes in vec(0u8..9, 1..40)) {
        let buffer = SimulatorBuffer::from_slice(&x);
        let mut out = SimulatorBuffer::uninitialized(90 * 3);
        let config = LaunchConfig::for_elements(90, 32);
        simulator::launch(&control_flow::calls, config, (&buffer, &mut out)).unwrap();
        for (&x, results) in x.iter().zip(out.as_slice().chunks(3)) {
            let value = f64::from(x % 1024);
            let values = [value, value + 1.0, 3.0 * value, 7.0];
            let mean = values.iter().sum::<f64>() / 4.0;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 4.0;
            prop_assert_eq!(results[0], collatz_steps(x) as f32);
            prop_assert!((f64::from(results[1]) - mean).abs() <= 1e-6 * mean.max(1.0));
            prop_assert!((f64::from(results[2]) - variance).abs() <= 1e-5 * variance.max(1.0));
        }

        let mut out = SimulatorBuffer::uninitialized(90);
        let arguments = (&SimulatorBuffer::from_slice(&codes), &buffer, &mut out);
        simulator::launch(&control_flow::interpreter, config, arguments).unwrap();
        for (i, &result) in out.as_slice().iter().enumerate() {
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
    fn doubles(a in vec(any::<f64>(), 33), b in vec(any::<f64>(), 33)) {
        let mut out = SimulatorBuffer::uninitialized(33 * memory::DOUBLES);
        let buffers = (SimulatorBuffer::from_slice(&a), SimulatorBuffer::from_slice(&b));
        let arguments = (&buffers.0, &buffers.1, &mut out);
        simulator::launch(&memory::doubles, LaunchConfig::for_elements(33, 32), arguments).unwrap();
        for (i, results) in out.as_slice().chunks(memory::DOUBLES).enumerate() {
            let (a, b) = (a[i], b[i]);
            let (smaller, larger) = if a < b { (a, b) } else { (b, a) };
            let expected = [
                a + b, a - b, a * b, a / b, a.mul_add(b, 1.0), a.abs().sqrt(), smaller, larger,
                if a < 0.0 { 0.0 - a } else { a }, a.trunc().clamp(-2147483648.0, 2147483647.0), f64::from(a as f32),
                if a < b { 1.0 } else { 0.0 },
            ];
            for (&result, expected) in results.iter().zip(expected) {
                prop_assert!(same(result, expected), "{a} and {b}: {results:?}, not {expected}");
            }
        }
    }
}

#[test]
fn expected_results_of_atomics() {
    let (cells, words) = test_kernels::atomics::expected(&[3, 1, 2]);
    let wide = |x: u64| x << 40 | x;
    let real = 6f64.to_bits();
    assert_eq!(cells, [wide(6), wide(3), wide(1), 0, 0, wide(3), real, wide(6), 3, wide(3)]);
    assert_eq!(words, [3, 3]);
}
