//! What lies in a GPU's memory.

use crate::F32x4;

#[cfg(not(target_arch = "nvptx64"))]
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

/// A type that a buffer or a shared array may hold.
///
/// # Safety
/// On the host, a value of `Cell` has the size of `Self`, no greater alignment, and both accept every bit pattern: a
/// slice of either may be seen as a slice of the other.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a GPU's memory",
    label = "not an element type",
    note = "elements are u8, i32, u32, f32, f64 and F32x4"
)]
#[allow(unsafe_code)]
pub unsafe trait Element: Copy + Send + Sync + 'static + sealed::Sealed {
    /// What memory holds that nobody wrote: something conspicuous, such as NaN.
    #[doc(hidden)]
    const POISON: Self;

    /// The type in a kernel's [`signature`](crate::signature).
    #[doc(hidden)]
    const CODE: u8;

    /// The element as the simulator's threads share it. Two blocks may access one cell at once, as on a GPU: every
    /// access is therefore atomic, relaxed, which on common processors is an ordinary load or store.
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    type Cell: Send + Sync + 'static;

    /// A cell that holds `self`.
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    fn into_cell(self) -> Self::Cell;

    /// The value in `cell`.
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    fn load(cell: &Self::Cell) -> Self;

    /// Puts `self` into `cell`.
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    fn store(self, cell: &Self::Cell);

    /// Reads with the widest instruction.
    ///
    /// # Safety
    /// `pointer` is valid for reads and aligned.
    #[cfg(target_arch = "nvptx64")]
    #[doc(hidden)]
    unsafe fn read(pointer: *const Self) -> Self;

    /// Writes with the widest instruction.
    ///
    /// # Safety
    /// `pointer` is valid for writes and aligned.
    #[cfg(target_arch = "nvptx64")]
    #[doc(hidden)]
    unsafe fn write(self, pointer: *mut Self);

    /// The same value, of which LLVM forgets where it was loaded.
    ///
    /// What a load returns that races with a store is `undef` to LLVM, which may take a different value at each use: a check of
    /// an index would say nothing about the access after it. An integer is therefore passed through an empty instruction.
    #[cfg(target_arch = "nvptx64")]
    #[doc(hidden)]
    fn frozen(self) -> Self;
}

/// An element on which atomic operations exist: i32, u32 and f32.
#[diagnostic::on_unimplemented(
    message = "a GPU has no atomic operations on `{Self}`",
    note = "atomic operations exist on i32, u32 and f32"
)]
#[allow(unsafe_code)]
pub trait AtomicElement: Element {
    /// Adds `value` and returns what was there before.
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    fn fetch_add(cell: &Self::Cell, value: Self) -> Self;

    /// Puts the larger of `value` and what is there, and returns what was there before.
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    fn fetch_max(cell: &Self::Cell, value: Self) -> Self;

    /// Adds `value` at the address in global or shared memory and returns what was there before.
    ///
    /// # Safety
    /// The address is that of a value of this type, in shared memory if `IS_SHARED` and in global memory otherwise.
    #[cfg(target_arch = "nvptx64")]
    #[doc(hidden)]
    unsafe fn fetch_add<const IS_SHARED: bool>(address: *mut Self, value: Self) -> Self;

    /// Puts the larger of `value` and what is there, and returns what was there before.
    ///
    /// # Safety
    /// As for `fetch_add`.
    #[cfg(target_arch = "nvptx64")]
    #[doc(hidden)]
    unsafe fn fetch_max<const IS_SHARED: bool>(address: *mut Self, value: Self) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($element:ident in $cell:ident, code $code:literal, poison $poison:expr, $into:expr, $from:expr, $freeze:expr;)*) => {$(
        impl sealed::Sealed for $element {}

        // SAFETY: an atomic integer has the size and bit validity of the integer, which is as wide as the element and,
        // on the 64-bit hosts that this crate is for, aligned alike; any bits are a value of either.
        #[allow(unsafe_code)]
        unsafe impl Element for $element {
            const POISON: Self = $poison;
            const CODE: u8 = $code;

            #[cfg(not(target_arch = "nvptx64"))]
            type Cell = $cell;

            #[cfg(not(target_arch = "nvptx64"))]
            #[inline(always)]
            fn into_cell(self) -> $cell {
                $cell::new($into(self))
            }

            #[cfg(not(target_arch = "nvptx64"))]
            #[inline(always)]
            fn load(cell: &$cell) -> Self {
                $from(cell.load(Relaxed))
            }

            #[cfg(not(target_arch = "nvptx64"))]
            #[inline(always)]
            fn store(self, cell: &$cell) {
                cell.store($into(self), Relaxed);
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn read(pointer: *const Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { *pointer }
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn write(self, pointer: *mut Self) {
                // SAFETY: the caller's promise.
                unsafe { *pointer = self }
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            fn frozen(self) -> Self {
                $freeze(self)
            }
        }
    )*};
}

elements! {
    u8 in AtomicU8, code b'b', poison u8::MAX, core::convert::identity, core::convert::identity, |x| freeze(x as u32) as u8;
    u32 in AtomicU32, code b'u', poison u32::MAX, core::convert::identity, core::convert::identity, freeze;
    i32 in AtomicI32, code b'i', poison i32::MIN, core::convert::identity, core::convert::identity, |x| freeze(x as u32) as i32;
    f32 in AtomicU32, code b'f', poison f32::NAN, f32::to_bits, f32::from_bits, core::convert::identity;
    f64 in AtomicU64, code b'd', poison f64::NAN, f64::to_bits, f64::from_bits, core::convert::identity;
}

impl sealed::Sealed for F32x4 {}

// SAFETY: four atomic u32 take the 16 bytes of four f32, are aligned to 4, and any bits are a value of either.
#[allow(unsafe_code)]
unsafe impl Element for F32x4 {
    const POISON: Self = Self::splat(f32::NAN);
    const CODE: u8 = b'q';

    #[cfg(not(target_arch = "nvptx64"))]
    type Cell = [AtomicU32; 4];

    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    fn into_cell(self) -> Self::Cell {
        self.to_array().map(f32::into_cell)
    }

    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    fn load(cell: &Self::Cell) -> Self {
        cell.each_ref().map(f32::load).into()
    }

    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    fn store(self, cell: &Self::Cell) {
        self.to_array().into_iter().zip(cell).for_each(|(value, cell)| value.store(cell));
    }

    // Field by field: a copy of the whole struct becomes two moves of 8 bytes.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn read(pointer: *const Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self { x: (*pointer).x, y: (*pointer).y, z: (*pointer).z, w: (*pointer).w } }
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn write(self, pointer: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            (*pointer).x = self.x;
            (*pointer).y = self.y;
            (*pointer).z = self.z;
            (*pointer).w = self.w;
        }
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    fn frozen(self) -> Self {
        self
    }
}

/// A value of which LLVM knows nothing.
#[cfg(target_arch = "nvptx64")]
#[allow(unsafe_code)]
#[inline(always)]
fn freeze(mut value: u32) -> u32 {
    // SAFETY: a comment, no instruction.
    unsafe { core::arch::asm!("// {0}", inout(reg32) value, options(pure, nomem, nostack, preserves_flags)) };
    value
}

#[cfg(not(target_arch = "nvptx64"))]
mod host_atomics {
    use super::*;

    impl AtomicElement for u32 {
        fn fetch_add(cell: &AtomicU32, value: Self) -> Self {
            cell.fetch_add(value, Relaxed)
        }

        fn fetch_max(cell: &AtomicU32, value: Self) -> Self {
            cell.fetch_max(value, Relaxed)
        }
    }

    impl AtomicElement for i32 {
        fn fetch_add(cell: &AtomicI32, value: Self) -> Self {
            cell.fetch_add(value, Relaxed)
        }

        fn fetch_max(cell: &AtomicI32, value: Self) -> Self {
            cell.fetch_max(value, Relaxed)
        }
    }

    impl AtomicElement for f32 {
        fn fetch_add(cell: &AtomicU32, value: Self) -> Self {
            update(cell, |old| old + value)
        }

        fn fetch_max(cell: &AtomicU32, value: Self) -> Self {
            // As on the GPU, a zero with a sign is less than one without, and a NaN changes nothing.
            update(cell, |old| if !value.is_nan() && old.total_cmp(&value).is_lt() { value } else { old })
        }
    }

    fn update(cell: &AtomicU32, change: impl Fn(f32) -> f32) -> f32 {
        let new = |bits| Some(change(f32::from_bits(bits)).to_bits());
        let old = match cell.fetch_update(Relaxed, Relaxed, new) {
            Ok(old) | Err(old) => old,
        };
        f32::from_bits(old)
    }
}
