//! Generic addresses, and the windows in which the other memories appear among them (PTX ISA 6.4.1).
//!
//! A generic address is global memory's unless it falls in another space's window. Within its own space a memory is
//! addressed by offsets into that window, as `mov.u64 %rd1, NAME` gives them for a `.shared` NAME; `cvta` adds the
//! window's base, `cvta.to` subtracts it. The offsets of all spaces begin at different numbers, none at 0, and no
//! allocation of global memory lies as low: an offset that is used as a generic address because a `cvta` is missing
//! hits nothing, and tells its space.

use crate::syntax::Space;

/// Each window has 2³² addresses, so that an offset fits a 32-bit register.
const WINDOW_BYTES: u64 = 1 << 32;

/// The offsets in which a space's variables can lie: that many from `first_address`.
const MOST_BYTES: u64 = 16 << 20;

/// Whether the space has a window, and its first generic address.
const fn window(space: Space) -> Option<u64> {
    match space {
        Space::Global => None,
        Space::Shared => Some(0x7f01_0000_0000_0000),
        Space::Local => Some(0x7f02_0000_0000_0000),
        Space::Const => Some(0x7f03_0000_0000_0000),
        Space::Param => Some(0x7f04_0000_0000_0000),
    }
}

/// The lowest address at which something lies within a space. Shared memory begins at 1024, as on recent GPUs, which
/// keep the first KiB for themselves.
pub const fn first_address(space: Space) -> u64 {
    match space {
        Space::Shared => 1024,
        Space::Local => MOST_BYTES,
        Space::Const => 2 * MOST_BYTES,
        Space::Param => 3 * MOST_BYTES,
        Space::Global => 1 << 40,
    }
}

/// Size of the window from `first_address` that holds the variables of a space. Dynamic shared memory begins after it, and
/// global variables are allocations.
pub(crate) const fn window_bytes(space: Space) -> u64 {
    match space {
        Space::Shared => 4 << 20,
        Space::Local | Space::Const | Space::Param => MOST_BYTES,
        Space::Global => 0,
    }
}

/// The generic address of an address within a space: `cvta`.
///
/// It adds the window's base, whatever the address, so that differences of addresses are kept.
#[inline]
pub const fn to_generic(space: Space, address: u64) -> u64 {
    match window(space) {
        Some(base) => address.wrapping_add(base),
        None => address,
    }
}

/// The address within a space of a generic address: `cvta.to`.
#[inline]
pub const fn from_generic(space: Space, address: u64) -> u64 {
    match window(space) {
        Some(base) => address.wrapping_sub(base),
        None => address,
    }
}

/// The space in whose window a generic address falls; global memory if it is in none.
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

/// Whether a generic address is one of the space: `isspacep`. The window of kernel parameters counts as global memory
/// too (PTX ISA 6.4.1.1: "is contained within the .global window").
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

/// The space of which a generic address looks like an offset that has not been converted by `cvta`.
pub const fn unspaced_offset(address: u64) -> Option<Space> {
    match address / MOST_BYTES {
        0 if address >= first_address(Space::Shared) => Some(Space::Shared),
        1 => Some(Space::Local),
        2 => Some(Space::Const),
        3 => Some(Space::Param),
        _ => None,
    }
}
