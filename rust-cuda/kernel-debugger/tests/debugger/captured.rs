//! A program's launch, captured and run again: buffers, values, configuration and results are the
//! same.

use gpu::{Capture, Device, InterpreterOptions, LaunchConfig};
use kernel_debugger::{End, Resume};
use kernel_launch::{Argument, Launch, LaunchFile};
use tempfile::TempDir;
use test_kernels::stepping;

use crate::support::{Case, is_stale, run};

/// A device that captures its first launch of a kernel.
fn device(kernel: Option<&str>) -> (TempDir, Capture, Device) {
    let directory = TempDir::new().unwrap();
    let capture = Capture::new(directory.path(), kernel);
    let device = Device::interpreter(&test_kernels::PTX[0], InterpreterOptions::default()).unwrap();
    device.capture(capture.clone());
    (directory, capture, device)
}

/// A captured launch of the maximum of eight ones.
fn captured_max() -> (TempDir, Capture) {
    let (directory, capture, device) = device(Some("max_kernel"));
    let a = device.buffer_from_slice(&[1; 8]).unwrap();
    let mut out = device.uninitialized(8).unwrap();
    device.launch(&stepping::max_kernel, LaunchConfig::new(1, 32), (&a, &a, &mut out)).unwrap();
    (directory, capture)
}

fn open(capture: &Capture) -> Launch {
    LaunchFile::open(&capture.launch_file()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_captured_launch_gives_the_same_result() {
    if is_stale() {
        return;
    }
    let (_directory, capture, device) = device(Some("max_kernel"));
    let values = |factor: i32| (0..1003).map(|i| (i * factor) % 257 - 128).collect::<Vec<i32>>();
    let (a, b) = (device.buffer_from_slice(&values(7)).unwrap(), device.buffer_from_slice(&values(31)).unwrap());
    let mut out = device.uninitialized(1003).unwrap();
    // Not the requested kernel.
    device.launch(&stepping::empty_kernel, LaunchConfig::new(1, 32), ()).unwrap();
    assert!(!capture.launch_file().exists());
    device.launch(&stepping::max_kernel, LaunchConfig::new(4, 256), (&a, &b, &mut out)).unwrap();
    let first = std::fs::read(capture.launch_file()).unwrap();
    // Only the first launch is captured.
    device.launch(&stepping::max_kernel, LaunchConfig::new(8, 128), (&b, &a, &mut out)).unwrap();
    assert_eq!(std::fs::read(capture.launch_file()).unwrap(), first);

    let case = Case::of(open(&capture));
    let launch = case.launch();
    assert_eq!((launch.kernel(), launch.config()), ("max_kernel", LaunchConfig::new(4, 256)));
    let names: Vec<&str> = launch.arguments().iter().map(Argument::name).collect();
    assert_eq!(names, ["a", "b", "out"]);
    let (end, _) = run(
        &case,
        |_, _| {},
        |_, _, stopped, _| {
            let is_written = |name| {
                let mut ranges = stopped.block.global();
                ranges.find(|range| range.extent.start == case.address(name)).unwrap().is_written(0, 1003 * 4)
            };
            // Bytes that the program has not written stay unwritten here.
            assert_eq!(["a", "b", "out"].map(is_written), [true, true, false]);
            Resume::Continue
        },
        Resume::Quit,
    );
    assert_eq!(end, End::Completed);
    let result: Vec<i32> = case.read("out").into_iter().map(i32::from_le_bytes).collect();
    let expected: Vec<i32> = values(7).into_iter().zip(values(31)).map(|(a, b)| a.max(b)).collect();
    assert_eq!(result, expected);
}

#[test]
fn a_captured_launch_has_the_names_of_its_kernel_only() {
    if is_stale() {
        return;
    }
    let (directory, capture) = captured_max();
    let ptx = std::fs::read_to_string(directory.path().join("kernels.ptx")).unwrap();
    assert!(!ptx.contains("debug information"));
    assert!(!open(&capture).debug_information().is_empty());

    let reason = || {
        let launch = open(&capture);
        assert!(launch.debug_information().is_empty());
        let reason = launch.debug_information().missing().unwrap().to_owned();
        assert_eq!(reason.lines().count(), 1, "{reason}");
        reason.replace(&format!("{}{}", directory.path().display(), std::path::MAIN_SEPARATOR), "")
    };
    let edited = ptx.replacen("\tret;\n}\n", "\tret;\n\tret;\n}\n", 1);
    let (before, entry) = ptx.split_once(".entry max_kernel(").unwrap();
    std::fs::write(directory.path().join("kernels.ptx"), edited).unwrap();
    assert!(before.contains(".entry") && !open(&capture).debug_information().is_empty(), "another kernel has changed");
    let entry = entry.replacen("\tret;", "\tbar.sync 0;\n\tret;", 1);
    std::fs::write(directory.path().join("kernels.ptx"), format!("{before}.entry max_kernel({entry}")).unwrap();
    let start = "functions and variables have no names: kernels.debug";
    assert_eq!(reason(), format!("{start} is of other PTX than max_kernel's; build both again"));
    std::fs::remove_file(directory.path().join("kernels.debug")).unwrap();
    assert!(reason().starts_with(&format!("{start}: ")));
}

#[test]
fn a_launch_may_be_captured_without_running() {
    if is_stale() {
        return;
    }
    let (_directory, capture, device) = device(None);
    device.capture(capture.clone().without_running());
    let a = device.buffer_from_slice(&[1; 8]).unwrap();
    let mut out = device.buffer_from_slice(&[7; 8]).unwrap();
    for expected in [7, 1] {
        device.launch(&stepping::max_kernel, LaunchConfig::new(1, 32), (&a, &a, &mut out)).unwrap();
        assert_eq!(out.to_vec().unwrap(), [expected; 8]);
    }
    assert_eq!(open(&capture).kernel(), "max_kernel");
}

#[test]
fn a_cooperative_launch_keeps_its_configuration_and_values() {
    if is_stale() {
        return;
    }
    let (_directory, capture, device) = device(None);
    let mut barrier = device.zeroed(1).unwrap();
    let config = LaunchConfig::new(3, 64).cooperative();
    device.launch(&stepping::grid_barriers, config, (2, &mut barrier)).unwrap();
    let case = Case::of(open(&capture));
    assert_eq!(case.launch().config(), config);
    assert!(
        matches!(&case.launch().arguments()[0], Argument::Value { bytes, .. } if u64::from_le_bytes(*bytes) == 2),
        "{:?}",
        case.launch().arguments()
    );
    let (end, _) = run(&case, |_, _| {}, |_, _, _, _| Resume::Continue, Resume::Quit);
    assert_eq!(end, End::Completed);
}

#[test]
fn files_of_a_capture_that_do_not_fit_are_refused() {
    if is_stale() {
        return;
    }
    let (directory, capture) = captured_max();
    let text = std::fs::read_to_string(capture.launch_file()).unwrap();
    let refusal = |text: &str| {
        std::fs::write(capture.launch_file(), text).unwrap();
        let message = LaunchFile::open(&capture.launch_file()).unwrap_err().to_string();
        assert_eq!(message.lines().count(), 1, "{message}");
        message
    };
    assert!(refusal(&text.replace("[0, 32]", "[0, 33]")).contains("[0, 33] is no range of its 32 bytes"));
    assert!(refusal(&text.replace("a.bin", "missing.bin")).contains("missing.bin: "));
    assert!(refusal(&text.replace("\"shape\": [8]", "\"shape\": [9]")).contains("a.bin has 32 bytes, the buffer 36"));
    let structure = text.replace(r#"{"name": "a","#, r#"{"name": "a", "bytes": "0g","#);
    assert!(refusal(&structure).contains("argument a: "));
    std::fs::write(directory.path().join("a.bin"), [0; 31]).unwrap();
    assert!(refusal(&text).contains("a.bin has 31 bytes, the buffer 32"));
}
