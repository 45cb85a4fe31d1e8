//! Random sequences of driver and runtime calls. None ends the process or blocks, and a program
//! that starts after each sequence gets correct results. The arguments keep the caller's promises:
//! a pointer is null or valid for the accesses, and freed memory is not used. Handles, numbers and
//! the order of calls are random.

#![allow(unsafe_code, reason = "calls of C functions")]
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};

use cuda_emulator::{Exported, exported};
use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};

const SEQUENCES: usize = 1000;
const CALLS: usize = 60;

/// Size of each of the test's buffers, larger than anything that a call reads or writes.
const BUFFER: usize = 1 << 17;
const BUFFERS: usize = 6;

const PTX: &str = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 value;\n.visible .entry k(.param .u64 p, \
    .param .u32 n)\n{\n.reg .b64 %a;\n.reg .b32 %r<2>;\nld.param.u64 %a, [p];\nld.param.u32 %r0, [n];\nld.global.u32 %r1, [%a];\n\
    add.u32 %r1, %r1, %r0;\nst.global.u32 [%a], %r1;\nret;\n}\n\0";

/// Functions that are not called because random arguments cannot fulfill their requirements.
const LEFT_OUT: [&str; 14] = [
    // A structure passed by value in memory, or with pointers that are followed.
    "cudaMalloc3D",
    "cudaMemset3D",
    "cudaMemset3DAsync",
    "cuLaunchKernelEx",
    "cudaLaunchKernelExC",
    "cuOccupancyMaxActiveClusters",
    "cuOccupancyMaxPotentialClusterSize",
    "cudaOccupancyMaxActiveClusters",
    "cudaOccupancyMaxPotentialClusterSize",
    // Arrays of pointers that are written to, or arrays with a length that is given by another
    // array.
    "cuPointerGetAttributes",
    "cuMemcpyBatchAsync",
    "cuMemcpyBatchAsync_v2",
    "cudaMemcpyBatchAsync",
    "cuMemcpyBatchAsync_v2_ptsz",
];

/// A function that the driver calls back.
extern "C" fn nothing(_: usize, _: usize, _: usize) -> usize {
    0
}

/// The results of the calls so far.
struct Caller {
    random: TestRng,
    buffers: Vec<Vec<u64>>,
    handles: Vec<u64>,
    addresses: BTreeSet<u64>,
}

impl Caller {
    /// Begins a sequence. The buffers are kept, since a buffer that a call registered must not be
    /// freed.
    fn begin(&mut self, seed: u64) {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        self.random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        self.buffers.iter_mut().for_each(|buffer| buffer.fill(0));
        self.handles.clear();
        self.addresses.clear();
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.random.next_u64() % limit as u64) as usize
    }

    fn one_of(&mut self, values: &[u64]) -> u64 {
        values[self.below(values.len())]
    }

    fn handle(&mut self) -> u64 {
        let known = self.handles.clone();
        let any = self.random.next_u64() >> self.below(64);
        match self.below(8) {
            0 => any,
            1 => self.one_of(&[0, 1, 2]),
            _ if known.is_empty() => 0,
            _ => self.one_of(&known),
        }
    }

    /// The argument for a parameter. `buffer` is the index of the test's buffer that a pointer may
    /// point to.
    fn argument(&mut self, name: &str, kind: &str, buffer: usize) -> u64 {
        let pointer = self.buffers[buffer].as_ptr() as u64;
        let or_null = |caller: &mut Self| if caller.below(8) == 0 { 0 } else { pointer };
        if kind.starts_with("Out") {
            return or_null(self);
        }
        if kind.starts_with("In") {
            let is_small = ["Handle", "HostNode", "RuntimeLaunchConfig", "Out"].iter().all(|name| !kind.contains(name));
            for word in 0..64 {
                self.buffers[buffer][word] = match is_small {
                    true => self.one_of(&[0, 1, 2, 4, 1 << 32 | 1, 4 << 32 | 1]),
                    false if kind.contains("Handle") => self.handle(),
                    false => 0,
                };
            }
            return or_null(self);
        }
        match kind {
            "Text" => {
                let texts = [c"k", c"value", c"", c"/nowhere", c"cuMemAlloc", c"0000:00:00.0"];
                texts[self.below(texts.len())].as_ptr() as u64
            }
            "HostAddress" if matches!(name, "image" | "code") => PTX.as_ptr() as u64,
            "HostAddress" => or_null(self),
            "Handle" => self.handle(),
            "usize" | "c_uint" | "c_int" if name.contains("count") || matches!(name, "height" | "room") => {
                self.one_of(&[0, 1, 2, 3])
            }
            "usize" if name.contains("pitch") || name == "width" => self.one_of(&[0, 1, 16, 64, 100]),
            "usize" => self.one_of(&[0, 1, 3, 4, 16, 1000, 4096, BUFFER as u64 / 2]),
            "u64" if name.contains("flag") || name == "value" => self.one_of(&[0, 1, 2, 7, 1 << 40]),
            "u64" => {
                let known: Vec<u64> = self.addresses.iter().copied().collect();
                match self.below(6) {
                    0 => or_null(self),
                    1 => self.one_of(&[0, 4, 1 << 40, u64::MAX]),
                    _ if known.is_empty() => 0,
                    _ => match self.one_of(&known) {
                        of_device if of_device < 1 << 41 => of_device + self.one_of(&[0, 0, 0, 4, 1000]),
                        // The memory behind a managed pointer does not belong to the caller.
                        managed => managed,
                    },
                }
            }
            _ if name.starts_with("grid_") || name.starts_with("block_") => {
                self.one_of(&[0, 1, 1, 1, 2, 3, u64::from(u32::MAX)])
            }
            "RawHostFunction" | "RawStreamCallback" | "RawBlockToShared" if self.below(8) != 0 => {
                nothing as *const () as u64
            }
            "RawHostFunction" | "RawStreamCallback" | "RawBlockToShared" => 0,
            _ => self.one_of(&[0, 0, 0, 1, 1, 2, 3, 4, 5, 8, 16, 32, 75, 2000, u64::from(u32::MAX)]),
        }
    }

    /// Calls a function and keeps its results.
    fn call(&mut self, function: Exported) -> c_int {
        let Exported { name, parameters, address } = function;
        let (mut arguments, mut outputs) = (Vec::new(), Vec::new());
        for (index, (parameter, kind)) in parameters.iter().enumerate() {
            let buffer = index % BUFFERS;
            let kind: String = kind.split_whitespace().collect();
            if kind == "Size3" {
                let [x, y, z] = [self.below(5), self.below(3), self.below(3)].map(|size| size as u64);
                arguments.extend([x | y << 32, z]);
                continue;
            }
            let argument = self.argument(parameter, &kind, buffer);
            if argument != 0 && matches!(&*kind, "Out<Handle>" | "Out<u64>" | "Out<usize>") {
                self.buffers[buffer][0] = 0;
                outputs.push((buffer, kind));
            }
            arguments.push(argument);
        }
        arguments.resize(16, 0);
        type Function = unsafe extern "C" fn(
            u64,
            u64,
            u64,
            u64,
            u64,
            u64,
            u64,
            u64,
            u64,
            u64,
            u64,
            u64,
            u64,
            u64,
            u64,
            u64,
        ) -> c_int;
        let a = &arguments;
        // SAFETY: the function takes at most 16 integers and pointers; extra arguments do no harm
        // in this calling convention. The pointers are null or point to buffers larger than what
        // the function reads and writes.
        let code = unsafe {
            std::mem::transmute::<*const c_void, Function>(address)(
                a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15],
            )
        };
        if code == 0 {
            if name.contains("Free") {
                arguments.iter().for_each(|argument| _ = self.addresses.remove(argument));
            }
            if name.contains("Reset") || name.contains("Destroy") || name.contains("Release") || name.contains("Pop") {
                self.addresses.clear();
            }
            for (buffer, kind) in outputs {
                let value = self.buffers[buffer][0];
                if kind == "Out<Handle>" {
                    self.handles.push(value);
                } else if kind == "Out<u64>" && name.contains("lloc") && value != 0 {
                    self.addresses.insert(value);
                }
            }
        }
        code
    }
}

/// Variable that is set in the process that makes the calls.
const CALLS_HERE: &str = "CUDA_EMULATOR_RANDOM_CALLS";

#[test]
fn no_sequence_of_calls_does_harm() {
    if std::env::var_os(CALLS_HERE).is_some() {
        return make_calls();
    }
    // This runs in a separate process: the emulator's messages about invalid calls matter only if
    // it fails.
    let mut process = std::process::Command::new(std::env::current_exe().unwrap());
    let output = process.env(CALLS_HERE, "1").arg("--nocapture").output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    let lines: Vec<&str> = said.lines().collect();
    let last = lines[lines.len().saturating_sub(60)..].join("\n");
    assert!(output.status.success(), "{}: {last}", output.status);
}

fn make_calls() {
    let functions: Vec<Exported> =
        exported().into_iter().filter(|function| !LEFT_OUT.contains(&function.name)).collect();
    assert!(functions.len() > 350, "{}", functions.len());
    let named =
        |name: &str| *functions.iter().find(|function| function.name == name).unwrap_or_else(|| panic!("{name}"));
    let mut successes = BTreeSet::new();
    let seed = test_support::seed(77);
    let mut caller = Caller {
        random: TestRng::from_seed(RngAlgorithm::ChaCha, &[0; 32]),
        buffers: vec![vec![0; BUFFER / 8]; BUFFERS],
        handles: Vec::new(),
        addresses: BTreeSet::new(),
    };
    for sequence in 0..SEQUENCES {
        caller.begin(seed.wrapping_add(sequence as u64));
        caller.call(named("cuInit"));
        for _ in 0..CALLS {
            // Functions that others depend on are called more often.
            let function = match caller.below(4) {
                0 => named(
                    [
                        "cuMemAlloc_v2",
                        "cudaMalloc",
                        "cuModuleLoadData",
                        "cuModuleGetFunction",
                        "cudaStreamCreate",
                        "cuGraphCreate",
                    ][caller.below(6)],
                ),
                _ => functions[caller.below(functions.len())],
            };
            if caller.call(function) == 0 {
                successes.insert(function.name);
            }
        }
    }
    assert!(successes.len() > 200, "{} of {} functions have ever succeeded", successes.len(), functions.len());
}

#[test]
fn no_sequence_of_calls_does_harm_in_an_asynchronous_order() {
    for order in ["1", "2", "3"] {
        let mut test = std::process::Command::new(std::env::current_exe().expect("the test's path"));
        test.args(["--exact", "no_sequence_of_calls_does_harm"]).env("CUDA_EMULATOR_ASYNC_ORDER", order);
        let output = test.output().expect("the test starts");
        assert!(output.status.success(), "{order}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
