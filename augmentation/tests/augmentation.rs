//! The assignment's functions against plain definitions, and the queue.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use augmentation::{Distortion, Image, PIXELS, SIDE, add_noise, in_order, rotate, shift, skew};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

fn random_image(seed: u64) -> Image {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    std::array::from_fn(|_| if rng.random_bool(0.3) { rng.random() } else { 0.0 })
}

/// The pixel at a place that need not be whole, by the definition of bilinear interpolation.
fn pixel(image: &Image, row: f64, column: f64) -> f64 {
    let at = |row: f64, column: f64| {
        let is_inside = (0.0..SIDE as f64).contains(&row) && (0.0..SIDE as f64).contains(&column);
        if is_inside { f64::from(image[row as usize * SIDE + column as usize]) } else { 0.0 }
    };
    let (top, left) = (row.floor(), column.floor());
    let (down, right) = (row - top, column - left);
    (1.0 - down) * ((1.0 - right) * at(top, left) + right * at(top, left + 1.0))
        + down * ((1.0 - right) * at(top + 1.0, left) + right * at(top + 1.0, left + 1.0))
}

fn assert_image(got: &Image, of: impl Fn(f64, f64) -> f64) -> Result<(), TestCaseError> {
    for row in 0..SIDE {
        for column in 0..SIDE {
            let (got, expected) = (f64::from(got[row * SIDE + column]), of(row as f64, column as f64));
            prop_assert!((got - expected).abs() < 1e-4, "({row}, {column}): {got} instead of {expected}");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_rotation_turns_around_the_centre(seed in any::<u64>(), degrees in -360.0_f32..360.0) {
        let image = random_image(seed);
        let (sin, cos) = f64::from(degrees).to_radians().sin_cos();
        assert_image(&rotate(&image, degrees), |row, column| {
            // To the right and upwards from the centre, turned back.
            let (x, y) = (column - 13.5, 13.5 - row);
            let (x, y) = (cos * x + sin * y, cos * y - sin * x);
            pixel(&image, 13.5 - y, 13.5 + x)
        })?;
    }

    #[test]
    fn a_shift_moves_pixels(seed in any::<u64>(), right in -40..40, down in -40..40) {
        let image = random_image(seed);
        let shifted = shift(&image, right, down);
        for (index, &got) in shifted.iter().enumerate() {
            let (row, column) = ((index / SIDE) as i32 - down, (index % SIDE) as i32 - right);
            let is_inside = (0..SIDE as i32).contains(&row) && (0..SIDE as i32).contains(&column);
            prop_assert_eq!(got, if is_inside { image[row as usize * SIDE + column as usize] } else { 0.0 });
        }
    }

    #[test]
    fn a_skew_moves_rows(seed in any::<u64>(), tilt in -1.0_f32..1.0) {
        let image = random_image(seed);
        assert_image(&skew(&image, tilt), |row, column| pixel(&image, row, column + row * f64::from(tilt)))?;
    }

    #[test]
    fn noise_is_added_up_to_one(seed in any::<u64>(), amount in 0.0_f32..0.5) {
        let image = random_image(seed);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let noisy = add_noise(&image, amount, &mut rng);
        let differences: Vec<f32> = noisy.iter().zip(&image).map(|(noisy, pixel)| noisy - pixel).collect();
        prop_assert!(differences.iter().all(|&by| (0.0..=amount + 1e-6).contains(&by)) && noisy.iter().all(|&x| x <= 1.0));
        let mean: f32 = differences.iter().sum::<f32>() / PIXELS as f32;
        prop_assert!((mean - amount / 2.0).abs() < 0.06 * amount + 1e-3, "{mean} of {amount}");
    }
}

#[test]
fn nothing_is_distorted_by_nothing_and_a_quarter_turn_is_exact() {
    let image = random_image(1);
    assert_eq!((rotate(&image, 0.0), shift(&image, 0, 0), skew(&image, 0.0)), (image, image, image));
    let turned = rotate(&image, 90.0);
    for (row, column) in (0..SIDE).flat_map(|row| (0..SIDE).map(move |column| (row, column))) {
        let error = turned[row * SIDE + column] - image[column * SIDE + (SIDE - 1 - row)];
        assert!(error.abs() < 1e-4, "({row}, {column})");
    }
    let bytes: Vec<u8> = image.iter().map(|pixel| (255.0 * pixel) as u8).collect();
    let (none, mut out) = (Distortion { degrees: 0.0, pixels: 0.0, tilt: 0.0, noise: 0.0 }, vec![0; PIXELS]);
    none.apply(&bytes, &mut out, 2, 0);
    assert_eq!(out, bytes);
}

#[test]
fn a_distortion_is_small_random_and_repeatable() {
    let mut image = vec![0; PIXELS];
    (10..18).for_each(|row| image[row * SIDE + 12..row * SIDE + 16].fill(255));
    let distorted = |seed| {
        let mut out = vec![0; PIXELS];
        Distortion::default().apply(&image, &mut out, 5, seed);
        out
    };
    let centre = |image: &[u8]| {
        let mass: f64 = image.iter().map(|&pixel| f64::from(pixel)).sum();
        let of = |place: fn(usize) -> usize| {
            image.iter().enumerate().map(|(index, &pixel)| place(index) as f64 * f64::from(pixel)).sum::<f64>() / mass
        };
        (mass, of(|index| index / SIDE), of(|index| index % SIDE))
    };
    let (mass, row, column) = centre(&image);
    for seed in 0..200 {
        let out = distorted(seed);
        assert_eq!(out, distorted(seed));
        assert_ne!(out, distorted(seed + 1000));
        let (other_mass, other_row, other_column) = centre(&out);
        assert!((other_mass / mass - 1.0).abs() < 0.1, "no ink is lost: {other_mass} of {mass}");
        assert!((other_row - row).abs() < 2.5 && (other_column - column).abs() < 2.5, "seed {seed}");
    }
}

#[test]
fn the_queue_keeps_the_order_and_is_bounded() {
    for workers in [0, 1, 2, 5] {
        let (made, read) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let make = |index: usize| {
            let ahead = made.fetch_add(1, Ordering::SeqCst) + 1 - read.load(Ordering::SeqCst).min(1000);
            (index * 3, ahead)
        };
        let mut seen = Vec::new();
        let ended: ControlFlow<()> = in_order(500, workers, make, |index, (value, ahead)| {
            assert!(ahead <= 2 * workers + 2, "{ahead} are ahead of the reader, of {workers} workers");
            assert_eq!(value, 3 * index);
            seen.push(index);
            read.fetch_add(1, Ordering::SeqCst);
            ControlFlow::Continue(())
        });
        assert!(ended.is_continue() && seen == (0..500).collect::<Vec<_>>());
        let broken = in_order(
            500,
            workers,
            |index| index,
            |index, _| match index {
                7 => ControlFlow::Break("seven"),
                _ => ControlFlow::Continue(()),
            },
        );
        assert_eq!(broken, ControlFlow::Break("seven"));
        assert!(in_order(0, workers, |_| (), |_, ()| ControlFlow::Break(())).is_continue());
    }
}

#[test]
#[should_panic(expected = "a scoped thread panicked")]
fn a_panic_of_a_worker_is_passed_on() {
    _ = in_order(10, 2, |index| assert_ne!(index, 5), |_, ()| ControlFlow::<()>::Continue(()));
}
