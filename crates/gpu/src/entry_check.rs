//! What is compared before a launch.

use cuda_std::{Kernel, LaunchConfig, signature};

use crate::Error;
use crate::ptx::Entry;

/// Whether the entry of the PTX is the kernel `K` of the program, and may be launched so.
///
/// # Errors
/// If its parameters have other types, or it needs a cooperative launch.
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
    Ok(())
}
