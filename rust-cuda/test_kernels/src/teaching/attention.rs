//! Attention of one head.

use cuda_std::{GlobalMut, kernel, math, shared_array, thread};

/// Elements of a query, a key and a value.
pub const WIDTH: usize = 16;

/// Threads of a block, and queries of it.
pub const THREADS: usize = 32;

/// Keys and values of a tile.
pub const TILE: usize = 32;

/// Scaled dot-product attention: out = softmax(Q · Kᵀ / √[`WIDTH`]) · V, in one pass over the keys and without the
/// matrix of scores (Dao et al., "FlashAttention", 2022). All have rows of [`WIDTH`] elements; there is at least one
/// key, and a value for each.
///
/// Each thread has a query; a block reads tiles of keys and values into shared memory. Online softmax (Milakov and
/// Gimelshein, 2018): when a score is the largest so far, the sums until then are scaled by e^(old maximum − new
/// maximum). Launch: [`THREADS`] threads a block, one for each query.
#[kernel]
pub fn attention(queries: &[f32], keys: &[f32], values: &[f32], out: GlobalMut<f32>) {
    let tile_keys = shared_array![f32; TILE * WIDTH];
    let tile_values = shared_array![f32; TILE * WIDTH];
    let (t, row) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let has_query = row < queries.len() / WIDTH;
    let query: [f32; WIDTH] = core::array::from_fn(|k| if has_query { queries[row * WIDTH + k] } else { 0.0 });
    let (mut maximum, mut sum, mut weighted) = (f32::NEG_INFINITY, 0.0, [0.0; WIDTH]);
    for first in (0..keys.len()).step_by(TILE * WIDTH) {
        let count = (keys.len() - first).min(TILE * WIDTH);
        for place in (t..count).step_by(THREADS) {
            tile_keys.set(place, keys[first + place]);
            tile_values.set(place, values[first + place]);
        }
        thread::sync_threads();
        for key in (0..count).step_by(WIDTH) {
            let mut score = 0.0;
            for (k, element) in query.iter().enumerate() {
                score += element * tile_keys.get(key + k);
            }
            score /= math::sqrt(WIDTH as f32);
            let new_maximum = maximum.max(score);
            let (rescale, weight) = (math::exp(maximum - new_maximum), math::exp(score - new_maximum));
            sum = sum * rescale + weight;
            for (k, element) in weighted.iter_mut().enumerate() {
                *element = *element * rescale + weight * tile_values.get(key + k);
            }
            maximum = new_maximum;
        }
        thread::sync_threads();
    }
    if has_query {
        for (k, element) in weighted.iter().enumerate() {
            out.set(row * WIDTH + k, element / sum);
        }
    }
}
