//! A stopped launch, as a front end sees it.

use kernel_launch::Launch;
use ptx_interpreter::{Fault, ObservedAccess, Step, StoppedBlock};

use crate::accesses::LastAccesses;
use crate::lines::Lines;
use crate::writers::Writers;

/// The reason why a launch has stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum StopReason {
    /// At its first instruction.
    Entry,
    /// At a line with a breakpoint, or at the kernel's entry.
    Breakpoint,
    /// At a breakpoint with a condition that has no value, for the given reason.
    BadCondition(String),
    /// After a step, forward or backward.
    Step,
    /// After a write to watched memory.
    Write(ObservedAccess),
    /// The user has interrupted it.
    Pause,
    /// At a fault that ends the launch.
    Fault(Box<Fault>),
}

/// A stop of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// The reason for the stop.
    pub reason: StopReason,
    /// The next instruction to execute; at a fault, the one at fault.
    pub step: Step,
    /// The lane of interest: the first that satisfies the breakpoint's condition, or the one at
    /// fault.
    pub lane: usize,
    /// Number of instructions that warps have issued since the launch began.
    pub time: u64,
}

/// A stopped launch.
#[derive(Debug)]
pub struct Stopped<'a> {
    /// Place and reason of the stop.
    pub stop: &'a Stop,
    /// The running block.
    pub block: &'a StoppedBlock<'a>,
    /// The launch.
    pub launch: &'a Launch,
    /// The source lines of the kernel.
    pub lines: &'a Lines,
    /// The last accesses of each warp.
    pub accesses: &'a LastAccesses,
    pub(crate) writers: &'a Writers,
}
