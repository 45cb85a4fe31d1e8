//! Matrix products on tensor cores, and asynchronous copies into shared memory that bypass registers. From sm_80 on.
//!
//! On the host, the warp-wide product is built from shuffles, so that the simulator gives the result that the PTX ISA
//! defines.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use cuda_std::{F32x4, GlobalMut, dynamic_shared, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use crate::half_precision::{f16_from_f32, f32_from_f16};

/// `out[i]` = `x[m]` + `y[m]`, where m is i mirrored within its block. Each thread copies 16 bytes of x and then of y,
/// waits for the first copy and then for the second. Dynamic shared memory has two elements per thread; the lengths are
/// whole blocks.
#[kernel]
pub fn copies_past_registers(x: &[F32x4], y: &[F32x4], out: GlobalMut<F32x4>) {
    let threads = thread::block_dim_x() as usize;
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let copied = dynamic_shared::<F32x4>();
    start_copy(&copied, t, x, i);
    start_copy(&copied, threads + t, y, i);
    wait_for_copies::<1>();
    thread::sync_threads();
    let first = copied.get(threads - 1 - t);
    wait_for_copies::<0>();
    thread::sync_threads();
    let second = copied.get(2 * threads - 1 - t);
    out.set(i, F32x4::new(first.x + second.x, first.y + second.y, first.z + second.z, first.w + second.w));
}

/// Starts a copy of element i of x to element `to` of the block's dynamic shared memory, as a separate copy group.
#[allow(unsafe_code)]
#[inline(always)]
fn start_copy(_shared: &cuda_std::DynamicShared<F32x4>, to: usize, x: cuda_std::Global<F32x4>, i: usize) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the index is checked, and the launch provides enough shared memory. Without `nomem`, LLVM assumes that
    // the asm accesses any memory.
    unsafe {
        asm!(
            "{{ .reg .b32 to; .reg .b64 from; mov.u32 to, __dynamic_shared; add.u32 to, to, {0};",
            "cvta.to.global.u64 from, {1};",
            "cp.async.cg.shared.global [to], [from], 16; }}",
            "cp.async.commit_group;",
            in(reg32) (to * size_of::<F32x4>()) as u32, in(reg64) &raw const x[i], options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    _shared.set(to, x.get(i));
}

/// Waits until at most `PENDING` of this thread's copy groups are in flight.
#[allow(unsafe_code)]
#[inline(always)]
fn wait_for_copies<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction only waits.
    unsafe {
        asm!("cp.async.wait_group {0};", const PENDING, options(nostack, preserves_flags));
    }
}

/// d = a · b, where a is 16 × 8, b 8 × 8 and d 16 × 8, all row-major: one warp, one instruction on elements rounded to
/// tf32, which has the exponent of f32 and ten fraction bits. The sums are in f32, up to errors in the last places.
#[kernel]
pub fn tile_product_tf32(a: &[f32], b: &[f32], d: GlobalMut<f32>) {
    let lane = warp::lane_id() as usize;
    let (group, place) = (lane / 4, lane % 4);
    let a = [(0, 0), (8, 0), (0, 4), (8, 4)].map(|(row, k)| tf32_from_f32(a[(group + row) * 8 + place + k]));
    let b = [0, 4].map(|k| tf32_from_f32(b[(place + k) * 8 + group]));
    write_tile(d, group, place, multiply_tf32(a, b));
}

/// d = a · b, where a is 16 × 16, b 16 × 8 and d 16 × 8, all row-major: one warp, one instruction on elements rounded
/// to f16, with sums in f32.
#[kernel]
pub fn tile_product_f16(a: &[f32], b: &[f32], d: GlobalMut<f32>) {
    let lane = warp::lane_id() as usize;
    let (group, place) = (lane / 4, lane % 4);
    let a = [(0, 0), (8, 0), (0, 8), (8, 8)].map(|(row, k)| {
        let first = (group + row) * 16 + 2 * place + k;
        f16_pair(a[first], a[first + 1])
    });
    let b = [0, 8].map(|k| {
        let first = (2 * place + k) * 8 + group;
        f16_pair(b[first], b[first + 8])
    });
    write_tile(d, group, place, multiply_f16(a, b, [0.0; 4]));
}

/// d = a · b for matrices of any size, row-major: `size` is the number of rows of a, of columns of b, and of columns of
/// a, which b has as rows. Elements are rounded to f16, sums are in f32.
///
/// A warp for each tile of 16 × 8 of d adds the products of 16 columns of a and 16 rows of b at a time; elements beyond
/// the borders are zeros. Launch: blocks of one warp, in a grid that covers the columns of d by 8 along x and the rows
/// by 16 along y.
#[kernel]
pub fn matmul_f16(a: &[f32], b: &[f32], size: [u32; 3], d: GlobalMut<f32>) {
    let [rows, columns, depth] = size.map(|size| size as usize);
    let lane = warp::lane_id() as usize;
    let (group, place) = (lane / 4, lane % 4);
    let row = thread::block_idx_y() as usize * 16 + group;
    let first_column = thread::block_idx_x() as usize * 8;
    let element_of_a = |row: usize, k: usize| if row < rows && k < depth { a[row * depth + k] } else { 0.0 };
    let element_of_b = |k: usize| {
        let column = first_column + group;
        if k < depth && column < columns { b[k * columns + column] } else { 0.0 }
    };
    let mut sums = [0.0; 4];
    for first in (0..depth).step_by(16) {
        let k = first + 2 * place;
        let a = [(0, 0), (8, 0), (0, 8), (8, 8)].map(|(below, right)| {
            f16_pair(element_of_a(row + below, k + right), element_of_a(row + below, k + right + 1))
        });
        let b = [0, 8].map(|below| f16_pair(element_of_b(k + below), element_of_b(k + below + 1)));
        sums = multiply_f16(a, b, sums);
    }
    for (index, sum) in sums.into_iter().enumerate() {
        let (row, column) = (row + index / 2 * 8, first_column + 2 * place + index % 2);
        if row < rows && column < columns {
            d.set(row * columns + column, sum);
        }
    }
}

/// Writes a lane's fragment of a tile of 16 × 8: two neighbours in a row, and the two that are eight rows below.
#[inline(always)]
fn write_tile(d: GlobalMut<f32>, group: usize, place: usize, values: [f32; 4]) {
    for (index, value) in values.into_iter().enumerate() {
        d.set((group + index / 2 * 8) * 8 + 2 * place + index % 2, value);
    }
}

/// x rounded to the nearest tf32, ties away from zero, as the bits of an f32 (`cvt.rna.tf32.f32`).
#[allow(unsafe_code)]
#[inline(always)]
pub fn tf32_from_f32(x: f32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let bits: u32;
        // SAFETY: the instruction converts registers and accesses no memory.
        unsafe {
            asm!(
                "cvt.rna.tf32.f32 {0}, {1};", out(reg32) bits, in(reg32) x,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        bits
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        if x.is_nan() || x.is_infinite() { x.to_bits() } else { (x.to_bits() + (1 << 12)) & !0x1fff }
    }
}

/// Two values as f16 in one register, the first in its lower half (`cvt.rn.f16x2.f32`).
#[allow(unsafe_code)]
#[inline(always)]
fn f16_pair(lower: f32, upper: f32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let pair: u32;
        // SAFETY: see `tf32_from_f32`.
        unsafe {
            asm!(
                "cvt.rn.f16x2.f32 {0}, {1}, {2};", out(reg32) pair, in(reg32) upper, in(reg32) lower,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        pair
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        u32::from(f16_from_f32(upper)) << 16 | u32::from(f16_from_f32(lower))
    }
}

/// One warp's `mma.sync.m16n8k8`; the PTX ISA defines the layout of the fragments.
#[allow(unsafe_code)]
#[inline(always)]
fn multiply_tf32(a: [u32; 4], b: [u32; 2]) -> [f32; 4] {
    #[cfg(target_arch = "nvptx64")]
    {
        let mut d = [0f32; 4];
        let [d0, d1, d2, d3] = &mut d;
        // SAFETY: all lanes of the warp execute it. It is not `pure`, so that LLVM does not move it to divergent code.
        unsafe {
            asm!(
                "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
                "    {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
                inout(reg32) *d0, inout(reg32) *d1, inout(reg32) *d2, inout(reg32) *d3,
                in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3], in(reg32) b[0], in(reg32) b[1],
                options(nomem, nostack, preserves_flags)
            );
        }
        d
    }
    #[cfg(not(target_arch = "nvptx64"))]
    product_from_shuffles(
        8,
        |group, lower, k| f32::from_bits(warp::shuffle_idx(a[k / 4 * 2 + lower], (group * 4 + k % 4) as u32)),
        |k, column| f32::from_bits(warp::shuffle_idx(b[k / 4], (column * 4 + k % 4) as u32)),
        [0.0; 4],
    )
}

/// One warp's `mma.sync.m16n8k16`: the product of a and b, added to c.
#[allow(unsafe_code)]
#[inline(always)]
fn multiply_f16(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
    #[cfg(target_arch = "nvptx64")]
    {
        let mut d = c;
        let [d0, d1, d2, d3] = &mut d;
        // SAFETY: see `multiply_tf32`.
        unsafe {
            asm!(
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                "    {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
                inout(reg32) *d0, inout(reg32) *d1, inout(reg32) *d2, inout(reg32) *d3,
                in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3], in(reg32) b[0], in(reg32) b[1],
                options(nomem, nostack, preserves_flags)
            );
        }
        d
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let half = |pair: u32, k: usize| f32_from_f16((pair >> (k % 2 * 16)) as u16);
        let lane = |row: usize, k: usize| (row * 4 + k % 8 / 2) as u32;
        product_from_shuffles(
            16,
            |group, lower, k| half(warp::shuffle_idx(a[k / 8 * 2 + lower], lane(group, k)), k),
            |k, column| half(warp::shuffle_idx(b[k / 8], lane(column, k)), k),
            c,
        )
    }
}

/// A lane's fragment of a product plus c, as sums over k: `a(group, lower, k)` gets the element of a in row group + 8 ·
/// lower and column k from the lane that holds it, `b(k, column)` that of b. All lanes shuffle the same register at the
/// same time.
#[cfg(not(target_arch = "nvptx64"))]
fn product_from_shuffles(
    depth: usize,
    a: impl Fn(usize, usize, usize) -> f32,
    b: impl Fn(usize, usize) -> f32,
    c: [f32; 4],
) -> [f32; 4] {
    let lane = warp::lane_id() as usize;
    let (group, place) = (lane / 4, lane % 4);
    core::array::from_fn(|index| {
        let (lower, right) = (index / 2, index % 2);
        (0..depth).fold(c[index], |sum, k| sum + a(group, lower, k) * b(k, 2 * place + right))
    })
}
