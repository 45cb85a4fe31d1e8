//! Images as the kernel reads them.

use cuda_std::F32x4;
use cuda_std::host_std::vec::Vec;

/// The inputs of samples, 784 each, as `network_train_cluster` takes them: the pixels, 0 to 255, as bf16, eight in each element. None if
/// one is not a pixel divided by 255, to the precision of f32.
pub fn packed_images(inputs: &[f32]) -> Option<Vec<F32x4>> {
    let pixel = |&input: &f32| {
        let pixel = (input * 255.0).round();
        let is_one = (0.0..=255.0).contains(&pixel) && (input - pixel / 255.0).abs() <= f32::EPSILON * input;
        // Eight bits are the whole fraction of a bf16.
        is_one.then(|| pixel.to_bits() >> 16)
    };
    let quads = inputs.as_chunks::<8>().0.iter().map(|eight| {
        let mut words = [0.0; 4];
        for (word, pair) in words.iter_mut().zip(eight.as_chunks::<2>().0) {
            *word = f32::from_bits(pixel(&pair[0])? | pixel(&pair[1])? << 16);
        }
        Some(F32x4::from(words))
    });
    quads.collect()
}
