//! Elements of memory that many threads write are read and written whole, by brackets only in the body of a kernel.

use cuda_std::{F32x4, GlobalMut, dynamic_shared, kernel, shared_array, thread};

fn doubles_first(out: GlobalMut<f32>) {
    out[0] = 2.0 * out[0];
}

#[kernel]
fn swaps(out: GlobalMut<F32x4>) {
    let i = thread::index_1d() as usize;
    core::mem::swap(&mut out[i], &mut out[i + 1]);
    out[i].x = 1.0;
    out[i].y += 1.0;
}

#[kernel]
fn hides_memory(out: GlobalMut<f32>) {
    let tile = Some(dynamic_shared::<f32>());
    if let Some(tile) = tile {
        tile[0] = 1.0;
    }
    out[0] = 1.0;
}

#[kernel]
fn has_rows(out: GlobalMut<f32>) {
    let tile = shared_array![[f32; 8]; 4];
    tile[0][0] = 1.0;
    out[0] = tile.get(0);
    out[1_u32] = tile[0];
}

fn main() {}
