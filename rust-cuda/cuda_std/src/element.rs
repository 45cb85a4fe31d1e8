//! The element types of a GPU's memory.

use core::convert::identity;

use crate::F32x4;

#[cfg(not(target_arch = "nvptx64"))]
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

/// An element type of buffers and shared arrays.
///
/// # Safety
/// On the host, a value of `Cell` has the size of `Self`, no greater alignment, and both accept every bit pattern: a
/// slice of either may be reinterpreted as a slice of the other.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of cuda_std",
    label = "not an element type",
    note = "elements are u8, i32, u32, f32, f64 and F32x4"
)]
#[allow(unsafe_code)]
pub unsafe trait Element: Copy + Send + Sync + 'static + sealed::Sealed {
    /// The value of uninitialised memory in the simulator: a conspicuous one, such as NaN.
    #[doc(hidden)]
    const POISON: Self;

    /// The type's code in a kernel's [`signature`](crate::signature).
    #[doc(hidden)]
    const CODE: u8;

    /// The element as the simulator's threads share it. Two blocks may access one cell concurrently, as on a GPU:
    /// every access is therefore a relaxed atomic, which on common processors is an ordinary load or store.
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

    /// Stores `self` in `cell`.
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    fn store(self, cell: &Self::Cell);

    /// Whether `cell` holds the bits of `self`.
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    fn is_in(self, cell: &Self::Cell) -> bool;

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

    /// The same value, frozen: LLVM cannot trace it back to the load.
    ///
    /// To LLVM, a load that races with a store returns `undef`, which may take a different value at each use: the check
    /// of an index would then not hold for the access after it. Integers therefore pass through an empty `asm!`.
    #[cfg(target_arch = "nvptx64")]
    #[doc(hidden)]
    fn frozen(self) -> Self;
}

/// An element type with atomic operations: i32, u32 and f32.
#[diagnostic::on_unimplemented(
    message = "cuda_std has no atomic operations on `{Self}`",
    note = "atomic operations exist on i32, u32 and f32"
)]
#[allow(unsafe_code)]
pub trait AtomicElement: Element {
    /// Adds `value` and returns the old value. As on a GPU, an f32 in global memory has no subnormal numbers: they count as zeros
    /// of their signs (PTX ISA 9.7.13, `atom`, `.add.f32`).
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    fn fetch_add<const IS_SHARED: bool>(cell: &Self::Cell, value: Self) -> Self;

    /// Stores the maximum of the old value and `value`, and returns the old value.
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    fn fetch_max(cell: &Self::Cell, value: Self) -> Self;

    /// Adds `value` at the address in global or shared memory and returns the old value.
    ///
    /// # Safety
    /// `address` points to a value of this type, in shared memory if `IS_SHARED` and in global memory otherwise.
    #[cfg(target_arch = "nvptx64")]
    #[doc(hidden)]
    unsafe fn fetch_add<const IS_SHARED: bool>(address: *mut Self, value: Self) -> Self;

    /// Stores the maximum of the old value and `value`, and returns the old value.
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
    ($(
        $element:ident in $cell:ident, code $code:literal, poison $poison:expr, $into:expr, $from:expr, $freeze:expr;
    )*) => {$(
        impl sealed::Sealed for $element {}

        // SAFETY: an atomic integer has the size and bit validity of the integer, which has the element's width and, on
        // the 64-bit hosts that this crate is for, its alignment; every bit pattern is a valid value of either.
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

            #[cfg(not(target_arch = "nvptx64"))]
            #[inline(always)]
            fn is_in(self, cell: &$cell) -> bool {
                $into(self) == cell.load(Relaxed)
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn read(pointer: *const Self) -> Self {
                // SAFETY: the caller upholds this function's contract.
                unsafe { *pointer }
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn write(self, pointer: *mut Self) {
                // SAFETY: the caller upholds this function's contract.
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
    u8 in AtomicU8, code b'b', poison u8::MAX, identity, identity, |x| freeze(x as u32) as u8;
    u32 in AtomicU32, code b'u', poison u32::MAX, identity, identity, freeze;
    i32 in AtomicI32, code b'i', poison i32::MIN, identity, identity, |x| freeze(x as u32) as i32;
    f32 in AtomicU32, code b'f', poison f32::NAN, f32::to_bits, f32::from_bits, identity;
    f64 in AtomicU64, code b'd', poison f64::NAN, f64::to_bits, f64::from_bits, identity;
}

impl sealed::Sealed for F32x4 {}

// SAFETY: four atomic u32 have the 16 bytes of four f32, an alignment of 4, and every bit pattern is valid for either.
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

    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    fn is_in(self, cell: &Self::Cell) -> bool {
        self.to_array().into_iter().zip(cell).all(|(value, cell)| value.is_in(cell))
    }

    // Field by field: LLVM compiles a copy of the whole struct to two moves of 8 bytes.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn read(pointer: *const Self) -> Self {
        // SAFETY: the caller upholds this function's contract.
        unsafe { Self { x: (*pointer).x, y: (*pointer).y, z: (*pointer).z, w: (*pointer).w } }
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn write(self, pointer: *mut Self) {
        // SAFETY: the caller upholds this function's contract.
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

/// `value`, about which LLVM can assume nothing.
#[cfg(target_arch = "nvptx64")]
#[allow(unsafe_code)]
#[inline(always)]
fn freeze(mut value: u32) -> u32 {
    // SAFETY: the asm is a comment without an instruction.
    unsafe { core::arch::asm!("// {0}", inout(reg32) value, options(pure, nomem, nostack, preserves_flags)) };
    value
}

#[cfg(not(target_arch = "nvptx64"))]
mod host_atomics {
    use super::*;

    impl AtomicElement for u32 {
        fn fetch_add<const IS_SHARED: bool>(cell: &AtomicU32, value: Self) -> Self {
            cell.fetch_add(value, Relaxed)
        }

        fn fetch_max(cell: &AtomicU32, value: Self) -> Self {
            cell.fetch_max(value, Relaxed)
        }
    }

    impl AtomicElement for i32 {
        fn fetch_add<const IS_SHARED: bool>(cell: &AtomicI32, value: Self) -> Self {
            cell.fetch_add(value, Relaxed)
        }

        fn fetch_max(cell: &AtomicI32, value: Self) -> Self {
            cell.fetch_max(value, Relaxed)
        }
    }

    impl AtomicElement for f32 {
        fn fetch_add<const IS_SHARED: bool>(cell: &AtomicU32, value: Self) -> Self {
            let flush = |x: f32| if !IS_SHARED && x.is_subnormal() { 0_f32.copysign(x) } else { x };
            update(cell, |old| flush(flush(old) + flush(value)))
        }

        fn fetch_max(cell: &AtomicU32, value: Self) -> Self {
            // As on the GPU, −0 is less than +0, and a NaN changes nothing.
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
