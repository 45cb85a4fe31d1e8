//! Bounds on what a PTX text and a launch may ask for.
//!
//! A line of PTX can declare terabytes, and a chain of short functions that call each other can become more instructions
//! than memory holds. Each of these bounds is that of a GPU or of its assembler where there is one, and beyond what
//! compilers emit where there is none. A text beyond a limit is rejected with its line, a launch with its kernel.

use crate::syntax::Space;

/// Registers that ranges such as `%r<100>` declare, all of a module together.
pub const MAX_REGISTERS: usize = 1 << 20;

/// Zeros that a module's initial values leave out between those that it writes, as in `{{1}, {2}}` of `[2][1000]`.
pub const MAX_OMITTED_VALUES: usize = 1 << 20;

/// Dimensions of an array.
pub const MAX_DIMENSIONS: usize = 16;

/// Bytes of `.align`.
pub const MAX_ALIGNMENT: usize = 1 << 16;

/// Blocks `{ … }` within each other.
pub const MAX_BLOCK_DEPTH: usize = 64;

/// Blocks and functions within each other, where each call puts the function's body in its place.
pub const MAX_CALL_DEPTH: usize = 256;

/// Statements that calls copy into the kernels of a module, and entries of the branch tables of its `brx.idx`.
pub const MAX_EXPANSION: usize = 1 << 20;

/// Bytes of the `.global` variables of a module.
pub const MAX_GLOBAL_BYTES: u64 = 256 << 20;

/// Bytes of registers, local and shared memory of one block on the host: 256 for each register of a warp.
pub const MAX_BLOCK_BYTES: u64 = 512 << 20;

/// The same of all blocks of a cooperative launch, which run at once.
pub const MAX_COOPERATIVE_BYTES: u64 = 8 << 30;

/// Bytes of the variables of one space: of a module's constants, of a kernel's parameters and static shared memory, and
/// of a thread's local memory, to which what calls pass belongs (CUDA C++ Programming Guide, Technical Specifications per
/// Compute Capability; PTX ISA 5.1).
pub const fn max_bytes(space: Space) -> u64 {
    match space {
        Space::Const => 64 << 10,
        Space::Global => MAX_GLOBAL_BYTES,
        Space::Local => 512 << 10,
        Space::Param => 32_764,
        Space::Shared => 227 << 10,
    }
}
