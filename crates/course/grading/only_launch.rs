//! The counts of a launch that the submission makes.

use gpu::{Device, LaunchReport, SimulatorOptions};
use teaching_tests::{Failure, check};

/// The simulator's counts of the only launch that `run` makes.
pub(super) fn only_launch<T>(
    function: &str,
    run: impl FnOnce(&Device) -> Result<T, String>,
) -> Result<LaunchReport, Failure> {
    let device = Device::simulator_with(SimulatorOptions { check_races: false, ..SimulatorOptions::default() });
    device.take_simulator_reports();
    check(function, run(&device))?;
    match device.take_simulator_reports()[..] {
        [(_, report)] => Ok(report),
        ref reports => Err(format!("{function}: it launches {} kernels, expected one", reports.len()).into()),
    }
}
