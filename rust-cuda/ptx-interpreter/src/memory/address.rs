//! Generic addresses, and the state spaces' windows in them (PTX ISA 6.4.1).
//!
//! A generic address refers to global memory unless it is in another space's window. Within its own
//! space, a variable is addressed by an offset into the window: `mov.u64 %rd1, NAME` returns it for
//! a `.shared` NAME. `cvta` adds the window's base, and `cvta.to` subtracts it. The offsets of each
//! space begin at a different number, never at 0, and all are below the allocations of global
//! memory. If a `cvta` is missing, an offset used as a generic address therefore hits no allocation
//! and identifies its space.

use crate::syntax::Space;

/// Size of a window: 2³² bytes, so an offset fits in a 32-bit register.
const WINDOW_BYTES: u64 = 1 << 32;

/// Maximum size of a space's variables, in bytes, from `first_address`.
const MAX_SPACE_BYTES: u64 = 16 << 20;

/// First generic address of the space's window. `None` for global memory, which has no window.
const fn window(space: Space) -> Option<u64> {
    match space {
        Space::Global => None,
        Space::Shared => Some(0x7f01_0000_0000_0000),
        Space::Local => Some(0x7f02_0000_0000_0000),
        Space::Const => Some(0x7f03_0000_0000_0000),
        Space::Param => Some(0x7f04_0000_0000_0000),
    }
}

/// The lowest address of a variable or allocation within a space. Shared memory begins at 1024, as
/// on recent GPUs, which reserve the first KiB.
pub const fn first_address(space: Space) -> u64 {
    match space {
        Space::Shared => 1024,
        Space::Local => MAX_SPACE_BYTES,
        Space::Const => 2 * MAX_SPACE_BYTES,
        Space::Param => 3 * MAX_SPACE_BYTES,
        Space::Global => 1 << 40,
    }
}

/// Size in bytes of the range that holds the variables of a space, starting at `first_address`.
/// Dynamic shared memory begins after it, and global variables are allocations.
pub(crate) const fn window_bytes(space: Space) -> u64 {
    match space {
        Space::Shared => 4 << 20,
        Space::Local | Space::Const | Space::Param => MAX_SPACE_BYTES,
        Space::Global => 0,
    }
}

/// Converts an address within a space to a generic address: `cvta`.
///
/// Adds the window's base to every address, in range or not, to preserve differences of addresses.
#[inline]
pub const fn to_generic(space: Space, address: u64) -> u64 {
    match window(space) {
        Some(base) => address.wrapping_add(base),
        None => address,
    }
}

/// Converts a generic address to an address within a space: `cvta.to`.
#[inline]
pub const fn from_generic(space: Space, address: u64) -> u64 {
    match window(space) {
        Some(base) => address.wrapping_sub(base),
        None => address,
    }
}

/// The space with a window that contains a generic address. Global memory if there is none.
#[inline]
pub const fn space_of(address: u64) -> Space {
    match address / WINDOW_BYTES {
        0x7f01_0000 => Space::Shared,
        0x7f02_0000 => Space::Local,
        0x7f03_0000 => Space::Const,
        0x7f04_0000 => Space::Param,
        _ => Space::Global,
    }
}

/// Whether a generic address belongs to the space: `isspacep`. The window of kernel parameters also
/// counts as global memory (PTX ISA 6.4.1.1: "is contained within the .global window").
#[inline]
pub const fn is_in_space(space: Space, address: u64) -> bool {
    let found = space_of(address);
    match space {
        Space::Global => matches!(found, Space::Global | Space::Param),
        Space::Shared => matches!(found, Space::Shared),
        Space::Local => matches!(found, Space::Local),
        Space::Const => matches!(found, Space::Const),
        Space::Param => matches!(found, Space::Param),
    }
}

/// Marks an address from [`in_block_of_cluster`]. Addresses of the current block's shared memory
/// are below it.
const OF_CLUSTER: u32 = 1 << 31;
/// Position of the block's index in such an address.
const RANK_SHIFT: u32 = 24;

/// Maps `address` in the current block's shared memory to the same place in block `rank` of the
/// cluster: `mapa`. Uses only the low seven bits of the rank.
#[inline(always)]
pub(crate) const fn in_block_of_cluster(address: u32, rank: u32) -> u32 {
    OF_CLUSTER | (rank << RANK_SHIFT & !OF_CLUSTER) | address & ((1 << RANK_SHIFT) - 1)
}

/// The block's index (`None` for the current block) and the address in its shared memory, for an
/// address in a cluster's shared memory.
#[inline]
pub(crate) const fn block_of_cluster(address: u32) -> (Option<u32>, u32) {
    match address & OF_CLUSTER {
        0 => (None, address),
        _ => (Some((address & !OF_CLUSTER) >> RANK_SHIFT), address & ((1 << RANK_SHIFT) - 1)),
    }
}

/// The space of an offset that a generic address looks like because `cvta` is missing. `None` if it
/// does not look like one.
pub const fn unspaced_offset(address: u64) -> Option<Space> {
    match address / MAX_SPACE_BYTES {
        0 if address >= first_address(Space::Shared) => Some(Space::Shared),
        1 => Some(Space::Local),
        2 => Some(Space::Const),
        3 => Some(Space::Param),
        _ => None,
    }
}
