//! Launch files of the debugger and the checker.

use std::fs;
use std::path::Path;

use kernel_launch::LaunchFile;
use ptx_interpreter::Options;

use crate::cases::{Answer, rejected, scratch};
use crate::edits::{Input, edit_bytes, edit_text, pick};

/// Maximum number of instructions that the warps of a block may issue.
const INSTRUCTIONS: u64 = 3_000;
/// Maximum number of threads of a launch that is run.
const THREADS: u64 = 1 << 12;

/// Kernels with errors to find: one buffer, shared memory and barriers.
const PTX: &str = include_str!("../../../rust-cuda/seeded_bugs/ptx/seeded_bugs.sm_75.ptx");
const NAMES: &[u8] = include_bytes!("../../../rust-cuda/seeded_bugs/ptx/seeded_bugs.sm_75.debug");

/// The fields of a launch file, with each way to fill a buffer.
const FILES: [&str; 4] = [
    include_str!("../../../rust-cuda/kernel-debugger/launches/missing_second_barrier.json"),
    r#"{
  "ptx": "a.ptx", "kernel": "missing_second_barrier", "grid": [2, 1, 1], "block": [64, 1, 1], "order": "descending@3",
  "arguments": [{"name": "out", "type": "u32", "shape": [8, 16], "values": "index"}]
}"#,
    r#"{
  "ptx": "a.ptx", "kernel": "missing_second_barrier", "block": [64, 1, 1], "dynamic_shared_bytes": 16,
  "arguments": [{"name": "out", "type": "u32", "shape": [4], "values": [1, 2, 3, 4]}]
}"#,
    r#"{
  "ptx": "a.ptx", "kernel": "missing_second_barrier", "block": [32, 2, 1],
  "arguments": [{"name": "out", "type": "f32", "shape": [64], "values": 0.5}]
}"#,
];

/// A launch is rejected, or ends with a result or an error.
pub(crate) fn reader() -> impl Fn(&Input) -> Answer {
    let folder = scratch();
    let path = folder.path().join("launch.json");
    write_ptx(folder.path());
    move |input| {
        let mut file = of_this_folder(pick::<&str>(&FILES, input.file)).into_bytes();
        edit_text(input, &mut file, &[b"\"", b"{", b"//"]);
        if input.choice >= 192 {
            edit_bytes(&input.bytes, &mut file);
        }
        fs::write(&path, &file).unwrap();
        let launch = match LaunchFile::open(&path) {
            Ok(launch) => launch,
            Err(error) => return rejected(error, folder.path()),
        };
        let (grid, block) = (launch.config().grid, launch.config().block);
        let sizes = [grid.x, grid.y, grid.z, block.x, block.y, block.z];
        let threads = sizes.into_iter().fold(1, |threads: u64, size| threads.saturating_mul(size.into()));
        if threads <= THREADS {
            let options = Options { check_races: true, block_instructions: INSTRUCTIONS, ..Options::default() };
            if let Err(error) = launch.check(options) {
                assert!(!error.to_string().trim().is_empty(), "an error says something");
            }
        }
        Answer::Accepted
    }
}

/// Puts the module and its debug names beside the launch files.
pub(crate) fn write_ptx(folder: &Path) {
    fs::write(folder.join("a.ptx"), PTX).unwrap();
    fs::write(folder.join("a.debug"), NAMES).unwrap();
}

/// A launch file that names the module beside it.
pub(crate) fn of_this_folder(file: &str) -> String {
    file.replace("../../seeded_bugs/ptx/seeded_bugs.sm_75.ptx", "a.ptx")
}
