//! The GPU's approximations: one or two instructions each, with errors of a few units in the last place to 2⁻¹¹.
//!
//! In the simulator these are the accurate functions: a kernel's results there differ from a GPU's by the errors stated
//! here.

#[cfg(target_arch = "nvptx64")]
macro_rules! instruction {
    ($text:literal, $x:expr) => {{
        let result: f32;
        // SAFETY: the instruction computes on registers and accesses no memory.
        #[allow(unsafe_code)]
        unsafe {
            core::arch::asm!(
                $text, out(reg32) result, in(reg32) $x, options(pure, nomem, nostack, preserves_flags)
            );
        }
        result
    }};
}

/// 2ˣ (`ex2.approx.ftz`): relative error 2⁻²².
#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    #[cfg(not(target_arch = "nvptx64"))]
    return libm::exp2(f64::from(x)) as f32;
    #[cfg(target_arch = "nvptx64")]
    return instruction!("ex2.approx.ftz.f32 {0}, {1};", x);
}

/// eˣ, through `ex2.approx.ftz`: relative error (2 + |x|) · 2⁻²².
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exp2(x * core::f32::consts::LOG2_E)
}

/// The hyperbolic tangent (`tanh.approx`, sm_75 and later): relative error 2⁻¹¹.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    #[cfg(not(target_arch = "nvptx64"))]
    return super::tanh(x);
    #[cfg(target_arch = "nvptx64")]
    return instruction!("tanh.approx.f32 {0}, {1};", x);
}

/// 1 / x (`rcp.approx.ftz`): 1 unit in the last place.
#[inline(always)]
pub fn recip(x: f32) -> f32 {
    #[cfg(not(target_arch = "nvptx64"))]
    return super::recip(x);
    #[cfg(target_arch = "nvptx64")]
    return instruction!("rcp.approx.ftz.f32 {0}, {1};", x);
}

/// The square root (`sqrt.approx.ftz`): relative error 2⁻²².
#[inline(always)]
pub fn sqrt(x: f32) -> f32 {
    #[cfg(not(target_arch = "nvptx64"))]
    return super::sqrt(x);
    #[cfg(target_arch = "nvptx64")]
    return instruction!("sqrt.approx.ftz.f32 {0}, {1};", x);
}
