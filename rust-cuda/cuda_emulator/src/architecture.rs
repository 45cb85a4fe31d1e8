//! Device architectures and the attributes that programs can query.

use std::ffi::c_int;
use std::str::FromStr;

use cuda_launch::LaunchConfig;
use thiserror::Error as ThisError;

/// Prefix of every emulated device's name.
pub const NAME_PREFIX: &str = "CUDA emulator";

/// Number of multiprocessors of a device, unless the environment overrides it. More multiprocessors
/// only allow more blocks in a cooperative launch on the host. `%smid` and `%nsmid` use this count.
const MULTIPROCESSORS: u32 = ptx_interpreter::limits::MULTIPROCESSORS;

/// Shared memory that a block can use without opt-in, in bytes.
pub(crate) const DEFAULT_SHARED_BYTES: u32 = LaunchConfig::MAX_STATIC_SHARED_BYTES;

/// Limits of textures and surfaces by `CUdevice_attribute`, the same on all architectures here
/// (CUDA C++ Programming Guide, Technical Specifications per Compute Capability).
const TEXTURE_LIMITS: &[(c_int, u32)] = &[
    // Textures: 1D, 2D and 3D, layered, for gathers, and the alternate 3D shape.
    (21, 1 << 17),
    (22, 1 << 17),
    (23, 1 << 16),
    (24, 1 << 14),
    (25, 1 << 14),
    (26, 1 << 14),
    (27, 1 << 15),
    (28, 1 << 15),
    (29, 2048),
    (42, 1 << 15),
    (43, 2048),
    (45, 1 << 15),
    (46, 1 << 15),
    (47, 1 << 13),
    (48, 1 << 13),
    (49, 1 << 15),
    // Cube maps; surfaces like textures.
    (52, 1 << 15),
    (53, 1 << 15),
    (54, 2046),
    (55, 1 << 15),
    (56, 1 << 17),
    (57, 1 << 16),
    (58, 1 << 14),
    (59, 1 << 14),
    (60, 1 << 14),
    (61, 1 << 15),
    (62, 2048),
    (63, 1 << 15),
    (64, 1 << 15),
    (65, 2048),
    (66, 1 << 15),
    (67, 1 << 15),
    (68, 2046),
    // Linear memory in 1D and 2D; mipmaps.
    (69, 1 << 28),
    (70, 1 << 17),
    (71, 65_000),
    (72, 2_097_120),
    (73, 1 << 15),
    (74, 1 << 15),
    (77, 1 << 15),
];

/// A compute capability that a device can have, with the limits from NVIDIA's documentation (CUDA
/// C++ Programming Guide, Technical Specifications per Compute Capability).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Architecture {
    pub(crate) major: u32,
    pub(crate) minor: u32,
    /// The device's index among all devices of the machine. The program may see only some of them.
    pub(crate) number: u32,
    pub(crate) multiprocessors: u32,
    /// Maximum resident threads per multiprocessor.
    pub(crate) threads: u32,
    /// Maximum resident blocks per multiprocessor.
    pub(crate) blocks: u32,
    /// Shared memory per multiprocessor, in bytes.
    pub(crate) shared_bytes: u32,
    /// Shared memory that the system reserves per block, in bytes.
    pub(crate) reserved_shared_bytes: u32,
    /// Maximum shared memory per block with opt-in, in bytes.
    pub(crate) max_shared_bytes: u32,
}

const fn architecture(
    major: u32,
    minor: u32,
    threads: u32,
    blocks: u32,
    shared_kib: u32,
    block_kib: u32,
) -> Architecture {
    let reserved_shared_bytes = if major >= 8 { 1 << 10 } else { 0 };
    let (shared_bytes, max_shared_bytes) = (shared_kib << 10, block_kib << 10);
    Architecture {
        major,
        minor,
        number: 0,
        multiprocessors: MULTIPROCESSORS,
        threads,
        blocks,
        shared_bytes,
        reserved_shared_bytes,
        max_shared_bytes,
    }
}

const ARCHITECTURES: [Architecture; 8] = [
    architecture(7, 0, 2048, 32, 96, 96),
    architecture(7, 5, 1024, 16, 64, 64),
    architecture(8, 0, 2048, 32, 164, 163),
    architecture(8, 6, 1536, 16, 100, 99),
    architecture(8, 9, 1536, 24, 100, 99),
    architecture(9, 0, 2048, 32, 228, 227),
    architecture(10, 0, 2048, 32, 228, 227),
    architecture(12, 0, 1536, 24, 100, 99),
];

/// The name does not match any supported architecture.
#[derive(Clone, Debug, ThisError, PartialEq, Eq)]
#[error("a list of {}", ARCHITECTURES.map(|known| known.name()).join(", "))]
pub struct UnknownArchitecture;

impl FromStr for Architecture {
    type Err = UnknownArchitecture;

    fn from_str(name: &str) -> std::result::Result<Self, UnknownArchitecture> {
        ARCHITECTURES.into_iter().find(|known| known.name() == name).ok_or(UnknownArchitecture)
    }
}

impl Architecture {
    /// The compiler's name for the architecture, such as `sm_90`.
    pub fn name(self) -> String {
        format!("sm_{}{}", self.major, self.minor)
    }

    /// The device's name, which says that it is not hardware.
    pub fn device_name(self) -> String {
        format!("{NAME_PREFIX} ({}, interpreted by the CPU)", self.name())
    }

    pub(crate) fn uuid(self) -> [u8; 16] {
        let mut bytes = *b"CUDA emulator \0\0";
        bytes[14..].copy_from_slice(&(self.number as u16).to_be_bytes());
        bytes
    }

    /// The UUID in the form that programs print.
    pub(crate) fn uuid_text(self) -> String {
        let digits: String = self.uuid().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("GPU-{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
    }

    pub(crate) fn has_clusters(self) -> bool {
        self.major >= 9
    }

    /// L2 cache size in bytes of a large GPU with this architecture.
    fn l2_bytes(self) -> u32 {
        let mebibytes = match (self.major, self.minor) {
            (7, 0) | (8, 6) => 6,
            (7, _) => 4,
            (8, 0) => 40,
            (8, _) => 72,
            (9, _) => 50,
            _ => 126,
        };
        mebibytes << 20
    }

    /// Ratio of `f32` to `f64` arithmetic throughput per multiprocessor and cycle (CUDA C++
    /// Programming Guide, Arithmetic Instructions).
    fn single_to_double_ratio(self) -> u32 {
        match (self.major, self.minor) {
            (7, 0) | (8, 0) | (9 | 10, _) => 2,
            (7, _) => 32,
            _ => 64,
        }
    }

    /// The value of a `CUdevice_attribute`.
    pub(crate) fn attribute(self, attribute: c_int, ordinal: u32) -> Option<u32> {
        let clusters = u32::from(self.has_clusters());
        Some(match attribute {
            1 => LaunchConfig::MAX_THREADS,
            2 => LaunchConfig::MAX_BLOCK.x,
            3 => LaunchConfig::MAX_BLOCK.y,
            4 => LaunchConfig::MAX_BLOCK.z,
            5 => LaunchConfig::MAX_GRID.x,
            6 => LaunchConfig::MAX_GRID.y,
            7 => LaunchConfig::MAX_GRID.z,
            8 => DEFAULT_SHARED_BYTES,
            9 => 64 << 10,
            10 => 32,
            // Pitch; registers per block and per multiprocessor.
            11 => i32::MAX as u32,
            12 | 82 => 64 << 10,
            // Clock rates in kHz and the bus width in bits. They describe no hardware but are not
            // 0, since programs divide by them.
            13 | 36 => 1_000_000,
            37 => 1024,
            14 | 30 => 512,
            15 | 40 => 1,
            16 => self.multiprocessors,
            // Host memory can be mapped, and host and device share one address space.
            19 | 41 => 1,
            31 => 1,
            33 => ordinal,
            38 => self.l2_bytes(),
            39 => self.threads,
            51 => 32,
            75 => self.major,
            76 => self.minor,
            // Priorities are accepted but have no effect.
            78..=80 => 1,
            81 => self.shared_bytes,
            // Managed memory is copied to and from the device at each launch.
            83 => 1,
            85 => ordinal,
            87 => self.single_to_double_ratio(),
            90 => 1,
            91 => 1,
            95 => 1,
            97 => self.max_shared_bytes,
            99 => 1,
            106 => self.blocks,
            111 => self.reserved_shared_bytes,
            // Memory pools, also on the host.
            115 | 144 => 1,
            // Clusters and tensor maps.
            120 | 127 => clusters,
            // Memory synchronization domains.
            126 => 1 + 3 * clusters,
            // No unified function pointers and no host NUMA node.
            131 | 134 => return Some(u32::MAX),
            // Unsupported: external and virtual memory, and more.
            attribute if (1..=161).contains(&attribute) => {
                TEXTURE_LIMITS.iter().find(|(known, _)| *known == attribute).map_or(0, |(_, limit)| *limit)
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_that_it_is_an_emulator() {
        for architecture in ARCHITECTURES {
            assert!(architecture.device_name().starts_with("CUDA emulator (sm_"));
            assert_eq!(architecture.name().parse(), Ok(architecture));
        }
        let message = "sm_1".parse::<Architecture>().unwrap_err().to_string();
        assert!(message.starts_with("a list of sm_70, sm_75, "), "{message}");
    }

    #[test]
    fn no_limit_is_zero() {
        // Flags and numbers that may be 0: timeout, integrated, mode, error correction, buses,
        // gathering, driver model.
        let may_be_zero = [17, 18, 20, 32, 33, 34, 35, 44, 50, 76];
        for architecture in ARCHITECTURES {
            for attribute in (1..=83).filter(|attribute| !may_be_zero.contains(attribute)) {
                let value = architecture.attribute(attribute, 0);
                assert!(value.is_some_and(|value| value > 0), "{attribute} of {}: {value:?}", architecture.name());
            }
        }
    }

    #[test]
    fn attributes_are_those_of_the_architecture() {
        let turing: Architecture = "sm_75".parse().unwrap();
        let hopper: Architecture = "sm_90".parse().unwrap();
        assert_eq!((turing.attribute(75, 0), turing.attribute(76, 0)), (Some(7), Some(5)));
        assert_eq!((turing.attribute(97, 0), hopper.attribute(97, 0)), (Some(64 << 10), Some(227 << 10)));
        assert_eq!((turing.attribute(120, 0), hopper.attribute(120, 0)), (Some(0), Some(1)));
        assert_eq!((turing.attribute(87, 0), hopper.attribute(87, 0)), (Some(32), Some(2)));
        assert_eq!((turing.attribute(38, 0), hopper.attribute(38, 0)), (Some(4 << 20), Some(50 << 20)));
        assert_eq!((turing.attribute(126, 0), hopper.attribute(126, 0)), (Some(1), Some(4)));
        assert_eq!((turing.attribute(22, 0), hopper.attribute(23, 0)), (Some(131_072), Some(65_536)));
        assert_eq!(hopper.attribute(0, 0), None);
        assert_eq!(hopper.attribute(1000, 0), None);
    }
}
