//! The work items of streams and graphs.

use std::any::Any;
use std::fmt::Debug;

use crate::error::Result;

/// A work item: a launch, a copy, a fill or a host call. It has finished when the function that
/// queues it returns, unless the order is asynchronous.
pub(crate) trait Work: Any + Debug + Send + Sync {
    /// Runs it.
    ///
    /// # Errors
    /// Errors of the work.
    fn run(&self) -> Result;

    /// Its `CUgraphNodeType`.
    fn node_type(&self) -> i32;

    /// Checks before a graph launch what may be invalid in a graph that is not launched.
    ///
    /// # Errors
    /// `INVALID_VALUE`
    fn check(&self) -> Result {
        Ok(())
    }

    /// Whether it allocates or frees graph memory.
    fn has_memory(&self) -> bool {
        false
    }

    /// Whether it calls the host or writes to the host's memory.
    fn is_for_host(&self) -> bool {
        false
    }
}

impl dyn Work {
    /// The work as type `T`, if it has that type.
    pub(crate) fn as_a<T: Work>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}
