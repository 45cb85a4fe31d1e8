//! Monte Carlo with a counter-based generator, and n bodies.

use cuda_std::{F32x4, GlobalMut, kernel, math, shared_array, thread};

/// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", 2011): four random
/// words for each counter and key. It has no state, so that each thread computes the numbers of its own counters.
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let [a, b, c, d] = counter;
        let first = u64::from(a) * 0xd251_1f53;
        let second = u64::from(c) * 0xcd9e_8d57;
        counter = [(second >> 32) as u32 ^ b ^ key[0], second as u32, (first >> 32) as u32 ^ d ^ key[1], first as u32];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

/// Adds to `hits[0]` how many of the points of all threads are within the unit circle; 4 · hits / points is near π.
///
/// A thread draws 2 · `draws` points of the unit square from the counters (draw, thread, 0, 0). Coordinates are
/// integers in units of 2⁻³², so that the count is exact. Launch: any one-dimensional grid.
#[kernel]
pub fn count_hits_for_pi(key: [u32; 2], draws: u32, hits: GlobalMut<u64>) {
    let mut of_thread = 0;
    for draw in 0..draws {
        let [a, b, c, d] = philox([draw, thread::index_1d(), 0, 0], key);
        of_thread += u64::from(is_hit(a, b)) + u64::from(is_hit(c, d));
    }
    hits.atomic(0).fetch_add(of_thread);
}

/// Whether a point is within the unit circle. Its coordinates are halved, so that the sum of their squares is less than
/// 2⁶⁴.
fn is_hit(x: u32, y: u32) -> bool {
    let (x, y) = (u64::from(x / 2), u64::from(y / 2));
    x * x + y * y < 1 << 62
}

/// Threads of a block of [`n_body`].
pub const THREADS: usize = 64;

/// The accelerations of bodies by gravity: aᵢ = Σⱼ mⱼ · (pⱼ − pᵢ) / (|pⱼ − pᵢ|² + softening²)^(3/2), in units in which
/// the gravitational constant is 1 (Nyland, Harris and Prins, GPU Gems 3, chapter 31).
///
/// A body is its position and its mass. A block reads [`THREADS`] bodies at a time into shared memory, for all its
/// threads; bodies without mass fill the last tile. `softening` is greater than 0. Launch: [`THREADS`] threads a block,
/// one for each body.
#[kernel]
pub fn n_body(bodies: &[F32x4], softening: f32, accelerations: GlobalMut<F32x4>) {
    let tile = shared_array![F32x4; THREADS];
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let body = |i: usize| if i < bodies.len() { bodies.get(i) } else { F32x4::splat(0.0) };
    let own = body(i);
    let (mut x, mut y, mut z) = (0.0, 0.0, 0.0);
    for first in (0..bodies.len()).step_by(THREADS) {
        tile.set(t, body(first + t));
        thread::sync_threads();
        for place in 0..THREADS {
            let other = tile.get(place);
            let (dx, dy, dz) = (other.x - own.x, other.y - own.y, other.z - own.z);
            let square = dx * dx + dy * dy + dz * dz + softening * softening;
            let factor = other.w / (square * math::sqrt(square));
            x += dx * factor;
            y += dy * factor;
            z += dz * factor;
        }
        thread::sync_threads();
    }
    if i < accelerations.len() {
        accelerations.set(i, F32x4::new(x, y, z, 0.0));
    }
}
