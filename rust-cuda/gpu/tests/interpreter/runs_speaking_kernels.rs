//! Kernels that print and panic produce the same text on all devices.

use std::process::Command;

use crate::interpreters::on_every_device;
use cuda_std::LaunchConfig;
use cuda_std::simulator::{FaultKind, LaunchError};
use gpu::{Device, Error};
use test_kernels::speaking::{WAYS, panics, says, says_too_much};

/// Set for the process that prints.
const PRINTS: &str = "SPEAKING_KERNELS_PRINT";

/// Launches `says` on each device, after printing the device's name.
#[test]
fn prints() {
    if std::env::var_os(PRINTS).is_none() {
        return;
    }
    on_every_device(&says, |device| {
        println!("\ndevice: {}", device.name());
        let x = device.buffer_from_slice(&[1.5, -2.0, f32::NAN, 1e9, 0.1]).unwrap();
        let mut doubled = device.uninitialized(5).unwrap();
        device.launch(&says, LaunchConfig::new(2, 3), (&x, &mut doubled)).unwrap();
        device.synchronize().unwrap();
        println!("\nend");
    });
}

#[test]
fn all_devices_print_the_same() {
    let test = "runs_speaking_kernels::prints";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(PRINTS, "1");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let lines_of = |device: &str| -> Vec<String> {
        let said = device.lines().skip(1).take_while(|line| *line != "end").filter(|line| !line.is_empty());
        let mut lines: Vec<String> = said.map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let devices: Vec<&str> = text.split("\ndevice: ").skip(1).collect();
    assert!(devices.len() >= 3, "{text}");
    let expected = [1.5_f32, -2.0, f32::NAN, 1e9, 0.1].into_iter().enumerate().flat_map(|(i, x)| {
        let place = format!("block ({}, 0, 0), thread ({}, 0, 0)", i / 3, i % 3);
        let (doubled, is_even, long) = (f64::from(x) * 2.0, i % 2 == 0, (i as u128) << 100);
        [
            format!("{place}: x[{i}] = {x:>8.3} {{{x:?}}}, {:?}, ä", [i as i8 - 3, 7]),
            format!("{place}: twice: {doubled}, {is_even}"),
            format!("{place}: {i:#06x} squared is {:e}, {long}", i * i),
        ]
    });
    let mut expected: Vec<String> = expected.collect();
    expected.sort_unstable();
    for device in devices {
        assert_eq!(lines_of(device), expected, "{device}");
    }
}

/// The message, block and thread of a panic, and its source line.
fn panic_of(error: &Error) -> (String, String) {
    match (error, error.ptx_fault()) {
        (Error::Simulator(error), _) => {
            let LaunchError::Fault(fault) = &**error else { panic!("{error}") };
            let FaultKind::Panic { message } = &fault.kind else { panic!("{fault}") };
            let line = format!("{}:{}", fault.location.file, fault.location.line);
            (format!("{} {}: {message}", fault.block, fault.thread), line)
        }
        (_, Some(fault)) => {
            let ptx_interpreter::FaultKind::Panic { message } = &fault.kind else { panic!("{fault}") };
            let source = fault.place.source.as_ref().unwrap_or_else(|| panic!("no source line: {fault}"));
            let (block, thread) = (fault.block, fault.thread);
            (format!("{block} {thread}: {message}"), format!("{}:{}", source.file, source.line))
        }
        _ => panic!("{error}"),
    }
}

#[test]
fn all_devices_panic_with_the_same_words() {
    let mut said = Vec::new();
    for way in 0..WAYS {
        let x = [0, 1, 2, 5];
        let mut results = on_every_device(&panics, |device: &Device| {
            // A panic makes the GPU unusable for the process. `on_a_gpu` tests it in a separate
            // process.
            if device.is_gpu() {
                return None;
            }
            let (x, mut out) = (device.buffer_from_slice(&x).unwrap(), device.zeroed(4).unwrap());
            let config = LaunchConfig::new(2, 2);
            Some(panic_of(&device.launch(&panics, config, (way, &x, &mut out)).unwrap_err()))
        })
        .into_iter();
        let (_, expected) = results.next().unwrap();
        for (device, result) in results.filter(|(_, result)| result.is_some()) {
            assert_eq!(result, expected, "way {way} on {device}");
        }
        said.push(expected.unwrap().0);
    }
    let expected = [
        "assertion failed: element < 3",
        "x[3] is 5",
        "assertion `left == right` failed\n  left: 5\n right: 2",
        "not equal: 5",
        "assertion `left != right` failed\n  left: 3\n right: 3",
        "called `Option::unwrap()` on a `None` value",
        "less than {3}",
        "called `Option::unwrap()` on a `None` value",
        "explicit panic",
        "element 5.0",
    ];
    assert_eq!(said, expected.map(|message| format!("(1, 0, 0) (1, 0, 0): {message}")));
}

#[test]
fn what_has_no_room_is_said_to_be_lost() {
    for ptx in gpu_testing::fresh_ptx(&test_kernels::PTX) {
        let machine = ptx_interpreter::Machine::new(ptx.text()).unwrap();
        for (blocks, lines) in [(1, 3_u32), (250, 90), (1, 2)] {
            let options = ptx_interpreter::Options { check_races: false, ..Default::default() };
            let config = LaunchConfig::new(blocks, 1);
            machine.launch(options, "says_too_much", config, &[&lines.to_le_bytes()]).unwrap();
            let printed: Vec<String> = machine.take_printed().iter().map(ToString::to_string).collect();
            let lost = "block (249, 0, 0), thread (0, 0, 0): … and more, which had no room in the buffer of messages";
            assert_eq!(printed.last().unwrap() == lost, blocks == 250, "{:?}", printed.last());
            if blocks == 1 {
                assert_eq!(printed.len(), lines as usize);
                assert_eq!(printed[1], "block (0, 0, 0), thread (0, 0, 0): 1");
            }
        }
    }
}

#[test]
fn the_simulator_prints_too() {
    Device::simulator().launch(&says_too_much, LaunchConfig::new(1, 1), (2,)).unwrap();
}
