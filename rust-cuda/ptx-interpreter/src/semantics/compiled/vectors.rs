//! The vector instructions of the host.

#[cfg(target_arch = "x86_64")]
use pulp::{Simd, x86::V3};

/// Proof that the host has the vector instructions that the loops are compiled for: AVX2 and FMA on
/// x86-64. Without FMA, each fma would be a library call.
#[derive(Clone, Copy, Debug)]
pub(in crate::semantics) struct Vectors(#[cfg(target_arch = "x86_64")] V3);

impl Vectors {
    #[cfg(target_arch = "x86_64")]
    pub(in crate::semantics) fn of_host() -> Option<Self> {
        V3::try_new().map(Self)
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(in crate::semantics) fn of_host() -> Option<Self> {
        Some(Self())
    }

    /// Runs a loop, compiled for these instructions.
    #[inline(always)]
    pub(super) fn run<R>(self, function: impl FnOnce() -> R) -> R {
        #[cfg(target_arch = "x86_64")]
        return Simd::vectorize(self.0, function);
        #[cfg(not(target_arch = "x86_64"))]
        function()
    }
}
