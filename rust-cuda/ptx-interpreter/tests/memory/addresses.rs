//! Generic addresses identify their space, and convert without loss.

use proptest::prelude::*;
use ptx_interpreter::memory::{
    AccessError, GlobalMemory, first_address, from_generic, is_in_space, space_of, to_generic, unspaced_offset,
};
use ptx_interpreter::syntax::Space;

const SPACES: [Space; 5] = [Space::Const, Space::Global, Space::Local, Space::Param, Space::Shared];

proptest! {
    #[test]
    fn conversions_invert_each_other_and_keep_differences(address: u64, distance: u64, space in 0..5_usize) {
        let space = SPACES[space];
        prop_assert_eq!(from_generic(space, to_generic(space, address)), address);
        prop_assert_eq!(to_generic(space, from_generic(space, address)), address);
        let moved = to_generic(space, address.wrapping_add(distance));
        prop_assert_eq!(moved.wrapping_sub(to_generic(space, address)), distance);
    }

    #[test]
    fn an_offset_of_32_bits_stays_in_its_window(offset: u32, space in 0..5_usize) {
        let space = SPACES[space];
        let generic = to_generic(space, u64::from(offset));
        prop_assert_eq!(space_of(generic), space);
        for other in SPACES {
            let contains = other == space || (other == Space::Global && space == Space::Param);
            prop_assert_eq!(is_in_space(other, generic), contains);
        }
        // Kernels hold shared memory addresses in 32 bits.
        if space != Space::Global {
            prop_assert_eq!(generic as u32, offset);
        }
    }
}

#[test]
fn a_raw_offset_is_distinguished_from_an_address() {
    for space in [Space::Const, Space::Local, Space::Param, Space::Shared] {
        let start = first_address(space);
        for offset in [0, 4, 64 << 10] {
            assert_eq!(unspaced_offset(start + offset), Some(space));
        }
        assert_eq!(unspaced_offset(to_generic(space, start)), None);
    }
    assert_eq!(unspaced_offset(0), None);
    assert_eq!(unspaced_offset(first_address(Space::Global)), None);
}

#[test]
fn a_raw_offset_hits_no_allocation() {
    let mut memory = GlobalMemory::new(1 << 20);
    memory.allocate(1 << 20).unwrap();
    let error = memory.view().find(first_address(Space::Shared) + 16, 4).unwrap_err();
    assert_eq!(error, AccessError::WrongSpace { address: 1040, bytes: 4, looks_like: Space::Shared });
    assert_eq!(
        error.to_string(),
        "4 bytes at 0x410 of global memory: this looks like an offset in shared memory; cvta.shared is missing"
    );
}
