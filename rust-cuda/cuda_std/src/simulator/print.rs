//! Lines that kernels print.

use std::fmt;

use super::current;

/// Prints a line of the current thread.
#[doc(hidden)]
pub fn print(text: fmt::Arguments<'_>) {
    if !current::with_block(|block| block.launch.prints) {
        return;
    }
    let (block, thread) = current::with(|current| (current.block_index.get(), current.thread_index.get()));
    println!("block {block}, thread {thread}: {text}");
}
