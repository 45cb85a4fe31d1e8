//! The instruction sets that kernels are compiled for, and the choice of one at run time.
//!
//! A kernel is a struct that holds its arguments and implements [`pulp::WithSimd`]. Its body and
//! everything it calls must be `#[inline(always)]`. The code is inlined into a function that
//! enables an instruction set, and so compiled for that set.

use std::any::TypeId;
use std::fmt;
use std::sync::OnceLock;

use pulp::{Simd, WithSimd};

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    /// The target's baseline, with 16-byte vectors.
    Portable,
    /// AArch64's NEON, with fused multiply-add.
    Neon,
    /// x86-64-v3: AVX2 with fused multiply-add.
    Avx2,
    /// x86-64-v4: AVX-512 F, BW, CD, DQ and VL.
    Avx512,
}

/// A value of `KERNELS_CPU` that names no instruction set of this processor. The one-line message
/// lists the valid names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionSetError {
    /// The variable's value.
    pub wanted: String,
    /// Whether it is the name of an instruction set.
    pub is_known: bool,
}

impl fmt::Display for InstructionSetError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { wanted, is_known } = self;
        let why = if *is_known { "this processor lacks that instruction set" } else { "that is no instruction set" };
        let names: Vec<&str> = InstructionSet::available().map(InstructionSet::name).collect();
        write!(f, "KERNELS_CPU={wanted}: {why}: choose {}, or leave it unset for the best", names.join(", "))
    }
}

impl std::error::Error for InstructionSetError {}

impl InstructionSet {
    const ALL: [Self; 4] = [Self::Portable, Self::Neon, Self::Avx2, Self::Avx512];

    /// The instruction set that kernels run with: the result of
    /// [`InstructionSet::from_environment`], computed once.
    ///
    /// # Panics
    /// If that is an error. A fallback would make a comparison of two sets compare one set with
    /// itself. A program that calls [`InstructionSet::from_environment`] first can report the error
    /// instead.
    pub fn detect() -> Self {
        static DETECTED: OnceLock<InstructionSet> = OnceLock::new();
        *DETECTED.get_or_init(|| Self::from_environment().unwrap_or_else(|error| panic!("{error}")))
    }

    /// The instruction set named by the environment variable `KERNELS_CPU` (`portable`, `neon`,
    /// `avx2` or `avx512`), for comparisons. If the variable is unset or empty, the best one of
    /// this processor.
    ///
    /// # Errors
    /// If the value is not the name of an instruction set, or the processor lacks it.
    pub fn from_environment() -> Result<Self, InstructionSetError> {
        let wanted = std::env::var_os("KERNELS_CPU").unwrap_or_default();
        Self::named(&wanted.to_string_lossy())
    }

    /// The instruction set with the given name, or the best one for an empty name.
    fn named(wanted: &str) -> Result<Self, InstructionSetError> {
        if wanted.is_empty() {
            return Ok(Self::available().last().unwrap_or(Self::Portable));
        }
        let mut available = Self::available();
        available.find(|set| set.name().eq_ignore_ascii_case(wanted)).ok_or_else(|| InstructionSetError {
            wanted: wanted.to_owned(),
            is_known: Self::ALL.iter().any(|set| set.name().eq_ignore_ascii_case(wanted)),
        })
    }

    /// Every instruction set of this processor, slowest first. Tests compare the kernels of all of them.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|set| set.is_available())
    }

    /// The name in `KERNELS_CPU`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Runs `kernel` compiled for this instruction set, or for the portable one if the processor
    /// lacks it.
    #[inline]
    pub fn dispatch<K: WithSimd>(self, kernel: K) -> K::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 if let Some(simd) = pulp::x86::V4::try_new() => Simd::vectorize(simd, kernel),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 if let Some(simd) = pulp::x86::V3::try_new() => Simd::vectorize(simd, kernel),
            #[cfg(target_arch = "aarch64")]
            Self::Neon if let Some(simd) = pulp::aarch64::Neon::try_new() => Simd::vectorize(simd, kernel),
            _ => Simd::vectorize(pulp::Scalar128b, kernel),
        }
    }

    fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => pulp::x86::V3::try_new().is_some(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => pulp::x86::V4::try_new().is_some(),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => pulp::aarch64::Neon::try_new().is_some(),
            _ => false,
        }
    }
}

/// Whether `S` has a fused multiply-add: a · b + c in one instruction with one rounding. Without
/// it, a kernel rounds twice instead of calling the library's slow software version.
#[inline(always)]
pub fn is_fused<S: Simd>() -> bool {
    TypeId::of::<S>() != TypeId::of::<pulp::Scalar128b>()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Lanes;

    impl WithSimd for Lanes {
        type Output = usize;
        #[inline(always)]
        fn with_simd<S: Simd>(self, _simd: S) -> usize {
            S::F32_LANES
        }
    }

    #[test]
    fn each_available_set_runs_its_own_body() {
        for set in InstructionSet::available() {
            let lanes = match set {
                InstructionSet::Portable | InstructionSet::Neon => 4,
                InstructionSet::Avx2 => 8,
                InstructionSet::Avx512 => 16,
            };
            assert_eq!(set.dispatch(Lanes), lanes, "{}", set.name());
        }
    }

    #[test]
    fn the_best_set_is_chosen_unless_another_is_named() {
        let best = InstructionSet::available().last();
        assert_eq!(InstructionSet::named("").ok(), best);
        if std::env::var_os("KERNELS_CPU").is_none() {
            assert_eq!(Some(InstructionSet::detect()), best);
        }
        for set in InstructionSet::available() {
            assert_eq!(InstructionSet::named(set.name()), Ok(set));
            assert_eq!(InstructionSet::named(&set.name().to_uppercase()), Ok(set));
        }
    }

    #[test]
    fn an_unknown_set_is_an_error_that_lists_the_available_ones() {
        let error = InstructionSet::named("typo").unwrap_err().to_string();
        assert!(error.starts_with("KERNELS_CPU=typo: that is no instruction set: choose portable"), "{error}");
        // No processor has both.
        let lacking = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
        let error = InstructionSet::named(lacking).unwrap_err().to_string();
        assert!(error.contains("this processor lacks that instruction set: choose portable"), "{error}");
    }
}
