//! The interface between a session and its front end.

use ptx_interpreter::Fault;

use crate::breakpoints::Breakpoints;
use crate::stopped::Stopped;

/// How to continue after a stop. After a fault, only going back is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// To the next breakpoint, fault or the end of the kernel.
    Continue,
    /// To the warp's next source line, possibly in a called function.
    StepLine,
    /// To the warp's next source line outside called functions.
    StepOver,
    /// To the warp's next source line in a calling function, or to the end of its block.
    StepOut,
    /// To the warp's next instruction.
    StepInstruction,
    /// To the warp's next barrier.
    ToBarrier,
    /// To the beginning of the warp's current source line, or from there to the beginning of the
    /// previous line.
    StepBack,
    /// To the previous breakpoint, or to the launch's first instruction.
    ContinueBack,
    /// To the launch's first instruction.
    Restart,
    /// Ends the session.
    Quit,
}

/// Looks at a stopped launch and decides how to continue: a protocol server, a terminal or a test.
pub trait Front {
    /// Called at each stop.
    fn stopped(&mut self, stopped: &Stopped<'_>, breakpoints: &mut Breakpoints) -> Resume;

    /// Called at the end of the kernel. `StepBack`, `ContinueBack` and `Restart` go back; every
    /// other choice ends the session.
    fn completed(&mut self) -> Resume;

    /// Index in the block of the warp to step, asked after a stop. `None` for the warp that
    /// stopped.
    fn warp(&self) -> Option<u32> {
        None
    }

    /// Whether the launch should stop as soon as possible. Polled every few tens of thousands of
    /// instructions.
    fn is_interrupted(&mut self) -> bool;
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The kernel has run to its end.
    Completed,
    /// A fault has ended the kernel.
    Fault(Box<Fault>),
    /// The front has ended the session.
    Quit,
}
