//! After its first call, a GPU function with copies allocates, frees and fills nothing. Its copies
//! and launches have a fixed order.
//!
//! The driver is the stand-in, which logs its calls and runs no kernel.

#[path = "../../../rust-cuda/gpu/tests/support/stand_in.rs"]
mod stand_in;

use std::path::Path;
use std::process::Command;

use activation_functions::fused_gpu;
use gpu::{Device, DeviceChoice};
use matmul_functions::matmul_transpose_gpu;
use max_functions::max_gpu;
use ndarray::Array2;
use test_support::{in_own_process, is_own_process};

/// Calls `function` three times in a separate process that has the stand-in as its driver. Compares
/// the driver calls of the last two with `expected`.
fn check(test: &str, function: impl Fn(&Device), expected: &[Vec<String>]) {
    let test = format!("functions_with_copies::{test}");
    let body = || {
        let device = Device::open(DeviceChoice::Cuda, &kernels_gpu::PTX).unwrap();
        function(&device);
        assert!(logged().iter().any(|call| call.starts_with("allocate")), "{:?}", logged());
        for _ in 0..2 {
            let before = logged().len();
            function(&device);
            let calls = logged().split_off(before);
            assert_eq!(calls, expected.concat());
        }
    };
    if is_own_process() {
        return body();
    }
    if !gpu_testing::require_ptx(&kernels_gpu::PTX) {
        return;
    }
    let name = test.replace("::", "_");
    let Some(driver) = stand_in::compile(&name, &["MEMORY=400000000", "RESIDENT=8"]) else { return };
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.log", std::process::id()));
    let set_up = |child: &mut Command| {
        child.env("CUDA_DRIVER_LIBRARY", driver).env("STAND_IN_LOG", &log);
        child.env_remove("GPU_LAUNCH_BLOCKING").env_remove("GPU_MEMORY_POOL");
    };
    in_own_process(&test, set_up, body);
    let _ = std::fs::remove_file(log);
}

/// The driver calls so far. Launches are listed without their shapes.
fn logged() -> Vec<String> {
    let text = std::fs::read_to_string(std::env::var_os("STAND_IN_LOG").unwrap()).unwrap();
    text.lines().map(|line| line.split(" grid").next().unwrap_or(line).to_owned()).collect()
}

/// The calls for a copy "to" or "from" the device through four one-mebibyte chunks. A fifth chunk
/// would wait for the first.
fn copy(direction: &str, bytes: usize) -> Vec<[String; 2]> {
    const CHUNK: usize = 1 << 20;
    let chunks = (0..bytes).step_by(CHUNK).map(|first| CHUNK.min(bytes - first));
    let call = |bytes| format!("copy {bytes} bytes {direction} the device, stream 1");
    chunks.map(|bytes| [call(bytes), "record stream 1".to_owned()]).collect()
}

fn wait() -> String {
    "wait for 1 copies".to_owned()
}

/// The calls for a download: all chunks are queued at once.
fn download(bytes: usize) -> Vec<String> {
    let queued = copy("from", bytes);
    [queued.concat(), vec![wait(); queued.len()]].concat()
}

#[test]
fn the_maximum() {
    let [a, b] = [1, 2].map(|value| Array2::from_elem((1000, 1000), value));
    let function = |device: &Device| drop(max_gpu(device, &a, &b).unwrap());
    let up = copy("to", 4_000_000);
    // The second matrix's chunks wait for the first matrix's.
    let second = up.iter().flat_map(|calls| [&[wait()], &calls[..]].concat()).collect();
    let launch = vec!["launch max_kernel".to_owned()];
    check("the_maximum", function, &[up.concat(), second, launch, download(4_000_000)]);
}

#[test]
fn the_product() {
    let x = Array2::from_elem((300, 700), 1.0_f32);
    let function = |device: &Device| drop(matmul_transpose_gpu(device, &x).unwrap());
    check(
        "the_product",
        function,
        &[copy("to", 840_000).concat(), vec!["launch matmul_one_block_tensor_f32".to_owned()], download(360_000)],
    );
}

/// Values are packed into page-locked memory for the driver to copy.
#[test]
fn the_activation() {
    let values = vec![1.0_f32; 500_000];
    let function = |device: &Device| drop(fused_gpu(device, &values, &values).unwrap());
    let [up, down] = ["to", "from"].map(|direction| format!("copy 2000000 bytes {direction} the device"));
    check(
        "the_activation",
        function,
        &[vec![up.clone(), up, "launch normalize_weigh_activate_kernel".to_owned(), down]],
    );
}
