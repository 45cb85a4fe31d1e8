//! Kernels that fail a check of the language report the same error text on all devices.

use crate::interpreters::on_every_device;
use cuda_launch::Overflow;
use cuda_std::LaunchConfig;
use cuda_std::simulator::{FaultKind, LaunchError};
use gpu::{Device, Error};
use test_kernels::panicking::{PANICS, overflowing, panicking};

/// The error text and the source line.
fn fault_of(error: &Error) -> (String, u32) {
    match (error, error.ptx_fault()) {
        (Error::Simulator(error), _) => {
            let LaunchError::Fault(fault) = &**error else { panic!("{error}") };
            (fault.kind.to_string(), fault.location.line)
        }
        (_, Some(fault)) => {
            let line = fault.place.source.as_ref().map_or(0, |source| source.line);
            (fault.kind.to_string(), line)
        }
        _ => panic!("{error}"),
    }
}

#[test]
fn all_devices_say_why_a_check_has_failed() {
    let mut said = Vec::new();
    for (way, numbers) in PANICS {
        let mut results = on_every_device(&panicking, |device: &Device| {
            // A trap makes the GPU unusable for the process.
            (!device.is_gpu()).then(|| {
                let (x, mut out) = (device.buffer_from_slice(&numbers).unwrap(), device.zeroed(1).unwrap());
                fault_of(&device.launch(&panicking, LaunchConfig::new(1, 1), (way, &x, &mut out)).unwrap_err())
            })
        })
        .into_iter();
        let (_, expected) = results.next().unwrap();
        let (expected, line) = expected.unwrap();
        for (device, result) in results {
            let Some((message, of_ptx)) = result else { continue };
            assert_eq!(message, expected, "way {way} of {numbers:?} on {device}");
            // The simulator reports a line in `core` if the panic occurs there.
            let is_inlined = [19, 21, 22, 23, 25].contains(&way);
            assert!(of_ptx == line || is_inlined, "way {way} of {numbers:?} on {device}: {of_ptx}, not {line}");
        }
        said.push(expected);
    }
    let expected = [
        "panic: attempt to divide by zero",
        "panic: attempt to divide with overflow",
        "panic: attempt to calculate the remainder with a divisor of zero",
        "panic: attempt to calculate the remainder with overflow",
        "panic: index out of bounds: the len is 5 but the index is 9",
        "panic: index out of bounds: the len is 5 but the index is 18446744073709551615",
        "panic: index out of bounds: the len is 8 but the index is 8",
        "panic: range end index 9 out of range for slice of length 5",
        "panic: slice index starts at 3 but ends at 2",
        "panic: range start index 7 out of range for slice of length 5",
        "panic: internal error: entered unreachable code",
        "panic: internal error: entered unreachable code: no such thing",
        "panic: not yet implemented",
        "panic: not implemented: \"later\" {}",
        "panic: at least three",
        "panic: called `Option::unwrap()` on a `None` value",
        "panic: too large",
        "panic: assertion failed: a < b",
        "panic: argument of integer logarithm must be positive",
        "panic: attempt to divide by zero",
        "panic: a tile has 1, 2, 4, 8, 16 or 32 lanes",
        "index 4 is outside of `out`, which has 1 element",
        "index 2 is outside of `x`, which has 2 elements",
        "index 18446744073709551615 is outside of `x`, which has 2 elements",
        "index 33 is outside of the shared array, which has 33 elements",
        "index 32 is outside of the shared array, which has 32 elements",
        "panic: rows of 0 elements",
        "panic: assertion failed: step != 0",
        "panic: copy_from_slice: source slice length (3) does not match destination slice length (2)",
        "panic: mid > len",
        "panic: chunk size must be non-zero",
        "panic: a \"positive\" number\n",
        "range 3..2 of `x`: the start, 3, is beyond the end, 2",
        "range 0..5 of `x`: the end, 5, is beyond the length, 2",
        "range 3..1 of `x`: the start, 3, is beyond the end, 1",
        "panic: from_digit: radix is too high (maximum 36)",
    ];
    assert_eq!(said, expected);
}

/// The simulator reports overflows that wrap in PTX, because a build with debug assertions has
/// overflow checks.
#[test]
fn an_overflow_is_a_finding_of_its_own() {
    let ways = [
        ([i32::MAX, 1], Overflow::Add, i32::MIN),
        ([i32::MIN, 1], Overflow::Subtract, i32::MAX),
        ([1 << 30, 4], Overflow::Multiply, 0),
        ([i32::MIN, 0], Overflow::Negate, i32::MIN),
        ([5, 33], Overflow::ShiftLeft, 10),
        ([5, 33], Overflow::ShiftRight, 2),
        ([i32::MIN, 0], Overflow::Negate, i32::MIN),
        ([3, 30], Overflow::Multiply, 3_i32.wrapping_pow(30)),
        ([i32::MAX, 0], Overflow::Add, i32::MIN),
        ([-1, 3], Overflow::Multiply, -3),
    ];
    for (way, (numbers, overflow, wrapped)) in ways.into_iter().enumerate() {
        on_every_device(&overflowing, |device: &Device| {
            let (x, mut out) = (device.buffer_from_slice(&numbers).unwrap(), device.zeroed(1).unwrap());
            let launched = device.launch(&overflowing, LaunchConfig::new(1, 1), (way as u32, &x, &mut out));
            match launched.and_then(|_| out.to_vec()) {
                Err(Error::Simulator(error)) => {
                    let LaunchError::Fault(fault) = *error else { panic!("{error}") };
                    assert_eq!(fault.kind, FaultKind::Overflow(overflow), "way {way}");
                }
                result => {
                    assert!(device.name() != Device::simulator().name() || !cfg!(debug_assertions), "way {way}");
                    assert_eq!(result.unwrap(), [wrapped], "way {way} on {}", device.name());
                }
            }
        });
    }
}
