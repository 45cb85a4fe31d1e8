//! The public tests of the augmentation. `cargo test -p augmentation`

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::num::NonZeroUsize;

use augmentation::{
    Distortion, Image, PIXELS, SIDE, augmented, full_queue, noisy, passed, processed, rotate, served, shift, skew,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::{Failure, call, check, for_any, seed_of_the_tests};

const NONE: Distortion = Distortion { degrees: 0.0, pixels: 0, noise: 0.0, tilt: 0.0 };

/// The result of a function that has no errors of its own.
fn of<T>(name: &str, function: impl FnOnce() -> T) -> Result<T, Failure> {
    check(name, call(|| Ok::<T, Infallible>(function())))
}

fn random_image(seed: u64) -> Image {
    let mut rng = ChaCha8Rng::seed_from_u64(seed_of_the_tests() + seed);
    std::array::from_fn(|_| rng.random_range(0.0..1.0))
}

/// A pixel, 0 outside of the image.
fn pixel(image: &Image, row: i64, column: i64) -> f64 {
    let is_inside = (0..SIDE as i64).contains(&row) && (0..SIDE as i64).contains(&column);
    if is_inside { image[row as usize * SIDE + column as usize].into() } else { 0.0 }
}

/// Checks every pixel by the function that says what it must be, and, of one that may be rounded or interpolated, what it may be.
fn are_pixels(what: &str, found: &Image, bound: f64, expected: impl Fn(i64, i64) -> [f64; 2]) -> Result<(), Failure> {
    for (index, &found) in found.iter().enumerate() {
        let (row, column) = (index / SIDE, index % SIDE);
        let expected = expected(row as i64, column as i64);
        let is_right = expected.iter().any(|expected| (f64::from(found) - expected).abs() <= bound);
        if !is_right {
            return Err(format!("{what}: pixel ({row}, {column}) is {found}, expected {}", expected[0] as f32).into());
        }
    }
    Ok(())
}

/// A pixel between four ones, interpolated bilinearly.
fn between(image: &Image, row: f64, column: f64) -> f64 {
    let (top, left) = (row.floor(), column.floor());
    let (down, right) = (row - top, column - left);
    let at = |rows: i64, columns: i64| pixel(image, top as i64 + rows, left as i64 + columns);
    let above = at(0, 0) * (1.0 - right) + at(0, 1) * right;
    let below = at(1, 0) * (1.0 - right) + at(1, 1) * right;
    above * (1.0 - down) + below * down
}

#[test]
fn rotate_turns_against_the_clock() -> Result<(), Failure> {
    let turned = |image: &Image, degrees: f32| {
        let found = of("rotate", || rotate(image, degrees))?;
        let (sin, cos) = f64::from(degrees).to_radians().sin_cos();
        are_pixels(&format!("rotate by {degrees}°"), &found, 1e-3, |row, column| {
            let (x, y) = (column as f64 - 13.5, 13.5 - row as f64);
            [between(image, 13.5 - (y * cos - x * sin), 13.5 + (x * cos + y * sin)); 2]
        })
    };
    // The upper left corner goes to the lower left one.
    let corner: Image = std::array::from_fn(|index| if index < 3 { 0.2 + 0.3 * index as f32 } else { 0.0 });
    for degrees in [0.0, 90.0, 180.0, -90.0, 30.0] {
        turned(&corner, degrees)?;
    }
    for_any(30, (-360.0_f32..360.0, 0..1000_u64), |(degrees, seed)| turned(&random_image(seed), degrees))
}

#[test]
fn shift_moves_to_the_left_and_up() -> Result<(), Failure> {
    for_any(60, (-30..30, -30..30, 0..1000_u64), |(dx, dy, seed)| {
        let image = random_image(seed);
        let found = of("shift", || shift(&image, dx, dy))?;
        let what = format!("shift by dx = {dx}, dy = {dy}");
        are_pixels(&what, &found, 0.0, |row, column| [pixel(&image, row + i64::from(dy), column + i64::from(dx)); 2])
    })
}

/// A pixel between two may be the nearer one, as the assignment has it, or interpolated.
#[test]
fn skew_takes_pixels_from_the_right() -> Result<(), Failure> {
    let skewed = |image: &Image, tilt: f32| {
        let found = of("skew", || skew(image, tilt))?;
        are_pixels(&format!("skew by {tilt}"), &found, 1e-3, |row, column| {
            let place = column as f64 + row as f64 * f64::from(tilt);
            [pixel(image, row, place.round() as i64), between(image, row as f64, place)]
        })
    };
    for tilt in [1.0, -1.0, 0.0, 2.0] {
        skewed(&random_image(1), tilt)?;
    }
    // No multiple of these is half a column, where a rounding may go to either side.
    for_any(30, (-99..100_i32, 0..1000_u64), |(hundredths, seed)| {
        skewed(&random_image(seed), (hundredths as f32 + 0.301) / 100.0)
    })
}

#[test]
fn add_noise_adds_and_subtracts_within_legal_brightness() -> Result<(), Failure> {
    let with_noise = |image: &Image, noise: f32, seed: u64| of("add_noise", || noisy(image, noise, seed));
    for_any(30, (0.01_f32..0.5, 0..1000_u64), |(noise, seed)| {
        let (image, seed) = (random_image(seed), seed_of_the_tests() + seed);
        let found = with_noise(&image, noise, seed)?;
        for (index, (found, pixel)) in found.iter().zip(&image).enumerate() {
            let [lowest, highest] = [pixel - noise, pixel + noise].map(|pixel| pixel.clamp(0.0, 1.0));
            if !(lowest - 1e-6..=highest + 1e-6).contains(found) {
                return Err(format!(
                    "add_noise: pixel ({}, {}) of {pixel} is {found} with noise {noise}, expected {lowest} to {highest}",
                    index / SIDE,
                    index % SIDE
                )
                .into());
            }
        }
        Ok(())
    })?;
    // Uniform from 0.2 to 0.8, in three thirds of 784 / 3 = 261 pixels each, with a standard deviation of 13.
    let found = with_noise(&[0.5; PIXELS], 0.3, seed_of_the_tests())?;
    for third in 0..3 {
        let (from, to) = (0.2 + 0.2 * third as f32, 0.4 + 0.2 * third as f32);
        let count = found.iter().filter(|&&x| from <= x && x < to).count();
        if !(180..345).contains(&count) {
            return Err(format!(
                "add_noise: with noise 0.3, {count} of 784 pixels of 0.5 are from {from:.1} to {to:.1}, expected about 261: the values \
                 are uniform in [−noise, +noise], another one for each pixel"
            )
            .into());
        }
    }
    Ok(())
}

/// The images of `count` seeds.
fn processed_by(image: &Image, largest: Distortion, count: u64) -> Result<Vec<Image>, Failure> {
    let seeds = seed_of_the_tests()..seed_of_the_tests() + count;
    seeds.map(|seed| of("process_image", || processed(image, &largest, seed))).collect()
}

#[test]
fn process_image_distorts_by_each_function() -> Result<(), Failure> {
    let wrong = |what: String| Err(format!("process_image: {what}").into());
    let image = random_image(5);
    are_pixels("process_image without distortions", &processed_by(&image, NONE, 1)?[0], 1e-5, |row, column| {
        [pixel(&image, row, column); 2]
    })?;
    // One white pixel, in the middle: by a shift alone it goes to nine places. One of them is missing in one of 10⁹ times.
    let mut dot = [0.0; PIXELS];
    dot[14 * SIDE + 14] = 1.0;
    let mut places = BTreeSet::new();
    for found in processed_by(&dot, Distortion { pixels: 1, ..NONE }, 200)? {
        match found.iter().position(|&pixel| pixel > 0.99) {
            Some(place) if (13..=15).contains(&(place / SIDE)) && (13..=15).contains(&(place % SIDE)) => {
                places.insert(place);
            }
            _ => return wrong("with shifts of up to 1 pixel, a dot in the middle goes elsewhere".to_owned()),
        }
    }
    if places.len() != 9 {
        return wrong(format!(
            "with shifts of up to 1 pixel, 200 images have a dot in {} places, expected 9: to each side, and not at all",
            places.len()
        ));
    }
    // A line from top to bottom: how far its ends are to the left or right of its middle.
    let line: Image = std::array::from_fn(|index| if index % SIDE == 14 { 1.0 } else { 0.0 });
    let mean_of_row = |image: &Image, row: usize| {
        let pixels = &image[row * SIDE..(row + 1) * SIDE];
        let sum: f32 = pixels.iter().sum();
        pixels.iter().enumerate().map(|(column, pixel)| column as f32 * pixel).sum::<f32>() / sum.max(1e-6)
    };
    for (what, largest, row, most) in [
        ("rotations of up to 10°", Distortion { degrees: 10.0, ..NONE }, 4, 2.5),
        ("tilts of up to 0.2", Distortion { tilt: 0.2, ..NONE }, 20, 4.6),
    ] {
        let ends: Vec<f32> =
            processed_by(&line, largest, 60)?.iter().map(|image| mean_of_row(image, row) - 14.0).collect();
        let (least, greatest) = ends.iter().fold((0.0_f32, 0.0_f32), |(a, b), &end| (a.min(end), b.max(end)));
        if least < -most || greatest > most || least > -0.4 * most || greatest < 0.4 * most {
            return wrong(format!(
                "with {what}, row {row} of a line moves by {least:.1} to {greatest:.1} columns in 60 images, expected up to about {most:.1} \
                 to either side"
            ));
        }
    }
    let grey = [0.5; PIXELS];
    let of_noise = processed_by(&grey, Distortion { noise: 0.2, ..NONE }, 60)?;
    let all = || of_noise.iter().flatten();
    if all().any(|pixel| !(0.2999..0.7001).contains(pixel)) || !all().any(|&x| x < 0.4) || !all().any(|&x| x > 0.6) {
        return wrong("with noise of up to 0.2, pixels of 0.5 are not from 0.3 to 0.7, to either side".to_owned());
    }
    Ok(())
}

#[test]
fn the_queue_passes_each_item_once_in_order() -> Result<(), Failure> {
    let (writers, items) = (4, 200);
    let (got, [_, length]) = of("Queue", || passed(writers, items, NonZeroUsize::MIN.saturating_add(2)))?;
    for writer in 0..writers {
        let of_writer: Vec<usize> = got.iter().filter(|item| item.0 == writer).map(|item| item.1).collect();
        if let Some(at) = (0..items).find(|&at| of_writer.get(at) != Some(&at)) {
            let found = of_writer.get(at).map_or_else(|| "missing".to_owned(), ToString::to_string);
            return Err(format!(
                "get: item {at} of writer {writer} is {found}: each comes once, in the order in which it was put"
            )
            .into());
        }
    }
    match (got.len(), length) {
        (800, 0) => Ok(()),
        (count, length) => Err(format!("length: after 800 items were put and {count} taken, it is {length}").into()),
    }
}

#[test]
fn a_full_queue_makes_its_writers_wait() -> Result<(), Failure> {
    let room = 3;
    let (_, [greatest, _]) = of("Queue", || passed(4, 200, NonZeroUsize::MIN.saturating_add(room - 1)))?;
    if greatest > room {
        return Err(format!("put: a queue with room for {room} items has {greatest}: wait while it is full").into());
    }
    let (length, taken, is_refused, rest) = of("Queue", full_queue)?;
    if length != 2 {
        return Err(format!("length: after two items were put, it is {length}").into());
    }
    if taken != [1, 2, 3] {
        return Err(format!("get: a queue into which 1, 2 and 3 were put gives {taken:?}").into());
    }
    if !is_refused {
        return Err("put: a writer that waits for room has no error when the queue is closed".into());
    }
    match rest == [Some(4), Some(5), None] {
        true => Ok(()),
        false => {
            Err(format!("get: a closed queue with 4 and 5 gives {rest:?}, expected [Some(4), Some(5), None]").into())
        }
    }
}

#[test]
fn a_worker_serves_the_queue() -> Result<(), Failure> {
    let largest = Distortion { degrees: 10.0, pixels: 2, noise: 0.1, tilt: 0.1 };
    let seed = seed_of_the_tests();
    let sorted = |workers| {
        let mut done = of("run", || served(40, workers, largest, seed))?;
        done.sort_by_key(|(number, _)| *number);
        Ok::<_, Failure>(done)
    };
    let one = sorted(1)?;
    if !one.iter().map(|(number, _)| *number).eq(0..40) {
        return Err(format!("run: {} of 40 jobs have a result of their number", one.len()).into());
    }
    for (number, found) in &one {
        let mut image = [0.0; PIXELS];
        image.iter_mut().skip(*number as usize % SIDE).step_by(SIDE).for_each(|pixel| *pixel = 1.0);
        if *found == image {
            return Err(format!("run: the image of job {number} is as it was").into());
        }
    }
    match sorted(3)? == one {
        true => Ok(()),
        false => Err(
            "run: three workers have other results than one: are the random numbers those of rng_of(seed, job.number)?"
                .into(),
        ),
    }
}

#[test]
fn augmented_has_an_image_for_each_in_order() -> Result<(), Failure> {
    let workers = |count: usize| NonZeroUsize::MIN.saturating_add(count - 1);
    let images: Vec<Image> = (0..50).map(random_image).collect();
    let by =
        |images: &[Image], count, largest, seed| of("augmented", || augmented(images, workers(count), largest, seed));
    for count in [1, 3] {
        let same = by(&images, count, NONE, 1)?;
        if same.len() != images.len() {
            return Err(format!("augmented: of 50 images and {count} workers, there are {} results", same.len()).into());
        }
        for (index, (found, image)) in same.iter().zip(&images).enumerate() {
            are_pixels(&format!("augmented, image {index} without distortions"), found, 1e-5, |row, column| {
                [pixel(image, row, column); 2]
            })?;
        }
    }
    if !by(&[], 2, NONE, 1)?.is_empty() {
        return Err("augmented: there are results without an image".into());
    }
    let largest = Distortion { pixels: 3, noise: 0.1, ..NONE };
    let [one, three] = [by(&images, 1, largest, 2)?, by(&images, 3, largest, 2)?];
    if let Some(index) = (0..50).find(|&index| one[index] != three[index]) {
        return Err(format!("augmented: image {index} by three workers is another one than by one").into());
    }
    match one.iter().zip(&images).filter(|(found, image)| found == image).count() {
        0 => Ok(()),
        count => Err(format!("augmented: {count} of 50 images are as they were").into()),
    }
}
