//! The choice of a device on the command line.

use std::fmt;
use std::str::FromStr;

/// The device that the user selects: `auto`, `cuda`, `simulator` or `ptx`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// CUDA if there is a usable GPU, otherwise the simulator.
    #[default]
    Auto,
    /// CUDA; an error if there is no usable GPU.
    Cuda,
    /// The simulator, which runs kernels on the CPU with checks.
    Simulator,
    /// The interpreter, which runs the kernels' PTX on the CPU with checks.
    Ptx,
}

impl DeviceChoice {
    /// All values, in declaration order.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Cuda, Self::Simulator, Self::Ptx];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cuda => "cuda",
            Self::Simulator => "simulator",
            Self::Ptx => "ptx",
        }
    }

    /// The description of this value in `--help`.
    pub fn description(self) -> &'static str {
        match self {
            Self::Auto => "CUDA if there is a usable GPU, else the simulator",
            Self::Cuda => "CUDA; an error if there is no usable GPU",
            Self::Simulator => "The simulator, which runs kernels on the CPU with checks",
            Self::Ptx => "The interpreter, which runs the kernels' PTX on the CPU with checks",
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|choice| choice.name() == text);
        found.ok_or_else(|| format!("no device `{text}`: must be auto, cuda, simulator or ptx"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_and_parse_round_trip() {
        for choice in DeviceChoice::ALL {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert_eq!("gpu".parse::<DeviceChoice>().unwrap_err(), "no device `gpu`: must be auto, cuda, simulator or ptx");
    }
}
