//! Matrix products by a warp's tensor cores, and copies into shared memory past the registers. From sm_80 on.
//!
//! On the host, an operation of the whole warp is made of shuffles, so that the simulator gives what the instruction is
//! defined to give.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use cuda_std::{F32x4, GlobalMut, dynamic_shared, kernel, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use crate::half_precision::{f16_from_f32, f32_from_f16};

/// `out[i]` = `x[m]` + `y[m]`, where m counts the threads of i's block backwards. Each thread copies 16 bytes of x and
/// then of y, waits for the first and then for the second. Dynamic shared memory has two elements a thread; the lengths
/// are whole blocks.
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

/// Starts a copy of element i of x to element `to` of the block's dynamic shared memory, as a group of its own.
#[allow(unsafe_code)]
#[inline(always)]
fn start_copy(_shared: &cuda_std::DynamicShared<F32x4>, to: usize, x: cuda_std::Global<F32x4>, i: usize) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the index is checked, and the launch gives enough shared memory. All asm here is taken to touch any
    // memory.
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

/// Waits until at most `PENDING` of the groups of copies that this thread started are under way.
#[allow(unsafe_code)]
#[inline(always)]
fn wait_for_copies<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: waits.
    unsafe {
        asm!("cp.async.wait_group {0};", const PENDING, options(nostack, preserves_flags));
    }
}

/// d = a · b, where a is 16 × 8, b 8 × 8 and d 16 × 8, all by rows: one warp, one instruction on numbers rounded to
/// tf32, which has the exponents of f32 and ten places. Within an error of the last places, the sums are those of f32.
#[kernel]
pub fn tile_product_tf32(a: &[f32], b: &[f32], d: GlobalMut<f32>) {
    let lane = warp::lane_id() as usize;
    let (group, place) = (lane / 4, lane % 4);
    let a = [(0, 0), (8, 0), (0, 4), (8, 4)].map(|(row, k)| tf32_from_f32(a[(group + row) * 8 + place + k]));
    let b = [0, 4].map(|k| tf32_from_f32(b[(place + k) * 8 + group]));
    write_tile(d, group, place, multiply_tf32(a, b));
}

/// d = a · b, where a is 16 × 16, b 16 × 8 and d 16 × 8, all by rows: one warp, one instruction on numbers rounded to
/// f16, with sums in f32.
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
    write_tile(d, group, place, multiply_f16(a, b));
}

/// Writes what one lane has of a tile of 16 × 8: two neighbours in a row, and the two eight rows below.
#[inline(always)]
fn write_tile(d: GlobalMut<f32>, group: usize, place: usize, values: [f32; 4]) {
    for (number, value) in values.into_iter().enumerate() {
        d.set((group + number / 2 * 8) * 8 + 2 * place + number % 2, value);
    }
}

/// x rounded to the nearest tf32, ties away from zero, as the bits of an f32 (`cvt.rna.tf32.f32`).
#[allow(unsafe_code)]
#[inline(always)]
pub fn tf32_from_f32(x: f32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let bits: u32;
        // SAFETY: a conversion of registers. So below.
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

/// Two numbers as f16 in one register, the first in its lower half (`cvt.rn.f16x2.f32`).
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

/// One warp's `mma.sync` of 16 × 8 × 8; the layout of the fragments is that of PTX's documentation.
#[allow(unsafe_code)]
#[inline(always)]
fn multiply_tf32(a: [u32; 4], b: [u32; 2]) -> [f32; 4] {
    #[cfg(target_arch = "nvptx64")]
    {
        let mut d = [0f32; 4];
        let [d0, d1, d2, d3] = &mut d;
        // SAFETY: all lanes of the warp are here. It is not `pure`: it must stay where they are.
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
    by_definition(
        8,
        |group, lower, k| f32::from_bits(warp::shuffle_idx(a[k / 4 * 2 + lower], (group * 4 + k % 4) as u32)),
        |k, column| f32::from_bits(warp::shuffle_idx(b[k / 4], (column * 4 + k % 4) as u32)),
    )
}

/// One warp's `mma.sync` of 16 × 8 × 16.
#[allow(unsafe_code)]
#[inline(always)]
fn multiply_f16(a: [u32; 4], b: [u32; 2]) -> [f32; 4] {
    #[cfg(target_arch = "nvptx64")]
    {
        let mut d = [0f32; 4];
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
        by_definition(
            16,
            |group, lower, k| half(warp::shuffle_idx(a[k / 8 * 2 + lower], lane(group, k)), k),
            |k, column| half(warp::shuffle_idx(b[k / 8], lane(column, k)), k),
        )
    }
}

/// A lane's part of a product: the element of a in row group + 8 · lower and column k, and that of b in row k and its
/// column, are got from the lanes that hold them. Every lane asks for the same register at the same time.
#[cfg(not(target_arch = "nvptx64"))]
fn by_definition(depth: usize, a: impl Fn(usize, usize, usize) -> f32, b: impl Fn(usize, usize) -> f32) -> [f32; 4] {
    let lane = warp::lane_id() as usize;
    let (group, place) = (lane / 4, lane % 4);
    [(0, 0), (0, 1), (1, 0), (1, 1)]
        .map(|(lower, right)| (0..depth).fold(0.0, |sum, k| sum + a(group, lower, k) * b(k, 2 * place + right)))
}
