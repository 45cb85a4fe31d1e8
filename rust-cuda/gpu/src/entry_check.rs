//! The check of a kernel against its entry in the PTX, before each launch.

use cuda_std::signature;

use crate::Error;
use crate::erased::AnyLaunch;
use crate::ptx::Entry;

/// Checks that `entry` is the kernel of the program's `launch` and may be launched so.
///
/// # Errors
/// If the parameters' types differ, if the entry needs a cooperative launch and this one is not
/// cooperative, or if it was compiled for clusters of another size.
pub(crate) fn check(entry: &Entry, launch: &dyn AnyLaunch) -> Result<(), Error> {
    let (kernel, config) = (launch.kernel(), launch.config());
    if entry.signature != launch.signature() {
        let in_ptx = match entry.signature.is_empty() {
            true => "(parameters of unknown types)".to_owned(),
            false => signature::display(&entry.signature),
        };
        return Err(Error::Signature { kernel, in_ptx, in_program: signature::display(launch.signature()) });
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

/// Checks that `entry` has as many parameters as a launch passes: the driver reads a value for each of them.
///
/// # Errors
/// If the numbers differ, since each value after the difference would be another parameter.
pub(crate) fn check_count(entry: &Entry, kernel: &'static str, passed: usize) -> Result<(), Error> {
    let in_ptx = entry.parameters;
    if in_ptx == passed { Ok(()) } else { Err(Error::ParameterCount { kernel, in_ptx, passed }) }
}
