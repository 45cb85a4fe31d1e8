//! Averages of digits that are redrawn with the page's pen.

use draw::drawing::{PIXELS, SIDE};
use draw::prototypes;
use draw::reading::{Thumbnail, nearest, thumbnail};
use draw::redrawn::redraw;

use crate::images::image_of;
use crate::strokes::hundred_digits;

/// Parses a file in the page's format: the limit, and the prototypes, each a digit and its thumbnail.
fn parsed(file: &[u8]) -> (f64, Vec<(usize, Vec<f64>)>) {
    let (limit, prototypes) = file.split_first_chunk().unwrap();
    assert_eq!(prototypes.len() % 50, 0);
    let parsed = prototypes.chunks(50).map(|prototype| {
        (usize::from(prototype[0]), prototype[1..].iter().map(|&cell| f64::from(cell) / 255.0).collect())
    });
    (f32::from_le_bytes(*limit).into(), parsed.collect())
}

/// The digit of the nearest prototype, and its distance.
fn naive_nearest(prototypes: &[(usize, Vec<f64>)], thumbnail: &[f64]) -> (usize, f64) {
    let distance = |cells: &[f64]| {
        let squares = cells.iter().zip(thumbnail).map(|(one, other)| (one - other) * (one - other));
        squares.sum::<f64>().sqrt()
    };
    let all = prototypes.iter().map(|(digit, cells)| (*digit, distance(cells)));
    all.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap()
}

/// The ink around each cell's center, computed pixel by pixel.
fn naive_thumbnail(image: &[u8; PIXELS]) -> Vec<f64> {
    let weight = |place: usize, cell: usize| (1.0 - (place as f64 / 3.5 - cell as f64 - 1.0).abs()).max(0.0) / 3.5;
    let cells = (0..49).map(|cell| {
        let pixels = image.iter().enumerate();
        let shares = pixels
            .map(|(at, &pixel)| f64::from(pixel) / 255.0 * weight(at % SIDE, cell % 7) * weight(at / SIDE, cell / 7));
        shares.sum()
    });
    cells.collect()
}

#[test]
fn the_distance_is_that_to_the_nearest_of_the_pages_prototypes() {
    let (limit, prototypes) = parsed(include_bytes!("../../src/prototypes.bin"));
    assert!((0..10).all(|digit| prototypes.iter().any(|(own, _)| *own == digit)));
    for (_, strokes) in hundred_digits() {
        let image = image_of(&strokes);
        let (digit, distance) = naive_nearest(&prototypes, &naive_thumbnail(&image));
        let found = nearest(&image);
        assert_eq!(found.digit, digit);
        assert!((f64::from(found.distance) - distance / limit).abs() < 1e-5, "{found:?}, expected {distance}");
    }
}

#[test]
fn the_limit_is_what_all_but_a_hundredth_of_the_held_out_images_keep() {
    let (pixels, labels) = digits::builtin_digits::draw(6_501, 1);
    let (training, held_out) = pixels.as_chunks().0.split_at(6_000);
    let (limit, prototypes) = parsed(&prototypes::encode((training, &labels[..6_000]), held_out));
    let distances = held_out.iter().map(|image| naive_nearest(&prototypes, &naive_thumbnail(&redraw(image))).1);
    let beyond = distances.filter(|distance| *distance > limit + 1e-5).count();
    assert_eq!((held_out.len(), beyond), (501, 5));
    // All are different, and each one averages at least ten images.
    let mut cells: Vec<_> =
        prototypes.iter().map(|(_, cells)| cells.iter().map(|cell| cell.to_bits()).collect::<Vec<_>>()).collect();
    cells.sort();
    cells.dedup();
    assert_eq!(cells.len(), prototypes.len());
    assert!((100..=480).contains(&prototypes.len()), "{}", prototypes.len());
}

#[test]
fn a_prototype_is_the_average_of_ten_images_or_more() {
    let image = |digit: usize| image_of(&hundred_digits()[digit].1);
    let (nine, ten) = ([image(3); 9], [image(5); 10]);
    let images = [&nine[..], &ten].concat();
    let labels = [[3; 9].as_slice(), &[5; 10]].concat();
    let (_, prototypes) = parsed(&prototypes::encode((&images, &labels), &images));
    let [(digit, cells)] = &prototypes[..] else { panic!("{prototypes:?}") };
    assert_eq!(*digit, 5);
    let expected = naive_thumbnail(&redraw(&image(5)));
    assert!(cells.iter().zip(expected).all(|(cell, ink)| (cell - ink).abs() < 0.5 / 255.0 + 1e-5));
}

/// The image with its lines two pixels wider.
fn thicker(image: &[u8; PIXELS]) -> [u8; PIXELS] {
    std::array::from_fn(|at| {
        let near = |center: usize| center.saturating_sub(1)..SIDE.min(center + 2);
        let pixels = near(at / SIDE).flat_map(|row| near(at % SIDE).map(move |column| image[row * SIDE + column]));
        pixels.max().unwrap_or_default()
    })
}

fn gap(one: &Thumbnail, other: &Thumbnail) -> f32 {
    one.iter().zip(other).map(|(one, other)| (one - other) * (one - other)).sum::<f32>().sqrt()
}

#[test]
fn a_digit_of_a_thicker_pen_is_nearer_to_the_pages_when_it_is_redrawn() {
    let gaps = hundred_digits().into_iter().map(|(_, strokes)| {
        let image = image_of(&strokes);
        let own = thumbnail(&image);
        (gap(&thumbnail(&redraw(&thicker(&image))), &own), gap(&thumbnail(&thicker(&image)), &own))
    });
    let (redrawn, thick): (Vec<f32>, Vec<f32>) = gaps.unzip();
    let mean = |gaps: &[f32]| gaps.iter().sum::<f32>() / gaps.len() as f32;
    assert!(mean(&redrawn) < 0.5 * mean(&thick), "{} and {}", mean(&redrawn), mean(&thick));
}

#[test]
fn a_dot_remains_a_dot_and_nothing_remains_nothing() {
    assert_eq!(redraw(&[0; PIXELS]), [0; PIXELS]);
    let redrawn = redraw(&image_of(&vec![vec![[0.5, 0.5]]]));
    let inked = redrawn.iter().filter(|pixel| **pixel > 0).count();
    assert!((1..100).contains(&inked), "{inked}");
}
