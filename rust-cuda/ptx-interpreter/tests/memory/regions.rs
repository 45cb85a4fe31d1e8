//! A region behaves like a byte array that tracks initialized bytes.

use proptest::prelude::*;
use ptx_interpreter::memory::Region;

#[derive(Clone, Debug)]
enum Step {
    Store { at: usize, log: u32, value: u64 },
    Update { at: usize, log: u32, value: u64 },
    UpdateWide { at: usize, value: u128 },
    StoreRun { at: usize, log: u32, values: Vec<u64> },
    Write { at: usize, values: Vec<u8> },
    Fill { at: usize, bytes: usize },
    Mark { at: usize, bytes: usize },
    Poison,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let at = 0..usize::MAX / 2;
    let step = prop_oneof![
        4 => (at.clone(), 0..4_u32, any::<u64>()).prop_map(|(at, log, value)| Step::Store { at, log, value }),
        2 => (at.clone(), 0..4_u32, any::<u64>()).prop_map(|(at, log, value)| Step::Update { at, log, value }),
        1 => (at.clone(), any::<u128>()).prop_map(|(at, value)| Step::UpdateWide { at, value }),
        2 => (at.clone(), 0..4_u32, prop::collection::vec(any::<u64>(), 0..40))
            .prop_map(|(at, log, values)| Step::StoreRun { at, log, values }),
        1 => (at.clone(), prop::collection::vec(any::<u8>(), 0..50)).prop_map(|(at, values)| Step::Write { at, values }),
        1 => (at.clone(), 0..100_usize).prop_map(|(at, bytes)| Step::Fill { at, bytes }),
        1 => (at, 0..50_usize).prop_map(|(at, bytes)| Step::Mark { at, bytes }),
        1 => Just(Step::Poison),
    ];
    prop::collection::vec(step, 0..40)
}

/// Naive model of a region, byte by byte.
struct Naive {
    bytes: Vec<u8>,
    written: Vec<bool>,
}

impl Naive {
    fn write(&mut self, at: usize, values: &[u8]) {
        self.bytes[at..at + values.len()].copy_from_slice(values);
        self.written[at..at + values.len()].fill(true);
    }

    fn read(&self, at: usize, bytes: usize) -> u128 {
        (0..bytes).fold(0, |value, index| value | u128::from(self.bytes[at + index]) << (8 * index))
    }
}

/// An aligned offset for an access of this size; `None` if the region is too small.
fn aligned(at: usize, bytes: usize, size: usize) -> Option<usize> {
    let slots = size / bytes;
    (slots > 0).then(|| at % slots * bytes)
}

fn check(region: &Region, naive: &Naive) {
    let size = naive.bytes.len();
    let mut all = vec![0; size];
    region.read(0, &mut all);
    assert_eq!(all, naive.bytes);
    for bytes in [1, 2, 4, 8] {
        for at in (0..size).step_by(bytes).filter(|at| at + bytes <= size) {
            assert_eq!(u128::from(region.load(at, bytes)), naive.read(at, bytes));
            assert_eq!(region.load_whole(at, bytes), region.load(at, bytes));
        }
        let mut run = vec![9; size / bytes];
        region.load_run(0, bytes, &mut run);
        for (index, value) in run.into_iter().enumerate() {
            assert_eq!(value, region.load(index * bytes, bytes));
        }
    }
    for bytes in [0, 1, 2, 4, 8, 16, 31, 32, 33, 70] {
        for at in (0..=size).filter(|at| at + bytes <= size) {
            let first = (at..at + bytes).find(|index| !naive.written[*index]);
            assert_eq!(region.first_uninitialised(at, bytes), first);
            assert_eq!(region.is_initialised(at, bytes), first.is_none());
        }
    }
}

proptest! {
    #[test]
    fn every_operation_agrees_with_a_byte_array(size in 0..150_usize, steps in steps(), is_private: bool) {
        let mut region = if is_private { Region::private(size) } else { Region::new(size) };
        let mut naive = Naive { bytes: vec![0xff; size], written: vec![false; size] };
        check(&region, &naive);
        for step in steps {
            match step {
                Step::Store { at, log, value } => {
                    let bytes = 1 << log;
                    if let Some(at) = aligned(at, bytes, size) {
                        // Bits above the low bytes are ignored.
                        if value % 2 == 0 {
                            region.store(at, bytes, value);
                        } else {
                            region.store_whole(at, bytes, value);
                        }
                        naive.write(at, &value.to_le_bytes()[..bytes]);
                    }
                }
                Step::Update { at, log, value } => {
                    let bytes = 1 << log;
                    if let Some(at) = aligned(at, bytes, size) {
                        let old = naive.read(at, bytes) as u64;
                        prop_assert_eq!(region.update(at, bytes, |old| old.wrapping_mul(3) ^ value), old);
                        naive.write(at, &(old.wrapping_mul(3) ^ value).to_le_bytes()[..bytes]);
                    }
                }
                Step::UpdateWide { at, value } => {
                    if let Some(at) = aligned(at, 16, size) {
                        let old = naive.read(at, 16);
                        prop_assert_eq!(region.update_wide(at, |old| old.wrapping_add(value)), old);
                        naive.write(at, &old.wrapping_add(value).to_le_bytes());
                    }
                }
                Step::StoreRun { at, log, values } => {
                    let bytes = 1 << log;
                    if let Some(at) = aligned(at, bytes, size) {
                        let values = &values[..values.len().min((size - at) / bytes)];
                        region.store_run(at, bytes, values);
                        let stored = values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(bytes));
                        naive.write(at, &stored.collect::<Vec<_>>());
                    }
                }
                Step::Write { at, values } => {
                    let at = at % (size + 1);
                    let values = &values[..values.len().min(size - at)];
                    region.write(at, values);
                    naive.write(at, values);
                }
                Step::Fill { at, bytes } => {
                    let at = at % (size + 1);
                    let bytes = bytes.min(size - at);
                    region.fill_zero(at, bytes);
                    naive.write(at, &vec![0; bytes]);
                }
                Step::Mark { at, bytes } => {
                    let at = at % (size + 1);
                    let bytes = bytes.min(size - at);
                    region.mark_initialised(at, bytes);
                    naive.written[at..at + bytes].fill(true);
                }
                Step::Poison => {
                    region.poison();
                    naive.bytes.fill(0xff);
                    naive.written.fill(false);
                }
            }
            check(&region, &naive);
        }
    }

    #[test]
    fn parts_are_read_at_any_offset(values in prop::collection::vec(any::<u8>(), 0..80), from in 0..80_usize, to in 0..80_usize) {
        let region = Region::from_bytes(&values);
        let (from, to) = (from.min(to).min(values.len()), from.max(to).min(values.len()));
        let mut part = vec![0; to - from];
        region.read(from, &mut part);
        prop_assert_eq!(&part[..], &values[from..to]);
        prop_assert!(region.is_initialised(0, values.len()));
        prop_assert_eq!(region.bytes(), values.len());
    }
}

#[test]
fn uninitialised_bytes_read_as_nan() {
    let region = Region::new(16);
    assert!(f32::from_bits(region.load(4, 4) as u32).is_nan());
    assert!(f64::from_bits(region.load(8, 8)).is_nan());
}

#[test]
fn an_invalid_access_panics_and_changes_nothing() {
    let region = Region::from_bytes(&[7; 10]);
    let accesses: [fn(&Region); 7] = [
        |region| _ = region.load(8, 4),
        |region| _ = region.load(2, 4),
        |region| region.store(10, 1, 0),
        |region| region.store(4, 8, 0),
        |region| region.load_run(4, 2, &mut [0; 4]),
        |region| region.store_run(0, 4, &[0; 3]),
        |region| _ = region.update(8, 4, |_| 0),
    ];
    for (number, access) in accesses.into_iter().enumerate() {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| access(&region)));
        assert!(result.is_err(), "access {number}");
        let mut bytes = [0; 10];
        region.read(0, &mut bytes);
        assert_eq!(bytes, [7; 10], "access {number}");
    }
}

#[test]
fn bytes_can_become_uninitialised_again() {
    for region in [Region::from_bytes(&[7; 100]), Region::private(100)] {
        region.fill_zero(0, 100);
        region.mark_uninitialised(30, 5);
        assert!(region.is_initialised(0, 30) && region.is_initialised(35, 65));
        assert_eq!(region.first_uninitialised(0, 100), Some(30));
        region.mark_uninitialised(33, 4);
        region.mark_initialised(30, 6);
        assert_eq!(region.first_uninitialised(0, 100), Some(36));
        region.mark_initialised(36, 1);
        assert!(region.is_initialised(0, 100));
    }
}
