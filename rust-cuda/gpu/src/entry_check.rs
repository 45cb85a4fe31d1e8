//! The check of a kernel against its entry in the PTX, before each launch.

use cuda_std::{Kernel, LaunchConfig, signature};

use crate::Error;
use crate::ptx::Entry;

/// Checks that `entry` is the kernel `K` of the program and may be launched with `config`.
///
/// # Errors
/// If the parameters' types differ, if the entry needs a cooperative launch and `config` is not
/// cooperative, or if it was compiled for clusters of another size.
pub(crate) fn check<K: Kernel>(entry: &Entry, config: LaunchConfig) -> Result<(), Error> {
    let kernel = K::NAME;
    if entry.signature != K::SIGNATURE {
        let in_ptx = match entry.signature.is_empty() {
            true => "(parameters of unknown types)".to_owned(),
            false => signature::display(&entry.signature),
        };
        return Err(Error::Signature { kernel, in_ptx, in_program: signature::display(K::SIGNATURE) });
    }
    if entry.has_grid_barrier && !config.cooperative {
        return Err(Error::NeedsCooperative { kernel });
    }
    let launched = u32::from(config.cluster);
    if entry.cluster != launched {
        return Err(Error::Cluster { kernel, compiled: entry.cluster, launched });
    }
    Ok(())
}
