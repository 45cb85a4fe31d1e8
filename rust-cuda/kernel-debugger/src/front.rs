//! The interface between a session and its user.

use ptx_interpreter::Fault;

use crate::breakpoints::Breakpoints;
use crate::stopped::Stopped;

/// How to go on after a stop. After a fault there is only the way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// To the next breakpoint, fault or the end.
    Continue,
    /// To the warp's next source line, which may be in a function that is called.
    StepLine,
    /// To the warp's next source line outside of the functions that are called.
    StepOver,
    /// To the warp's next source line in a function that called the current one, or to the end of its block.
    StepOut,
    /// To the warp's next instruction.
    StepInstruction,
    /// To the warp's next barrier.
    ToBarrier,
    /// To the beginning of the warp's current source line, or from there to that of the line before.
    StepBack,
    /// To the previous breakpoint, or to the launch's first instruction.
    ContinueBack,
    /// To the launch's first instruction.
    Restart,
    /// Ends the session.
    Quit,
}

/// Looks at a stopped launch and says how to go on: a protocol's server, a terminal or a test.
pub trait Front {
    /// Called at each stop.
    fn stopped(&mut self, stopped: &Stopped<'_>, breakpoints: &mut Breakpoints) -> Resume;

    /// Called at the end of the kernel. `StepBack`, `ContinueBack` and `Restart` go back; all else ends the session.
    fn completed(&mut self) -> Resume;

    /// Index in the block of the warp that a step is for, asked after a stop; None for the warp that has stopped.
    fn warp(&self) -> Option<u32> {
        None
    }

    /// Whether the launch is to stop as soon as possible. Asked after some ten thousand instructions.
    fn is_interrupted(&mut self) -> bool;
}

/// How a session has ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The kernel has run to its end.
    Completed,
    /// A fault has ended the kernel.
    Fault(Box<Fault>),
    /// The front has ended the session.
    Quit,
}
