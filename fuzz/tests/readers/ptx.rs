//! PTX modules, loaded into the interpreter and run for a limited number of instructions.

use cuda_std::LaunchConfig;
use ptx_interpreter::{Machine, Options};

use crate::cases::Answer;
use crate::edits::{Input, edit_text, pick};

/// Maximum number of instructions that the warps of a block may issue.
const INSTRUCTIONS: u64 = 3_000;
/// Small modules, written by hand or produced by several compilers.
const MODULES: [&str; 9] = [
    include_str!("../../../rust-cuda/gpu/tests/support/kernels.ptx"),
    include_str!("../../../rust-cuda/gpu/tests/interpreter/interpreters/bugs_of_ptx.ptx"),
    include_str!("../../../rust-cuda/ptx-interpreter/tests/fixtures/lines.sm_75.ptx"),
    include_str!("../../../rust-cuda/ptx-interpreter/tests/foreign/ptx/bitonic_sort.clang.sm_75.ptx"),
    include_str!("../../../rust-cuda/ptx-interpreter/tests/foreign/ptx/compaction.clang.sm_75.ptx"),
    include_str!("../../../rust-cuda/ptx-interpreter/tests/foreign/ptx/last_block_adds_up.nvrtc.sm_75.ptx"),
    include_str!("../../../rust-cuda/ptx-interpreter/tests/foreign/ptx/prefix_sums_by_shuffles.nvrtc.sm_75.ptx"),
    include_str!("../../../rust-cuda/ptx-interpreter/tests/foreign/ptx/largest.numba.sm_75.ptx"),
    include_str!("../../../rust-cuda/ptx-interpreter/tests/foreign/ptx/softmax.triton.sm_90.ptx"),
];

/// A module is rejected, or its kernels end with a result or an error.
pub(crate) fn reader() -> impl Fn(&Input) -> Answer {
    move |input| {
        let mut file = pick(&MODULES, input.file).as_bytes().to_vec();
        edit_text(input, &mut file, &[b".reg", b"@%p1 ", b"//"]);
        let Ok(mut machine) = Machine::new(&String::from_utf8_lossy(&file)) else { return Answer::Rejected };
        if machine.refused().next().is_some() {
            return Answer::Rejected;
        }
        let kernels: Vec<String> = machine.kernels().take(2).map(str::to_owned).collect();
        if let Err(fault) = kernels.iter().try_for_each(|kernel| launch(&mut machine, kernel)) {
            assert!(!fault.trim().is_empty(), "a fault says something");
        }
        Answer::Accepted
    }
}

/// Runs a kernel with one slice per pair of parameters: the address of a buffer, then a length.
fn launch(machine: &mut Machine, kernel: &str) -> Result<(), String> {
    const BYTES: u64 = 1 << 10;
    let count = machine.parameter_count(kernel).unwrap_or(0).min(64);
    let address = machine.allocate(BYTES).map_err(|error| error.to_string())?;
    let zeros = vec![0; BYTES as usize];
    machine.memory().write(address, &zeros).map_err(|error| error.to_string())?;
    let parameters: Vec<[u8; 64]> = (0..count)
        .map(|parameter| {
            let value: u64 = if parameter % 2 == 0 { address } else { 64 };
            let mut bytes = [0; 64];
            bytes[..8].copy_from_slice(&value.to_le_bytes());
            bytes
        })
        .collect();
    let parameters: Vec<&[u8]> = parameters.iter().map(|bytes| &bytes[..]).collect();
    let options = Options { check_races: true, block_instructions: INSTRUCTIONS, ..Options::default() };
    let report = machine.launch(options, kernel, LaunchConfig::new(1, 33), &parameters);
    report.map(drop).map_err(|error| error.to_string())
}
