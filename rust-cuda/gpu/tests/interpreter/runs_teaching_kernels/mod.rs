//! The kernels that courses teach match plain loops on random input of odd sizes, bit for bit if
//! the order of operations is fixed.

mod arrays;
mod combinations;
mod irregular;
mod simulations;
mod sorting;

use cuda_std::LaunchConfig;

/// Random words, by SplitMix64 (Steele, Lea and Flood, 2014).
fn words(count: usize, seed: u64) -> Vec<u32> {
    let word = |i: u64| {
        let x = (seed << 32 | (i + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 32) as u32
    };
    (0..count as u64).map(word).collect()
}

/// Random floats from −1 to 1.
fn floats(count: usize, seed: u64) -> Vec<f32> {
    words(count, seed).into_iter().map(|word| word as f32 / 2f32.powi(31) - 1.0).collect()
}

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// Blocks of 8 × 4 threads that cover an image.
fn over_image(width: usize, height: usize) -> LaunchConfig {
    let blocks = |size: usize, threads: usize| size.div_ceil(threads).max(1) as u32;
    LaunchConfig::new((blocks(width, 8), blocks(height, 4)), (8, 4))
}

/// Rounding error bound for a sum of f32 in any order (Higham, 2002, section 4.2).
fn sum_error(terms: impl ExactSizeIterator<Item = f64>) -> f64 {
    terms.len() as f64 * f64::from(f32::EPSILON) * terms.map(f64::abs).sum::<f64>()
}
