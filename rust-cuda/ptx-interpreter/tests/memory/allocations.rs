//! Accesses outside live allocations are detected and classified.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::scope;

use proptest::prelude::*;
use ptx_interpreter::memory::{
    ALLOCATION_ALIGNMENT, AccessError, Extent, GUARD_BYTES, GlobalMemory, GlobalView, MemoryError, Region,
};
use ptx_interpreter::syntax::Space;

fn message(memory: &GlobalMemory, address: u64, bytes: usize) -> String {
    memory.view().find(address, bytes).unwrap_err().to_string()
}

#[test]
fn written_bytes_are_read_back() {
    let mut memory = GlobalMemory::new(1000);
    let (a, b) = (memory.allocate(10).unwrap(), memory.allocate(20).unwrap());
    memory.write(a, &[1; 10]).unwrap();
    memory.write(b + 3, &[2; 17]).unwrap();
    memory.fill_zero(b, 4).unwrap();
    let mut bytes = [9; 20];
    memory.read(b, &mut bytes).unwrap();
    assert_eq!(bytes[..4], [0; 4]);
    assert_eq!(bytes[4..], [2; 16]);
    memory.read(a + 1, &mut bytes[..9]).unwrap();
    assert_eq!(bytes[..9], [1; 9]);
}

#[test]
fn a_miss_names_the_nearest_allocation_and_the_distance() {
    let mut memory = GlobalMemory::new(1 << 20);
    let a = memory.allocate(100).unwrap();
    let b = memory.allocate_named("WEIGHTS", 64).unwrap();
    let place = format!("allocation 0 (100 bytes at {a:#x})");
    let of = |address: u64, bytes| format!("{bytes} bytes at {address:#x} of global memory: ");
    assert_eq!(message(&memory, a + 100, 4), of(a + 100, 4) + "starts 0 bytes past the end of " + &place);
    assert_eq!(message(&memory, a + 112, 4), of(a + 112, 4) + "starts 12 bytes past the end of " + &place);
    assert_eq!(message(&memory, a + 96, 16), of(a + 96, 16) + "ends 12 bytes past the end of " + &place);
    assert_eq!(message(&memory, a - 8, 4), of(a - 8, 4) + "starts 8 bytes before " + &place);
    let weights = format!("starts 4 bytes before WEIGHTS (64 bytes at {b:#x})");
    assert_eq!(message(&memory, b - 4, 4), of(b - 4, 4) + &weights);
    assert_eq!(message(&memory, 16, 4), of(16, 4) + "a null pointer");
    // No wraparound at the end of the address space.
    assert!(matches!(memory.view().find(u64::MAX - 1, 4), Err(AccessError::OutOfBounds { .. })));
    assert!(matches!(memory.view().find(a, usize::MAX), Err(AccessError::OutOfBounds { .. })));
    assert!(message(&GlobalMemory::new(0), a, 4).ends_with("nothing is allocated"));
}

#[test]
fn a_use_after_free_is_reported_as_such() {
    let mut memory = GlobalMemory::new(1 << 20);
    let a = memory.allocate(100).unwrap();
    let view = memory.view();
    memory.free(a).unwrap();
    assert!(matches!(memory.view().find(a + 96, 4), Err(AccessError::Freed { .. })));
    assert!(message(&memory, a + 4, 4).ends_with(&format!("allocation 0 (100 bytes at {a:#x}) has been freed")));
    assert!(matches!(memory.free(a), Err(MemoryError::FreedTwice { .. })));
    assert!(matches!(memory.free(a + 4), Err(MemoryError::NotAllocated { .. })));
    // A view from before the free keeps the bytes.
    assert_eq!(view.find(a, 100), Ok((0, 0)));
    let again = memory.allocate(100).unwrap();
    assert_ne!(a, again);
    assert!(matches!(memory.view().find(a, 4), Err(AccessError::Freed { .. })));
}

#[test]
fn memory_has_a_limit() {
    let mut memory = GlobalMemory::new(1000);
    let a = memory.allocate(600).unwrap();
    let error = memory.allocate(401).unwrap_err();
    assert!(matches!(error, MemoryError::OutOfMemory { asked: 401, used: 600, limit: 1000 }));
    assert!(error.to_string().starts_with("401 bytes of device memory were asked for, and 600 of 1000 are in use"));
    memory.allocate(400).unwrap();
    memory.free(a).unwrap();
    assert_eq!(memory.used(), 400);
    memory.allocate(600).unwrap();
    assert!(matches!(memory.allocate(u64::MAX), Err(MemoryError::OutOfMemory { .. })));
    // The simulated limit may exceed any host's memory.
    let mut endless = GlobalMemory::new(u64::MAX);
    assert!(endless.allocate(u64::MAX).is_err());
    assert!(matches!(endless.allocate(1 << 61), Err(MemoryError::HostOutOfMemory { .. })));
    assert_eq!(endless.used(), 0);
}

#[test]
fn empty_allocations_have_distinct_addresses() {
    let mut memory = GlobalMemory::new(0);
    let (a, b) = (memory.allocate(0).unwrap(), memory.allocate(0).unwrap());
    assert_ne!(a, b);
    memory.write(a, &[]).unwrap();
    memory.read(b, &mut []).unwrap();
    memory.fill_zero(a, 0).unwrap();
    assert!(matches!(memory.write(a, &[1]), Err(MemoryError::Access(AccessError::OutOfBounds { .. }))));
    memory.free(a).unwrap();
    assert!(matches!(memory.free(a), Err(MemoryError::FreedTwice { .. })));
    assert!(matches!(memory.view().find(a, 1), Err(AccessError::Freed { .. })));
}

#[test]
fn many_threads_share_a_view() {
    fn is_shareable<T: Send + Sync>() {}
    is_shareable::<(GlobalView, GlobalMemory, Region, AccessError, MemoryError)>();
    let mut memory = GlobalMemory::new(1 << 20);
    let address = memory.allocate(4096).unwrap();
    let view = memory.view();
    scope(|threads| {
        for thread in 0..4 {
            let view = &view;
            threads.spawn(move || {
                for word in (thread..1024).step_by(4) {
                    let (index, offset) = view.find(address + 4 * word, 4).unwrap();
                    view.allocations()[index].region.store(offset, 4, word);
                }
            });
        }
    });
    let mut bytes = [0; 4096];
    memory.read(address, &mut bytes).unwrap();
    let words = bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
    assert!(words.eq(0..1024));
}

#[test]
fn errors_of_other_spaces_name_the_cause() {
    let shared =
        Extent { name: "the block's memory".into(), space: Space::Shared, start: 1024, bytes: 48, element: None };
    assert_eq!(shared.check(1024 + 44, 4), Ok(44));
    let error = shared.check(1024 + 48, 4).unwrap_err();
    assert_eq!(
        error.to_string(),
        "4 bytes at 0x430 of shared memory: starts 0 bytes past the end of the block's memory (48 bytes at 0x400)"
    );
    assert_eq!(AccessError::check_aligned(Space::Shared, 1040, 16), Ok(()));
    let error = AccessError::check_aligned(Space::Shared, 1028, 8).unwrap_err();
    assert_eq!(error.to_string(), "0x404 of shared memory is no multiple of 8, the size of the access");
    let error = AccessError::Uninitialised { address: 1032, bytes: 4, first: 10, place: shared };
    assert_eq!(
        error.to_string(),
        "4 bytes at 0x408 of the block's memory (48 bytes at 0x400): byte 10 of it has never been written"
    );
    let error = AccessError::ReadOnly { address: 1 << 25, bytes: 4, space: Space::Const };
    assert_eq!(error.to_string(), "4 bytes at 0x2000000 of const memory: kernels cannot write there");
}

proptest! {
    #[test]
    fn lookups_agree_with_a_linear_search(
        steps in prop::collection::vec((0..3_u32, 0..5000_u64), 1..60),
        probes in prop::collection::vec((any::<prop::sample::Index>(), -300..5300_i64, 0..20_usize), 50),
    ) {
        let mut memory = GlobalMemory::new(u64::MAX);
        let mut live = BTreeMap::new();
        let mut starts = Vec::new();
        for (step, number) in steps {
            if step == 0 && !live.is_empty() {
                let address = *live.keys().nth(number as usize % live.len()).unwrap();
                memory.free(address).unwrap();
                live.remove(&address);
                continue;
            }
            let address = memory.allocate(number).unwrap();
            prop_assert_eq!(address % ALLOCATION_ALIGNMENT, 0);
            for (start, bytes) in &live {
                prop_assert!(start + bytes + GUARD_BYTES <= address);
            }
            prop_assert!(!starts.contains(&address));
            live.insert(address, number);
            starts.push(address);
        }
        prop_assert_eq!(memory.used(), live.values().sum::<u64>());
        let view = memory.view();
        for (start, distance, bytes) in probes.iter().filter(|_| !starts.is_empty()) {
            let address = start.get(&starts).wrapping_add_signed(*distance);
            let holds = |start: u64, size: u64| start <= address && address + *bytes as u64 <= start + size;
            let expected = live.iter().find(|(start, size)| holds(**start, **size));
            let found = view.find(address, *bytes).ok();
            let found = found.map(|(index, offset)| (view.allocations()[index].extent.start, offset as u64));
            prop_assert_eq!(found, expected.map(|(start, _)| (*start, address - start)));
        }
    }
}

#[test]
fn a_snapshot_restores_bytes_and_which_were_written() {
    let mut memory = GlobalMemory::new(1000);
    let (a, b, freed) = (memory.allocate(10).unwrap(), memory.allocate(70).unwrap(), memory.allocate(5).unwrap());
    memory.write(a, &[1; 10]).unwrap();
    memory.write(b + 3, &[2; 17]).unwrap();
    let snapshot = memory.snapshot().unwrap();
    memory.free(freed).unwrap();
    let later = memory.allocate(4).unwrap();
    memory.write(later, &[8; 4]).unwrap();
    memory.write(a, &[3; 10]).unwrap();
    memory.write(b, &[4; 70]).unwrap();
    memory.restore(&snapshot);
    let mut bytes = [9; 17];
    memory.read(a, &mut bytes[..10]).unwrap();
    assert_eq!(bytes[..10], [1; 10]);
    memory.read(b + 3, &mut bytes).unwrap();
    assert_eq!(bytes, [2; 17]);
    memory.read(later, &mut bytes[..4]).unwrap();
    assert_eq!(bytes[..4], [8; 4]);
    let view = memory.view();
    let region = &view.allocations()[1].region;
    assert!(region.is_initialised(3, 17) && !region.is_initialised(2, 1) && !region.is_initialised(20, 1));
}

#[test]
fn memory_at_a_chosen_address_is_among_the_other_allocations() {
    let mut memory = GlobalMemory::new(1000);
    let device = memory.allocate(100).unwrap();
    let (low, high) = (1 << 20, 1 << 45);
    for address in [high, low] {
        memory.add_at("shared with the host", address, Arc::new(Region::new(64))).unwrap();
    }
    memory.write(low + 60, &[1; 4]).unwrap();
    memory.write(high, &[2; 64]).unwrap();
    let next = memory.allocate(100).unwrap();
    memory.write(next, &[3; 100]).unwrap();
    let starts: Vec<u64> = memory.view().allocations().iter().map(|allocation| allocation.extent.start).collect();
    assert_eq!(starts, [low, device, next, high]);
    // It is not part of the device's memory.
    assert_eq!(memory.limit() - memory.used(), 800);
    for taken in [low, low + 63, low - 1, device + 1, high + 32] {
        let added = memory.add_at("overlapping", taken, Arc::new(Region::new(2)));
        assert!(matches!(added, Err(MemoryError::Overlap { .. })), "{taken:#x}");
    }
    memory.remove_at(high).unwrap();
    assert_eq!((memory.limit(), memory.used()), (1064, 264));
    assert!(matches!(memory.remove_at(high), Err(MemoryError::FreedTwice { .. })));
    memory.add_at("shared again", high, Arc::new(Region::new(8))).unwrap();
    memory.remove_at(high).unwrap();
}

#[test]
fn devices_have_addresses_of_their_own() {
    let mut memories = [0, 1].map(|number| GlobalMemory::of_device(number, 1000));
    let [first, second] = memories.each_mut().map(|memory| memory.allocate(8).unwrap());
    assert!(second > first + (1 << 40));
    assert!(memories[0].write(second, &[0; 8]).is_err());
}

#[test]
fn a_reserved_address_is_allocated_again_and_again() {
    let mut memory = GlobalMemory::new(1000);
    let reserved = memory.reserve(600).unwrap();
    let other = memory.allocate(100).unwrap();
    assert!(other >= reserved + 600);
    assert!(memory.write(reserved, &[1; 4]).is_err());
    for _ in 0..2 {
        memory.allocate_at(reserved, 600).unwrap();
        assert_eq!((memory.limit(), memory.used()), (1000, 700));
        let view = memory.view();
        let (index, _) = view.find(reserved, 600).unwrap();
        assert!(!view.allocations()[index].region.is_initialised(0, 1));
        memory.write(reserved, &[1; 600]).unwrap();
        assert!(matches!(memory.allocate_at(reserved, 100), Err(MemoryError::Overlap { .. })));
        memory.free(reserved).unwrap();
        assert!(memory.write(reserved, &[1; 4]).is_err());
        assert!(matches!(memory.free(reserved), Err(MemoryError::FreedTwice { .. })));
    }
    memory.allocate(400).unwrap();
    assert!(matches!(memory.allocate_at(reserved, 600), Err(MemoryError::OutOfMemory { .. })));
    assert!(matches!(memory.reserve(600), Err(MemoryError::OutOfMemory { .. })));
}
