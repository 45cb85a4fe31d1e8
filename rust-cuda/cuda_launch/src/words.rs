//! The wording of errors that several devices report, so all report them alike.

use std::fmt::{self, Display};

use crate::{Access, Dim3, counted};

/// "kernel add, block (0, 0, 0), thread (3, 0, 0), add.rs:7".
pub fn thread_at(kernel: impl Display, block: Dim3, thread: Dim3, place: impl Display) -> impl Display {
    fmt::from_fn(move |f| write!(f, "kernel {kernel}, block {block}, thread {thread}, {place}"))
}

/// "index 4 is outside of `x`, which has 4 elements".
pub fn outside(index: u64, memory: impl Display, length: u64) -> impl Display {
    fmt::from_fn(move |f| {
        write!(f, "index {index} is outside of {memory}, which has {}", counted(length as usize, "element"))
    })
}

/// "range 3..2 of `x`: the start, 3, is beyond the end, 2". The range does not fit memory of `length` elements.
pub fn wrong_range(start: u64, end: u64, memory: impl Display, length: u64) -> impl Display {
    fmt::from_fn(move |f| {
        write!(f, "range {start}..{end} of {memory}: ")?;
        match start > end {
            true => write!(f, "the start, {start}, is beyond the end, {end}"),
            false => write!(f, "the end, {end}, is beyond the length, {length}"),
        }
    })
}

/// "writes element 3 of `x`, which block (0, 0, 0), thread (4, 0, 0) reads": the accesses of a data
/// race, with the other thread's access second.
pub fn both_access(
    access: Access,
    accessed: impl Display,
    other_access: Access,
    other_block: Dim3,
    other_thread: Dim3,
) -> impl Display {
    fmt::from_fn(move |f| {
        write!(f, "{access} {accessed}, which block {other_block}, thread {other_thread} {other_access}")
    })
}

/// "which still expects 1 arrival and 0 bytes", for the phase of an mbarrier.
pub fn still_expects(arrivals: u32, bytes: i32) -> impl Display {
    fmt::from_fn(move |f| write!(f, "which still expects {} and {bytes} bytes", counted(arrivals as usize, "arrival")))
}

/// "the kernel does not end: the thread has … Correct the condition of the loop around this line, or allow more by OPTION".
pub fn endless(why: impl Display, option: &str) -> impl Display {
    fmt::from_fn(move |f| {
        write!(
            f,
            "the kernel does not end: {why}. Correct the condition of the loop around this line, or allow more by {option}"
        )
    })
}
