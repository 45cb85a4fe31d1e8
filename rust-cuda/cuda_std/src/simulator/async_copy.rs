//! Copies from global to shared memory that a thread does not wait for, in groups: the arrays' `copy_async` begins a copy, [`commit`]
//! ends a group, and [`wait`] waits for groups. From sm_80 on `cp.async`, which needs no register for the data; before, a load and a
//! store.
//!
//! The simulator writes when the thread waits. Until then every access to the target, by any thread, is a race with the copy.
//!
//! ```
//! use cuda_std::simulator::{self, SimulatorBuffer};
//! use cuda_std::{GlobalMut, LaunchConfig, async_copy, kernel, shared_array, thread};
//!
//! /// Reverses each block of 32 elements; the second half of a block arrives while the first is in use.
//! #[kernel]
//! pub fn reverse(x: &[f32], out: GlobalMut<f32>) {
//!     let tile = shared_array![f32; 32];
//!     let t = thread::thread_idx_x() as usize;
//!     let first = thread::block_idx_x() as usize * 32;
//!     tile.copy_async(16 + t, x, first + 16 + t);
//!     async_copy::commit();
//!     tile.copy_async(t, x, first + t);
//!     async_copy::commit();
//!     async_copy::wait::<1>();
//!     thread::sync_threads();
//!     out[first + t] = tile[31 - t];
//!     async_copy::wait::<0>();
//!     thread::sync_threads();
//!     out[first + 16 + t] = tile[15 - t];
//! }
//!
//! let numbers: Vec<f32> = (0..64_u8).map(f32::from).collect();
//! let x = SimulatorBuffer::from_slice(&numbers);
//! let mut out = SimulatorBuffer::uninitialized(64);
//! simulator::launch(&reverse, LaunchConfig::new(2, 16), (&x, &mut out))?;
//! assert_eq!(out.to_vec()[..3], [31.0, 30.0, 29.0]);
//! # Ok::<(), simulator::LaunchError>(())
//! ```

use std::panic::Location;

use super::copies_in_flight::{PendingCopy, ThreadCopies};
use super::current;

/// Notes a copy of the current thread to the element whose shadow has the address `target`. `write` runs when the thread has waited for
/// the copy.
pub(super) fn begin(target: Option<usize>, location: &'static Location<'static>, write: impl FnOnce() + 'static) {
    let thread = current::with(|current| {
        current.copies.set(current.copies.get() + 1);
        current.thread.get()
    });
    current::with_block(|block| {
        let mut copies = block.copies.0.borrow_mut();
        if let Some(target) = target {
            copies.targets.insert(target, (current::accessor(), location));
        }
        copies.of_threads.entry(thread).or_default().open.push(PendingCopy { target, write: Box::new(write) });
    });
}

/// Makes a group of this thread's copies since the last call; there may be none.
pub fn commit() {
    let thread = current::with(|current| current.thread.get());
    current::with_block(|block| {
        let mut copies = block.copies.0.borrow_mut();
        let copies = copies.of_threads.entry(thread).or_default();
        let group = std::mem::take(&mut copies.open);
        copies.groups.push_back(group);
    });
}

/// Waits until at most the last `PENDING` groups of this thread are in flight. What the others have copied is then visible to this thread,
/// and to the other threads after a barrier.
pub fn wait<const PENDING: u32>() {
    let thread = current::with(|current| current.thread.get());
    let due = current::with_block(|block| {
        let mut copies = block.copies.0.borrow_mut();
        let Some(copies) = copies.of_threads.get_mut(&thread) else { return Vec::new() };
        let due = copies.groups.len().saturating_sub(PENDING as usize);
        copies.groups.drain(..due).flatten().collect()
    });
    finish(due);
}

/// Completes all copies of the current thread, which ends.
pub(super) fn finish_all() {
    let thread = current::with(|current| current.thread.get());
    let copies = current::with_block(|block| block.copies.0.borrow_mut().of_threads.remove(&thread));
    if let Some(ThreadCopies { groups, open }) = copies {
        finish(groups.into_iter().flatten().chain(open).collect());
    }
}

fn finish(copies: Vec<PendingCopy>) {
    for PendingCopy { target, write } in copies {
        current::with(|current| current.copies.set(current.copies.get() - 1));
        if let Some(target) = target {
            current::with_block(|block| block.copies.0.borrow_mut().targets.remove(&target));
        }
        write();
    }
}
