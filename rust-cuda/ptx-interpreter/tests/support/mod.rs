//! Code common to several test programs.
#![allow(dead_code, unreachable_pub)]

pub mod kernel;
pub mod print;

/// The PTX of the seeded bugs and of the test kernels, the hand-written PTX of the crate gpu, and LLVM's PTX for fixtures/lines.rs: calls,
/// tables in memory, arrays on the stack and jump tables, with line information and debug sections.
pub const TEXTS: [(&str, &str); 4] = [
    ("kernels for sm_75", include_str!("../../../seeded_bugs/ptx/seeded_bugs.sm_75.ptx")),
    ("kernels for sm_90", include_str!("../../../test_kernels/ptx/test_kernels.sm_90.ptx")),
    ("kernels by hand", include_str!("../../../gpu/tests/support/kernels.ptx")),
    ("calls and tables with lines", include_str!("../fixtures/lines.sm_75.ptx")),
];
