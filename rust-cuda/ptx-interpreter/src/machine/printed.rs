//! The texts that kernels print.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use cuda_launch::Dim3;

use crate::limits::MAX_PRINTED_BYTES;
use crate::syntax::printable;

/// A text that a thread has printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Index of the block in the grid.
    pub block: Dim3,
    /// Index of the thread in its block.
    pub thread: Dim3,
    /// The text, with the line breaks that it contains.
    pub text: String,
    /// The block's linear index.
    pub(super) number: u32,
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}, thread {}: {}", self.block, self.thread, printable(self.text.trim_end_matches('\n')))
    }
}

/// The texts that kernels have printed.
#[derive(Debug, Default)]
pub(super) struct PrintBuffer(Mutex<Texts>);

/// What is kept until it is taken.
#[derive(Debug, Default)]
struct Texts {
    texts: Vec<Printed>,
    /// Size of all `texts`, with what holds them.
    bytes: usize,
}

impl PrintBuffer {
    /// The texts, those of a lower block first.
    pub(super) fn take(&self) -> Vec<Printed> {
        let Texts { mut texts, .. } = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        texts.sort_by_key(|printed| printed.number);
        texts
    }

    /// Adds a text, unless there is too much already.
    pub(super) fn add(&self, printed: Printed) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.bytes < MAX_PRINTED_BYTES {
            kept.bytes += printed.text.len() + size_of::<Printed>();
            kept.texts.push(printed);
        }
    }
}
