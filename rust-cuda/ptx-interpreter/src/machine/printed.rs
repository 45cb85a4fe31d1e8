//! The texts printed by kernels.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use cuda_launch::Dim3;

use crate::limits::MAX_PRINTED_BYTES;
use crate::syntax::printable;

/// A text printed by a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Index of the block in the grid.
    pub block: Dim3,
    /// Index of the thread in its block.
    pub thread: Dim3,
    /// The text, including its line breaks.
    pub text: String,
    /// The block's linear index.
    pub(super) number: u32,
}

impl Printed {
    /// A line printed by a Rust kernel in a launch of this grid.
    pub(super) fn line(text: String, block: Dim3, thread: Dim3, grid: Dim3) -> Self {
        Self { block, thread, text: text + "\n", number: block.x + grid.x * (block.y + grid.y * block.z) }
    }
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}, thread {}: {}", self.block, self.thread, printable(self.text.trim_end_matches('\n')))
    }
}

/// The texts printed by kernels.
#[derive(Debug, Default)]
pub(super) struct PrintBuffer(Mutex<Texts>);

/// Texts kept until they are taken.
#[derive(Debug, Default)]
struct Texts {
    texts: Vec<Printed>,
    /// Size of all `texts`, including their containers.
    bytes: usize,
}

impl PrintBuffer {
    /// The texts, lower blocks first.
    pub(super) fn take(&self) -> Vec<Printed> {
        let Texts { mut texts, .. } = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        texts.sort_by_key(|printed| printed.number);
        texts
    }

    /// Adds a text and returns true, unless the buffer is already full.
    pub(super) fn add(&self, printed: Printed) -> bool {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = kept.bytes < MAX_PRINTED_BYTES;
        if has_room {
            kept.bytes += printed.text.len() + size_of::<Printed>();
            kept.texts.push(printed);
        }
        has_room
    }

    /// Adds a short text that reports lost texts.
    pub(super) fn add_last(&self, printed: Printed) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).texts.push(printed);
    }
}
