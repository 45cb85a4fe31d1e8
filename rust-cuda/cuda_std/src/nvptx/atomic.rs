//! Atomic operations on global and shared memory.

use core::arch::asm;
use core::marker::PhantomData;

use crate::AtomicElement;

/// Atomic access to an element of global or shared memory.
pub struct Atomic<'a, T: AtomicElement, const IS_SHARED: bool> {
    address: *mut T,
    memory: PhantomData<&'a T>,
}

impl<T: AtomicElement, const IS_SHARED: bool> Atomic<'_, T, IS_SHARED> {
    /// The element at `address`.
    ///
    /// # Safety
    /// `address` points to a live element, in shared memory if `IS_SHARED` and in global memory otherwise.
    #[inline(always)]
    pub(super) unsafe fn new(address: *mut T) -> Self {
        Self { address, memory: PhantomData }
    }

    /// Adds `value` and returns the old value. Integers wrap around; an f32 in global memory has no subnormal numbers, which
    /// count as zeros of their signs.
    #[inline(always)]
    pub fn fetch_add(self, value: T) -> T {
        // SAFETY: `new` requires a valid address in that space.
        unsafe { T::fetch_add::<IS_SHARED>(self.address, value) }
    }

    /// Stores the maximum of the old value and `value`, and returns the old value. A NaN changes nothing.
    #[inline(always)]
    pub fn fetch_max(self, value: T) -> T {
        // SAFETY: `new` requires a valid address in that space.
        unsafe { T::fetch_max::<IS_SHARED>(self.address, value) }
    }
}

/// `atom.{space}.{operation}` on 32 bits; a shared address is converted to the shared window first.
macro_rules! atom {
    ($operation:literal, $is_shared:expr, $address:expr, $value:expr) => {{
        let old;
        // SAFETY: the caller guarantees a valid address in that space.
        unsafe {
            if $is_shared {
                asm!(
                    "{{ .reg .b64 window; cvta.to.shared.u64 window, {1};",
                    concat!("atom.shared.", $operation, " {0}, [window], {2}; }}"),
                    out(reg32) old, in(reg64) $address, in(reg32) $value, options(nostack, preserves_flags)
                );
            } else {
                asm!(
                    concat!("atom.global.", $operation, " {0}, [{1}], {2};"),
                    out(reg32) old, in(reg64) $address, in(reg32) $value, options(nostack, preserves_flags)
                );
            }
        }
        old
    }};
}

impl AtomicElement for u32 {
    #[inline(always)]
    unsafe fn fetch_add<const IS_SHARED: bool>(address: *mut Self, value: Self) -> Self {
        atom!("add.u32", IS_SHARED, address, value)
    }

    #[inline(always)]
    unsafe fn fetch_max<const IS_SHARED: bool>(address: *mut Self, value: Self) -> Self {
        atom!("max.u32", IS_SHARED, address, value)
    }
}

impl AtomicElement for i32 {
    #[inline(always)]
    unsafe fn fetch_add<const IS_SHARED: bool>(address: *mut Self, value: Self) -> Self {
        atom!("add.s32", IS_SHARED, address, value)
    }

    #[inline(always)]
    unsafe fn fetch_max<const IS_SHARED: bool>(address: *mut Self, value: Self) -> Self {
        atom!("max.s32", IS_SHARED, address, value)
    }
}

impl AtomicElement for f32 {
    #[inline(always)]
    unsafe fn fetch_add<const IS_SHARED: bool>(address: *mut Self, value: Self) -> Self {
        atom!("add.f32", IS_SHARED, address, value)
    }

    /// The maximum through integer instructions, as PTX has none for floats. The bits of non-negative floats order like
    /// signed integers, those of negative floats like unsigned integers in reverse; and as an unsigned integer, every
    /// negative float is greater than every non-negative one.
    #[inline(always)]
    unsafe fn fetch_max<const IS_SHARED: bool>(address: *mut Self, value: Self) -> Self {
        if value.is_nan() {
            // The smallest integer: the element does not change.
            return atom!("max.s32", IS_SHARED, address, i32::MIN);
        }
        let bits = value.to_bits();
        let old: u32 = if bits >> 31 == 0 {
            atom!("max.s32", IS_SHARED, address, bits)
        } else {
            atom!("min.u32", IS_SHARED, address, bits)
        };
        f32::from_bits(old)
    }
}
