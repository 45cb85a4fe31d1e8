use std::fmt;
use std::str::FromStr;

/// A GPU architecture to build PTX for, named by its compute capability.
///
/// PTX is forward compatible: the driver compiles it for the same or any later architecture. The
/// architecture-specific targets (suffix `a`) are the exception: their PTX may use instructions
/// that only this architecture has, and runs on no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Arch {
    /// Volta: V100.
    Sm70,
    /// Turing: T4, RTX 20. The oldest that CUDA 13 supports.
    Sm75,
    /// Ampere: A100.
    Sm80,
    /// Ampere: RTX 30, A10.
    Sm86,
    /// Ampere: Jetson Orin.
    Sm87,
    /// Ampere: newer embedded boards.
    Sm88,
    /// Ada: RTX 40, L4, L40.
    Sm89,
    /// Hopper: H100, H200.
    Sm90,
    /// Hopper only, with `wgmma`, its warp-group matrix instructions.
    Sm90a,
    /// Blackwell: B100, B200.
    Sm100,
    /// Blackwell: B100, B200 only.
    Sm100a,
    /// Blackwell: B300.
    Sm103,
    /// Blackwell: Jetson Thor.
    Sm110,
    /// Blackwell: RTX 50.
    Sm120,
    /// Blackwell: RTX 50 only.
    Sm120a,
    /// Blackwell: DGX Spark.
    Sm121,
}

impl Arch {
    /// All architectures, oldest first.
    pub const ALL: [Self; 16] = [
        Self::Sm70,
        Self::Sm75,
        Self::Sm80,
        Self::Sm86,
        Self::Sm87,
        Self::Sm88,
        Self::Sm89,
        Self::Sm90,
        Self::Sm90a,
        Self::Sm100,
        Self::Sm100a,
        Self::Sm103,
        Self::Sm110,
        Self::Sm120,
        Self::Sm120a,
        Self::Sm121,
    ];

    /// The name used by rustc, ptxas and PTX's `.target`.
    ///
    /// ```
    /// assert_eq!(cuda_builder::Arch::Sm90a.name(), "sm_90a");
    /// assert_eq!("sm_75".parse(), Ok(cuda_builder::Arch::Sm75));
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Sm70 => "sm_70",
            Self::Sm75 => "sm_75",
            Self::Sm80 => "sm_80",
            Self::Sm86 => "sm_86",
            Self::Sm87 => "sm_87",
            Self::Sm88 => "sm_88",
            Self::Sm89 => "sm_89",
            Self::Sm90 => "sm_90",
            Self::Sm90a => "sm_90a",
            Self::Sm100 => "sm_100",
            Self::Sm100a => "sm_100a",
            Self::Sm103 => "sm_103",
            Self::Sm110 => "sm_110",
            Self::Sm120 => "sm_120",
            Self::Sm120a => "sm_120a",
            Self::Sm121 => "sm_121",
        }
    }
}

impl Arch {
    /// The compute capability, major and minor.
    ///
    /// ```
    /// assert_eq!(cuda_builder::Arch::Sm120a.compute_capability(), (12, 0));
    /// ```
    pub fn compute_capability(self) -> (u32, u32) {
        let digits = self.name().trim_start_matches("sm_").trim_end_matches('a');
        let number: u32 = digits.parse().expect("names are `sm_`, a number and perhaps `a`");
        (number / 10, number % 10)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name does not match any [`Arch`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no architecture is named {:?}: choose one of {}", .0, Arch::ALL.map(Arch::name).join(", "))]
pub struct UnknownArch(pub String);

impl FromStr for Arch {
    type Err = UnknownArch;

    fn from_str(name: &str) -> Result<Self, UnknownArch> {
        let found = Self::ALL.into_iter().find(|arch| arch.name() == name);
        found.ok_or_else(|| UnknownArch(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for arch in Arch::ALL {
            assert_eq!(arch.name().parse(), Ok(arch));
            let (major, minor) = arch.compute_capability();
            assert_eq!(arch.name().trim_end_matches('a'), format!("sm_{major}{minor}"));
        }
    }

    #[test]
    fn the_error_for_an_unknown_name_lists_the_known_ones() {
        let error = "sm_9".parse::<Arch>().unwrap_err().to_string();
        assert!(error.contains("\"sm_9\"") && error.contains("sm_90, sm_90a"), "{error}");
    }
}
