//! Hints to the compiler.

/// `value`, about which the compiler can assume nothing, not even that it equals the result of the same call before.
///
/// What is computed from it is computed where it is used. Without this, the compiler keeps the results of an equal
/// computation, before or outside of a loop, in registers, which a kernel at its limit of registers would spill to local
/// memory. ([`core::hint::black_box`] itself stores its value to local memory.)
#[inline(always)]
#[allow(unsafe_code)]
pub fn opaque(value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    let value = {
        let mut value = value;
        // SAFETY: the asm is a comment without an instruction. Without `pure`, two calls are not merged.
        unsafe { core::arch::asm!("// {0}", inout(reg32) value, options(nomem, nostack, preserves_flags)) };
        value
    };
    value
}
