//! Images as the kernel reads them.

use cuda_std::F32x4;
use cuda_std::host_std::vec::Vec;

/// The images of samples, 784 pixels each, as `network_train_cluster` takes them: the pixels as bf16, eight in each element.
pub fn packed_images(pixels: &[u8]) -> Vec<F32x4> {
    // Eight bits are the whole fraction of a bf16.
    let half = |pixel: u8| f32::from(pixel).to_bits() >> 16;
    let word = |[lower, upper]: [u8; 2]| f32::from_bits(half(lower) | half(upper) << 16);
    let quad = |&[a, b, c, d, e, f, g, h]: &[u8; 8]| F32x4::from([[a, b], [c, d], [e, f], [g, h]].map(word));
    pixels.as_chunks().0.iter().map(quad).collect()
}

/// The pixels of which these are the inputs. None if one is not a pixel divided by 255, to the precision of f32.
pub fn pixels_of(inputs: &[f32]) -> Option<Vec<u8>> {
    let pixel = |&input: &f32| {
        let pixel = (input * 255.0).round();
        let is_one = (0.0..=255.0).contains(&pixel) && (input - pixel / 255.0).abs() <= f32::EPSILON * input;
        is_one.then_some(pixel as u8)
    };
    inputs.iter().map(pixel).collect()
}
