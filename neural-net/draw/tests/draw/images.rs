//! Strokes become images in MNIST's format.

use draw::drawing::{Drawing, PIXELS, SIDE};

use crate::strokes::{self, Strokes};

/// The image of strokes.
pub(crate) fn image_of(strokes: &Strokes) -> [u8; PIXELS] {
    let points = || strokes.iter().flatten();
    let limit = |first: f32, choose: fn(f32, f32) -> f32| {
        [0, 1].map(|axis| points().map(|point| point[axis]).fold(first, choose))
    };
    let mut drawing = Drawing::within(limit(f32::INFINITY, f32::min), limit(f32::NEG_INFINITY, f32::max));
    for stroke in strokes {
        drawing.line(stroke[0], stroke[0]);
        stroke.windows(2).for_each(|points| drawing.line(points[0], points[1]));
    }
    drawing.image()
}

/// The range of columns (axis 0) or rows (axis 1) with ink, and the ink's center of mass on that axis.
fn ink(image: &[u8; PIXELS], axis: usize) -> (usize, usize, f64) {
    let place = |at: usize| [at % SIDE, at / SIDE][axis];
    let inked = || image.iter().enumerate().filter(|(_, pixel)| **pixel > 0);
    let moment: f64 = inked().map(|(at, &pixel)| place(at) as f64 * f64::from(pixel)).sum();
    let mass: f64 = inked().map(|(_, &pixel)| f64::from(pixel)).sum();
    let places = || inked().map(|(at, _)| place(at));
    (places().min().unwrap(), places().max().unwrap(), moment / mass)
}

#[test]
fn the_longer_side_of_a_digit_is_20_pixels_and_its_centre_of_mass_is_that_of_mnist() {
    for (_, strokes) in strokes::hundred_digits() {
        let image = image_of(&strokes);
        let sides = [0, 1].map(|axis| {
            let (first, last, centre) = ink(&image, axis);
            assert!((centre - 14.0).abs() < 0.51, "{centre}");
            last - first + 1
        });
        // A pixel at the edge of the box may have less ink than one of 255 gray levels.
        assert!((19..=20).contains(&sides[0].max(sides[1])), "{sides:?}");
    }
}

#[test]
fn the_image_depends_on_neither_the_place_nor_the_size_of_a_drawing() {
    for (_, strokes) in strokes::hundred_digits() {
        let image = image_of(&strokes);
        let elsewhere = image_of(&strokes::map(&strokes, |[x, y]| [x / 2.0 + 0.1, y / 2.0 + 0.4]));
        assert!(image.iter().zip(&elsewhere).all(|(one, other)| one.abs_diff(*other) <= 1));
    }
}

#[test]
fn all_ink_remains_in_the_image_of_an_unbalanced_drawing() {
    // A dot, and a line far away. If the dot were cut off, the center of mass would already be in place.
    let dot = vec![[0.1, 0.5]];
    let image = image_of(&vec![dot.clone(), vec![[0.9, 0.1], [0.9, 0.9]]]);
    let ink_of = |image: [u8; PIXELS], columns: usize| -> f64 {
        image.iter().enumerate().filter(|(at, _)| at % SIDE < columns).map(|(_, &pixel)| f64::from(pixel)).sum()
    };
    let (left, whole) = (ink_of(image, SIDE / 2), ink_of(image_of(&vec![dot]), SIDE));
    // The dots' centers have different subpixel positions.
    assert!((left / whole - 1.0).abs() < 0.1, "{left} of {whole}");
}

#[test]
fn a_dot_remains_a_dot() {
    let dot = image_of(&vec![vec![[0.3, 0.3]]]);
    let almost = image_of(&vec![vec![[0.3, 0.3], [0.302, 0.301]]]);
    for image in [dot, almost] {
        let (first, last, _) = ink(&image, 0);
        assert!(last - first < 5, "columns {first} to {last}");
    }
}

#[test]
fn a_pixel_is_inked_by_its_distance_from_the_line() {
    // A diagonal of the box. Its pen and edge extend 1.9 pixels.
    let image = image_of(&vec![vec![[0.0, 0.0], [1.0, 1.0]]]);
    let half_length = (10.0 - 1.9) * 2.0_f64.sqrt();
    let (_, _, middle) = ink(&image, 0);
    for (at, &pixel) in image.iter().enumerate() {
        let [x, y] = [at % SIDE, at / SIDE].map(|place| (place as f64 - middle) / 2.0_f64.sqrt());
        let gap = (x - y).hypot(((x + y).abs() - half_length).max(0.0));
        let expected = ((1.9 - gap) / 1.2).clamp(0.0, 1.0) * 255.0;
        assert!((f64::from(pixel) - expected).abs() < 1.0, "pixel {at}: {pixel} instead of {expected}");
    }
}
