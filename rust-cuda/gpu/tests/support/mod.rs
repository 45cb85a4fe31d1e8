//! The tests' kernels, and the driver library that runs them.
//!
//! A process opens the driver library only once. To choose it, the test executable therefore
//! restarts itself with the library's name in the environment, and runs the one test there.

#![allow(dead_code, reason = "each test uses some of it")]

mod stand_in;

use std::path::Path;
use std::process::Command;

use cuda_std::{GlobalMut, kernel, thread};
use gpu::{Buffer, Device, DeviceChoice, PinnedBuffer, PtxVariant};
use test_support::{in_own_process, is_own_process};

/// out[i] = max(a[i], b[i]).
#[kernel]
pub fn vector_max(a: &[f32], b: &[f32], out: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        out.set(i, a[i].max(b[i]));
    }
}

/// x[i] = factor · x[i], for i ≥ from.
#[kernel]
pub fn scale(x: GlobalMut<f32>, factor: f32, from: u8) {
    let i = thread::index_1d() as usize;
    if i < x.len() && i >= from as usize {
        x.set(i, factor * x.get(i));
    }
}

/// Writes past the end of x.
#[kernel]
pub fn overrun(x: GlobalMut<f32>) {
    x.set(x.len(), 0.0);
}

/// A kernel that the PTX below lacks.
#[kernel]
pub fn absent(x: GlobalMut<f32>) {
    x.set(0, 1.0);
}

/// A kernel that has different parameters in the PTX below.
#[kernel]
pub fn changed(x: GlobalMut<f32>) {
    x.set(0, 1.0);
}

/// The kernels' PTX.
// SAFETY: handwritten to match the kernels above. `overrun` writes to address 0; it is launched
// only by tests in their own process.
#[allow(unsafe_code)]
pub(crate) static PTX: &[PtxVariant] = unsafe { &[PtxVariant::new((7, 5), include_str!("kernels.ptx"))] };

/// A buffer on the device and one in host memory, both checked to hold the values copied to them:
/// 4, 5, 6.
///
/// # Panics
/// If they hold other values.
pub(crate) fn checked_buffers(device: &Device) -> (Buffer<u32>, PinnedBuffer<u32>) {
    let mut buffer = device.buffer_from_slice(&[1_u32, 2, 3]).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [1, 2, 3]);
    buffer.copy_from(&[4, 5, 6]).unwrap();
    let mut back = device.pinned(3).unwrap();
    assert_eq!(*back, [0, 0, 0]);
    buffer.copy_to(&mut back).unwrap();
    assert_eq!(*back, [4, 5, 6]);
    (buffer, back)
}

/// A library that does not exist on any machine.
pub(crate) const ABSENT: &str = "no-such-libcuda.so.1";

/// Runs `body`, the body of the test `test`, in its own process, with `library` as the driver
/// library and `environment` set.
///
/// # Panics
/// If the test fails there, or there is no test of that name.
pub(crate) fn with_library(test: &str, library: &Path, environment: &[(&str, &str)], body: impl FnOnce()) {
    // The test simulates another machine, so its skipped tests do not count for this run.
    let name = format!("{}-{}", test.replace("::", "_"), std::process::id());
    let [log, skips] =
        ["log", "skips"].map(|extension| Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{extension}")));
    let set_up = |child: &mut Command| {
        child.env("SKIPPED_TESTS", &skips);
        child.env_remove("GPU_LAUNCH_BLOCKING").env_remove("GPU_MEMORY_POOL").env_remove("GPU_TESTS");
        child.env("CUDA_DRIVER_LIBRARY", library).env("STAND_IN_LOG", &log).envs(environment.iter().copied());
    };
    in_own_process(test, set_up, body);
    for file in [&log, &skips] {
        let _ = std::fs::remove_file(file);
    }
}

/// Runs `body`, the body of the test `test`, with the stand-in, compiled with `defines`, as the driver's library.
///
/// Without a C compiler the test is skipped.
///
/// # Panics
/// If the stand-in does not compile, or the test fails.
pub(crate) fn with_stand_in(test: &str, defines: &[&str], environment: &[(&str, &str)], body: impl FnOnce()) {
    if is_own_process() {
        return body();
    }
    if let Some(library) = stand_in::compile(&test.replace("::", "_"), defines) {
        with_library(test, &library, environment, body);
    }
}

/// The driver library's GPU, with the kernels above.
pub(crate) fn open() -> Device {
    Device::open(DeviceChoice::Cuda, PTX).expect("the driver has a GPU")
}

/// The calls that the stand-in has logged, one per line, except allocations, copies and fills.
pub(crate) fn calls() -> Vec<String> {
    let is_of_memory = |call: &String| ["allocate ", "copy ", "fill "].iter().any(|verb| call.starts_with(verb));
    all_calls().into_iter().filter(|call| !is_of_memory(call)).collect()
}

/// All calls that the stand-in has logged, one per line.
pub(crate) fn all_calls() -> Vec<String> {
    let path = std::env::var_os("STAND_IN_LOG").expect("the test runs with the stand-in");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The calls that the stand-in logged during `work`, one per line; launches are logged without
/// their parameters.
pub(crate) fn calls_during(work: impl FnOnce()) -> Vec<String> {
    let before = all_calls().len();
    work();
    all_calls().split_off(before).iter().map(|call| call.split(" grid").next().unwrap().to_owned()).collect()
}
