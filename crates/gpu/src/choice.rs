//! The choice of a device on the command line.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;

/// The device that the user selects: `--device auto|cuda|simulator|ptx`.
///
/// With clap's derive, declare it as `#[arg(long, default_value_t)] device: gpu::DeviceChoice`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DeviceChoice {
    /// CUDA if there is a usable GPU, else the simulator
    #[default]
    Auto,
    /// CUDA; an error if there is no usable GPU
    Cuda,
    /// The simulator, which runs kernels on the CPU with checks
    Simulator,
    /// The interpreter, which runs the kernels' PTX on the CPU with checks
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
            .map_err(|_| format!("no device `{text}`: must be auto, cuda, simulator or ptx"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_and_parse_round_trip() {
        for choice in DeviceChoice::value_variants() {
            assert_eq!(choice.to_string().parse(), Ok(*choice));
        }
        assert_eq!("gpu".parse::<DeviceChoice>().unwrap_err(), "no device `gpu`: must be auto, cuda, simulator or ptx");
    }
}
