use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Arch;

/// What ptxas says of a PTX file: the resources of each kernel, in the file's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PtxasReport {
    /// The kernels.
    pub kernels: Vec<KernelResources>,
}

/// What a kernel needs on the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelResources {
    /// Its name.
    pub name: String,
    /// Registers of a thread. A multiprocessor has 65 536 in all.
    pub registers: u32,
    /// Bytes that a thread keeps in its stack frame, in slow local memory.
    pub stack_bytes: u32,
    /// Bytes stored to local memory because registers ran out.
    pub spill_stores: u32,
    /// Bytes loaded from local memory because registers ran out.
    pub spill_loads: u32,
    /// Bytes of shared memory of a block, without what a launch adds.
    pub shared_bytes: u32,
}

/// Why ptxas said nothing about a PTX file.
#[derive(Debug, thiserror::Error)]
pub enum PtxasError {
    /// It is not installed.
    #[error(
        "ptxas was not found: it was looked for at PTXAS, in bin of CUDA_HOME and CUDA_PATH, in PATH and in \
         /usr/local/cuda/bin; `pip install nvidia-cuda-nvcc` installs it"
    )]
    NotFound,
    /// It cannot be started.
    #[error("cannot run {}", path.display())]
    CannotRun {
        /// The program.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// It refused the PTX.
    #[error("{}: ptxas refuses it for {arch}:\n{messages}", path.display())]
    Refused {
        /// The PTX file.
        path: PathBuf,
        /// The architecture.
        arch: Arch,
        /// What it said.
        messages: String,
    },
}

/// Where ptxas is: what the environment variable PTXAS names, or `bin/ptxas` of CUDA_HOME or CUDA_PATH, or the one in
/// PATH, or that of `/usr/local/cuda`.
pub fn find_ptxas() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = variable("PTXAS") {
        return Some(named);
    }
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable).map(|toolkit| toolkit.join("bin"));
    let path = variable("PATH").unwrap_or_default();
    let directories = toolkits.chain(std::env::split_paths(&path)).chain(["/usr/local/cuda/bin".into()]);
    let program = format!("ptxas{}", std::env::consts::EXE_SUFFIX);
    directories.map(|directory| directory.join(&program)).find(|path| path.is_file())
}

/// Assembles a PTX file for an architecture with NVIDIA's ptxas and tells what its kernels need. The result itself is
/// thrown away.
///
/// # Errors
/// If ptxas is not installed, or refuses the file.
pub fn ptxas(path: impl AsRef<Path>, arch: Arch) -> Result<PtxasReport, PtxasError> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let path = path.as_ref();
    let program = find_ptxas().ok_or(PtxasError::NotFound)?;
    let unique = format!("ptxas.{}.{}.cubin", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
    let assembled = std::env::temp_dir().join(unique);
    let output =
        Command::new(&program).arg("-v").arg(format!("-arch={arch}")).arg(path).arg("-o").arg(&assembled).output();
    let output = output.map_err(|source| PtxasError::CannotRun { path: program, source })?;
    // It is not there if the file was refused.
    let _ = std::fs::remove_file(&assembled);
    let messages = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    match output.status.success() {
        true => Ok(PtxasReport::parse(&messages)),
        false => Err(PtxasError::Refused { path: path.to_owned(), arch, messages: messages.trim_end().to_owned() }),
    }
}

impl PtxasReport {
    /// Reads what `ptxas -v` prints. Functions that are called by kernels are counted in those.
    pub fn parse(messages: &str) -> Self {
        let mut kernels: Vec<KernelResources> = Vec::new();
        // Whose properties the next lines tell.
        let mut subject = String::new();
        for line in messages.lines() {
            if let Some(name) = quoted_after(line, "Compiling entry function '") {
                kernels.push(KernelResources { name: name.to_owned(), ..KernelResources::default() });
            } else if let Some((_, name)) = line.split_once("Function properties for ") {
                subject = name.trim().trim_matches('\'').to_owned();
            } else if let Some(kernel) = kernels.last_mut() {
                if subject == kernel.name && line.contains("bytes stack frame") {
                    kernel.stack_bytes = number_before(line, " bytes stack frame");
                    kernel.spill_stores = number_before(line, " bytes spill stores");
                    kernel.spill_loads = number_before(line, " bytes spill loads");
                } else if line.contains(": Used ") {
                    kernel.registers = number_before(line, " registers");
                    kernel.shared_bytes = number_before(line, " bytes smem");
                }
            }
        }
        Self { kernels }
    }
}

fn quoted_after<'a>(line: &'a str, start: &str) -> Option<&'a str> {
    line.split_once(start)?.1.split('\'').next()
}

/// The number that stands before the given words; 0 where they are not said.
fn number_before(line: &str, words: &str) -> u32 {
    let before = line.split_once(words).map(|(before, _)| before);
    let digits = before.and_then(|before| before.rsplit(|letter: char| !letter.is_ascii_digit()).next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    // What ptxas 13.5 printed.
    const MESSAGES: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'nothing' for 'sm_90'
ptxas info    : Function properties for nothing
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers
ptxas info    : Compile time = 1.395 ms
ptxas info    : Compiling entry function 'with_tile' for 'sm_90'
ptxas info    : Function properties for with_tile
    400 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers, 400 bytes cumulative stack size, 4096 bytes smem
ptxas info    : Compile time = 6.013 ms
ptxas info    : Function properties for load
    8 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads
";

    #[test]
    fn registers_spills_and_shared_memory_are_read_for_each_kernel() {
        let nothing = KernelResources { name: "nothing".to_owned(), registers: 4, ..KernelResources::default() };
        let with_tile = KernelResources {
            name: "with_tile".to_owned(),
            registers: 10,
            stack_bytes: 400,
            spill_stores: 12,
            spill_loads: 16,
            shared_bytes: 4096,
        };
        assert_eq!(PtxasReport::parse(MESSAGES).kernels, [nothing, with_tile]);
    }

    #[test]
    fn no_messages_are_no_kernels() {
        assert_eq!(PtxasReport::parse(""), PtxasReport::default());
    }
}
