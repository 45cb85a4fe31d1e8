//! The transpose of a matrix, in blocks in registers.
//!
//! Idea: a naive transpose uses one element of each cache line before it touches the next line. Here eight rows form a
//! band: 16 bytes of each are loaded, shuffles (unpack) exchange elements between registers, and each resulting
//! register holds eight elements of a column and is stored at once. A register's upper 128-bit lane is loaded from
//! other rows than its lower one, so that no element has to cross lanes, which is the slow part of a transpose. A band
//! has eight rows because eight pointers fit into the general registers.
//!
//! Roofline: 32 elements of f32 take 8 loads, 4 of them with an insert, 8 shuffles and 4 stores: in cache, the shuffles
//! are the bound.

use crate::{InstructionSet, Real, Simd, WithSimd};

/// Rows that are transposed together.
pub(crate) const BAND: usize = 8;

/// Writes the transpose of the matrix whose rows are `rows` to `to`, whose rows are `stride` elements apart.
///
/// # Panics
/// If the rows differ in length, if there are more of them than `stride`, or `to` is too short.
pub fn transpose<F: Real>(set: InstructionSet, rows: &[&[F]], to: &mut [F], stride: usize) {
    let columns = rows.first().map_or(0, |row| row.len());
    assert!(rows.len() <= stride || columns <= 1, "transpose: the transpose's rows overlap");
    assert!(columns == 0 || (columns - 1) * stride + rows.len() <= to.len(), "transpose: no room for the transpose");
    #[allow(unsafe_code)]
    // SAFETY: the last element written is in `to`, as was just checked, and `to` is borrowed exclusively.
    unsafe {
        transpose_to(set, rows, to.as_mut_ptr(), stride);
    }
}

/// As [`transpose`], to a raw pointer: element (row, column) goes to `to` + `column` · `stride` + `row`.
///
/// # Panics
/// If the rows differ in length.
///
/// # Safety
/// 1. All these addresses are inside one allocation and valid for writes.
/// 2. No other thread accesses them during the call, and `rows` do not overlap them.
#[allow(unsafe_code)]
pub unsafe fn transpose_to<F: Real>(set: InstructionSet, rows: &[&[F]], to: *mut F, stride: usize) {
    let columns = rows.first().map_or(0, |row| row.len());
    assert!(rows.iter().all(|row| row.len() == columns), "transpose: rows of different length");
    set.dispatch(Transpose { rows, columns, to, stride });
}

/// The arguments of [`transpose_to`]; its safety conditions hold for the fields.
struct Transpose<'a, F> {
    rows: &'a [&'a [F]],
    columns: usize,
    to: *mut F,
    stride: usize,
}

impl<F: Real> WithSimd for Transpose<'_, F> {
    type Output = ();

    #[inline(always)]
    #[allow(unsafe_code)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (bands, rest) = self.rows.as_chunks::<BAND>();
        for (band, rows) in bands.iter().enumerate() {
            // SAFETY: the band's columns start at its first row's index in the transpose.
            let to = unsafe { self.to.add(band * BAND) };
            // SAFETY: `to` has room for a band's columns, `stride` apart.
            let done = unsafe { F::transpose_band(simd, rows, to, self.stride) };
            // SAFETY: the same holds for the remaining columns, which do not fill a register.
            unsafe { transpose_scalar(rows, done..self.columns, to, self.stride) };
        }
        if !rest.is_empty() {
            // SAFETY: as above, for fewer rows.
            unsafe { transpose_scalar(rest, 0..self.columns, self.to.add(bands.len() * BAND), self.stride) };
        }
    }
}

/// Transposes the given columns of up to eight rows, element by element.
///
/// # Safety
/// As [`transpose_to`].
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn transpose_scalar<F: Real>(rows: &[&[F]], columns: std::ops::Range<usize>, to: *mut F, stride: usize) {
    for column in columns {
        for (i, row) in rows.iter().enumerate() {
            // SAFETY: element (i, column) is in the transpose.
            unsafe { to.add(column * stride + i).write(row[column]) };
        }
    }
}

/// [`Real::transpose_band`] in portable Rust. A block is copied to the stack by rows; the rest is loads and stores at
/// constant offsets.
///
/// # Safety
/// As [`Real::transpose_band`].
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) unsafe fn portable_band<F: Real>(rows: &[&[F]; BAND], to: *mut F, stride: usize) -> usize {
    let rows: [&[[F; BAND]]; BAND] = blocks(rows);
    #[allow(clippy::needless_range_loop)] // The loops index eight rows at once.
    for block in 0..rows[0].len() {
        let values: [[F; BAND]; BAND] = std::array::from_fn(|row| rows[row][block]);
        #[allow(clippy::needless_range_loop)]
        for column in 0..BAND {
            let transposed: [F; BAND] = std::array::from_fn(|row| values[row][column]);
            // SAFETY: the column's eight elements are adjacent in the transpose.
            unsafe { to.add((block * BAND + column) * stride).cast::<[F; BAND]>().write(transposed) };
        }
    }
    rows[0].len() * BAND
}

/// Each row as blocks of `N` elements without the remainder, the same number for all rows.
#[inline(always)]
fn blocks<'a, F, const N: usize>(rows: &[&'a [F]; BAND]) -> [&'a [[F; N]]; BAND] {
    let count = rows[0].len() / N;
    // A loop rather than `map`, so that the compiler sees that all have `count` blocks and removes the later bounds
    // checks.
    let mut blocks: [&[[F; N]]; BAND] = [&[]; BAND];
    for (blocks, row) in blocks.iter_mut().zip(rows) {
        *blocks = &row.as_chunks().0[..count];
    }
    blocks
}

/// [`Real::transpose_band`] with 256-bit registers.
///
/// These functions enable their instruction set themselves instead of inheriting it from the kernel that they are
/// inlined into: a function that the compiler does not inline would be compiled without the instructions.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub(crate) mod avx {
    use std::any::TypeId;
    use std::arch::x86_64::*;

    use pulp::Simd;
    use pulp::x86::{V3, V4};

    use super::{BAND, blocks};

    /// Whether code for `S` may use AVX. Known at compile time.
    #[inline(always)]
    pub(crate) fn is_part_of<S: Simd>() -> bool {
        [TypeId::of::<V3>(), TypeId::of::<V4>()].contains(&TypeId::of::<S>())
    }

    /// For f32: four columns at a time.
    ///
    /// # Safety
    /// As [`crate::Real::transpose_band`].
    #[target_feature(enable = "avx")]
    pub(crate) unsafe fn band_f32(rows: &[&[f32]; BAND], to: *mut f32, stride: usize) -> usize {
        const COLUMNS: usize = 4;
        let rows = blocks::<f32, COLUMNS>(rows);
        #[allow(clippy::needless_range_loop)] // The loop indexes eight rows at once.
        for block in 0..rows[0].len() {
            // Four rows in the lower halves of registers, the next four in the upper.
            let mut halves = [_mm256_setzero_ps(); 4];
            for (i, half) in halves.iter_mut().enumerate() {
                let (low, high) = (bytemuck::cast(rows[i][block]), bytemuck::cast(rows[i + 4][block]));
                *half = _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(low), high);
            }
            let [a, b, c, d] = halves;
            let (ab_01, ab_23) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
            let (cd_01, cd_23) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
            let columns = [
                _mm256_shuffle_ps::<0b01_00_01_00>(ab_01, cd_01),
                _mm256_shuffle_ps::<0b11_10_11_10>(ab_01, cd_01),
                _mm256_shuffle_ps::<0b01_00_01_00>(ab_23, cd_23),
                _mm256_shuffle_ps::<0b11_10_11_10>(ab_23, cd_23),
            ];
            for (i, column) in columns.into_iter().enumerate() {
                // SAFETY: the column's eight elements are adjacent in the transpose.
                unsafe { _mm256_storeu_ps(to.add((block * COLUMNS + i) * stride), column) };
            }
        }
        rows[0].len() * COLUMNS
    }

    /// For f64: two columns at a time.
    ///
    /// # Safety
    /// As [`crate::Real::transpose_band`].
    #[target_feature(enable = "avx")]
    pub(crate) unsafe fn band_f64(rows: &[&[f64]; BAND], to: *mut f64, stride: usize) -> usize {
        const COLUMNS: usize = 2;
        let rows = blocks::<f64, COLUMNS>(rows);
        #[allow(clippy::needless_range_loop)] // As above.
        for block in 0..rows[0].len() {
            for first in [0, 4] {
                // Two rows in the lower halves of registers, the next two in the upper.
                let mut halves = [_mm256_setzero_pd(); 2];
                for (i, half) in halves.iter_mut().enumerate() {
                    let row = first + i;
                    let (low, high) = (bytemuck::cast(rows[row][block]), bytemuck::cast(rows[row + 2][block]));
                    *half = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(low), high);
                }
                let [a, b] = halves;
                let columns = [_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b)];
                for (i, column) in columns.into_iter().enumerate() {
                    // SAFETY: the four elements of the column are adjacent in the transpose.
                    unsafe { _mm256_storeu_pd(to.add((block * COLUMNS + i) * stride + first), column) };
                }
            }
        }
        rows[0].len() * COLUMNS
    }
}
