//! The kernels with one sample per SIMD lane agree with scalar loops, on every instruction set.

#[cfg(all(windows, target_env = "gnu"))]
use cuda_launch as _;
use kernels_cpu::InstructionSet;
use kernels_cpu::flush_to_zero::flushed;
use kernels_cpu::lane_per_sample::{
    Chunk, LANES, SAMPLES, Tiles, Value, add_gradients, add_products_of_rows, order_by_similarity, products_of_units,
    weighted_sums,
};
use kernels_cpu::product::PaddedMatrix;
use kernels_cpu::softmax::softmax_cross_entropy;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn matrix(rows: usize, columns: usize, rng: &mut StdRng) -> PaddedMatrix<f32> {
    let mut matrix = PaddedMatrix::zeros(rows, columns);
    for row in 0..rows {
        matrix.row_mut(row).iter_mut().for_each(|cell| *cell = random(rng));
    }
    matrix
}

fn random(rng: &mut StdRng) -> f32 {
    (rng.random_range(-1.0..1.0)) as f32
}

fn wide(value: f32) -> f64 {
    f64::from(value)
}

fn assert_close(got: f32, expected: f64, size: f64, what: &str) {
    let error = (wide(got) - expected).abs();
    let tolerance = 4.0 * wide(f32::EPSILON) * size.max(1.0);
    assert!(error <= tolerance || (wide(got).is_nan() && expected.is_nan()), "{what}: {got:?} instead of {expected}");
}

/// Checks both kernels against loops in double precision and returns the bits of the kernels' results.
fn check<E: Value>(set: InstructionSet, rows: &[Vec<E>], inputs: usize, units: usize, rng: &mut StdRng) -> Vec<u64> {
    let what = format!("{}, {} samples, {inputs} inputs, {units} units", set.name(), rows.len());
    let chunk = Chunk::new(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
    assert_eq!(chunk.samples(), rows.len());
    let weights = matrix(inputs, units, rng);
    let biases: Vec<f32> = (0..units).map(|_| random(rng)).collect();
    let mut tiles = Tiles::zeros(inputs, units);
    tiles.copy_scaled(&weights, 1.0);
    let mut sums = PaddedMatrix::zeros(units, SAMPLES);
    weighted_sums(set, &chunk, &tiles, &biases, &mut sums);
    let mut bits = vec![];
    for (unit, &bias) in biases.iter().enumerate() {
        for (sample, row) in rows.iter().enumerate() {
            let terms = row.iter().enumerate().map(|(input, x)| wide(x.widen()) * wide(weights.row(input)[unit]));
            let terms: Vec<f64> = terms.collect();
            let expected = wide(bias) + terms.iter().sum::<f64>();
            let size = terms.iter().map(|term| term.abs()).sum::<f64>() * (inputs as f64).sqrt();
            assert_close(sums.row(unit)[sample], expected, size, &what);
            bits.push(wide(sums.row(unit)[sample]).to_bits());
        }
    }

    let mut errors = matrix(units, SAMPLES, rng);
    (0..units).for_each(|unit| errors.row_mut(unit)[rows.len()..].fill(0.0));
    let mut gradients = Tiles::zeros(inputs, units);
    add_gradients(set, &chunk, &errors, &mut gradients);
    add_gradients(set, &chunk, &errors, &mut gradients);
    let mut got = PaddedMatrix::zeros(inputs, units);
    gradients.write_scaled(&mut got, 1.0);
    for input in 0..inputs {
        for unit in 0..units {
            let terms = rows.iter().zip(errors.row(unit)).map(|(row, &e)| wide(row[input].widen()) * wide(e));
            let terms: Vec<f64> = terms.collect();
            let size = terms.iter().map(|term| term.abs()).sum::<f64>() * (rows.len() as f64).sqrt();
            assert_close(got.row(input)[unit], 2.0 * terms.iter().sum::<f64>(), 2.0 * size, &what);
            bits.push(wide(got.row(input)[unit]).to_bits());
        }
    }
    bits
}

/// Checks every instruction set, and that sets with a fused multiply-add agree bit for bit.
fn check_all<E: Value>(rows: &[Vec<E>], inputs: usize, units: usize) {
    let mut fused: Option<Vec<u64>> = None;
    for set in InstructionSet::available() {
        let bits = check::<E>(set, rows, inputs, units, &mut StdRng::seed_from_u64(test_support::seed(7)));
        if set != InstructionSet::Portable {
            assert!(fused.as_ref().is_none_or(|fused| *fused == bits), "{}: other bits", set.name());
            fused = Some(bits);
        }
    }
}

#[test]
fn sums_and_gradients_are_those_of_plain_loops() {
    let mut rng = StdRng::seed_from_u64(test_support::seed(1));
    let sizes = [(1, 1, 1), (15, 7, 3), (16, 784, 10), (17, 800, 11), (100, 3, 32), (848, 33, 20), (333, 65, 9)];
    for (samples, inputs, units) in sizes {
        let bytes: Vec<Vec<u8>> = (0..samples)
            .map(|_| (0..inputs).map(|_| if rng.random_bool(0.8) { 0 } else { rng.random() }).collect())
            .collect();
        check_all::<u8>(&bytes, inputs, units);
        let floats: Vec<Vec<f32>> = (0..samples)
            .map(|_| (0..inputs).map(|_| if rng.random_bool(0.5) { 0.0 } else { random(&mut rng) }).collect())
            .collect();
        check_all::<f32>(&floats, inputs, units);
    }
}

#[test]
fn sums_and_gradients_for_every_number_of_units() {
    let mut rng = StdRng::seed_from_u64(test_support::seed(2));
    let rows: Vec<Vec<f32>> = (0..37).map(|_| (0..5).map(|_| random(&mut rng)).collect()).collect();
    for units in 1..=32 {
        check_all::<f32>(&rows, 5, units);
    }
}

#[test]
fn a_nan_input_reaches_its_sample_and_gradients_only() {
    let mut rows = vec![vec![0.0_f32, 1.0, 2.0]; 20];
    rows[3][0] = f32::NAN;
    for set in InstructionSet::available() {
        check::<f32>(set, &rows, 3, 4, &mut StdRng::seed_from_u64(test_support::seed(3)));
    }
}

#[test]
fn an_input_that_is_always_zero_is_skipped() {
    let rows = vec![vec![0_u8, 5, 0]; 40];
    let chunk = Chunk::new(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
    assert_eq!(chunk.entries(), 3, "one input in each of three blocks");
    let mut weights = Tiles::zeros(3, 1);
    weights.values_mut().copy_from_slice(&[f32::NAN, 2.0, f32::INFINITY]);
    let mut sums = PaddedMatrix::zeros(1, SAMPLES);
    for set in InstructionSet::available() {
        weighted_sums(set, &chunk, &weights, &[1.0], &mut sums);
        assert!(sums.row(0)[..40].iter().all(|&sum| sum == 11.0), "{}", set.name());
    }
}

#[test]
fn products_of_rows_are_those_of_plain_loops() {
    let mut rng = StdRng::seed_from_u64(test_support::seed(4));
    for (left, right, columns) in [(1, 1, 16), (10, 10, 848), (32, 23, 400), (3, 32, 0)] {
        let (left, right) = (matrix(left, SAMPLES, &mut rng), matrix(right, SAMPLES, &mut rng));
        for set in InstructionSet::available() {
            let mut sums = PaddedMatrix::zeros(left.rows(), right.rows());
            add_products_of_rows(set, &left, &right, columns, &mut sums);
            for i in 0..left.rows() {
                for j in 0..right.rows() {
                    let pairs = left.row(i).iter().zip(right.row(j)).take(columns);
                    let expected = pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                    assert_close(sums.row(i)[j], expected, columns as f64, set.name());
                }
            }
        }
    }
}

#[test]
fn products_of_units_are_those_of_plain_loops_in_their_order() {
    let mut rng = StdRng::seed_from_u64(test_support::seed(6));
    for (units, inputs, columns) in [(1, 1, 16), (10, 10, 848), (32, 23, 400), (3, 32, 0), (11, 2, 832), (0, 3, 16)] {
        let mut weights = matrix(units, inputs, &mut rng);
        let mut values = matrix(inputs, SAMPLES, &mut rng);
        let biases: Vec<f32> = (0..units).map(|_| random(&mut rng)).collect();
        if units > 1 {
            (weights.row_mut(1)[0], values.row_mut(0)[5]) = (f32::INFINITY, f32::NAN);
        }
        for (set, biases) in InstructionSet::available().flat_map(|set| [(set, None), (set, Some(biases.as_slice()))]) {
            let fma = |a: f32, b: f32, c| if set == InstructionSet::Portable { a * b + c } else { a.mul_add(b, c) };
            let mut sums = matrix(units, SAMPLES, &mut rng);
            let before = sums.clone();
            products_of_units(set, &weights, &values, biases, columns, &mut sums);
            for unit in 0..units {
                for sample in 0..SAMPLES {
                    let terms = weights.row(unit).iter().enumerate();
                    let sum = terms.fold(0.0, |sum, (p, &weight)| fma(weight, values.row(p)[sample], sum));
                    let expected = match sample < columns {
                        true => biases.map_or(sum, |biases| sum + biases[unit]),
                        false => before.row(unit)[sample],
                    };
                    let got = sums.row(unit)[sample];
                    let same = got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan());
                    assert!(same, "{}, {units} × {inputs}, unit {unit}, sample {sample}: {got} {expected}", set.name());
                }
            }
        }
    }
}

/// The documented order, chosen one sample at a time from up to 1024 candidates in slots. The next
/// waiting sample takes over the slot of the chosen one.
fn expected_order(rows: &[&[u8]]) -> Vec<u32> {
    let count = |sample: u32| rows[sample as usize].iter().filter(|&&x| x != 0).count() as i64;
    let mut waiting: Vec<u32> = (0..rows.len() as u32).collect();
    waiting.sort_by_key(|&sample| std::cmp::Reverse(count(sample)));
    let mut waiting = waiting.into_iter();
    let mut slots: Vec<Option<u32>> = waiting.by_ref().take(1024).map(Some).collect();
    let mut order: Vec<u32> = vec![];
    for place in 0..rows.len() {
        let block = &order[place - place % LANES..];
        let cost = |sample: u32| {
            let in_block = |input: usize| block.iter().any(|&other| rows[other as usize][input] != 0);
            let added = (0..rows[0].len()).filter(|&i| rows[sample as usize][i] != 0 && !in_block(i)).count();
            if block.is_empty() { -count(sample) } else { 3 * added as i64 - count(sample) }
        };
        let costs = slots.iter().enumerate().filter_map(|(slot, sample)| sample.map(|sample| (cost(sample), slot)));
        let (_, slot) = costs.min().unwrap();
        order.push(slots[slot].unwrap());
        slots[slot] = waiting.next();
    }
    order
}

#[test]
fn the_order_of_similar_samples_is_the_documented_one() {
    let mut rng = StdRng::seed_from_u64(test_support::seed(8));
    for (samples, inputs) in [(1, 1), (16, 5), (333, 150), (1024, 20), (1300, 64), (40, 65)] {
        let rows: Vec<Vec<u8>> =
            (0..samples).map(|_| (0..inputs).map(|_| u8::from(rng.random_bool(0.3)) * 7).collect()).collect();
        let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        let expected = expected_order(&rows);
        for set in InstructionSet::available() {
            assert_eq!(order_by_similarity(set, &rows), expected, "{}, {samples} × {inputs}", set.name());
        }
    }
}

#[test]
fn similar_samples_become_neighbours() {
    // Two kinds of samples, alternating.
    let is_used =
        |sample: usize, input: usize| sample.is_multiple_of(2) == (input < 70) && !(sample + input).is_multiple_of(5);
    let rows: Vec<Vec<f32>> =
        (0..333).map(|s| (0..150).map(|p| if is_used(s, p) { f32::NAN } else { -0.0 }).collect()).collect();
    let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
    for set in InstructionSet::available() {
        let order = order_by_similarity(set, &rows);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..333), "each sample once");
        let mixed = order.chunks(LANES).filter(|block| block.iter().any(|&s| s % 2 != block[0] % 2)).count();
        assert!(mixed <= 2, "{}: {mixed} blocks of both kinds", set.name());
        assert!(order_by_similarity::<u8>(set, &[]).is_empty());
        assert_eq!(order_by_similarity::<u8>(set, &[&[], &[], &[]]).len(), 3);
    }
}

#[test]
fn softmax_and_its_cross_entropy_are_those_of_plain_loops() {
    let mut rng = StdRng::seed_from_u64(test_support::seed(5));
    for (units, samples) in [(1, 1), (10, 848), (32, 401), (3, 16), (7, 300)] {
        let mut sums = matrix(units, SAMPLES, &mut rng);
        (0..units).for_each(|unit| sums.row_mut(unit).iter_mut().for_each(|z| *z *= 20.0));
        let mut targets = PaddedMatrix::<f32>::zeros(units, SAMPLES);
        for sample in 0..samples {
            targets.row_mut(rng.random_range(0..units))[sample] = 1.0;
        }
        for set in InstructionSet::available() {
            let (mut outputs, mut errors) = (sums.clone(), matrix(units, SAMPLES, &mut rng));
            let loss = softmax_cross_entropy(set, &mut outputs, &targets, &mut errors, samples);
            let mut expected_loss = 0.0;
            for sample in 0..samples {
                let z: Vec<f64> = (0..units).map(|unit| f64::from(sums.row(unit)[sample])).collect();
                let largest = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let total: f64 = z.iter().map(|z| (z - largest).exp()).sum();
                for (unit, &z) in z.iter().enumerate() {
                    let (expected, y) = ((z - largest).exp() / total, targets.row(unit)[sample]);
                    let (got, error) = (f64::from(outputs.row(unit)[sample]), errors.row(unit)[sample]);
                    let tolerance = (4e-7 + 6e-8 * (largest - z)) * expected + 1.3e-35;
                    assert!((got - expected).abs() <= tolerance, "{}: {got} {expected}", set.name());
                    assert_eq!(error, flushed(outputs.row(unit)[sample] - y), "{}", set.name());
                    expected_loss -= f64::from(y) * (z - largest - total.ln());
                }
            }
            assert!((loss - expected_loss).abs() <= 2e-6 * expected_loss.max(1.0), "{loss} {expected_loss}");
            let end = samples.next_multiple_of(LANES);
            assert!((0..units).all(|unit| errors.row(unit)[samples..end].iter().all(|&error| error == 0.0)));
        }
    }
}

#[test]
fn softmax_propagates_nan_and_handles_infinity() {
    for set in InstructionSet::available() {
        let run = |z: [f32; 3]| {
            let mut sums = PaddedMatrix::zeros(3, LANES);
            let (mut targets, mut errors) = (sums.clone(), sums.clone());
            (0..3).for_each(|unit| sums.row_mut(unit).fill(z[unit]));
            targets.row_mut(0).fill(1.0);
            let loss = softmax_cross_entropy(set, &mut sums, &targets, &mut errors, LANES);
            (loss / 16.0, [sums.row(0)[5], sums.row(1)[5], sums.row(2)[5]])
        };
        let (loss, outputs) = run([1.0, f32::NAN, 0.0]);
        assert!(loss.is_nan() && outputs.iter().all(|a| a.is_nan()), "{}", set.name());
        let (loss, outputs) = run([0.0, f32::NEG_INFINITY, 0.0]);
        assert!((loss - 2_f64.ln()).abs() < 1e-6 && outputs[1] < 2e-38 && outputs[0] == 0.5, "{}", set.name());
        let (loss, outputs) = run([-1e30, 1e30, 0.0]);
        assert!(loss >= 1e30 && loss.is_finite() && outputs[1] == 1.0, "{}: {loss}", set.name());
        assert!(run([f32::INFINITY, 0.0, 0.0]).0.is_nan(), "{}", set.name());
    }
}
