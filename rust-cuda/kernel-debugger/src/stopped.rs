//! A stopped launch, as a front looks at it.

use kernel_launch::Launch;
use ptx_interpreter::{Fault, ObservedAccess, Step, StoppedBlock};

use crate::accesses::LastAccesses;
use crate::lines::Lines;
use crate::writers::Writers;

/// Why a launch has stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum StopReason {
    /// At its first instruction.
    Entry,
    /// At a line with a breakpoint, or at the kernel's entry.
    Breakpoint,
    /// At a breakpoint whose condition has no value, for the reason given.
    BadCondition(String),
    /// After a step, or where a step back leads.
    Step,
    /// After a write to watched memory.
    Write(ObservedAccess),
    /// The user has interrupted it.
    Pause,
    /// At a fault, which ends it.
    Fault(Box<Fault>),
}

/// Where a launch has stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// Why.
    pub reason: StopReason,
    /// The instruction that is executed next; at a fault, the one at fault.
    pub step: Step,
    /// The lane of interest: the first that fulfils the breakpoint's condition, or the one at fault.
    pub lane: usize,
    /// Number of instructions that warps have issued since the launch began.
    pub time: u64,
}

/// A stopped launch.
#[derive(Debug)]
pub struct Stopped<'a> {
    /// Where and why.
    pub stop: &'a Stop,
    /// The block that runs.
    pub block: &'a StoppedBlock<'a>,
    /// The launch.
    pub launch: &'a Launch,
    /// The source lines of the kernel.
    pub lines: &'a Lines,
    /// The last accesses of each warp.
    pub accesses: &'a LastAccesses,
    pub(crate) writers: &'a Writers,
}
