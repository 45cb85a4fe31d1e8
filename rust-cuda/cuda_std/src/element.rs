//! The element types of a GPU's memory.

use core::convert::identity;

#[cfg(feature = "half")]
use crate::half::{bf16, f16};
use crate::order::Operation;
#[cfg(target_arch = "nvptx64")]
use crate::order::Scope;
use crate::{F32x4, I32x4};
#[cfg(target_arch = "nvptx64")]
use core::sync::atomic::Ordering;

#[cfg(not(target_arch = "nvptx64"))]
use std::sync::atomic::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed,
};

/// An element type of buffers and shared arrays.
///
/// # Safety
/// On the host, a value of `Cell` has the size of `Self`, no greater alignment, and both accept every bit pattern: a
/// slice of either may be reinterpreted as a slice of the other.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of cuda_std",
    label = "not an element type",
    note = "elements are the integers of 8 to 128 bits, f32, f64, F32x4, I32x4, and with the feature `half` f16 and bf16",
    note = "keep each field of a struct in memory of its own, as `xs` and `ys` of points, or four f32 in an F32x4"
)]
#[allow(unsafe_code)]
pub unsafe trait Element: crate::Scalar + sealed::Sealed {
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

/// An element type with [atomic operations](crate::atomic::Atomic): integers and floats of 32 and 64 bits.
#[diagnostic::on_unimplemented(
    message = "cuda_std has no atomic operations on `{Self}`",
    note = "atomic operations exist on i32, u32, i64, u64, f32 and f64"
)]
#[allow(unsafe_code)]
pub trait AtomicElement: Element {
    /// Stores what `operation` makes of the old value and `value`, and returns the old value. As on a GPU, the sum of f32 in
    /// global memory has no subnormal numbers: they count as zeros of their signs (PTX ISA 9.7.13, `atom`, `.add.f32`).
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    fn update<const IS_SHARED: bool>(cell: &Self::Cell, operation: Operation, value: Self) -> Self;

    /// Stores `new` if the cell has the bits of `current`. Returns the old value: `Ok` if it was stored, else `Err`.
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    fn compare_exchange(cell: &Self::Cell, current: Self, new: Self) -> Result<Self, Self>;

    /// Stores what `operation` makes of the old value and `value`, and returns the old value.
    ///
    /// # Safety
    /// `address` points to a value of this type, in shared memory if `IS_SHARED` and in global memory otherwise.
    #[cfg(target_arch = "nvptx64")]
    #[doc(hidden)]
    unsafe fn update<const IS_SHARED: bool>(
        address: *mut Self,
        operation: Operation,
        semantics: (Ordering, Scope),
        value: Self,
    ) -> Self;

    /// Stores `new` if the value has the bits of `current`. Returns the old value: `Ok` if it was stored, else `Err`.
    ///
    /// # Safety
    /// As for `update`.
    #[cfg(target_arch = "nvptx64")]
    #[doc(hidden)]
    unsafe fn compare_exchange<const IS_SHARED: bool>(
        address: *mut Self,
        semantics: (Ordering, Scope),
        current: Self,
        new: Self,
    ) -> Result<Self, Self>;

    /// The value.
    ///
    /// # Safety
    /// As for `update`.
    #[cfg(target_arch = "nvptx64")]
    #[doc(hidden)]
    unsafe fn atomic_load<const IS_SHARED: bool>(address: *mut Self, semantics: (Ordering, Scope)) -> Self;

    /// Stores `value`.
    ///
    /// # Safety
    /// As for `update`.
    #[cfg(target_arch = "nvptx64")]
    #[doc(hidden)]
    unsafe fn atomic_store<const IS_SHARED: bool>(address: *mut Self, semantics: (Ordering, Scope), value: Self);
}

/// An integer with atomic operations, which also has those on bits.
#[diagnostic::on_unimplemented(
    message = "cuda_std has no atomic operations on the bits of `{Self}`",
    note = "they exist on i32, u32, i64 and u64"
)]
pub trait AtomicInteger: AtomicElement {}

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
    i8 in AtomicI8, code b'c', poison i8::MIN, identity, identity, |x| freeze(x as u32) as i8;
    u16 in AtomicU16, code b'h', poison u16::MAX, identity, identity, |x| freeze(x as u32) as u16;
    i16 in AtomicI16, code b'j', poison i16::MIN, identity, identity, |x| freeze(x as u32) as i16;
    u32 in AtomicU32, code b'u', poison u32::MAX, identity, identity, freeze;
    i32 in AtomicI32, code b'i', poison i32::MIN, identity, identity, |x| freeze(x as u32) as i32;
    u64 in AtomicU64, code b'U', poison u64::MAX, identity, identity, freeze_64;
    i64 in AtomicI64, code b'I', poison i64::MIN, identity, identity, |x| freeze_64(x as u64) as i64;
    f32 in AtomicU32, code b'f', poison f32::NAN, f32::to_bits, f32::from_bits, identity;
    f64 in AtomicU64, code b'd', poison f64::NAN, f64::to_bits, f64::from_bits, identity;
}

#[cfg(feature = "half")]
elements! {
    f16 in AtomicU16, code b'e', poison f16::NAN, f16::to_bits, f16::from_bits,
        |x: f16| f16::from_bits(freeze(x.to_bits().into()) as u16);
    bf16 in AtomicU16, code b'E', poison bf16::NAN, bf16::to_bits, bf16::from_bits,
        |x: bf16| bf16::from_bits(freeze(x.to_bits().into()) as u16);
}

/// Integers of 128 bits, as two halves in the simulator: two threads that write one at the same time may mix them, as on a
/// GPU.
macro_rules! long_elements {
    ($($element:ident, code $code:literal, poison $poison:expr;)*) => {$(
        impl sealed::Sealed for $element {}

        // SAFETY: two atomic u64 have the 16 bytes of the integer, no greater alignment, and every bit pattern is valid for
        // either.
        #[allow(unsafe_code)]
        unsafe impl Element for $element {
            const POISON: Self = $poison;
            const CODE: u8 = $code;

            #[cfg(not(target_arch = "nvptx64"))]
            type Cell = [AtomicU64; 2];

            #[cfg(not(target_arch = "nvptx64"))]
            fn into_cell(self) -> Self::Cell {
                halves(self as u128).map(AtomicU64::new)
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn load(cell: &Self::Cell) -> Self {
                from_halves(cell.each_ref().map(u64::load)) as Self
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn store(self, cell: &Self::Cell) {
                halves(self as u128).into_iter().zip(cell).for_each(|(half, cell)| half.store(cell));
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn is_in(self, cell: &Self::Cell) -> bool {
                halves(self as u128).into_iter().zip(cell).all(|(half, cell)| half.is_in(cell))
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
                from_halves(halves(self as u128).map(freeze_64)) as Self
            }
        }
    )*};
}

long_elements! {
    u128, code b'w', poison u128::MAX;
    i128, code b'W', poison i128::MIN;
}

/// The halves of 64 bits in the order of memory, which is little-endian on every host and GPU.
#[inline(always)]
fn halves(value: u128) -> [u64; 2] {
    [value as u64, (value >> 64) as u64]
}

#[inline(always)]
fn from_halves([low, high]: [u64; 2]) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// An element type of which one instruction moves four: f32 and i32.
#[diagnostic::on_unimplemented(
    message = "no instruction moves four `{Self}`",
    note = "a quad is of four f32 or four i32"
)]
pub trait QuadElement: Element {
    /// Four elements in 16 bytes, in the order of memory. No other crate can choose it: elements are types of this crate and of `core`.
    type Quad: Element + From<[Self; 4]> + Into<[Self; 4]>;
}

macro_rules! vector_elements {
    ($($vector:ident of $element:ident in $cell:ident, code $code:literal;)*) => {$(
        impl sealed::Sealed for $vector {}

        // SAFETY: four atomic integers have the 16 bytes of four elements, an alignment of 4, and every bit pattern is valid
        // for either.
        #[allow(unsafe_code)]
        unsafe impl Element for $vector {
            const POISON: Self = Self::splat($element::POISON);
            const CODE: u8 = $code;

            #[cfg(not(target_arch = "nvptx64"))]
            type Cell = [$cell; 4];

            #[cfg(not(target_arch = "nvptx64"))]
            #[inline(always)]
            fn into_cell(self) -> Self::Cell {
                self.to_array().map($element::into_cell)
            }

            #[cfg(not(target_arch = "nvptx64"))]
            #[inline(always)]
            fn load(cell: &Self::Cell) -> Self {
                cell.each_ref().map($element::load).into()
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
                self.to_array().map($element::frozen).into()
            }
        }

        impl QuadElement for $element {
            type Quad = $vector;
        }
    )*};
}

vector_elements! {
    F32x4 of f32 in AtomicU32, code b'q';
    I32x4 of i32 in AtomicI32, code b'Q';
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

/// [`freeze`] of 64 bits.
#[cfg(target_arch = "nvptx64")]
#[allow(unsafe_code)]
#[inline(always)]
fn freeze_64(mut value: u64) -> u64 {
    // SAFETY: the asm is a comment without an instruction.
    unsafe { core::arch::asm!("// {0}", inout(reg64) value, options(pure, nomem, nostack, preserves_flags)) };
    value
}

#[cfg(not(target_arch = "nvptx64"))]
mod host_atomics {
    use super::*;

    macro_rules! integers {
        ($($integer:ident in $cell:ident)*) => {$(
            impl AtomicElement for $integer {
                fn update<const IS_SHARED: bool>(cell: &$cell, operation: Operation, value: Self) -> Self {
                    match operation {
                        Operation::Add => cell.fetch_add(value, Relaxed),
                        Operation::Sub => cell.fetch_sub(value, Relaxed),
                        Operation::Min => cell.fetch_min(value, Relaxed),
                        Operation::Max => cell.fetch_max(value, Relaxed),
                        Operation::And => cell.fetch_and(value, Relaxed),
                        Operation::Or => cell.fetch_or(value, Relaxed),
                        Operation::Xor => cell.fetch_xor(value, Relaxed),
                        Operation::Swap => cell.swap(value, Relaxed),
                    }
                }

                fn compare_exchange(cell: &$cell, current: Self, new: Self) -> Result<Self, Self> {
                    cell.compare_exchange(current, new, Relaxed, Relaxed)
                }
            }

            impl AtomicInteger for $integer {}
        )*};
    }

    integers! { u32 in AtomicU32 i32 in AtomicI32 u64 in AtomicU64 i64 in AtomicI64 }

    macro_rules! floats {
        ($($float:ident in $cell:ident, flush $flush:expr;)*) => {$(
            impl AtomicElement for $float {
                fn update<const IS_SHARED: bool>(cell: &$cell, operation: Operation, value: Self) -> Self {
                    let flush = |x: Self| if $flush && !IS_SHARED && x.is_subnormal() { Self::copysign(0.0, x) } else { x };
                    let change = |old: Self| match operation {
                        Operation::Add => flush(flush(old) + flush(value)),
                        Operation::Sub => flush(flush(old) + flush(-value)),
                        // As on the GPU, −0 is less than +0, and a NaN changes nothing.
                        Operation::Max if !value.is_nan() && old.total_cmp(&value).is_lt() => value,
                        Operation::Min if !value.is_nan() && old.total_cmp(&value).is_gt() => value,
                        Operation::Max | Operation::Min => old,
                        Operation::Swap => value,
                        Operation::And | Operation::Or | Operation::Xor => {
                            unreachable!("only integers have methods for these")
                        }
                    };
                    let new = |bits| Some(change(Self::from_bits(bits)).to_bits());
                    let old = match cell.fetch_update(Relaxed, Relaxed, new) {
                        Ok(old) | Err(old) => old,
                    };
                    Self::from_bits(old)
                }

                fn compare_exchange(cell: &$cell, current: Self, new: Self) -> Result<Self, Self> {
                    let outcome = cell.compare_exchange(current.to_bits(), new.to_bits(), Relaxed, Relaxed);
                    outcome.map(Self::from_bits).map_err(Self::from_bits)
                }
            }
        )*};
    }

    floats! {
        f32 in AtomicU32, flush true;
        f64 in AtomicU64, flush false;
    }
}
