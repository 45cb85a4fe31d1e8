//! Runs the launch and collects its faults.

use std::fmt::Write as _;

use cuda_launch::{LaunchConfig, Search};
use kernel_launch::{Argument, Launch};
use ptx_interpreter::semantics::Class;
use ptx_interpreter::syntax::printable;
use ptx_interpreter::{Access, AccessedSpace, Fault, Inexact, LaunchError, LaunchReport, Options, Printed};
use serde::Serialize;
use thiserror::Error;

use crate::location::Locations;

/// The result of a check.
#[derive(Debug)]
pub struct Outcome {
    /// The kernel's name.
    pub kernel: String,
    /// The launch configuration.
    pub config: LaunchConfig,
    /// The schedules that the check may try, unless it runs a single one.
    pub search: Search,
    /// Text printed by threads under the default schedule.
    pub printed: Vec<Printed>,
    /// The faults, at most one per line.
    pub faults: Vec<Fault>,
    /// Findings that stricter options would report as faults.
    pub notes: Vec<Fault>,
    /// Figures of a launch without a fault.
    pub clean: Option<Clean>,
    /// Finds the lines to mark.
    pub locations: Locations,
}

/// Figures of a launch without a fault.
#[derive(Debug)]
pub struct Clean {
    /// Number of schedules under which the launch ran.
    pub orders: u32,
    /// Work executed by the launch's warps.
    pub counts: Counts,
    /// The instructions that may give different results on a GPU.
    pub inexact: Vec<Inexact>,
}

/// Counts under the default schedule.
#[derive(Debug, Serialize)]
pub struct Counts {
    /// Blocks of the grid.
    pub blocks: u64,
    /// Threads of the grid.
    pub threads: u64,
    /// Instructions counted per thread.
    pub thread_instructions: u64,
    /// Instructions counted per warp.
    pub warp_instructions: u64,
    /// By addresses of global memory.
    pub global: Accesses,
    /// By addresses of shared memory.
    pub shared: Accesses,
    /// By addresses of local memory.
    pub local: Accesses,
    /// By addresses of any state space.
    pub generic: Accesses,
    /// Branches counted per warp.
    pub branches: u64,
    /// Branches at which the lanes of a warp diverged.
    pub divergent_branches: u64,
    /// Bank-conflict passes over shared memory, beyond the minimum for the same bytes.
    pub bank_conflicts: u64,
    /// Barriers counted per warp.
    pub barriers: u64,
    /// Sectors of global memory (32 bytes each) moved by loads and stores.
    pub global_sectors: u64,
    /// Passes over the banks of shared memory.
    pub shared_wavefronts: u64,
}

/// Accesses to one memory, counted per thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Accesses {
    /// Reads.
    pub loads: u64,
    /// Writes.
    pub stores: u64,
    /// Atomic operations.
    pub atomics: u64,
}

/// The reason why a launch cannot run.
#[derive(Debug, Error)]
pub enum CheckError {
    /// The kernel's parameters differ from the ones that the launch passes.
    #[error("{0}")]
    Parameters(String),
    /// The launch is invalid.
    #[error(transparent)]
    Launch(LaunchError),
}

/// Runs a launch. If the options search for a schedule with a fault, runs it under several.
///
/// # Errors
/// Says in one line why the launch cannot run.
pub fn check(launch: &Launch, options: Options, locations: Locations) -> Result<Outcome, CheckError> {
    check_parameters(launch).map_err(CheckError::Parameters)?;
    let search = if options.schedule.is_default() { options.search } else { Search::ONE };
    let (faults, notes, report) = match launch.check(options) {
        Ok(mut report) => (Vec::new(), std::mem::take(&mut report.notes), Some(report)),
        Err(LaunchError::Fault(fault)) => {
            let (faults, notes) = fault.into_all();
            (faults, notes, None)
        }
        Err(error) => return Err(CheckError::Launch(error)),
    };
    Ok(Outcome {
        kernel: launch.kernel().to_owned(),
        config: launch.config(),
        search,
        printed: launch.machine().take_printed(),
        faults,
        clean: report.as_ref().map(|report| Clean {
            orders: report.orders,
            counts: Counts::of(report),
            inexact: report.inexact(),
        }),
        notes,
        locations,
    })
}

impl Counts {
    fn of(report: &LaunchReport) -> Self {
        let accesses = |space| Accesses {
            loads: report.accesses(space, Access::Read).lanes,
            stores: report.accesses(space, Access::Write).lanes,
            atomics: report.accesses(space, Access::Atomic).lanes,
        };
        let conflicts = [Access::Read, Access::Write, Access::Atomic].map(|access| {
            let totals = report.accesses(AccessedSpace::Shared, access);
            totals.transactions.saturating_sub(totals.min_transactions)
        });
        let transactions = |space, kinds: &[Access]| -> u64 {
            kinds.iter().map(|access| report.accesses(space, *access).transactions).sum()
        };
        let plain = [Access::Read, Access::Write];
        let barriers = report.instructions.iter().filter(|instruction| instruction.class == Class::Barrier);
        let (branches, divergent_branches) = report.branches();
        Self {
            blocks: report.blocks,
            threads: report.threads,
            thread_instructions: report.thread_instructions(),
            warp_instructions: report.warp_instructions(),
            global: accesses(AccessedSpace::Global),
            shared: accesses(AccessedSpace::Shared),
            local: accesses(AccessedSpace::Local),
            generic: accesses(AccessedSpace::Generic),
            branches,
            divergent_branches,
            bank_conflicts: conflicts.iter().sum(),
            barriers: barriers.map(|instruction| instruction.counts.issued).sum(),
            global_sectors: transactions(AccessedSpace::Global, &plain),
            shared_wavefronts: transactions(AccessedSpace::Shared, &plain),
        }
    }
}

/// A parameter that the launch passes: its name in messages and its size in bytes.
struct Passed<'a> {
    name: String,
    bytes: u64,
    argument: &'a Argument,
}

/// Checks the number and sizes of the parameters. The interpreter knows them only by number.
fn check_parameters(launch: &Launch) -> Result<(), String> {
    let kernel = launch.kernel();
    let expected: Vec<(&str, u64)> = launch.machine().parameters(kernel).collect();
    let passed: Vec<Passed<'_>> = launch.arguments().iter().flat_map(passed).collect();
    let listed = |parameters: &mut dyn Iterator<Item = (&str, u64)>| {
        let mut text = String::new();
        for (name, bytes) in parameters {
            let separator = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{separator}{} ({bytes} bytes)", printable(name));
        }
        if text.is_empty() { "none".to_owned() } else { text }
    };
    if expected.len() != passed.len() {
        return Err(format!(
            "kernel {kernel} takes {}: {}; the launch passes {}: {}. Of a C kernel a pointer is one parameter (--buffer), of a Rust \
             kernel a slice is two (--slice)",
            cuda_launch::counted(expected.len(), "parameter"),
            listed(&mut expected.iter().copied()),
            passed.len(),
            listed(&mut passed.iter().map(|passed| (&*passed.name, passed.bytes))),
        ));
    }
    for ((name, bytes), passed) in expected.into_iter().zip(passed) {
        if !passed.fits(bytes) {
            let way_out = match bytes {
                4 => "pass u32, i32 or f32",
                8 => "pass a buffer, u64, i64 or f64",
                _ => "pass a structure by its \"bytes\" in a launch file (--launch)",
            };
            return Err(format!(
                "parameter {} of kernel {kernel} has {bytes} bytes, and {} has {}; {way_out}",
                printable(name),
                passed.name,
                passed.bytes
            ));
        }
    }
    Ok(())
}

fn passed(argument: &Argument) -> Vec<Passed<'_>> {
    let name = printable(argument.name());
    match argument {
        Argument::Buffer { has_length, .. } => {
            let length = has_length.then(|| Passed { name: format!("length of {name}"), bytes: 8, argument });
            std::iter::once(Passed { name, bytes: 8, argument }).chain(length).collect()
        }
        Argument::Value { element, .. } => vec![Passed { name, bytes: element.bytes() as u64, argument }],
        Argument::Structure { bytes, .. } => vec![Passed { name, bytes: bytes.len() as u64, argument }],
    }
}

impl Passed<'_> {
    fn fits(&self, bytes: u64) -> bool {
        // No type has two bytes: the lower two bytes of a four-byte integer are passed.
        let is_short = bytes == 2 && self.bytes == 4 && matches!(self.argument, Argument::Value { .. });
        self.bytes == bytes || is_short
    }
}
