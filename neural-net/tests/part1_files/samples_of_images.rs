//! Images as samples of a network.

use ndarray::{ArcArray2, Array2, Axis, array, concatenate};
use neural_net::data::{CLASSES, LabelledImages, ToSamples};

#[test]
fn part1_images_are_samples_of_pixels_divided_by_255_and_one_hot_labels() {
    let pixels = ArcArray2::from_shape_fn((4, 2), |(image, pixel)| (60 * image + 15 * pixel) as u8);
    let images = LabelledImages { pixels, labels: vec![3, 0, 9, 1], shape: (1, 2) };
    assert_eq!((images.len(), images.is_empty()), (4, false));
    let samples = images.samples(1, 2);
    assert_eq!(samples.inputs().map(|input| (input * 255.0).round()), array![[60.0, 75.0], [120.0, 135.0]]);
    let one_hot = |label: usize| Array2::from_shape_fn((1, CLASSES), |(_, class)| f32::from(u8::from(class == label)));
    assert_eq!(samples.targets(), concatenate![Axis(0), one_hot(0), one_hot(9)]);
    assert_eq!(images.samples(3, 0).targets().dim(), (0, CLASSES));
}
