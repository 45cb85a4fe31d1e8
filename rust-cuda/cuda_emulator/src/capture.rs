//! Captured launches: a launch with an error is written to files that `kernel-debugger` can replay
//! and record.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use cuda_launch::LaunchConfig;
use ptx_interpreter::Options;
use ptx_interpreter::memory::GlobalMemory;

use crate::journal;

/// Maximum total size of a launch's buffers in bytes, the same as for a launch file.
const MAX_BYTES: usize = 256 << 20;

/// A parameter as it is before the launch.
#[derive(Debug)]
enum Argument {
    /// A value's bytes.
    Value(Vec<u8>),
    /// The rest of the allocation that a pointer points into.
    Buffer { contents: Vec<u8>, written: Vec<(usize, usize)> },
}

/// What is captured of a launch besides its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Captive<'a> {
    pub(crate) ptx: &'a str,
    pub(crate) kernel: &'a str,
    pub(crate) config: LaunchConfig,
    pub(crate) options: &'a Options,
}

/// The parameters of a launch, copied before it.
#[derive(Debug)]
pub(crate) struct Captured(Vec<Argument>);

impl Captured {
    /// Copies the parameters of a launch. Returns None if their buffers are too large, or if one is
    /// a texture or surface object, which launch files do not support.
    pub(crate) fn of(parameters: &[Vec<u8>], memory: &GlobalMemory) -> Option<Self> {
        let mut left = MAX_BYTES;
        let words = || parameters.iter().flat_map(|parameter| parameter.as_chunks::<8>().0);
        if words().any(|word| memory.view().has_image_object(u64::from_le_bytes(*word))) {
            journal::unsupported("the capture of a launch with a texture or surface object");
            return None;
        }
        let argument = |parameter: &Vec<u8>| match parameter.first_chunk::<8>().filter(|_| parameter.len() == 8) {
            Some(word) => buffer(memory, u64::from_le_bytes(*word), &mut left, parameter),
            None => Some(Argument::Value(parameter.clone())),
        };
        parameters.iter().map(argument).collect::<Option<_>>().map(Self)
    }

    /// Writes the launch to a folder, unless a launch is already there, and prints how to record
    /// it.
    pub(crate) fn write(&self, folder: &Path, launch_of: Captive<'_>) {
        let launch = folder.join("launch.json");
        if launch.exists() {
            return;
        }
        match self.write_files(folder, launch_of) {
            Ok(()) => journal::note(&format!(
                "the launch is in {0}: record it as a page with `kernel-debugger record {0}`",
                launch.display()
            )),
            Err(error) => journal::note(&format!("{}: {error}", folder.display())),
        }
    }

    fn write_files(&self, folder: &Path, captive: Captive<'_>) -> io::Result<()> {
        let Captive { ptx, kernel, config, options } = captive;
        fs::create_dir_all(folder)?;
        fs::write(folder.join("kernels.ptx"), ptx)?;
        let mut arguments = Vec::new();
        for (number, argument) in self.0.iter().enumerate() {
            let name = format!("argument{number}");
            arguments.push(match argument {
                Argument::Value(bytes) => {
                    let digits = bytes.iter().fold(String::new(), |mut digits, byte| {
                        let _ = write!(digits, "{byte:02x}");
                        digits
                    });
                    serde_json::json!({ "name": name, "bytes": digits })
                }
                Argument::Buffer { contents, written } => {
                    let file = format!("{name}.bin");
                    fs::write(folder.join(&file), contents)?;
                    let (element, size) = if contents.len().is_multiple_of(4) { ("u32", 4) } else { ("u8", 1) };
                    let values = serde_json::json!({ "file": file, "written": written });
                    let shape = [contents.len() / size];
                    serde_json::json!({ "name": name, "type": element, "shape": shape, "length": false, "values": values })
                }
            });
        }
        let [grid, block] = [config.grid, config.block].map(|size| [size.x, size.y, size.z]);
        let launch = serde_json::json!({
            "ptx": "kernels.ptx",
            "kernel": kernel,
            "grid": grid,
            "block": block,
            "dynamic_shared_bytes": config.dynamic_shared_bytes,
            "cooperative": config.cooperative,
            "cluster": config.cluster,
            "strict": options.strict,
            "uninitialised": options.uninitialised.to_string(),
            "same_value_races_are_faults": options.same_value_races_are_faults,
            "volatile_is_plain": options.volatile_is_plain,
            "arguments": arguments,
        });
        fs::write(folder.join("launch.json"), serde_json::to_string_pretty(&launch)? + "\n")
    }
}

/// The rest of the allocation at an address, or the parameter's value if there is no allocation.
/// None if it is too large.
fn buffer(memory: &GlobalMemory, address: u64, left: &mut usize, parameter: &[u8]) -> Option<Argument> {
    let view = memory.view();
    let Ok((index, offset)) = view.find(address, 1) else { return Some(Argument::Value(parameter.to_vec())) };
    let region = &view.allocations()[index].region;
    let bytes = region.bytes() - offset;
    *left = left.checked_sub(bytes)?;
    let (contents, written) = region.initialised_bytes(offset, bytes);
    Some(Argument::Buffer { contents, written })
}
