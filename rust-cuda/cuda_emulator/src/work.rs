//! The work that streams and graphs consist of.

use std::fmt::Debug;

use crate::abi::KernelNode;
use crate::error::Result;

/// A piece of work: a launch, a copy, a fill or a call of the host. It has run when the function that queues it returns.
pub(crate) trait Work: Debug + Send + Sync {
    /// Runs it.
    ///
    /// # Errors
    /// Those of the work.
    fn run(&self) -> Result;

    /// The `CUgraphNodeType`.
    fn node_type(&self) -> i32;

    /// Shape and function of a launch; None for other work.
    fn kernel_node(&self) -> Option<KernelNode> {
        None
    }
}
