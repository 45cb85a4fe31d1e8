//! Large copies go through page-locked chunks, in the order of the device's stream. The stand-in
//! runs asynchronous copies as late as possible.

use crate::support::{all_calls, calls_during, open, scale, with_stand_in};
use gpu::LaunchConfig;

const MEBIBYTE: usize = 1 << 20;
/// Memory for the buffers below.
const MEMORY: &str = "MEMORY=400000000";

/// Distinct values that depend on the seed.
fn values(length: usize, seed: u32) -> Vec<u32> {
    (0..length as u32).map(|i| (i ^ seed).wrapping_mul(2_654_435_761)).collect()
}

#[test]
fn values_of_any_length_are_copied() {
    with_stand_in("staged_copies::values_of_any_length_are_copied", &[MEMORY], &[], || {
        let device = open();
        let elements = MEBIBYTE / 4;
        let sizes = [0, 1, elements / 4 - 1, elements / 4, elements - 1, elements, elements + 1];
        for (seed, length) in (0..).zip(sizes.into_iter().chain([3 * elements + 7, 4 * elements, 9 * elements + 1])) {
            let given = values(length, seed);
            let mut buffer = device.buffer_from_slice(&given).unwrap();
            assert!(buffer.to_vec().unwrap() == given, "{length}");
            let other = values(length, !seed);
            buffer.copy_from(&other).unwrap();
            let mut back = vec![0; length];
            buffer.copy_to(&mut back).unwrap();
            assert!(back == other, "{length}");
        }
    });
}

#[test]
fn parts_are_copied_and_the_rest_is_unchanged() {
    with_stand_in("staged_copies::parts_are_copied_and_the_rest_is_unchanged", &[MEMORY], &[], || {
        let device = open();
        let mut expected = values(3_000_000, 1);
        let mut buffer = device.buffer_from_slice(&expected).unwrap();
        let part = values(1_500_001, 2);
        buffer.copy_from_at(777, &part).unwrap();
        expected[777..777 + part.len()].copy_from_slice(&part);
        assert!(buffer.to_vec().unwrap() == expected);
        assert!(buffer.to_vec_at(500..2_000_003).unwrap() == expected[500..2_000_003]);
    });
}

#[test]
fn copies_and_launches_keep_their_order() {
    with_stand_in("staged_copies::copies_and_launches_keep_their_order", &[MEMORY], &[], || {
        let device = open();
        let length = 5 * MEBIBYTE / 4 + 1;
        let config = LaunchConfig::new(1, 32);
        let round = |factor: f32| {
            let mut x = device.buffer_from_slice(&vec![factor; length]).unwrap();
            device.launch(&scale, config, (&mut x, 2.0, 0)).unwrap();
            assert!(x.to_vec().unwrap() == vec![2.0 * factor; length]);
            // The copy runs after this launch, and before the next one.
            device.launch(&scale, config, (&mut x, 3.0, 0)).unwrap();
            x.copy_from(&vec![1.0; length]).unwrap();
            device.launch(&scale, config, (&mut x, 5.0, 0)).unwrap();
            assert!(x.to_vec().unwrap() == vec![5.0; length]);
        };
        let first = calls_during(|| round(1.0));
        assert_eq!(first.iter().filter(|call| *call == "lock 1048576 bytes").count(), 4);
        // The fifth chunk of an upload reuses the page-locked memory of the first. A launch in
        // between has completed the others.
        let copy = |direction: &str, bytes| {
            [format!("copy {bytes} bytes {direction} the device, stream 1"), "record stream 1".to_owned()]
        };
        let wait = || vec!["wait for 1 copies".to_owned()];
        let (whole, last) = (|direction| copy(direction, MEBIBYTE).to_vec(), |direction| copy(direction, 4).to_vec());
        let [to, from] = ["to", "from"].map(whole);
        let up = [vec![to.clone(); 4].concat(), wait(), to, wait(), last("to")].concat();
        let down =
            [vec![from.clone(); 4].concat(), wait(), from, wait(), last("from"), vec![wait(); 4].concat()].concat();
        let launch = vec!["launch scale".to_owned()];
        let expected = [&up, &launch, &down, &launch, &up, &launch, &down].map(Clone::clone).concat();
        assert_eq!(calls_during(|| round(-1.0)), expected);
    });
}

#[test]
fn small_copies_and_page_locked_memory_are_left_to_the_driver() {
    with_stand_in("staged_copies::small_copies_and_page_locked_memory_are_left_to_the_driver", &[MEMORY], &[], || {
        let device = open();
        let small = vec![1_u8; (256 << 10) - 1];
        let mut buffer = device.uninitialized(small.len()).unwrap();
        let calls = calls_during(|| {
            buffer.copy_from(&small).unwrap();
            assert!(buffer.to_vec().unwrap() == small);
        });
        assert_eq!(calls, ["copy 262143 bytes to the device", "copy 262143 bytes from the device"]);
        let staged = calls_during(|| drop(device.buffer_from_slice(&[1_u8; 256 << 10]).unwrap()));
        assert!(staged.contains(&"copy 262144 bytes to the device, stream 1".to_owned()), "{staged:?}");

        let mut buffer = device.uninitialized::<u8>(2 * MEBIBYTE).unwrap();
        let empty = device.pinned::<u8>(0).unwrap();
        let mut locked = device.pinned::<u8>(2 * MEBIBYTE).unwrap();
        drop(empty);
        locked[MEBIBYTE] = 9;
        let calls = calls_during(|| {
            buffer.copy_from(&locked).unwrap();
            locked.fill(0);
            buffer.copy_to(&mut locked).unwrap();
            buffer.copy_from_at(0, &locked[MEBIBYTE..]).unwrap();
        });
        assert_eq!(
            calls,
            [
                "copy 2097152 bytes to the device",
                "copy 2097152 bytes from the device",
                "copy 1048576 bytes to the device"
            ]
        );
        assert_eq!(buffer.to_vec_at(0..1).unwrap(), [9]);
        drop(locked);
        // It is locked only once, and is zeroed again.
        let calls = calls_during(|| assert!(*device.pinned::<u32>(MEBIBYTE / 2).unwrap() == vec![0; MEBIBYTE / 2]));
        assert_eq!(calls, [""; 0]);
        // Memory that may have the same addresses as the locked memory.
        let pageable = vec![7_u8; 2 * MEBIBYTE];
        let calls = calls_during(|| buffer.copy_from(&pageable).unwrap());
        assert_eq!(calls.iter().filter(|call| call.ends_with("stream 1")).count(), 4, "{calls:?}");
    });
}

/// Uploads and downloads 6 MiB in 12 copies; the first `copies` of them succeed.
fn a_copy_fails(test: &str, copies: &str) {
    with_stand_in(test, &[MEMORY], &[("STAND_IN_COPIES", copies)], || {
        let device = open();
        let given = values(6 * MEBIBYTE / 4, 0);
        let copied = device.buffer_from_slice(&given).and_then(|buffer| buffer.to_vec());
        let error = copied.unwrap_err().to_string();
        assert!(error.ends_with("illegal address (CUDA error 700)"), "{error}");
        assert!(device.buffer_from_slice(&given).is_err(), "the error is sticky");
        drop(device);
        assert!(!all_calls().iter().any(|call| call.contains("in use")));
    });
}

#[test]
fn a_failed_upload_is_an_error() {
    a_copy_fails("staged_copies::a_failed_upload_is_an_error", "3");
}

#[test]
fn a_failed_download_is_an_error() {
    a_copy_fails("staged_copies::a_failed_download_is_an_error", "9");
}
