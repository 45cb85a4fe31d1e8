//! The transpose of a matrix, block by block in registers.
//!
//! Idea: a naive transpose uses one element of each cache line before it moves to the next line.
//! Here, eight rows form a band. 16 bytes of each row are loaded, and shuffles (unpack) exchange
//! elements between registers. Each resulting register holds eight elements of a column and is
//! stored at once. The upper 128-bit lane of a register is loaded from different rows than the
//! lower one. No element then has to cross lanes, which is the slow part of a transpose. A band has
//! eight rows because eight pointers fit in the general registers.
//!
//! Roofline: 32 elements of f32 take 8 loads, 4 of them with an insert, 8 shuffles and 4 stores. In
//! cache, the shuffles are the bound.

pub(crate) mod band;

use self::band::BAND;
use crate::{InstructionSet, Real, Simd, WithSimd};

/// Writes the transpose of the matrix with rows `rows` to `to`. Rows of the transpose are `stride`
/// elements apart.
///
/// # Panics
/// If the rows differ in length, if there are more rows than `stride`, or if `to` is too short.
pub fn transpose<F: Real>(set: InstructionSet, rows: &[&[F]], to: &mut [F], stride: usize) {
    let columns = rows.first().map_or(0, |row| row.len());
    assert!(rows.len() <= stride || columns <= 1, "transpose: the transpose's rows overlap");
    assert!(columns == 0 || (columns - 1) * stride + rows.len() <= to.len(), "transpose: no room for the transpose");
    #[allow(unsafe_code)]
    // SAFETY: the last element written is in `to`, as just checked, and `to` is borrowed exclusively.
    unsafe {
        transpose_to(set, rows, to.as_mut_ptr(), stride);
    }
}

/// Transposes like [`transpose`], to a raw pointer: element (row, column) goes to `to` + `column` ·
/// `stride` + `row`.
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
