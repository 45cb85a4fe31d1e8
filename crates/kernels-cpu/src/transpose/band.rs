//! The transpose of a band: eight rows, for as many columns as fill whole registers.

/// Number of rows transposed together.
pub(crate) const BAND: usize = 8;

/// [`crate::Real::transpose_band`] in portable Rust. A block is copied to the stack by rows. The
/// rest is loads and stores at constant offsets.
///
/// # Safety
/// As [`crate::Real::transpose_band`].
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) unsafe fn portable<F: Copy>(rows: &[&[F]; BAND], to: *mut F, stride: usize) -> usize {
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

/// Splits each row into blocks of `N` elements without the remainder; all rows have the same number
/// of blocks.
#[inline(always)]
fn blocks<'a, F, const N: usize>(rows: &[&'a [F]; BAND]) -> [&'a [[F; N]]; BAND] {
    let count = rows[0].len() / N;
    // A loop rather than `map`: it shows the compiler that all rows have `count` blocks, so it
    // removes the later bounds checks.
    let mut blocks: [&[[F; N]]; BAND] = [&[]; BAND];
    for (blocks, row) in blocks.iter_mut().zip(rows) {
        *blocks = &row.as_chunks().0[..count];
    }
    blocks
}

/// [`crate::Real::transpose_band`] with 256-bit registers.
///
/// These functions enable their instruction set themselves instead of inheriting it from the kernel
/// that they are inlined into. Otherwise, a function that the compiler does not inline would be
/// compiled without the instructions.
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
