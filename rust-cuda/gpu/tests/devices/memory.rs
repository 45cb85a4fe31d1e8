//! A device keeps freed memory for buffers of the same size.

use crate::support::{PTX, calls_during, open, scale, vector_max, with_stand_in};
use gpu::{Device, DeviceChoice, LaunchConfig};

/// The number of calls that begin with `verb`.
fn count(calls: &[String], verb: &str) -> usize {
    calls.iter().filter(|call| call.starts_with(verb)).count()
}

#[test]
fn a_second_computation_of_the_same_shape_allocates_and_fills_nothing() {
    let test = "memory::a_second_computation_of_the_same_shape_allocates_and_fills_nothing";
    with_stand_in(test, &[], &[], || {
        let device = open();
        let compute = |factor: f32| {
            let a = device.buffer_from_slice(&[factor, 5.0, 3.0]).unwrap();
            let b = device.buffer_from_slice(&[4.0, 2.0, 6.0 * factor]).unwrap();
            let mut out = device.uninitialized(3).unwrap();
            device.launch(&vector_max, LaunchConfig::new(1, 32), (&a, &b, &mut out)).unwrap();
            // The launch that uses them is still queued.
            drop((a, b));
            assert_eq!(out.to_vec().unwrap(), [4.0_f32.max(factor), 5.0, 3.0_f32.max(6.0 * factor)]);
        };
        let first = calls_during(|| compute(1.0));
        assert_eq!(count(&first, "allocate"), 3);
        for factor in [7.0, -1.0] {
            assert_eq!(
                calls_during(|| compute(factor)),
                [
                    "copy 12 bytes to the device",
                    "copy 12 bytes to the device",
                    "launch vector_max",
                    "copy 12 bytes from the device"
                ]
            );
        }
        // Two live buffers have separate memory.
        let both = [1.0, 2.0].map(|value| device.buffer_from_slice(&[value; 3]).unwrap());
        assert_eq!(both.map(|buffer| buffer.to_vec().unwrap()), [[1.0; 3], [2.0; 3]]);
    });
}

#[test]
fn memory_is_reused_for_the_same_number_of_bytes_only() {
    with_stand_in("memory::memory_is_reused_for_the_same_number_of_bytes_only", &[], &[], || {
        let device = open();
        drop(device.buffer_from_slice(&[1.0_f32; 6]).unwrap());
        let others = calls_during(|| {
            for length in [5, 7] {
                drop(device.uninitialized::<f32>(length).unwrap());
            }
        });
        assert_eq!(others, ["allocate 20 bytes", "allocate 28 bytes"]);
        // Reuse with another element type, zeroed like a new buffer.
        let zeros = calls_during(|| assert_eq!(device.zeroed::<f64>(3).unwrap().to_vec().unwrap(), [0.0; 3]));
        assert_eq!(zeros, ["fill 24 bytes", "copy 24 bytes from the device"]);
        assert!(calls_during(|| drop(device.uninitialized::<f32>(0).unwrap())).is_empty());
    });
}

/// The stand-in has 1 MiB; an eighth of it is 131,072 bytes.
#[test]
fn the_oldest_memory_beyond_an_eighth_of_the_gpus_is_freed() {
    with_stand_in("memory::the_oldest_memory_beyond_an_eighth_of_the_gpus_is_freed", &[], &[], || {
        let device = open();
        let [first, second, third] = [60_000, 71_072, 8].map(|bytes| device.uninitialized::<u8>(bytes).unwrap());
        assert_eq!(count(&calls_during(|| drop((first, second))), "free"), 0, "they are an eighth together");
        assert_eq!(count(&calls_during(|| drop(third)), "free"), 1);
        let again = calls_during(|| drop([71_072, 8, 60_000].map(|bytes| device.uninitialized::<u8>(bytes).unwrap())));
        assert_eq!(count(&again, "allocate"), 1, "{again:?}");
        assert_eq!(again[0], "allocate 60000 bytes");
        let large = calls_during(|| drop(device.uninitialized::<u8>(131_073).unwrap()));
        assert_eq!(large.first().map(String::as_str), Some("allocate 131073 bytes"));
        assert_eq!(large.last().map(String::as_str), Some("free"), "it is larger than an eighth");
    });
}

#[test]
fn at_most_256_blocks_are_kept() {
    with_stand_in("memory::at_most_256_blocks_are_kept", &[], &[], || {
        let device = open();
        let buffers: Vec<_> = (0..260).map(|_| device.uninitialized::<u8>(16).unwrap()).collect();
        assert_eq!(count(&calls_during(|| drop(buffers)), "free"), 4);
    });
}

#[test]
fn kept_memory_is_freed_if_the_gpu_has_no_other() {
    with_stand_in("memory::kept_memory_is_freed_if_the_gpu_has_no_other", &[], &[], || {
        let device = open();
        let _held = device.uninitialized::<u8>(900_000).unwrap();
        for bytes in [50_000, 50_001] {
            drop(device.uninitialized::<u8>(bytes).unwrap());
        }
        let calls = calls_during(|| drop(device.uninitialized::<u8>(120_000).unwrap()));
        assert_eq!(calls, ["free", "free", "allocate 120000 bytes"]);
        let error = device.uninitialized::<u8>(200_000).unwrap_err().to_string();
        assert!(error.ends_with("200000 × 1 bytes: 148576 of its 1048576 bytes are free"), "{error}");
    });
}

#[test]
fn devices_share_no_memory() {
    with_stand_in("memory::devices_share_no_memory", &["DEVICES=2"], &[], || {
        let devices = [0, 1].map(|index| Device::open_one(DeviceChoice::Cuda, PTX, index).unwrap());
        for device in &devices {
            let calls = calls_during(|| drop(device.uninitialized::<u8>(16).unwrap()));
            assert_eq!(calls, ["allocate 16 bytes"]);
        }
        let end = calls_during(|| drop(devices));
        assert_eq!(count(&end, "free"), 2);
        assert_eq!(count(&end, "free in another context"), 0);
    });
}

#[test]
fn the_environment_turns_it_off() {
    with_stand_in("memory::the_environment_turns_it_off", &[], &[("GPU_MEMORY_POOL", "off")], || {
        let device = open();
        let mut x = device.buffer_from_slice(&[1.0]).unwrap();
        device.launch(&scale, LaunchConfig::new(1, 1), (&mut x, 2.0, 0)).unwrap();
        assert_eq!(calls_during(|| drop(x)), ["free"]);
    });
}
