//! Elements of all types, values of all kinds, and unsafe kernels as those of Rust-CUDA.

use cuda_std::atomic::{self, Ordering, Scope};
use cuda_std::{ByValue, GlobalMut, kernel, shared_array, thread, warp};

/// Threads of a block of the kernels that reverse its elements.
pub const THREADS: usize = 64;

/// Declares a kernel for each integer type: block by block, `out` has the elements of `x` in reverse, times 3, plus their
/// index.
macro_rules! reversing_kernels {
    ($($name:ident: $element:ident;)*) => {$(
        /// Reverses each block's elements, times 3, plus their index.
        #[kernel]
        pub fn $name(x: &[$element], out: GlobalMut<$element>) {
            let tile = shared_array![$element; THREADS];
            let (i, place) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
            if i < x.len() {
                tile.set(place, x[i].wrapping_mul(3).wrapping_add(i as $element));
            }
            thread::sync_threads();
            let first = i - place;
            let count = if x.len() - first < THREADS { x.len() - first } else { THREADS };
            if place < count {
                out.set(i, tile.get(count - 1 - place));
            }
        }
    )*};
}

reversing_kernels! {
    reverse_u8: u8;
    reverse_i8: i8;
    reverse_u16: u16;
    reverse_i16: i16;
    reverse_u32: u32;
    reverse_i32: i32;
    reverse_u64: u64;
    reverse_i64: i64;
    reverse_u128: u128;
    reverse_i128: i128;
}

/// A camera, with arrays and another struct.
#[derive(Clone, Copy, Debug, PartialEq, ByValue)]
#[repr(C)]
pub struct Camera {
    /// Where it is.
    pub position: [f32; 3],
    /// Its magnification.
    pub zoom: f32,
    /// Its lens.
    pub lens: Lens,
}

/// A lens.
#[derive(Clone, Copy, Debug, PartialEq, ByValue)]
#[repr(C)]
pub struct Lens {
    /// Two offsets in two directions.
    pub offsets: [[i16; 2]; 2],
    /// Whether it is wide, and what it is not.
    pub is_wide: [bool; 4],
}

/// Number of values that [`values`] writes.
pub const VALUES: usize = 18;

/// Writes all numbers that it is passed.
#[kernel]
pub fn values(
    camera: Camera,
    weights: [f64; 3],
    is_negated: bool,
    tiny: i8,
    short: u16,
    long: u128,
    signed: isize,
    out: GlobalMut<f64>,
) {
    let sign = if is_negated { -1.0 } else { 1.0 };
    let Camera { position: [x, y, z], zoom, lens: Lens { offsets: [[a, b], [c, d]], is_wide } } = camera;
    let flags = is_wide.iter().fold(0, |flags, &flag| 2 * flags + u32::from(flag));
    let numbers: [f64; VALUES] = [
        x.into(),
        y.into(),
        z.into(),
        zoom.into(),
        a.into(),
        b.into(),
        c.into(),
        d.into(),
        flags.into(),
        weights[0],
        weights[1],
        weights[2],
        tiny.into(),
        short.into(),
        (long >> 96) as u32 as f64,
        (long >> 32) as u32 as f64,
        long as u32 as f64,
        signed as f64,
    ];
    let mut i = 0;
    while i < VALUES {
        out.set(i, sign * numbers[i]);
        i += 1;
    }
}

/// The sum of two vectors, through a pointer.
///
/// # Safety
/// `c` has as many elements as `a`, and `b` has no fewer.
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn vecadd(a: &[f32], b: &[f32], c: *mut f32) {
    let idx = thread::index_1d() as usize;
    if idx < a.len() {
        // SAFETY: `c` has as many elements as `a`.
        let elem = unsafe { &mut *c.add(idx) };
        *elem = a[idx] + b[idx];
    }
}

/// A value that a kernel takes as any that is `Copy`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Scale {
    /// What is added.
    pub offset: i64,
    /// What is multiplied.
    pub factor: u32,
    /// Whether anything is.
    pub is_on: u32,
}

/// What `scale` makes of the elements of `x`, of which there are `length`.
///
/// # Safety
/// `x` and `out` have `length` elements.
#[kernel]
pub unsafe fn scaled(x: *const i64, length: usize, scale: Scale, out: *mut i64) {
    let i = thread::index_1d() as usize;
    if i < length && scale.is_on != 0 {
        // SAFETY: `i` is less than the length.
        unsafe { *out.add(i) = (*x.add(i)).wrapping_mul(i64::from(scale.factor)).wrapping_add(scale.offset) };
    }
}

/// Number of cells of the kernels that do all atomic operations.
pub const ATOMIC_CELLS: usize = 9;

/// Declares a kernel for each integer type that combines all elements of `x` with each cell by one operation: a block first in its
/// shared memory, then one thread of it in global memory, in the other orderings and scopes.
macro_rules! integer_atomics {
    ($($name:ident: $element:ident;)*) => {$(
        /// Combines all elements of `x` with the cells.
        #[kernel]
        pub fn $name(x: &[$element], cells: GlobalMut<$element>, failures: GlobalMut<u32>) {
            let block = shared_array![$element; ATOMIC_CELLS];
            let (i, place) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
            if place == 0 {
                let first = [0, 0, $element::MAX, $element::MIN, !0, 0, 0, 0, 0];
                let mut cell = 0;
                while cell < ATOMIC_CELLS {
                    block.set(cell, first[cell]);
                    cell += 1;
                }
            }
            thread::sync_threads();
            if i < x.len() {
                let value = x[i];
                block.atomic(0).fetch_add(value);
                block.atomic(1).fetch_sub(value);
                block.atomic(2).fetch_min(value);
                block.atomic(3).ordered(Ordering::AcqRel).fetch_max(value);
                block.atomic(4).fetch_and(value);
                block.atomic(5).scope(Scope::Block).fetch_or(value);
                block.atomic(6).ordered(Ordering::Release).fetch_xor(value);
                // By comparison: a sum of odd numbers.
                let counter = block.atomic(7);
                let mut old = counter.load();
                while let Err(changed) = counter.compare_exchange(old, old.wrapping_add(value | 1)) {
                    old = changed;
                }
                // Each takes what one left, and leaves its own: the sum of what is taken, and of the last, is that of all.
                let taken = block.atomic(8).ordered(Ordering::Acquire).swap(value);
                cells.atomic(8).fetch_add(taken);
            }
            thread::sync_threads();
            if place == 0 {
                let of_all = |cell: usize| cells.atomic(cell);
                of_all(0).scope(Scope::System).fetch_add(block.get(0));
                of_all(1).fetch_add(block.get(1));
                of_all(2).ordered(Ordering::SeqCst).fetch_min(block.get(2));
                of_all(3).fetch_max(block.get(3));
                of_all(4).ordered(Ordering::Acquire).fetch_and(block.get(4));
                of_all(5).ordered(Ordering::Release).scope(Scope::System).fetch_or(block.get(5));
                of_all(6).fetch_xor(block.get(6));
                let counter = of_all(7).ordered(Ordering::AcqRel);
                let mut old = counter.load();
                while let Err(changed) = counter.compare_exchange(old, old.wrapping_add(block.get(7))) {
                    old = changed;
                }
                of_all(8).fetch_add(block.get(8));
                // A comparison that fails changes nothing.
                if counter.compare_exchange(counter.load().wrapping_add(1), 0).is_ok() {
                    failures.atomic(0).fetch_add(1);
                }
            }
        }
    )*};
}

integer_atomics! {
    atomics_of_u32: u32;
    atomics_of_i32: i32;
    atomics_of_u64: u64;
    atomics_of_i64: i64;
}

/// Declares a kernel for each float type that combines all elements of `x` with each cell by one operation.
macro_rules! float_atomics {
    ($($name:ident: $element:ident;)*) => {$(
        /// Sum, negative sum, minimum, maximum, sum by comparison, and the sum of what is exchanged, of all elements of `x`.
        #[kernel]
        pub fn $name(x: &[$element], cells: GlobalMut<$element>) {
            let last = shared_array![$element; 1];
            let (i, place) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
            if place == 0 {
                last.set(0, 0.0);
            }
            thread::sync_threads();
            if i < x.len() {
                let value = x[i];
                cells.atomic(0).fetch_add(value);
                cells.atomic(1).fetch_sub(value);
                cells.atomic(2).fetch_min(value);
                cells.atomic(3).ordered(Ordering::AcqRel).fetch_max(value);
                let sum = cells.atomic(4);
                let mut old = sum.load();
                while let Err(changed) = sum.compare_exchange(old, old + value) {
                    old = changed;
                }
                let taken = last.atomic(0).swap(value);
                cells.atomic(5).fetch_add(taken);
            }
            thread::sync_threads();
            if place == 0 {
                cells.atomic(5).fetch_add(last.get(0));
            }
        }
    )*};
}

float_atomics! {
    atomics_of_f32: f32;
    atomics_of_f64: f64;
}

/// Adds one for each thread to `sums[0]` and its index to `sums[1]`, by plain accesses within a lock, `lock[0]`. One thread of a warp
/// tries at a time, so that no lane waits for another of its warp.
#[kernel]
pub fn adds_within_a_lock(lock: GlobalMut<u32>, sums: GlobalMut<u64>) {
    let index = thread::index_1d();
    let mut is_done = false;
    while !is_done {
        let taken = lock.atomic(0).ordered(Ordering::Acquire).compare_exchange(0, 1);
        if taken.is_ok() {
            sums.set(0, sums.get(0) + 1);
            sums.set(1, sums.get(1) + u64::from(index));
            lock.atomic(0).ordered(Ordering::Release).store(0);
            is_done = true;
        }
    }
}

/// Empty, in the table of [`inserts_keys`].
pub const NO_KEY: u32 = u32::MAX;

/// Puts all keys into a hash table with open addressing, whose length is a power of two, and counts each: `slots` has [`NO_KEY`] at
/// first, `counts` zeros.
#[kernel]
pub fn inserts_keys(keys: &[u32], slots: GlobalMut<u32>, counts: GlobalMut<u32>) {
    let i = thread::index_1d() as usize;
    if i < keys.len() {
        let key = keys[i];
        let mask = slots.len() - 1;
        let mut slot = key.wrapping_mul(0x9e37_79b1) as usize & mask;
        loop {
            match slots.atomic(slot).compare_exchange(NO_KEY, key) {
                Err(other) if other != key => slot = (slot + 1) & mask,
                _ => break,
            }
        }
        counts.atomic(slot).fetch_add(1);
    }
}

/// Half of the blocks put numbers into a queue, the others take them and add them to `sum`. `queue` has room for all; `state` is the
/// number of places that are taken to write and to read, zeros at first, and `is_full` has a zero for each place.
#[kernel]
pub fn passes_through_a_queue(
    numbers: &[u32],
    queue: GlobalMut<u32>,
    is_full: GlobalMut<u32>,
    state: GlobalMut<u32>,
    sum: GlobalMut<u64>,
) {
    let i = thread::index_1d() as usize;
    if i < numbers.len() {
        let place = state.atomic(0).fetch_add(1) as usize;
        queue.set(place, numbers[i]);
        is_full.atomic(place).ordered(Ordering::Release).store(1);
    } else if i < 2 * numbers.len() {
        let place = state.atomic(1).fetch_add(1) as usize;
        while is_full.atomic(place).ordered(Ordering::Acquire).load() == 0 {}
        sum.atomic(0).fetch_add(u64::from(queue.get(place)));
    }
}

/// The sum of `x` in one launch: each block stores its part, and the last one that ends adds all of them. `parts` has one element
/// for each block, `ended` is zero.
#[kernel]
pub fn sums_in_the_last_block(x: &[f32], parts: GlobalMut<f32>, ended: GlobalMut<u32>, sum: GlobalMut<f32>) {
    let of_threads = shared_array![f32; THREADS];
    let is_last = shared_array![u32; 1];
    let (i, place) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    of_threads.set(place, if i < x.len() { x[i] } else { 0.0 });
    thread::sync_threads();
    if place == 0 {
        let mut of_block = 0.0;
        let mut other = 0;
        while other < thread::block_dim_x() as usize {
            of_block += of_threads.get(other);
            other += 1;
        }
        parts.set(block, of_block);
        atomic::fence(Ordering::Release, Scope::Device);
        let before = ended.atomic(0).fetch_add(1);
        is_last.set(0, u32::from(before as usize == blocks - 1));
    }
    thread::sync_threads();
    if is_last.get(0) != 0 && place == 0 {
        atomic::fence(Ordering::Acquire, Scope::Device);
        let mut of_all = 0.0;
        let mut other = 0;
        while other < blocks {
            of_all += parts.get(other);
            other += 1;
        }
        sum.set(0, of_all);
    }
}

/// What a block of [`scans_by_look_back`] has told the next ones.
const SUM_OF_BLOCK: u32 = 1;
const SUM_OF_ALL: u32 = 2;

/// The inclusive prefix sums of `x` by decoupled look-back (Merrill and Garland, 2016): a block takes the next number by `ticket`, tells
/// its sum, and adds those of the blocks before it until one has told the sum of all up to it. `states`, `sums_of_blocks` and
/// `sums_of_all` have an element for each block; `states` and `ticket` are zero. A block has [`THREADS`] threads.
#[kernel]
pub fn scans_by_look_back(
    x: &[u32],
    out: GlobalMut<u32>,
    ticket: GlobalMut<u32>,
    states: GlobalMut<u32>,
    sums_of_blocks: GlobalMut<u32>,
    sums_of_all: GlobalMut<u32>,
) {
    let sums = shared_array![u32; THREADS];
    let of_block = shared_array![u32; 2];
    let place = thread::thread_idx_x() as usize;
    if place == 0 {
        of_block.set(0, ticket.atomic(0).fetch_add(1));
    }
    thread::sync_threads();
    let block = of_block.get(0) as usize;
    let i = block * THREADS + place;
    sums.set(place, if i < x.len() { x[i] } else { 0 });
    thread::sync_threads();
    // Within the block, by doubling distances.
    let mut distance = 1;
    while distance < THREADS {
        let before = if place >= distance { sums.get(place - distance) } else { 0 };
        thread::sync_threads();
        sums.set(place, sums.get(place) + before);
        thread::sync_threads();
        distance *= 2;
    }
    if place == THREADS - 1 {
        let own = sums.get(place);
        sums_of_blocks.set(block, own);
        states.atomic(block).ordered(Ordering::Release).store(SUM_OF_BLOCK);
        let mut before = 0;
        let mut earlier = block;
        while earlier > 0 {
            let state = states.atomic(earlier - 1).ordered(Ordering::Acquire).load();
            if state == SUM_OF_ALL {
                before += sums_of_all.get(earlier - 1);
                earlier = 0;
            } else if state == SUM_OF_BLOCK {
                before += sums_of_blocks.get(earlier - 1);
                earlier -= 1;
            }
        }
        sums_of_all.set(block, before + own);
        states.atomic(block).ordered(Ordering::Release).store(SUM_OF_ALL);
        of_block.set(1, before);
    }
    thread::sync_threads();
    if i < out.len() {
        out.set(i, of_block.get(1) + sums.get(place));
    }
}

/// Values that [`warp_and_block`] writes for each thread.
pub const OF_THREAD: usize = 16;

/// What the operations of a warp and of a block make of each thread's element. Blocks of whole warps; `x` has an element for each
/// thread.
#[kernel]
pub fn warp_and_block(x: &[u64], out: GlobalMut<u64>) {
    let i = thread::index() as usize;
    let (value, lane) = (x[i], warp::lane_id());
    let (low, high) = (value as u32, (value >> 32) as u32);
    let [pair_low, pair_high] = warp::shuffle_idx([low, high], lane + 1);
    let real = f64::from(low % 1000);
    let results: [u64; OF_THREAD] = [
        warp::shuffle_xor(value, 5),
        u64::from(pair_high) << 32 | u64::from(pair_low),
        warp::shuffle_down(real, 3) as u64,
        warp::reduce_add(value),
        warp::reduce_min(value),
        warp::reduce_max(value as i64) as u64,
        u64::from(warp::reduce_and(low | 7)) << 32 | u64::from(warp::reduce_or(high & 0xff)),
        warp::reduce_xor(value),
        warp::reduce_min(real) as u64,
        warp::inclusive_scan_add(value),
        warp::exclusive_scan_add(low, 0).into(),
        u64::from(warp::match_any(value % 3)) << 32 | u64::from(warp::match_any(low % 5)),
        u64::from(warp::match_all(lane / 32)) << 1 | u64::from(warp::match_all(value)),
        thread::sync_threads_count(value % 2 == 0).into(),
        u64::from(thread::sync_threads_and(value % 1000 != 0)),
        u64::from(thread::sync_threads_or(value % 1000 == 0)),
    ];
    let mut k = 0;
    while k < OF_THREAD {
        out.set(i * OF_THREAD + k, results[k]);
        k += 1;
    }
}

/// Indices in several dimensions, eight for each thread.
#[kernel]
pub fn indices_in_dimensions(out: GlobalMut<u32>) {
    let (two, three, own, block) = (thread::index_2d(), thread::index_3d(), thread::thread_idx(), thread::block_idx());
    let i = thread::index() as usize * 8;
    let numbers = [
        two.x + 1000 * two.y,
        three.x,
        three.y,
        three.z,
        own.x + 100 * own.y + 10_000 * own.z,
        block.x + 100 * block.y + 10_000 * block.z,
        thread::first().into(),
        thread::block_dim().x * thread::grid_dim().z + thread::warp_size(),
    ];
    let mut k = 0;
    while k < 8 {
        out.set(i + k, numbers[k]);
        k += 1;
    }
}

/// Reverses the elements of each warp in shared memory, with no barrier of the block.
#[kernel]
pub fn reverses_within_warps(x: &[u32], out: GlobalMut<u32>) {
    let shared = shared_array![u32; THREADS];
    let (i, place, lane) = (thread::index_1d() as usize, thread::thread_idx_x() as usize, warp::lane_id() as usize);
    shared.set(place, x[i]);
    warp::sync_warp();
    out.set(i, shared.get(place - lane + 31 - lane));
}

/// Elements of the table of [`looks_up`]. With it, the kernel's parameters have the 4,096 bytes that a launch may pass.
pub const TABLE: usize = 507;

/// `out[i]` = the table's element at index `i` · `stride`, modulo its length, plus `offsets[i % 4]`.
#[kernel]
pub fn looks_up(stride: u32, table: [u64; TABLE], out: GlobalMut<u64>, offsets: [u32; 4]) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        out[i] = table[i * stride as usize % TABLE] + u64::from(offsets[i % 4]);
    }
}
