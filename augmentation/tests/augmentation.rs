//! Compares the assignment's functions with naive definitions and with its text, and tests the
//! queue and the workers.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use augmentation::{
    Closed, Distortion, Image, Job, PIXELS, Queue, SIDE, Worker, add_noise, in_order, process_image, rotate, shift,
    skew, ways,
};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

fn random_image(seed: u64) -> Image {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    std::array::from_fn(|_| if rng.random_bool(0.3) { rng.random() } else { 0.0 })
}

/// The pixel at a position that need not be whole, by the definition of bilinear interpolation.
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
            // To the right and upwards from the center, rotated back.
            let (x, y) = (column - 13.5, 13.5 - row);
            let (x, y) = (cos * x + sin * y, cos * y - sin * x);
            pixel(&image, 13.5 - y, 13.5 + x)
        })?;
    }

    #[test]
    fn a_shift_moves_pixels(seed in any::<u64>(), dx in -40..40, dy in -40..40) {
        let image = random_image(seed);
        let shifted = shift(&image, dx, dy);
        for (index, &got) in shifted.iter().enumerate() {
            let (row, column) = ((index / SIDE) as i32 + dy, (index % SIDE) as i32 + dx);
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
    fn noise_is_added_and_subtracted_within_legal_brightness(seed in any::<u64>(), noise in 0.0_f32..0.5) {
        let grey = random_image(seed).map(|pixel| 0.25 + 0.5 * pixel);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let noisy = add_noise(&grey, noise, &mut rng);
        for (noisy, pixel) in noisy.iter().zip(&grey) {
            let [lowest, highest] = [pixel - noise, pixel + noise].map(|pixel| pixel.clamp(0.0, 1.0));
            prop_assert!((lowest - 1e-6..=highest + 1e-6).contains(noisy), "{pixel} became {noisy}");
        }
        let noisy = add_noise(&[0.5; PIXELS], noise, &mut rng);
        let mean: f32 = noisy.iter().map(|pixel| pixel - 0.5).sum::<f32>() / PIXELS as f32;
        // The mean of 784 uniform values in ±1 has a standard deviation of 0.02.
        prop_assert!(mean.abs() < 0.12 * noise + 1e-6, "{mean} of {noise}");
    }
}

/// An image with the given rows in its upper left corner, and 0 elsewhere.
fn corner(rows: &[&[f32]]) -> Image {
    let mut image = [0.0; PIXELS];
    for (row, pixels) in rows.iter().enumerate() {
        image[row * SIDE..row * SIDE + pixels.len()].copy_from_slice(pixels);
    }
    image
}

const PICTURE: [&[f32]; 4] =
    [&[0.1, 0.2, 0.3, 0.4], &[0.5, 0.6, 0.7, 0.8], &[0.9, 1.0, 0.9, 0.8], &[0.7, 0.6, 0.5, 0.4]];

/// "shift(image, dx, dy): to the left by dx and up by dy, outside is 0".
#[test]
fn a_shift_is_to_the_left_and_up() {
    assert_eq!(shift(&corner(&PICTURE), 1, 2), corner(&[&[1.0, 0.9, 0.8], &[0.6, 0.5, 0.4]]));
    assert_eq!(shift(&corner(&[&[0.1, 0.2], &[0.5, 0.6]]), -1, 0), corner(&[&[0.0, 0.1, 0.2], &[0.0, 0.5, 0.6]]));
    assert_eq!(shift(&corner(&[&[0.1, 0.2], &[0.5, 0.6]]), 0, -1), corner(&[&[], &[0.1, 0.2], &[0.5, 0.6]]));
}

/// "skew(image, tilt): out[i][j] = in[i][j + i·tilt], outside 0".
#[test]
fn a_skew_takes_pixels_from_the_right() {
    let skewed = corner(&[&[0.1, 0.2, 0.3, 0.4], &[0.6, 0.7, 0.8], &[0.9, 0.8], &[0.4]]);
    assert_eq!(skew(&corner(&PICTURE), 1.0), skewed);
    let other = corner(&[&[0.1, 0.2, 0.3, 0.4], &[0.0, 0.5, 0.6, 0.7, 0.8], &[0.0, 0.0, 0.9, 1.0, 0.9, 0.8]]);
    assert_eq!(skew(&corner(&PICTURE[..3]), -1.0), other);
    // Half a column. Where the assignment rounds j + 0.5, this takes the mean of both pixels.
    assert_eq!(skew(&corner(&[&[], &[0.2, 0.4, 0.8]]), 0.5), corner(&[&[], &[0.3, 0.6, 0.4]]));
}

/// "rotate(image, angle)": a positive angle rotates counterclockwise, as in `scipy.ndimage.rotate`.
#[test]
fn a_quarter_turn_is_against_the_clock() {
    let turned = rotate(&corner(&[&[0.1, 0.2, 0.3], &[0.4]]), 90.0);
    for (row, pixels) in [[0.1, 0.4], [0.2, 0.0], [0.3, 0.0]].into_iter().enumerate() {
        for (column, expected) in pixels.into_iter().enumerate() {
            // The upper left corner moves to the lower left one.
            let got = turned[(SIDE - 1 - row) * SIDE + column];
            assert!((got - expected).abs() < 1e-4, "({row}, {column}): {got} instead of {expected}");
        }
    }
}

/// "add_noise(image, noise): each pixel gets a value uniform in [−noise, +noise], clipped to legal brightness".
#[test]
fn noise_of_three_tenths_makes_half_grey_two_to_eight_tenths() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(3));
    let noisy = add_noise(&[0.5; PIXELS], 0.3, &mut rng);
    let (lowest, highest) = noisy.iter().fold((1.0_f32, 0.0_f32), |(low, high), &x| (low.min(x), high.max(x)));
    assert!((0.2..0.21).contains(&lowest) && (0.79..=0.8).contains(&highest), "{lowest} to {highest}");
    for third in 0..3 {
        let count = noisy.iter().filter(|&&x| (10.0 * x - 2.0) as usize / 2 == third).count();
        assert!((200..320).contains(&count), "{count} of 784 pixels are in the range's third {third}");
    }
    // Half of the pixels of a black image stay black, and half of a white image's stay white.
    for (pixel, low, high) in [(0.0, 0.0, 0.3), (1.0, 0.7, 1.0)] {
        let noisy = add_noise(&[pixel; PIXELS], 0.3, &mut rng);
        assert!(noisy.iter().all(|x| (low - 1e-6..=high).contains(x)));
        assert!((330..455).contains(&noisy.iter().filter(|&&x| x == pixel).count()));
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

/// "process_image runs them one after another with random arguments".
#[test]
fn an_image_is_processed_by_all_functions_with_random_arguments() {
    let image = random_image(4);
    let none = Distortion { degrees: 0.0, pixels: 0.0, tilt: 0.0, noise: 0.0 };
    let of = |largest: &Distortion, seed| process_image(&image, largest, &mut ChaCha8Rng::seed_from_u64(seed));
    assert_eq!(of(&none, 1), image);
    for largest in [
        Distortion { degrees: 20.0, ..none },
        Distortion { pixels: 3.0, ..none },
        Distortion { tilt: 0.2, ..none },
        Distortion { noise: 0.2, ..none },
    ] {
        assert!(of(&largest, 1) == of(&largest, 1) && of(&largest, 1) != of(&largest, 2), "{largest:?}");
        assert!(of(&largest, 1) != image && of(&largest, 1).iter().all(|pixel| (0.0..=1.0).contains(pixel)));
    }
    // Every shift occurs, including the largest ones in both directions.
    let moved = |seed| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut one = [0.0; PIXELS];
        one[14 * SIDE + 14] = 1.0;
        process_image(&one, &Distortion { pixels: 1.0, ..none }, &mut rng).iter().position(|&pixel| pixel == 1.0)
    };
    assert_eq!((0..200).map(moved).collect::<HashSet<_>>().len(), 9);
}

/// "a queue of many writers and one reader, with put, get, length".
#[test]
fn a_queue_passes_every_item_of_every_writer_once() {
    let queue = Queue::new(NonZeroUsize::new(3).unwrap());
    let seen: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let queue = &queue;
                scope.spawn(move || (0..1000).for_each(|item| queue.put((writer, item)).unwrap()))
            })
            .collect();
        let reader = scope
            .spawn(|| std::iter::from_fn(|| queue.get()).inspect(|_| assert!(queue.length() <= 3)).collect::<Vec<_>>());
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        queue.close();
        reader.join().unwrap()
    });
    for writer in 0..8 {
        let of_writer: Vec<usize> = seen.iter().filter(|item| item.0 == writer).map(|item| item.1).collect();
        assert_eq!(of_writer, (0..1000).collect::<Vec<_>>(), "the items of a writer stay in order");
    }
    assert_eq!((seen.len(), queue.length()), (8000, 0));
}

#[test]
fn a_closed_queue_takes_nothing_and_gives_what_it_has() {
    let queue = Queue::new(NonZeroUsize::new(2).unwrap());
    assert_eq!(queue.length(), 0);
    assert_eq!([queue.put(1), queue.put(2)], [Ok(()), Ok(())]);
    assert_eq!(queue.length(), 2);
    // A writer waits for room.
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| queue.put(3));
        queue.close();
        assert_eq!(writer.join().unwrap(), Err(Closed));
    });
    assert_eq!([queue.get(), queue.get(), queue.get()], [Some(1), Some(2), None]);
}

/// "run serves the queue".
#[test]
fn workers_serve_a_queue_of_jobs_with_the_same_results_on_any_number_of_them() {
    let results_of = |workers: usize| {
        let room = NonZeroUsize::new(4).unwrap();
        let (jobs, results) = (Queue::new(room), Queue::new(room));
        let largest = Distortion { noise: 0.1, ..Distortion::default() };
        let worker = Worker { jobs: &jobs, results: &results, largest, seed: 9 };
        let mut done: Vec<Job> = std::thread::scope(|scope| {
            (0..workers).for_each(|_| drop(scope.spawn(|| worker.run())));
            scope.spawn(|| {
                (0..60).for_each(|number| {
                    let job = Job { number, image: random_image(number), label: (number % 10) as u8 };
                    jobs.put(job).unwrap();
                });
                jobs.close();
            });
            (0..60).map(|_| results.get().unwrap()).collect()
        });
        done.sort_by_key(|job| job.number);
        done
    };
    let expected = results_of(1);
    assert!(
        expected.iter().enumerate().all(|(index, job)| job.number == index as u64 && job.label == (index % 10) as u8)
    );
    assert!(expected.iter().all(|job| job.image != random_image(job.number)));
    for workers in [2, 8] {
        assert!(results_of(workers) == expected, "{workers} workers");
    }
    // A worker ends when its results are no longer wanted.
    let (jobs, results) = (Queue::new(NonZeroUsize::MIN), Queue::new(NonZeroUsize::MIN));
    jobs.put(expected[0].clone()).unwrap();
    results.close();
    Worker { jobs: &jobs, results: &results, largest: Distortion::default(), seed: 0 }.run();
    assert_eq!(jobs.length(), 0);
}

#[test]
fn images_pass_every_way_as_they_are() {
    let (image, workers) = (random_image(6), NonZeroUsize::new(3).unwrap());
    for count in [0, 1, 100] {
        assert_eq!(ways::through_queue(&image, count), count);
        assert_eq!(ways::through_pipe(&image, count).unwrap(), count);
        assert_eq!(ways::by_workers(&image, count, workers, &Distortion::default(), 1), count);
    }
    let none = Distortion { degrees: 0.0, pixels: 0.0, tilt: 0.0, noise: 0.0 };
    assert_eq!(ways::one_by_one(&image, 2, &none, 1), image);
    assert_eq!(ways::by_one_map(&[7; PIXELS], 2, &none, 1), [7; PIXELS]);
    assert_ne!(ways::by_one_map(&[7; PIXELS], 2, &Distortion::default(), 1), [7; PIXELS]);
}

#[test]
fn in_order_keeps_the_order_and_is_bounded() {
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

#[test]
#[should_panic(expected = "the reader panics")]
fn a_panic_of_the_reader_ends_the_workers() {
    _ = in_order(1000, 3, |index| index, |index, _| -> ControlFlow<()> { panic!("the reader panics at {index}") });
}
