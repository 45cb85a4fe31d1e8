//! Atomic operations on global and shared memory, and fences.

use core::arch::asm;
use core::marker::PhantomData;
pub use core::sync::atomic::Ordering;

pub use crate::order::Scope;

use super::trap_because;
use crate::order::{Operation, of_load, of_store};
use crate::{AtomicElement, AtomicInteger};

include!("../atomic_methods.rs");

/// Atomic access to an element of global or shared memory.
pub struct Atomic<'a, T: AtomicElement, const IS_SHARED: bool> {
    address: *mut T,
    ordering: Ordering,
    scope: Scope,
    memory: PhantomData<&'a T>,
}

impl<T: AtomicElement, const IS_SHARED: bool> Clone for Atomic<'_, T, IS_SHARED> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: AtomicElement, const IS_SHARED: bool> Copy for Atomic<'_, T, IS_SHARED> {}

impl<T: AtomicElement, const IS_SHARED: bool> Atomic<'_, T, IS_SHARED> {
    /// The element at `address`.
    ///
    /// # Safety
    /// `address` points to a live element, in shared memory if `IS_SHARED` and in global memory otherwise.
    #[inline(always)]
    pub(super) unsafe fn new(address: *mut T) -> Self {
        Self { address, ordering: Ordering::Relaxed, scope: Scope::Device, memory: PhantomData }
    }

    #[inline(always)]
    fn update(self, operation: Operation, value: T) -> T {
        self.fence_before();
        // SAFETY: `new` requires a valid address in that space.
        unsafe { T::update::<IS_SHARED>(self.address, operation, (self.ordering, self.scope), value) }
    }

    #[inline(always)]
    fn exchange_if(self, current: T, new: T) -> Result<T, T> {
        self.fence_before();
        // SAFETY: as above.
        unsafe { T::compare_exchange::<IS_SHARED>(self.address, (self.ordering, self.scope), current, new) }
    }

    /// The value.
    #[inline(always)]
    pub fn load(self) -> T {
        self.fence_before();
        // SAFETY: as above.
        unsafe { T::atomic_load::<IS_SHARED>(self.address, (of_load(self.ordering), self.scope)) }
    }

    /// Stores `value`.
    #[inline(always)]
    pub fn store(self, value: T) {
        self.fence_before();
        // SAFETY: as above.
        unsafe { T::atomic_store::<IS_SHARED>(self.address, (of_store(self.ordering), self.scope), value) }
    }

    /// Orders the operation among all that are sequentially consistent, if it is (PTX ISA 8.9, mapping of C++'s model).
    #[inline(always)]
    fn fence_before(&self) {
        if self.ordering == Ordering::SeqCst {
            fence(Ordering::SeqCst, self.scope);
        }
    }
}

/// Orders the thread's accesses before it and those after it, as atomic operations of this ordering beside it would. It must not
/// be relaxed.
#[inline(always)]
pub fn fence(ordering: Ordering, scope: Scope) {
    // SAFETY: a fence accesses no memory; the compiler does not move accesses across the asm, which may.
    unsafe {
        match (ordering, scope) {
            (Ordering::Relaxed, _) => {
                trap_because("a fence orders accesses: it acquires, releases or both, and is not relaxed")
            }
            (Ordering::SeqCst, Scope::Block) => asm!("fence.sc.cta;", options(nostack, preserves_flags)),
            (Ordering::SeqCst, Scope::Device) => asm!("fence.sc.gpu;", options(nostack, preserves_flags)),
            (Ordering::SeqCst, Scope::System) => asm!("fence.sc.sys;", options(nostack, preserves_flags)),
            (_, Scope::Block) => asm!("fence.acq_rel.cta;", options(nostack, preserves_flags)),
            (_, Scope::Device) => asm!("fence.acq_rel.gpu;", options(nostack, preserves_flags)),
            (_, Scope::System) => asm!("fence.acq_rel.sys;", options(nostack, preserves_flags)),
        }
    }
}

/// Calls `$instruction!` with the semantics and the scope as PTX writes them: nothing for those of the GPU that are relaxed.
macro_rules! with_semantics {
    ($semantics:expr, $instruction:ident($($argument:tt)*)) => {
        match $semantics {
            (Ordering::Relaxed, Scope::Device) => $instruction!("", $($argument)*),
            (Ordering::Relaxed, Scope::Block) => $instruction!(".relaxed.cta", $($argument)*),
            (Ordering::Relaxed, Scope::System) => $instruction!(".relaxed.sys", $($argument)*),
            (Ordering::Acquire, Scope::Block) => $instruction!(".acquire.cta", $($argument)*),
            (Ordering::Acquire, Scope::Device) => $instruction!(".acquire.gpu", $($argument)*),
            (Ordering::Acquire, Scope::System) => $instruction!(".acquire.sys", $($argument)*),
            (Ordering::Release, Scope::Block) => $instruction!(".release.cta", $($argument)*),
            (Ordering::Release, Scope::Device) => $instruction!(".release.gpu", $($argument)*),
            (Ordering::Release, Scope::System) => $instruction!(".release.sys", $($argument)*),
            (_, Scope::Block) => $instruction!(".acq_rel.cta", $($argument)*),
            (_, Scope::Device) => $instruction!(".acq_rel.gpu", $($argument)*),
            (_, Scope::System) => $instruction!(".acq_rel.sys", $($argument)*),
        }
    };
}

/// `atom.{semantics}.{space}.{operation}`; a shared address is converted to the shared window first.
macro_rules! atom {
    ($semantics:literal, $operation:literal, $register:ident, $is_shared:expr, $address:expr, $old:ident, $value:expr) => {
        if $is_shared {
            asm!(
                "{{ .reg .b64 window; cvta.to.shared.u64 window, {1};",
                concat!("atom", $semantics, ".shared.", $operation, " {0}, [window], {2}; }}"),
                out($register) $old, in(reg64) $address, in($register) $value, options(nostack, preserves_flags)
            );
        } else {
            asm!(
                concat!("atom", $semantics, ".global.", $operation, " {0}, [{1}], {2};"),
                out($register) $old, in(reg64) $address, in($register) $value, options(nostack, preserves_flags)
            );
        }
    };
}

/// `atom.{semantics}.{space}.cas`.
macro_rules! compare_and_swap {
    ($semantics:literal, $bits:literal, $register:ident, $is_shared:expr, $address:expr, $old:ident, $current:expr, $new:expr) => {
        if $is_shared {
            asm!(
                "{{ .reg .b64 window; cvta.to.shared.u64 window, {1};",
                concat!("atom", $semantics, ".shared.cas.", $bits, " {0}, [window], {2}, {3}; }}"),
                out($register) $old, in(reg64) $address, in($register) $current, in($register) $new,
                options(nostack, preserves_flags)
            );
        } else {
            asm!(
                concat!("atom", $semantics, ".global.cas.", $bits, " {0}, [{1}], {2}, {3};"),
                out($register) $old, in(reg64) $address, in($register) $current, in($register) $new,
                options(nostack, preserves_flags)
            );
        }
    };
}

/// `ld.{semantics}.{space}`.
macro_rules! load {
    ($semantics:literal, $bits:literal, $register:ident, $is_shared:expr, $address:expr, $value:ident) => {
        if $is_shared {
            asm!(
                "{{ .reg .b64 window; cvta.to.shared.u64 window, {1};",
                concat!("ld", $semantics, ".shared.", $bits, " {0}, [window]; }}"),
                out($register) $value, in(reg64) $address, options(nostack, preserves_flags)
            );
        } else {
            asm!(
                concat!("ld", $semantics, ".global.", $bits, " {0}, [{1}];"),
                out($register) $value, in(reg64) $address, options(nostack, preserves_flags)
            );
        }
    };
}

/// `st.{semantics}.{space}`.
macro_rules! store {
    ($semantics:literal, $bits:literal, $register:ident, $is_shared:expr, $address:expr, $value:expr) => {
        if $is_shared {
            asm!(
                "{{ .reg .b64 window; cvta.to.shared.u64 window, {0};",
                concat!("st", $semantics, ".shared.", $bits, " [window], {1}; }}"),
                in(reg64) $address, in($register) $value, options(nostack, preserves_flags)
            );
        } else {
            asm!(
                concat!("st", $semantics, ".global.", $bits, " [{0}], {1};"),
                in(reg64) $address, in($register) $value, options(nostack, preserves_flags)
            );
        }
    };
}

/// Loads and stores have two of the orderings each.
macro_rules! with_semantics_of_load {
    ($semantics:expr, $($argument:tt)*) => {
        match $semantics {
            (Ordering::Relaxed, Scope::Block) => load!(".relaxed.cta", $($argument)*),
            (Ordering::Relaxed, Scope::Device) => load!(".relaxed.gpu", $($argument)*),
            (Ordering::Relaxed, Scope::System) => load!(".relaxed.sys", $($argument)*),
            (_, Scope::Block) => load!(".acquire.cta", $($argument)*),
            (_, Scope::Device) => load!(".acquire.gpu", $($argument)*),
            (_, Scope::System) => load!(".acquire.sys", $($argument)*),
        }
    };
}

macro_rules! with_semantics_of_store {
    ($semantics:expr, $($argument:tt)*) => {
        match $semantics {
            (Ordering::Release, Scope::Block) => store!(".release.cta", $($argument)*),
            (Ordering::Release, Scope::Device) => store!(".release.gpu", $($argument)*),
            (Ordering::Release, Scope::System) => store!(".release.sys", $($argument)*),
            // After the fence of one that is sequentially consistent, it is enough that it is relaxed.
            (_, Scope::Block) => store!(".relaxed.cta", $($argument)*),
            (_, Scope::Device) => store!(".relaxed.gpu", $($argument)*),
            (_, Scope::System) => store!(".relaxed.sys", $($argument)*),
        }
    };
}

/// The parts that all types have: loads, stores and the comparison.
macro_rules! common {
    ($register:ident, $bits:literal, $to_bits:expr, $from_bits:expr) => {
        #[inline(always)]
        unsafe fn compare_exchange<const IS_SHARED: bool>(
            address: *mut Self,
            semantics: (Ordering, Scope),
            current: Self,
            new: Self,
        ) -> Result<Self, Self> {
            let old;
            // SAFETY: the caller guarantees a valid address in that space.
            unsafe {
                with_semantics!(
                    semantics,
                    compare_and_swap($bits, $register, IS_SHARED, address, old, $to_bits(current), $to_bits(new))
                );
            }
            if old == $to_bits(current) { Ok($from_bits(old)) } else { Err($from_bits(old)) }
        }

        #[inline(always)]
        unsafe fn atomic_load<const IS_SHARED: bool>(address: *mut Self, semantics: (Ordering, Scope)) -> Self {
            let value;
            // SAFETY: as above.
            unsafe { with_semantics_of_load!(semantics, $bits, $register, IS_SHARED, address, value) };
            $from_bits(value)
        }

        #[inline(always)]
        unsafe fn atomic_store<const IS_SHARED: bool>(address: *mut Self, semantics: (Ordering, Scope), value: Self) {
            // SAFETY: as above.
            unsafe { with_semantics_of_store!(semantics, $bits, $register, IS_SHARED, address, $to_bits(value)) };
        }
    };
}

macro_rules! integers {
    ($($integer:ident: $register:ident, $bits:literal, $swap:literal, $add:literal, $min:literal, $max:literal, $and:literal, $or:literal, $xor:literal;)*) => {$(
        impl AtomicElement for $integer {
            #[inline(always)]
            unsafe fn update<const IS_SHARED: bool>(
                address: *mut Self,
                operation: Operation,
                semantics: (Ordering, Scope),
                value: Self,
            ) -> Self {
                let old: Self;
                // SAFETY: the caller guarantees a valid address in that space.
                unsafe {
                    match operation {
                        Operation::Add => {
                            with_semantics!(semantics, atom($add, $register, IS_SHARED, address, old, value));
                        }
                        Operation::Sub => {
                            let negative = value.wrapping_neg();
                            with_semantics!(semantics, atom($add, $register, IS_SHARED, address, old, negative));
                        }
                        Operation::Min => {
                            with_semantics!(semantics, atom($min, $register, IS_SHARED, address, old, value));
                        }
                        Operation::Max => {
                            with_semantics!(semantics, atom($max, $register, IS_SHARED, address, old, value));
                        }
                        Operation::And => {
                            with_semantics!(semantics, atom($and, $register, IS_SHARED, address, old, value));
                        }
                        Operation::Or => {
                            with_semantics!(semantics, atom($or, $register, IS_SHARED, address, old, value));
                        }
                        Operation::Xor => {
                            with_semantics!(semantics, atom($xor, $register, IS_SHARED, address, old, value));
                        }
                        Operation::Swap => {
                            with_semantics!(semantics, atom($swap, $register, IS_SHARED, address, old, value));
                        }
                    }
                }
                old
            }

            common!($register, $bits, core::convert::identity::<Self>, core::convert::identity::<Self>);
        }

        impl AtomicInteger for $integer {}
    )*};
}

integers! {
    u32: reg32, "b32", "exch.b32", "add.u32", "min.u32", "max.u32", "and.b32", "or.b32", "xor.b32";
    i32: reg32, "b32", "exch.b32", "add.s32", "min.s32", "max.s32", "and.b32", "or.b32", "xor.b32";
    u64: reg64, "b64", "exch.b64", "add.u64", "min.u64", "max.u64", "and.b64", "or.b64", "xor.b64";
    i64: reg64, "b64", "exch.b64", "add.u64", "min.s64", "max.s64", "and.b64", "or.b64", "xor.b64";
}

/// Maximum and minimum go through integer instructions, as PTX has none for floats. The bits of non-negative floats order like
/// signed integers, those of negative floats like unsigned integers in reverse; and as an unsigned integer, every negative
/// float is greater than every non-negative one.
macro_rules! floats {
    ($($float:ident as $signed:ident and $unsigned:ident: $register:ident, $bits:literal, $swap:literal, $add:literal, $min:literal, $max:literal, $min_unsigned:literal, $max_unsigned:literal;)*) => {$(
        impl AtomicElement for $float {
            #[inline(always)]
            unsafe fn update<const IS_SHARED: bool>(
                address: *mut Self,
                operation: Operation,
                semantics: (Ordering, Scope),
                value: Self,
            ) -> Self {
                let bits = value.to_bits();
                let is_negative = (bits as $signed) < 0;
                // SAFETY: the caller guarantees a valid address in that space.
                unsafe {
                    match operation {
                        Operation::Add => {
                            let old;
                            with_semantics!(semantics, atom($add, $register, IS_SHARED, address, old, value));
                            old
                        }
                        Operation::Sub => {
                            let negative = -value;
                            let old;
                            with_semantics!(semantics, atom($add, $register, IS_SHARED, address, old, negative));
                            old
                        }
                        Operation::Max if value.is_nan() => {
                            // The smallest integer: the element does not change.
                            let old: $unsigned;
                            with_semantics!(semantics, atom($max, $register, IS_SHARED, address, old, $signed::MIN));
                            Self::from_bits(old)
                        }
                        Operation::Min if value.is_nan() => {
                            let old: $unsigned;
                            with_semantics!(semantics, atom($min, $register, IS_SHARED, address, old, $signed::MAX));
                            Self::from_bits(old)
                        }
                        Operation::Max => {
                            let old: $unsigned;
                            if is_negative {
                                with_semantics!(semantics, atom($min_unsigned, $register, IS_SHARED, address, old, bits));
                            } else {
                                with_semantics!(semantics, atom($max, $register, IS_SHARED, address, old, bits));
                            }
                            Self::from_bits(old)
                        }
                        Operation::Min => {
                            let old: $unsigned;
                            if is_negative {
                                with_semantics!(semantics, atom($max_unsigned, $register, IS_SHARED, address, old, bits));
                            } else {
                                with_semantics!(semantics, atom($min, $register, IS_SHARED, address, old, bits));
                            }
                            Self::from_bits(old)
                        }
                        Operation::Swap => {
                            let old: $unsigned;
                            with_semantics!(semantics, atom($swap, $register, IS_SHARED, address, old, bits));
                            Self::from_bits(old)
                        }
                        // Only integers have methods for these.
                        Operation::And | Operation::Or | Operation::Xor => trap_because("no such operation"),
                    }
                }
            }

            common!($register, $bits, $float::to_bits, $float::from_bits);
        }
    )*};
}

floats! {
    f32 as i32 and u32: reg32, "b32", "exch.b32", "add.f32", "min.s32", "max.s32", "min.u32", "max.u32";
    f64 as i64 and u64: reg64, "b64", "exch.b64", "add.f64", "min.s64", "max.s64", "min.u64", "max.u64";
}
