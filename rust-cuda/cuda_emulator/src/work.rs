//! The work that streams and graphs consist of.

use std::any::Any;
use std::fmt::Debug;

use crate::error::Result;

/// A piece of work: a launch, a copy, a fill or a call of the host. It has run when the function that queues it returns, unless the
/// order is asynchronous.
pub(crate) trait Work: Any + Debug + Send + Sync {
    /// Runs it.
    ///
    /// # Errors
    /// Those of the work.
    fn run(&self) -> Result;

    /// Its `CUgraphNodeType`.
    fn node_type(&self) -> i32;

    /// Checks before a graph is launched what may be wrong in one that is not.
    ///
    /// # Errors
    /// `INVALID_VALUE`
    fn check(&self) -> Result {
        Ok(())
    }

    /// Whether it allocates or frees memory of its graph.
    fn has_memory(&self) -> bool {
        false
    }

    /// Whether it calls the host or writes to the host's memory.
    fn is_for_host(&self) -> bool {
        false
    }
}

impl dyn Work {
    /// The work, if it is of a type.
    pub(crate) fn as_a<T: Work>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}
