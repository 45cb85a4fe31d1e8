use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Arch;

/// The report of ptxas on a PTX file: the resources of each kernel, in file order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PtxasReport {
    /// The kernels.
    pub kernels: Vec<KernelResources>,
}

/// The resources that a kernel uses on the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelResources {
    /// The kernel's name.
    pub name: String,
    /// Registers per thread. A multiprocessor has 65 536.
    pub registers: u32,
    /// Stack frame per thread in bytes, in local memory.
    pub stack_bytes: u32,
    /// Register spills: bytes stored to local memory.
    pub spill_stores: u32,
    /// Register spills: bytes loaded from local memory.
    pub spill_loads: u32,
    /// Static shared memory per block in bytes.
    pub shared_bytes: u32,
}

/// Why there is no report of ptxas.
#[derive(Debug, thiserror::Error)]
pub enum PtxasError {
    /// It is not installed.
    #[error(
        "ptxas was not found at PTXAS, in bin of CUDA_HOME and CUDA_PATH, in PATH or in \
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
    /// It rejects the PTX.
    #[error("{}: ptxas rejects it for {arch}:\n{messages}", path.display())]
    Refused {
        /// The PTX file.
        path: PathBuf,
        /// The architecture.
        arch: Arch,
        /// Its output.
        messages: String,
    },
}

/// The path of ptxas: the environment variable PTXAS, otherwise `bin/ptxas` in CUDA_HOME or
/// CUDA_PATH, otherwise the one in PATH, otherwise the one in `/usr/local/cuda`.
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

/// Assembles a PTX file for an architecture with NVIDIA's ptxas and reports the resources of its kernels. The cubin is
/// discarded.
///
/// # Errors
/// If ptxas is not installed, or rejects the file.
pub fn ptxas(path: impl AsRef<Path>, arch: Arch) -> Result<PtxasReport, PtxasError> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let path = path.as_ref();
    let program = find_ptxas().ok_or(PtxasError::NotFound)?;
    let unique = format!("ptxas.{}.{}.cubin", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
    let assembled = std::env::temp_dir().join(unique);
    let output =
        Command::new(&program).arg("-v").arg(format!("-arch={arch}")).arg(path).arg("-o").arg(&assembled).output();
    let output = output.map_err(|source| PtxasError::CannotRun { path: program, source })?;
    // It does not exist if the file was rejected.
    let _ = std::fs::remove_file(&assembled);
    let messages = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    match output.status.success() {
        true => Ok(PtxasReport::parse(&messages)),
        false => Err(PtxasError::Refused { path: path.to_owned(), arch, messages: messages.trim_end().to_owned() }),
    }
}

impl PtxasReport {
    /// Parses the output of `ptxas -v`. A kernel's resources include those of the functions that it
    /// calls.
    pub fn parse(messages: &str) -> Self {
        let mut kernels: Vec<KernelResources> = Vec::new();
        // The function that the following lines describe.
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

/// The number in front of the given words; 0 if the line does not contain them.
fn number_before(line: &str, words: &str) -> u32 {
    let before = line.split_once(words).map(|(before, _)| before);
    let digits = before.and_then(|before| before.rsplit(|letter: char| !letter.is_ascii_digit()).next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Output of ptxas 13.5.
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
    fn registers_spills_and_shared_memory_are_parsed_for_each_kernel() {
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
