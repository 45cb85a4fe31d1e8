//! Checks a kernel against its PTX entry before each launch.

use cuda_std::signature;

use crate::Error;
use crate::erased::AnyLaunch;
use crate::ptx::Entry;

/// Checks that `entry` matches the program's kernel and can be launched this way.
///
/// # Errors
/// If the parameters' types differ; if the entry needs a cooperative launch and this one is not
/// cooperative; or if it was compiled for another cluster size.
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

/// Checks that `entry` has as many parameters as a launch passes, since the driver reads a value
/// for each of them.
///
/// # Errors
/// If the numbers differ. Every value after the difference would then go to the wrong parameter.
pub(crate) fn check_count(entry: &Entry, kernel: &'static str, passed: usize) -> Result<(), Error> {
    let in_ptx = entry.parameters;
    if in_ptx == passed { Ok(()) } else { Err(Error::ParameterCount { kernel, in_ptx, passed }) }
}
