//! Floats of 16 bits, those of the crate [`half`](https://docs.rs/half): f16, IEEE's half precision, and bf16, the upper half of an
//! f32. With the feature `half`.
//!
//! A kernel keeps them in memory and computes in f32: [`wide`](Half::wide) and [`narrow`](Half::narrow) are the hardware's conversions.
//! The crate's own `to_f32` and `from_f32`, and its operators, work too, as some thirty instructions each, and keep the bits of a NaN.
//!
//! ```
//! use cuda_std::half::{Half, f16};
//! use cuda_std::simulator::{self, SimulatorBuffer};
//! use cuda_std::{GlobalMut, LaunchConfig, kernel, thread};
//!
//! /// out[i] = x[i]², rounded to f16
//! #[kernel]
//! pub fn square(x: &[f16], out: GlobalMut<f16>) {
//!     let i = thread::index_1d() as usize;
//!     if i < out.len() {
//!         let x = x[i].wide();
//!         out[i] = f16::narrow(x * x);
//!     }
//! }
//!
//! let x = SimulatorBuffer::from_slice(&[f16::from_f32(1.5), f16::from_f32(300.0)]);
//! let mut out = SimulatorBuffer::uninitialized(2);
//! simulator::launch(&square, LaunchConfig::new(1, 2), (&x, &mut out))?;
//! assert_eq!(out.to_vec(), [f16::from_f32(2.25), f16::INFINITY]);
//! # Ok::<(), simulator::LaunchError>(())
//! ```

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

pub use ::half::{bf16, f16};

use crate::Element;

/// A float of 16 bits: [`struct@f16`] or [`struct@bf16`].
pub trait Half: Element {
    /// x rounded to the nearest value, ties to even; every NaN becomes the one with the bits 0x7fff (`cvt.rn.f16.f32`, and from sm_80 on
    /// `cvt.rn.bf16.f32`).
    fn narrow(x: f32) -> Self;

    /// The same value; the bits of a NaN may change (`cvt.f32.f16`, and a shift of a bf16).
    fn wide(self) -> f32;
}

#[allow(unsafe_code)]
impl Half for f16 {
    #[inline(always)]
    fn narrow(x: f32) -> Self {
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
            Self::from_bits(bits)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        if x.is_nan() { Self::from_bits(0x7fff) } else { Self::from_f32(x) }
    }

    #[inline(always)]
    fn wide(self) -> f32 {
        #[cfg(target_arch = "nvptx64")]
        {
            let x: f32;
            // SAFETY: as above.
            unsafe {
                asm!(
                    "cvt.f32.f16 {0}, {1};", out(reg32) x, in(reg16) self.to_bits(),
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            x
        }
        #[cfg(not(target_arch = "nvptx64"))]
        if self.is_nan() { f32::NAN } else { self.to_f32() }
    }
}

#[allow(unsafe_code)]
impl Half for bf16 {
    #[inline(always)]
    fn narrow(x: f32) -> Self {
        #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
        {
            let bits: u16;
            // SAFETY: the instruction converts a register and accesses no memory.
            unsafe {
                asm!(
                    "cvt.rn.bf16.f32 {0}, {1};", out(reg16) bits, in(reg32) x,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            Self::from_bits(bits)
        }
        #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
        if x.is_nan() { Self::from_bits(0x7fff) } else { Self::from_f32(x) }
    }

    #[inline(always)]
    fn wide(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }
}
