//! The device that a user asks for.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;

/// The device that a user asks for: `--device auto|cuda|simulator|ptx`.
///
/// With clap's derive, a field `#[arg(long, default_value_t)] device: gpu::DeviceChoice` is all that it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DeviceChoice {
    /// CUDA where there is a GPU that it can use, else the simulator
    #[default]
    Auto,
    /// CUDA; it is an error if there is none
    Cuda,
    /// The simulator, which runs kernels on the CPU with checks
    Simulator,
    /// The interpreter, which runs the PTX that a GPU would get on the CPU, with checks
    Ptx,
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Cuda => "cuda",
            Self::Simulator => "simulator",
            Self::Ptx => "ptx",
        })
    }
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        <Self as ValueEnum>::from_str(text, false)
            .map_err(|_| format!("no device `{text}`: it is auto, cuda, simulator or ptx"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for choice in DeviceChoice::value_variants() {
            assert_eq!(choice.to_string().parse(), Ok(*choice));
        }
        assert_eq!("gpu".parse::<DeviceChoice>().unwrap_err(), "no device `gpu`: it is auto, cuda, simulator or ptx");
    }
}
