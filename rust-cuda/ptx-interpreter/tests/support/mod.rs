//! Code shared by several test programs.
#![allow(dead_code, unreachable_pub)]

pub mod kernel;
pub mod print;

/// The PTX of the seeded bugs, the hand-written PTX of the crate gpu, and LLVM's PTX for fixtures/lines.rs: calls,
/// tables in memory, arrays on the stack and jump tables, with line information and debug sections.
pub const TEXTS: [(&str, &str); 3] = [
    ("kernels with bugs", include_str!("../../../seeded_bugs/ptx/seeded_bugs.sm_75.ptx")),
    ("kernels by hand", include_str!("../../../gpu/tests/support/kernels.ptx")),
    ("calls and tables with lines", include_str!("../fixtures/lines.sm_75.ptx")),
];
