//! 16-bit floats: IEEE's half precision, f16, and bf16, which is the upper half of an f32.
//!
//! The conversions are single instructions on the GPU, and integer arithmetic with the same results on the host.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use cuda_std::{GlobalMut, kernel, thread};

/// x rounded to the nearest f16, ties to even, as its bits; a NaN is 0x7fff (`cvt.rn.f16.f32`).
#[allow(unsafe_code)]
#[inline]
pub fn f16_from_f32(x: f32) -> u16 {
    #[cfg(target_arch = "nvptx64")]
    {
        let bits: u16;
        // SAFETY: the instruction converts a register and accesses no memory.
        unsafe {
            asm!(
                "cvt.rn.f16.f32 {0}, {1};", out(reg16) bits, in(reg32) x,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        bits
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let (bits, size) = (x.to_bits(), x.to_bits() & 0x7fff_ffff);
        let sign = (bits >> 16) as u16 & 0x8000;
        if x.is_nan() {
            return 0x7fff;
        }
        // From 65520 on, x rounds to 2¹⁶, which overflows to infinity.
        if size >= 65520f32.to_bits() {
            return sign | 0x7c00;
        }
        // Below 2⁻¹⁴ the unit in the last place is 2⁻²⁴, that of an f32 in [½, 1): adding ½ rounds x to it.
        if size < 2f32.powi(-14).to_bits() {
            return sign | (f32::from_bits(size) + 0.5).to_bits() as u16;
        }
        // f16's exponent bias is 112 less than f32's, and its fraction is 13 bits shorter.
        sign | shift_right_rounding(size - (112 << 23), 13) as u16
    }
}

/// The value of an f16's bits as an f32, exactly (`cvt.f32.f16`).
#[allow(unsafe_code)]
#[inline]
pub fn f32_from_f16(bits: u16) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let x: f32;
        // SAFETY: see `f16_from_f32`.
        unsafe {
            asm!(
                "cvt.f32.f16 {0}, {1};", out(reg32) x, in(reg16) bits,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        x
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 0x3ff));
        let size = match exponent {
            31 if fraction == 0.0 => f32::INFINITY,
            31 => f32::NAN,
            0 => fraction * 2f32.powi(-24),
            _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
        };
        if bits >> 15 == 0 { size } else { -size }
    }
}

/// x rounded to the nearest bf16, ties to even, as its bits; a NaN is 0x7fff (`cvt.rn.bf16.f32`, from sm_80 on).
#[allow(unsafe_code)]
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
#[inline]
pub fn bf16_from_f32(x: f32) -> u16 {
    #[cfg(target_arch = "nvptx64")]
    {
        let bits: u16;
        // SAFETY: see `f16_from_f32`.
        unsafe {
            asm!(
                "cvt.rn.bf16.f32 {0}, {1};", out(reg16) bits, in(reg32) x,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        bits
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        if x.is_nan() { 0x7fff } else { shift_right_rounding(x.to_bits(), 16) as u16 }
    }
}

/// The value of a bf16's bits as an f32 (`cvt.f32.bf16` from sm_90 on, else a shift).
#[allow(unsafe_code)]
#[inline]
pub fn f32_from_bf16(bits: u16) -> f32 {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
    {
        let x: f32;
        // SAFETY: see `f16_from_f32`.
        unsafe {
            asm!(
                "cvt.f32.bf16 {0}, {1};", out(reg32) x, in(reg16) bits,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        x
    }
    #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_90")))]
    {
        f32::from_bits(u32::from(bits) << 16)
    }
}

/// `bits` / 2ⁿ, rounded to the nearest integer, ties to even.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn shift_right_rounding(bits: u32, n: u32) -> u32 {
    let below_half = (1 << (n - 1)) - 1;
    (bits + below_half + (bits >> n & 1)) >> n
}

/// `out[i]` = `x[i]` after a conversion to f16 and back.
#[kernel]
pub fn through_f16(x: &[f32], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        out.set(i, f32_from_f16(f16_from_f32(x[i])));
    }
}

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use bf16_kernels::through_bf16;

#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod bf16_kernels {
    use super::*;

    /// `out[i]` = `x[i]` after a conversion to bf16 and back. From sm_80 on.
    #[kernel]
    pub fn through_bf16(x: &[f32], out: GlobalMut<f32>) {
        let i = thread::index_1d() as usize;
        if i < x.len() {
            out.set(i, f32_from_bf16(bf16_from_f32(x[i])));
        }
    }
}
