//! Resource limits of a PTX module and of a launch.
//!
//! A line of PTX can declare terabytes. Inlining a chain of short functions that call each other
//! can produce more instructions than memory holds. Each limit is the limit of GPUs or of NVIDIA's
//! assembler, if there is one. Otherwise it is beyond what compilers emit. The error for a module
//! beyond a limit names the line; the error for a launch names the kernel.

use cuda_launch::LaunchConfig;

use crate::syntax::Space;

/// Number of a device's multiprocessors. Twice the size of the largest cluster, because each of its
/// blocks may fill one; about as many as a small GPU has. Block `n` of a grid runs on
/// multiprocessor `n` modulo this number.
pub const MULTIPROCESSORS: u32 = 2 * LaunchConfig::MAX_CLUSTER as u32;

/// Maximum number of registers declared by ranges such as `%r<100>`, in the whole module.
pub const MAX_REGISTERS: usize = 1 << 20;

/// Maximum number of zeros that a module's initializers omit before later values, as in `{{1},
/// {2}}` for `[2][1000]`.
pub const MAX_OMITTED_VALUES: usize = 1 << 20;

/// Maximum number of dimensions of an array.
pub const MAX_DIMENSIONS: usize = 16;

/// Maximum value of `.align`, in bytes.
pub const MAX_ALIGNMENT: usize = 1 << 16;

/// Maximum nesting depth of blocks `{ … }`.
pub const MAX_BLOCK_DEPTH: usize = 64;

/// Maximum nesting depth of blocks and calls once each call is replaced by the function's body.
pub const MAX_CALL_DEPTH: usize = 256;

/// Size in bytes of a thread's call frames in local memory. A GPU has 1 KiB unless the host asks
/// for more.
pub const STACK_BYTES: usize = 16 << 10;

/// Maximum number of statements inlined into a module's kernels plus entries of its `brx.idx` branch tables.
pub const MAX_EXPANSION: usize = 1 << 20;

/// Maximum total size of a module's `.global` variables, in bytes.
pub const MAX_GLOBAL_BYTES: u64 = 256 << 20;

/// Maximum size, in bytes, of printed texts that the host has not taken yet. Equals the `printf`
/// buffer that a GPU's driver sets up. Later texts are lost.
pub const MAX_PRINTED_BYTES: usize = 1 << 20;

/// Maximum length in bytes of a text that a kernel passes to `printf` or `assert`. The rest is cut
/// off.
pub const MAX_TEXT_BYTES: usize = 1 << 12;

/// Maximum size in bytes of one block's registers, local and shared memory on the host. A warp's
/// register takes 256 bytes.
pub const MAX_BLOCK_BYTES: u64 = 512 << 20;

/// Maximum size in bytes for all blocks of a cooperative launch, which are resident at the same
/// time.
pub const MAX_COOPERATIVE_BYTES: u64 = 8 << 30;

/// Maximum size of the variables of one state space, in bytes. Applies to a module's constants, a
/// kernel's parameters and static shared memory, and a thread's local memory, including the
/// parameters of calls. Static shared memory is 48 KiB on every GPU; more must be dynamic (CUDA C++
/// Programming Guide, Technical Specifications per Compute Capability; PTX ISA 5.1).
pub const fn max_bytes(space: Space) -> u64 {
    match space {
        Space::Const => 64 << 10,
        Space::Global => MAX_GLOBAL_BYTES,
        Space::Local => 512 << 10,
        Space::Param => 32_764,
        Space::Shared => 48 << 10,
    }
}
