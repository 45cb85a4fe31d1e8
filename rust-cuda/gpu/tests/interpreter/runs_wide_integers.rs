//! 128-bit integers have the same bits on all devices as on the host, including conversions to and
//! from floats.

use crate::interpreters::same_everywhere;
use cuda_launch::SplitMix;
use cuda_std::LaunchConfig;
use test_kernels::integers::{NO_VALUE, WIDEST, floats_to_widest, widest, widest_to_floats};

/// Random 128-bit integers.
fn random() -> impl FnMut() -> u128 {
    let mut random = SplitMix(test_support::seed(128));
    move || u128::from(random.number()) << 64 | u128::from(random.number())
}

/// Integers around each power of two, some of them halfway between two floats, and random ones of
/// each magnitude.
fn numbers() -> Vec<u128> {
    let mut random = random();
    let mut numbers = vec![0, u128::MAX, 1 << 127, u64::MAX.into()];
    for bits in 0..128 {
        let power = 1_u128 << bits;
        for half in [power >> 24, power >> 53] {
            let tie = power | half;
            let next = tie | half << 1;
            numbers.extend([
                power - 1,
                power,
                tie,
                tie.wrapping_sub(1),
                tie + 1,
                next,
                power.wrapping_neg(),
                tie.wrapping_neg(),
            ]);
        }
        numbers.extend([random() >> bits, !(random() >> bits)]);
    }
    numbers
}

#[test]
fn operations() {
    let a = numbers();
    let mut b = a.clone();
    b.rotate_left(a.len() / 3);
    for i in 0..b.len() {
        match i % 4 {
            0 => b[i] >>= 64,
            1 => b[i] >>= i % 128,
            2 if i % 3 == 0 => b[i] = a[i],
            _ => {}
        }
    }
    let results = same_everywhere(&widest, |device| {
        let [x, y] = [&a, &b].map(|numbers| device.buffer_from_slice(numbers).unwrap());
        let mut out = device.uninitialized(a.len() * WIDEST).unwrap();
        device.launch(&widest, LaunchConfig::for_elements(a.len(), 64), (&x, &y, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    for ((&a, &b), results) in a.iter().zip(&b).zip(results.chunks(WIDEST)) {
        let shift = b as u32 % 128;
        let quotient = a.checked_div(b);
        assert_eq!(results[0], quotient.unwrap_or(NO_VALUE));
        assert_eq!(results[1], quotient.map_or(NO_VALUE, |quotient| a - quotient * b));
        let signed = (a as i128).checked_div(b as i128);
        assert_eq!(results[2], signed.map_or(NO_VALUE, |quotient| quotient as u128));
        assert_eq!(results[3], signed.map_or(NO_VALUE, |quotient| a.wrapping_sub((quotient as u128).wrapping_mul(b))));
        assert_eq!(results[4], a.checked_mul(b).unwrap_or(NO_VALUE));
        assert_eq!(results[5], (a as i128).checked_mul(b as i128).map_or(NO_VALUE, |product| product as u128));
        let [high, low] = [a >> 64, a & u128::from(u64::MAX)];
        assert_eq!(results[6], (high.wrapping_mul(b) << 64).wrapping_add(low.wrapping_mul(b)));
        assert_eq!(results[7], if u128::MAX - a < b { NO_VALUE } else { a + b });
        assert_eq!(results[8], (a as i128).checked_sub(b as i128).map_or(NO_VALUE, |sum| sum as u128));
        let fill = if a >> 127 == 1 && shift > 0 { u128::MAX << (128 - shift) } else { 0 };
        assert_eq!(results[9..12], [a << shift, a >> shift, a >> shift | fill]);
        assert_eq!(results[12], a.rotate_left(shift));
        let text = format!("{a:0128b}");
        let reversed: String = text.chars().rev().collect();
        let [leading, trailing] = [&text, &reversed].map(|bits| bits.find('1').unwrap_or(128) as u128);
        assert_eq!(results[13], leading | trailing << 8 | (text.matches('1').count() as u128) << 16);
        assert_eq!(results[14], u128::from_str_radix(&reversed, 2).unwrap() ^ u128::from_be_bytes(a.to_le_bytes()));
        let root = results[15];
        assert!(root * root <= a && (root == u64::MAX.into() || (root + 1) * (root + 1) > a), "{root}² is not {a}");
    }
}

#[test]
fn conversions() {
    let numbers = numbers();
    let (singles, doubles) = same_everywhere(&widest_to_floats, |device| {
        let x = device.buffer_from_slice(&numbers).unwrap();
        let mut singles = device.buffer_from_slice(&vec![0.0_f32; 2 * numbers.len()]).unwrap();
        let mut doubles = device.buffer_from_slice(&vec![0.0_f64; 2 * numbers.len()]).unwrap();
        let config = LaunchConfig::for_elements(numbers.len(), 64);
        device.launch(&widest_to_floats, config, (&x, &mut singles, &mut doubles)).unwrap();
        (singles.to_vec().unwrap(), doubles.to_vec().unwrap())
    });
    for (i, &x) in numbers.iter().enumerate() {
        assert_eq!(singles[2 * i..2 * i + 2], [x as f32, x as i128 as f32], "{x}");
        assert_eq!(doubles[2 * i..2 * i + 2], [x as f64, x as i128 as f64], "{x}");
    }

    let mut random = random();
    let parts = [0.0, 0.5, 0.999, f64::NAN, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, 5e-324];
    let mut doubles: Vec<f64> =
        parts.into_iter().chain(doubles).flat_map(|x| [x, -x, x.next_up(), x.next_down()]).collect();
    doubles.extend((0..200).map(|_| f64::from_bits(random() as u64)));
    let singles: Vec<f32> =
        doubles.iter().map(|&x| if random() & 1 == 0 { x as f32 } else { f32::from_bits(random() as u32) }).collect();
    let results = same_everywhere(&floats_to_widest, |device| {
        let (x, y) = (device.buffer_from_slice(&singles).unwrap(), device.buffer_from_slice(&doubles).unwrap());
        let mut out = device.uninitialized(4 * singles.len()).unwrap();
        device.launch(&floats_to_widest, LaunchConfig::for_elements(singles.len(), 64), (&x, &y, &mut out)).unwrap();
        out.to_vec().unwrap()
    });
    for ((&x, &y), results) in singles.iter().zip(&doubles).zip(results.chunks(4)) {
        assert_eq!(results, [x as u128, x as i128 as u128, y as u128, y as i128 as u128], "{x:e} {y:e}");
    }
}
