//! Buffers whose contents a launch in several orders saves and restores.

use std::any::Any;

/// A buffer whose contents can be saved and restored while no thread runs.
#[doc(hidden)]
pub trait Saved {
    /// A copy of the elements and of which are written.
    fn save(&self) -> Box<dyn Any>;

    /// Restores what [`save`](Self::save) returned.
    fn restore(&self, saved: &dyn Any);
}
