//! PTX modules, loaded into the interpreter and run for a limited number of instructions.

use cuda_std::{LaunchConfig, PtxVariant};
use ptx_interpreter::{Machine, Options};

use crate::finding::{Case, Expected, Verdict};
use crate::mutate;
use crate::random::Random;
use crate::targets::Reader;

/// Maximum number of instructions that the warps of a block may issue.
const INSTRUCTIONS: u64 = 3_000;
/// Maximum size of a module in bytes: larger ones would make a case slow.
const MAX_BYTES: usize = 12_000;

/// The PTX of the toolchain's test kernels. As a dependency, they would build cuda_std with another feature.
const TEST_KERNELS: [&str; 2] = [
    include_str!("../../../../rust-cuda/test_kernels/ptx/test_kernels.sm_75.ptx"),
    include_str!("../../../../rust-cuda/test_kernels/ptx/test_kernels.sm_90.ptx"),
];

pub(super) struct Ptx {
    /// Modules with one kernel each.
    modules: Vec<String>,
}

impl Ptx {
    /// The short ones of the committed kernels, each in its own module.
    pub(super) fn new() -> Self {
        let committed = kernels_gpu::PTX.iter().map(PtxVariant::text).chain(TEST_KERNELS);
        let mut modules: Vec<String> = committed.flat_map(split).collect();
        modules.retain(|module| Machine::new(module).is_ok_and(|machine| machine.kernels().count() == 1));
        Self { modules }
    }
}

/// A module for each kernel: the lines before the first function, without long tables, and the kernel's text.
fn split(text: &str) -> Vec<String> {
    let mut blocks: Vec<Vec<&str>> = vec![vec![]];
    for line in text.lines().filter(|line| !line.starts_with("//")) {
        let begins = line.starts_with(".visible .entry") || line.starts_with(".func");
        if begins {
            blocks.push(vec![]);
        }
        if let Some(block) = blocks.last_mut() {
            block.push(line);
        }
    }
    let (head, blocks) = blocks.split_first().expect("blocks begins with the module's head");
    let head: Vec<&str> = head.iter().copied().filter(|line| line.len() < 2_000).collect();
    let kernels = blocks.iter().filter(|block| block[0].starts_with(".visible .entry"));
    let module = |block: &Vec<&str>| {
        // Debug information follows the last kernel, and belongs to all of them.
        let end = block.iter().position(|line| line.starts_with('}')).map_or(block.len(), |end| end + 1);
        let used = |line: &&&str| match line.split_once("__shared_").or(line.split_once("_RN")) {
            Some((_, name)) => block.iter().any(|text| text.contains(name.split('[').next().unwrap_or(name))),
            None => !line.is_empty(),
        };
        let head: Vec<&str> = head.iter().filter(used).copied().collect();
        format!("{}\n{}\n", head.join("\n"), block[..end].join("\n"))
    };
    kernels.map(module).filter(|module| module.len() <= MAX_BYTES).collect()
}

impl Reader for Ptx {
    fn case(&self, random: &mut Random) -> Case {
        let mut bytes = self.modules[random.below(self.modules.len())].clone().into_bytes();
        if random.one_in(16) {
            // Insert a range of another module.
            let other = self.modules[random.below(self.modules.len())].as_bytes();
            let range = random.range(other.len());
            let at = random.below(bytes.len() + 1);
            bytes.splice(at..at, other[range].iter().copied());
        }
        mutate::text(random, &mut bytes);
        Case { name: "module.ptx".to_owned(), bytes, expected: Expected::Any }
    }

    fn read(&self, case: &Case) -> Verdict {
        let text = String::from_utf8_lossy(&case.bytes);
        let mut machine = match Machine::new(&text) {
            Ok(machine) => machine,
            Err(error) => return Verdict::rejected(error, ""),
        };
        if let Some((_, error)) = machine.refused().next() {
            return Verdict::rejected(error.clone(), "");
        }
        let kernels: Vec<String> = machine.kernels().take(2).map(str::to_owned).collect();
        for kernel in kernels {
            if let Err(error) = launch(&mut machine, &kernel) {
                // A fault's report has several lines; they are judged as one message.
                return Verdict::Rejected { message: error.replace('\n', "; "), names: String::new() };
            }
        }
        Verdict::Accepted
    }
}

/// Runs a kernel with a slice for each pair of parameters: the address of one buffer, then a length.
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
