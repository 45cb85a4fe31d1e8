use std::fmt::Debug;

use bytemuck::Pod;
use num_traits::Float;
use pulp::Simd;

use crate::dispatch::is_fused;
use crate::transpose::band::{self, BAND};

/// The element types of the floating-point kernels: `f32` and `f64`.
pub trait Real: Float + Pod + Send + Sync + Debug + 'static {
    /// Elements in a 64-byte cache line, the unit to which matrices are padded.
    const LINE: usize = 64 / size_of::<Self>();

    /// A vector register of these elements.
    type Vector<S: Simd>: Pod;

    /// The register that holds `value` in every lane.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;

    /// a · b + c in each lane, with one rounding if [`is_fused`] holds and two otherwise.
    fn multiply_add_vectors<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;

    /// a + b in each lane.
    fn add_vectors<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;

    /// a · b in each lane.
    fn multiply_vectors<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;

    /// The whole registers at the start of `values`. An incomplete one at the end is dropped.
    fn as_vectors<S: Simd>(values: &[Self]) -> &[Self::Vector<S>];

    /// [`Self::as_vectors`], mutable.
    fn as_vectors_mut<S: Simd>(values: &mut [Self]) -> &mut [Self::Vector<S>];

    /// The elements of registers, in order.
    #[inline(always)]
    fn as_elements<S: Simd>(vectors: &[Self::Vector<S>]) -> &[Self] {
        bytemuck::cast_slice(vectors)
    }

    /// [`Self::as_elements`], mutable.
    #[inline(always)]
    fn as_elements_mut<S: Simd>(vectors: &mut [Self::Vector<S>]) -> &mut [Self] {
        bytemuck::cast_slice_mut(vectors)
    }

    /// Loads a register from `elements`, which need not be aligned.
    ///
    /// # Panics
    /// If the number of elements is not a register's.
    #[inline(always)]
    fn load_vector<S: Simd>(elements: &[Self]) -> Self::Vector<S> {
        bytemuck::pod_read_unaligned(bytemuck::cast_slice(elements))
    }

    /// Writes the columns of eight rows to `to`, `to` + `stride`, …, starting with the first
    /// column, in whole registers. Returns the number of columns written. See [`crate::transpose`].
    ///
    /// # Safety
    /// As [`crate::transpose::transpose_to`]; the rows have the same length.
    #[doc(hidden)]
    #[allow(unsafe_code)]
    unsafe fn transpose_band<S: Simd>(simd: S, rows: &[&[Self]; BAND], to: *mut Self, stride: usize) -> usize;
}

impl Real for f32 {
    type Vector<S: Simd> = S::f32s;

    #[inline(always)]
    fn splat<S: Simd>(simd: S, value: Self) -> S::f32s {
        simd.splat_f32s(value)
    }

    #[inline(always)]
    fn multiply_add_vectors<S: Simd>(simd: S, a: S::f32s, b: S::f32s, c: S::f32s) -> S::f32s {
        if is_fused::<S>() { simd.mul_add_f32s(a, b, c) } else { simd.add_f32s(simd.mul_f32s(a, b), c) }
    }

    #[inline(always)]
    fn add_vectors<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.add_f32s(a, b)
    }

    #[inline(always)]
    fn multiply_vectors<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.mul_f32s(a, b)
    }

    #[inline(always)]
    fn as_vectors<S: Simd>(values: &[Self]) -> &[S::f32s] {
        S::as_simd_f32s(values).0
    }

    #[inline(always)]
    fn as_vectors_mut<S: Simd>(values: &mut [Self]) -> &mut [S::f32s] {
        S::as_mut_simd_f32s(values).0
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn transpose_band<S: Simd>(_simd: S, rows: &[&[Self]; BAND], to: *mut Self, stride: usize) -> usize {
        #[cfg(target_arch = "x86_64")]
        if band::avx::is_part_of::<S>() {
            // SAFETY: a value of `S` proves that the processor has AVX; the caller guarantees the rest.
            return unsafe { band::avx::band_f32(rows, to, stride) };
        }
        // SAFETY: guaranteed by the caller.
        unsafe { band::portable(rows, to, stride) }
    }
}

impl Real for f64 {
    type Vector<S: Simd> = S::f64s;

    #[inline(always)]
    fn splat<S: Simd>(simd: S, value: Self) -> S::f64s {
        simd.splat_f64s(value)
    }

    #[inline(always)]
    fn multiply_add_vectors<S: Simd>(simd: S, a: S::f64s, b: S::f64s, c: S::f64s) -> S::f64s {
        if is_fused::<S>() { simd.mul_add_f64s(a, b, c) } else { simd.add_f64s(simd.mul_f64s(a, b), c) }
    }

    #[inline(always)]
    fn add_vectors<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.add_f64s(a, b)
    }

    #[inline(always)]
    fn multiply_vectors<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.mul_f64s(a, b)
    }

    #[inline(always)]
    fn as_vectors<S: Simd>(values: &[Self]) -> &[S::f64s] {
        S::as_simd_f64s(values).0
    }

    #[inline(always)]
    fn as_vectors_mut<S: Simd>(values: &mut [Self]) -> &mut [S::f64s] {
        S::as_mut_simd_f64s(values).0
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn transpose_band<S: Simd>(_simd: S, rows: &[&[Self]; BAND], to: *mut Self, stride: usize) -> usize {
        #[cfg(target_arch = "x86_64")]
        if band::avx::is_part_of::<S>() {
            // SAFETY: a value of `S` proves that the processor has AVX; the caller guarantees the rest.
            return unsafe { band::avx::band_f64(rows, to, stride) };
        }
        // SAFETY: guaranteed by the caller.
        unsafe { band::portable(rows, to, stride) }
    }
}
