//! The messages that a student reads when something is wrong, collected in one place. Each names
//! the kernel, the thread and the line, the element or the shape.

#![allow(clippy::while_immutable_condition, reason = "the loop has the mistake that a test looks for")]

use cuda_std::{GlobalMut, LaunchConfig, kernel, thread};
use gpu::{Buffer, Device, InterpreterOptions, PtxVariant, SimulatorOptions};
use kernel_debugger::record::{Options, record};
use kernel_debugger::{Breakpoints, Front, Resume, Session, Stopped};
use kernel_launch::LaunchFile;
use ptx_interpreter::{LaunchError, Machine};
use seeded_bugs::{missing_barrier, missing_second_barrier, off_by_one};
use teaching_tests::call;

/// Creates an interpreter with a crate's PTX.
fn interpreter(variants: &'static [PtxVariant]) -> Device {
    Device::interpreter(PtxVariant::newest(variants).unwrap(), InterpreterOptions::default()).unwrap()
}

/// Removes the PTX line and instruction, and the source column, from a message.
fn shortened(message: &str) -> String {
    let mut text = message.to_owned();
    while let Some((before, after)) = text.split_once("PTX line ") {
        let after = after.splitn(3, '`').nth(2).unwrap();
        text = format!("{before}{}", after.trim_start());
    }
    text
}

/// A student's kernel with a `>` that should be `>=`: it skips the first element.
#[kernel]
fn max_kernel(a: &[i32], b: &[i32], out: GlobalMut<i32>) {
    let i = thread::index_1d() as usize;
    if i > 0 && i < out.len() {
        out.set(i, if a[i] > b[i] { a[i] } else { b[i] });
    }
}

#[test]
fn an_element_that_a_kernel_never_wrote() {
    let device = Device::simulator();
    let x = device.buffer_from_slice(&[1; 40]).unwrap();
    let mut out: Buffer<i32> = device.uninitialized(40).unwrap();
    device.launch(&max_kernel, LaunchConfig::new(2, 32), (&x, &x, &mut out)).unwrap();
    let message = "element 0 of `out` was never written by `max_kernel` (1 of 40 elements)";
    assert_eq!(out.to_vec().unwrap_err().to_string(), message);
}

#[test]
fn a_panic_of_a_students_function_has_its_file_and_line() {
    let index = std::hint::black_box(3);
    let line = line!() + 1;
    let message = call(|| Ok::<_, String>([1, 2, 3][index])).unwrap_err();
    let place = format!("{}:{line}", file!().replace('\\', "/"));
    assert_eq!(message, format!("index out of bounds: the len is 3 but the index is 3 ({place})"));
}

#[test]
fn an_index_behind_the_end_on_the_simulator_and_from_ptx() {
    let run = |device: &Device| {
        let (x, mut out) = (device.buffer_from_slice(&[1.0; 1000]).unwrap(), device.uninitialized(1000).unwrap());
        let config = LaunchConfig::for_elements(1001, 256);
        device.launch(&off_by_one, config, (&x, &mut out)).unwrap_err().to_string()
    };
    let line = seeded_bugs::marked_line("off_by_one").unwrap();
    let start = "kernel off_by_one, block (3, 0, 0), thread (232, 0, 0), ";
    let simulated = run(&Device::simulator());
    assert!(simulated.starts_with(start), "{simulated}");
    let end = format!("seeded_bugs/src/lib.rs:{line}:17: index 1000 is outside of `x`, which has 1000 elements");
    assert!(simulated.ends_with(&end), "{simulated}");
    if gpu_testing::require_ptx(&seeded_bugs::PTX) {
        let interpreted = shortened(&run(&interpreter(&seeded_bugs::PTX)));
        let end = "index 1000 is outside of `x`, which has 1000 elements, in `i, x[i], // shows: off_by_one`";
        assert!(interpreted.ends_with(&format!("{start}(seeded_bugs/src/lib.rs:{line}:17): {end}")), "{interpreted}");
    }
}

#[test]
fn an_element_of_shared_memory_that_is_not_written_yet() {
    let run = |device: &Device| {
        let mut out = device.uninitialized(64).unwrap();
        device.launch(&missing_barrier, LaunchConfig::new(1, 64), (&mut out,)).unwrap_err().to_string()
    };
    let simulated = run(&Device::simulator());
    assert!(simulated.ends_with(": element 63 of the shared array is read before it is written"), "{simulated}");
    if gpu_testing::require_ptx(&seeded_bugs::PTX) {
        let interpreted = run(&interpreter(&seeded_bugs::PTX));
        assert!(
            interpreted.contains(": reads `values[63]`, which has never been written, in `let neighbour"),
            "{interpreted}"
        );
    }
}

#[test]
fn a_race_for_an_element_of_shared_memory() {
    if gpu_testing::require_ptx(&seeded_bugs::PTX) {
        let device = interpreter(&seeded_bugs::PTX);
        let mut out = device.uninitialized(64).unwrap();
        let error =
            device.launch(&missing_second_barrier, LaunchConfig::new(1, 64), (&mut out,)).unwrap_err().to_string();
        let race =
            "race: reads `values[31]`, which block (0, 0, 0), thread (31, 0, 0) writes at (seeded_bugs/src/lib.rs:";
        assert!(shortened(&error).contains(race), "{error}");
    }
}

#[kernel]
fn endless(out: GlobalMut<u32>) {
    let i = thread::thread_idx_x() as usize;
    let mut left = 3;
    while left != 0 {
        left = if left == 1 { 1 } else { left - 1 };
    }
    out.set(i, left);
}

#[test]
fn a_kernel_that_does_not_end_on_the_simulator_and_from_ptx() {
    let device = Device::simulator_with(SimulatorOptions { loop_iterations: 1 << 16, ..SimulatorOptions::default() });
    let mut out = device.uninitialized(1).unwrap();
    let error = device.launch(&endless, LaunchConfig::new(1, 1), (&mut out,)).unwrap_err().to_string();
    assert!(error.starts_with("kernel endless, block (0, 0, 0), thread (0, 0, 0), "), "{error}");
    let line = include_str!("messages.rs").lines().position(|line| line.contains("while left != 0 {")).unwrap() + 1;
    assert!(
        error.contains(&format!("messages.rs:{line}:")) && error.contains(": the kernel does not end: this loop"),
        "{error}"
    );

    const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"kernel.rs\"\n.visible .entry endless() {\n\
        .loc 1 7 5\nAGAIN: bra AGAIN;\n}\n";
    let error = Machine::new(PTX)
        .unwrap()
        .launch(InterpreterOptions::default(), "endless", LaunchConfig::new(1, 1), &[])
        .unwrap_err();
    assert!(matches!(error, LaunchError::Fault(_)));
    let error = shortened(&error.to_string());
    let start = "kernel endless, block (0, 0, 0), thread (0, 0, 0), (kernel.rs:7:5): the kernel does not end: \
        nothing changes in the loop around this line. Correct its condition";
    assert_eq!(error, start);
}

/// The debugger's page names the array and the element as they are declared.
#[test]
fn a_fault_in_the_debugger() {
    if gpu_testing::require_ptx(&seeded_bugs::PTX) {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rust-cuda");
        let launch = LaunchFile::open(&root.join("kernel-debugger/launches/missing_second_barrier.json")).unwrap();
        let fault = record(&launch, &Options::default()).unwrap().fault.unwrap();
        assert!(
            fault.contains("race: reads `values[31]`, which block (0, 0, 0), thread (31, 0, 0) writes at"),
            "{fault}"
        );
    }
}

/// The registers of lane 0 at the last stop.
struct Registers(Vec<String>);

impl Front for Registers {
    fn stopped(&mut self, stopped: &Stopped<'_>, _: &mut Breakpoints) -> Resume {
        let warp = stopped.block.warps().next().unwrap();
        let registers = stopped.registers(&warp, |_| true);
        self.0 =
            registers.map(|register| format!("{} {}", register.name, stopped.show_register(&register, 0))).collect();
        Resume::StepInstruction
    }

    fn completed(&mut self) -> Resume {
        Resume::Quit
    }

    fn is_interrupted(&mut self) -> bool {
        false
    }
}

/// Registers are printed in the type of their bits. Nothing tells the type of `%r3`, so it has two
/// values. `%f1` and `%r4` were never written.
#[test]
fn registers_in_the_debugger() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("forms.ptx"),
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry forms() {\n\
         .reg .f32 %f<2>; .reg .b32 %r<5>; .reg .pred %p<1>; .reg .b64 %rd<1>;\n\
         mov.f32 %f0, 0f3FC00000; mov.b32 %r0, -3; max.s32 %r1, %r0, -5; min.u32 %r2, %r0, 4294967295;\n\
         setp.gt.f32 %p0, %f0, 0f00000000; mov.b32 %r3, 1065353216; cvt.f64.f32 %rd0, %f0; ret;\n}\n",
    )
    .unwrap();
    let launch = folder.path().join("launch.json");
    std::fs::write(&launch, r#"{"ptx": "forms.ptx", "kernel": "forms", "block": [1, 1, 1], "arguments": []}"#).unwrap();
    let launch = LaunchFile::open(&launch).unwrap();
    let mut registers = Registers(Vec::new());
    Session::new(&launch).run(&mut registers).unwrap();
    let expected = [
        "%f0 1.5",
        "%f1 –",
        "%r0 -3",
        "%r1 -3",
        "%r2 4294967293",
        "%r3 1065353216 (f32 1)",
        "%r4 –",
        "%p0 true",
        "%rd0 1.5",
    ];
    assert_eq!(registers.0, expected);
}
