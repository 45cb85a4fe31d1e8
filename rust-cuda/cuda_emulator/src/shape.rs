//! The shape of a launch: grid, block, shared memory and the attributes that have an effect.

use std::ffi::{c_int, c_uint};

use cuda_launch::{Dim3, LaunchConfig};

use crate::abi::RawLaunchConfig;
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::journal;

/// Maximum number of blocks in a cluster without opt-in.
pub(crate) const PORTABLE_CLUSTER: u8 = 8;

/// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`, `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
const COOPERATIVE: c_int = 2;
const CLUSTER_DIMENSION: c_int = 4;

/// The shape of a launch as the caller passes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared_bytes: c_uint,
    pub(crate) attributes: Attributes,
}

/// The launch attributes that have an effect here.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) cooperative: bool,
    pub(crate) cluster: Option<[u32; 3]>,
}

impl Attributes {
    /// Reads the attributes from a launch configuration. All others are hints about order and
    /// caches.
    ///
    /// # Errors
    /// `NOT_SUPPORTED` for an attribute that is not a hint; `INVALID_VALUE` for an unknown one.
    pub(crate) fn of(config: &RawLaunchConfig) -> Result<Self> {
        let mut found = Self::default();
        for attribute in config.attributes()? {
            match attribute.id {
                COOPERATIVE => found.cooperative = attribute.value[0] != 0,
                CLUSTER_DIMENSION => {
                    let [x, y, z, ..] = attribute.value;
                    found.cluster = Some([x, y, z]);
                }
                // Launch events, and nodes that kernels update.
                7 | 12 | 13 => {
                    journal::unsupported("a launch with events or as a node that kernels update");
                    return Err(Error::NOT_SUPPORTED);
                }
                0..=18 => {}
                _ => return Err(Error::INVALID_VALUE),
            }
        }
        Ok(found)
    }
}

/// Number of blocks in the cluster that the launch requests. If the kernel was compiled for a
/// cluster size, both must match.
pub(crate) fn cluster_size(
    compiled: Option<Dim3>,
    allows_large: bool,
    architecture: Architecture,
    asked: Option<[u32; 3]>,
) -> Result<u8> {
    let compiled = compiled.map(|cluster| [cluster.x, cluster.y, cluster.z]);
    let [x, y, z] = match (asked, compiled) {
        (Some(asked), Some(compiled)) if asked != compiled => return Err(Error::INVALID_CLUSTER_SIZE),
        (asked, compiled) => asked.or(compiled).unwrap_or([1; 3]),
    };
    let size = u8::try_from(x).ok().filter(|size| (1..=LaunchConfig::MAX_CLUSTER).contains(size));
    let size = size.ok_or(Error::INVALID_CLUSTER_SIZE)?;
    if [y, z] != [1; 2] {
        journal::unsupported("a cluster along y or z");
        return Err(Error::NOT_SUPPORTED);
    }
    if size > 1 && !architecture.has_clusters() {
        return Err(Error::NOT_SUPPORTED);
    }
    if size > PORTABLE_CLUSTER && !allows_large {
        return Err(Error::INVALID_CLUSTER_SIZE);
    }
    Ok(size)
}
