//! Asynchronous copies into shared memory.

use cuda_std::{Element, F32x4, GlobalMut, async_copy, dynamic_shared, kernel, shared_array, thread};

/// `out[i]` = `x[m]` + `y[m]`, where m is i mirrored within its block. Each thread copies 16 bytes of x and then of y,
/// waits for the first copy and then for the second. Dynamic shared memory has two elements per thread; the lengths are
/// whole blocks.
#[kernel]
pub fn copies_past_registers(x: &[F32x4], y: &[F32x4], out: GlobalMut<F32x4>) {
    let threads = thread::block_dim_x() as usize;
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let copied = dynamic_shared::<F32x4>();
    copied.copy_async(t, x, i);
    async_copy::commit();
    copied.copy_async(threads + t, y, i);
    async_copy::commit();
    async_copy::wait::<1>();
    thread::sync_threads();
    let first = copied.get(threads - 1 - t);
    async_copy::wait::<0>();
    thread::sync_threads();
    let second = copied.get(2 * threads - 1 - t);
    out.set(i, F32x4::new(first.x + second.x, first.y + second.y, first.z + second.z, first.w + second.w));
}

/// Values that copies move, one at a time.
pub trait Copied: Element {
    /// The sum of none.
    const ZERO: Self;

    /// The sum; integers wrap around.
    fn plus(self, other: Self) -> Self;
}

impl Copied for f32 {
    const ZERO: Self = 0.0;

    fn plus(self, other: Self) -> Self {
        self + other
    }
}

impl Copied for u64 {
    const ZERO: Self = 0;

    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

/// Threads of a block of [`sums_of_rows`], and elements of a row.
pub const ROW: usize = 32;
/// Rows that are on their way at a time.
pub const STAGES: usize = 3;

/// `out[block · ROW + t]` = the sum of column ROW − 1 − t of the block's rows of x. While a row
/// is added, the next ones are on their way: a pipeline of [`STAGES`] stages. `rows` is the number of rows of a block. Blocks of [`ROW`]
/// threads.
#[kernel(f32, u64)]
pub fn sums_of_rows<T: Copied>(rows: u32, x: &[T], out: GlobalMut<T>) {
    let tiles = shared_array![[T; ROW]; STAGES];
    let (t, rows) = (thread::thread_idx_x() as usize, rows as usize);
    let first = thread::block_idx_x() as usize * rows;
    // Rows beyond the last are empty groups, so that their number is that of the stages.
    for row in 0..STAGES - 1 {
        if row < rows {
            tiles.copy_async([row, t], x, (first + row) * ROW + t);
        }
        async_copy::commit();
    }
    let mut sum = T::ZERO;
    for row in 0..rows {
        async_copy::wait::<{ STAGES as u32 - 2 }>();
        thread::sync_threads();
        sum = sum.plus(tiles[row % STAGES][ROW - 1 - t]);
        let next = row + STAGES - 1;
        if next < rows {
            tiles.copy_async([next % STAGES, t], x, (first + next) * ROW + t);
        }
        async_copy::commit();
    }
    out[thread::block_idx_x() as usize * ROW + t] = sum;
}
