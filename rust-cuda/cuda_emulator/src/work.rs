//! The work that streams and graphs consist of.

use std::fmt::Debug;

use crate::abi::HostFunction;
use crate::driver::graph_memory::Allocation;
use crate::driver::launch::Call;
use crate::driver::memory::{Copy, Fill};
use crate::error::Result;

/// A piece of work: a launch, a copy, a fill or a call of the host. It has run when the function that queues it returns.
pub(crate) trait Work: Debug + Send + Sync {
    /// Runs it.
    ///
    /// # Errors
    /// Those of the work.
    fn run(&self) -> Result;

    /// What it does, as a node of a graph.
    fn task(&self) -> Task<'_>;
}

/// What a node of a graph does, with its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task<'a> {
    Launch(&'a Call),
    Copy(Copy),
    Fill(Fill),
    HostCall(HostFunction),
    Empty,
    Allocate(Allocation),
    /// The address that is freed.
    Free(u64),
}

impl Task<'_> {
    /// The `CUgraphNodeType`.
    pub(crate) fn node_type(self) -> i32 {
        match self {
            Self::Launch(_) => 0,
            Self::Copy(_) => 1,
            Self::Fill(_) => 2,
            Self::HostCall(_) => 3,
            Self::Empty => 5,
            Self::Allocate(_) => 10,
            Self::Free(_) => 11,
        }
    }
}
