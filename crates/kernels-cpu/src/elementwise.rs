//! Element-wise loops around a scalar operation. The compiler vectorizes them. Each result is
//! written once, to memory that may be uninitialized.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use pulp::{Simd, WithSimd};

use crate::InstructionSet;

/// An operation on one scalar. `apply` and every function that it calls must be `#[inline(always)]`.
pub(crate) trait Unary {
    fn apply<S: Simd>(x: f32) -> f32;
}

/// An operation on two scalars, with the same inlining requirement as [`Unary`].
pub(crate) trait Binary {
    fn apply<S: Simd>(x: f32, y: f32) -> f32;
}

/// Writes `O` of x\[i\] to every element of `out`.
///
/// # Panics
/// If the slices differ in length.
pub(crate) fn map<O: Unary>(set: InstructionSet, x: &[f32], out: &mut [MaybeUninit<f32>]) {
    assert_eq!(x.len(), out.len(), "slices of different length");
    set.dispatch(Map { x, out, operation: PhantomData::<O> });
}

/// Replaces each x by `O` of x.
pub(crate) fn map_in_place<O: Unary>(set: InstructionSet, values: &mut [f32]) {
    set.dispatch(MapInPlace { values, operation: PhantomData::<O> });
}

/// Writes `O` of x\[i\] and y\[i\] to every element of `out`.
///
/// # Panics
/// If the slices differ in length.
pub(crate) fn zip_map<O: Binary>(set: InstructionSet, x: &[f32], y: &[f32], out: &mut [MaybeUninit<f32>]) {
    assert!(x.len() == out.len() && y.len() == out.len(), "slices of different length");
    set.dispatch(ZipMap { x, y, out, operation: PhantomData::<O> });
}

struct Map<'a, O> {
    x: &'a [f32],
    out: &'a mut [MaybeUninit<f32>],
    operation: PhantomData<O>,
}

struct MapInPlace<'a, O> {
    values: &'a mut [f32],
    operation: PhantomData<O>,
}

struct ZipMap<'a, O> {
    x: &'a [f32],
    y: &'a [f32],
    out: &'a mut [MaybeUninit<f32>],
    operation: PhantomData<O>,
}

impl<O: Unary> WithSimd for Map<'_, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let (out_head, out) = split_at_cache_line(self.out);
        let (x_head, x) = self.x.split_at(out_head.len());
        for (out, &x) in out_head.iter_mut().zip(x_head) {
            out.write(O::apply::<S>(x));
        }
        for (out, &x) in out.iter_mut().zip(x) {
            out.write(O::apply::<S>(x));
        }
    }
}

impl<O: Unary> WithSimd for MapInPlace<'_, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for value in self.values {
            *value = O::apply::<S>(*value);
        }
    }
}

impl<O: Binary> WithSimd for ZipMap<'_, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let (out_head, out) = split_at_cache_line(self.out);
        let (x_head, x) = self.x.split_at(out_head.len());
        let (y_head, y) = self.y.split_at(out_head.len());
        for ((out, &x), &y) in out_head.iter_mut().zip(x_head).zip(y_head) {
            out.write(O::apply::<S>(x, y));
        }
        for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
            out.write(O::apply::<S>(x, y));
        }
    }
}

/// Splits `out` at its first cache-line boundary, so vector stores to the second part never cross a line.
#[inline(always)]
fn split_at_cache_line(out: &mut [MaybeUninit<f32>]) -> (&mut [MaybeUninit<f32>], &mut [MaybeUninit<f32>]) {
    let head = out.as_ptr().align_offset(64).min(out.len());
    out.split_at_mut(head)
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// The elements that `kernel` writes to an `out` of `length` elements. `out` begins `offset`
    /// elements, at most 16, after the start of a cache line.
    pub(crate) fn written(length: usize, offset: usize, kernel: impl FnOnce(&mut [MaybeUninit<f32>])) -> Vec<f32> {
        let mut memory = vec![MaybeUninit::new(f32::NAN); length + 32];
        let first = memory.as_ptr().align_offset(64) + offset;
        kernel(&mut memory[first..first + length]);
        #[allow(unsafe_code)]
        // SAFETY: every cell was initialized with NaN.
        memory[first..first + length].iter().map(|cell| unsafe { cell.assume_init() }).collect()
    }

    /// The distance between `got` and `exact`, in units in the last place of an f32 of that size.
    pub(crate) fn error_in_ulps(got: f32, exact: f64) -> f64 {
        let nearest = exact.abs() as f32;
        let unit = f64::from(nearest.next_up()) - f64::from(nearest);
        (f64::from(got) - exact).abs() / unit
    }
}
