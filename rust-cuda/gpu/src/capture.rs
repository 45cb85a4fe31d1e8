//! Captured launches: a launch on the PTX interpreter, written to files that `kernel-debugger` runs again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cuda_std::{Kernel, LaunchConfig, PtxVariant, RawParameters, signature};
use ptx_interpreter::memory::GlobalMemory;
use ptx_interpreter::{Machine, Options};

use crate::Error;

/// The launch that is captured.
///
/// A device opens with the one that the environment asks for: `KERNEL_CAPTURE=/some/directory` captures the first
/// launch of a program, `KERNEL_CAPTURE_KERNEL=max_kernel` the first of that kernel, and `max_kernel:3` the third. A
/// capture that is in the directory already is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    directory: PathBuf,
    /// The kernel; None for any.
    kernel: Option<String>,
    /// Number of launches of the kernel that come before.
    skipped: u64,
    /// Whether the launch runs too, once it is captured.
    pub(crate) runs: bool,
}

/// Name of a capture's launch file, which is written last.
const LAUNCH_FILE: &str = "launch.json";

impl Capture {
    /// The first launch of `kernel`, or without one the first of any.
    pub fn new(directory: impl Into<PathBuf>, kernel: Option<&str>) -> Self {
        Self { directory: directory.into(), kernel: kernel.map(str::to_owned), skipped: 0, runs: true }
    }

    /// The capture, with a launch that has no effect on the device: for a caller that needs only the files.
    pub fn without_running(self) -> Self {
        Self { runs: false, ..self }
    }

    /// The launch file that the capture writes.
    pub fn launch_file(&self) -> PathBuf {
        self.directory.join(LAUNCH_FILE)
    }

    pub(crate) fn from_environment() -> Option<Self> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let directory = std::env::var_os("KERNEL_CAPTURE").filter(|directory| !directory.is_empty())?;
        let wanted = variable("KERNEL_CAPTURE_KERNEL");
        let (kernel, number) = match wanted.as_deref().and_then(|wanted| wanted.split_once(':')) {
            Some((kernel, number)) => (Some(kernel), number.parse().unwrap_or(1)),
            None => (wanted.as_deref(), 1_u64),
        };
        Some(Self { skipped: number.saturating_sub(1), ..Self::new(directory, kernel) })
    }

    /// Whether this launch of a kernel is the one; it then is not asked again.
    pub(crate) fn is_due(&mut self, kernel: &str) -> bool {
        if self.kernel.as_deref().is_some_and(|wanted| wanted != kernel) {
            return false;
        }
        let is_due = self.skipped == 0;
        self.skipped = self.skipped.saturating_sub(1);
        is_due
    }

    /// Writes a launch of `K`: the PTX and its names for debuggers, the bytes of its buffers, and the launch file.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(crate) fn write<K: Kernel>(
        &self,
        ptx: &PtxVariant,
        machine: &Machine,
        raw: &RawParameters,
        (config, options): (LaunchConfig, &Options),
    ) -> Result<(), Error> {
        let cannot = |path: &Path| {
            let path = path.to_owned();
            move |error| Error::Capture { path, error }
        };
        if self.launch_file().exists() {
            return Ok(());
        }
        fs::create_dir_all(&self.directory).map_err(cannot(&self.directory))?;
        let put = |name: &str, bytes: &[u8]| {
            let path = self.directory.join(name);
            write_whole(&path, bytes).map_err(cannot(&path))
        };
        put("kernels.ptx", ptx.text().as_bytes())?;
        // Where the names for debuggers are missing, the debugger says so.
        if let Some(names) = ptx.debug_file().and_then(|path| fs::read(path).ok()) {
            put("kernels.debug", &names)?;
        }
        let mut arguments = Vec::new();
        let mut values = raw.values();
        let mut next = || values.next().expect("a launch has all values of its signature");
        for (name, parameter) in raw.names().iter().zip(parameters(K::SIGNATURE)) {
            arguments.push(match parameter {
                Parameter::Buffer { element, parts } => {
                    let (address, length) = (word(next()), word(next()));
                    let bytes = length * (parts * element.bytes) as u64;
                    let (contents, written) = contents(machine.memory(), address, bytes);
                    let file = format!("{name}.bin");
                    put(&file, &contents)?;
                    let shape = if parts == 1 { length.to_string() } else { format!("{length}, {parts}") };
                    let written: Vec<String> =
                        written.iter().map(|(start, end)| format!("[{start}, {end}]")).collect();
                    format!(
                        r#"{{"name": "{name}", "type": "{}", "shape": [{shape}], "values": {{"file": "{file}", "written": [{}]}}}}"#,
                        element.name,
                        written.join(", ")
                    )
                }
                Parameter::Value { bytes } => {
                    let digits: String = next()[..bytes].iter().map(|byte| format!("{byte:02x}")).collect();
                    format!(r#"{{"name": "{name}", "bytes": "{digits}"}}"#)
                }
                Parameter::Scalar(element) => {
                    let digits: String = next()[..element.bytes].iter().map(|byte| format!("{byte:02x}")).collect();
                    format!(r#"{{"name": "{name}", "type": "{}", "bytes": "{digits}"}}"#, element.name)
                }
            });
        }
        let extents = |of: cuda_std::Dim3| format!("[{}, {}, {}]", of.x, of.y, of.z);
        let launch = format!(
            "{{\n  \"ptx\": \"kernels.ptx\", \"kernel\": \"{}\", \"grid\": {}, \"block\": {},\n  \
             \"dynamic_shared_bytes\": {}, \"cooperative\": {}, \"cluster\": {},\n  \
             \"same_value_races_are_faults\": {}, \"volatile_is_plain\": {}, \"block_instructions\": {}, \"instructions_without_progress\": {},\n  \"arguments\": [\n    {}\n  ]\n}}\n",
            K::NAME,
            extents(config.grid),
            extents(config.block),
            config.dynamic_shared_bytes,
            config.cooperative,
            config.cluster,
            options.same_value_races_are_faults,
            options.volatile_is_plain,
            options.block_instructions,
            options.instructions_without_progress,
            arguments.join(",\n    ")
        );
        put(LAUNCH_FILE, launch.as_bytes())
    }
}

/// Writes a file that appears whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Several processes may capture to the same directory.
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    fs::write(&partial, bytes)?;
    fs::rename(&partial, path)
}

fn word(value: &[u8; 64]) -> u64 {
    let (word, _) = value.split_first_chunk().expect("a value has 64 bytes");
    u64::from_le_bytes(*word)
}

/// The bytes of a buffer, and the ranges of those that have been written. The others are zero.
fn contents(memory: &GlobalMemory, address: u64, bytes: u64) -> (Vec<u8>, Vec<(usize, usize)>) {
    let view = memory.view();
    let (mut contents, mut written) = (vec![0; bytes as usize], Vec::<(usize, usize)>::new());
    let found = view.find(address, bytes as usize).ok().filter(|_| bytes > 0);
    let Some((index, start)) = found else { return (contents, written) };
    let region = &view.allocations()[index].region;
    for offset in 0..contents.len() {
        if !region.is_initialised(start + offset, 1) {
            continue;
        }
        match written.last_mut().filter(|(_, end)| *end == offset) {
            Some((_, end)) => *end += 1,
            None => written.push((offset, offset + 1)),
        }
    }
    for (from, to) in &written {
        region.read(start + from, &mut contents[*from..*to]);
    }
    (contents, written)
}

/// A kernel's parameter.
enum Parameter {
    /// A buffer whose elements each consist of some numbers.
    Buffer {
        element: Element,
        parts: usize,
    },
    Scalar(Element),
    /// A structure.
    Value {
        bytes: usize,
    },
}

/// A type that launch files have.
struct Element {
    name: &'static str,
    bytes: usize,
}

/// The parameters in a signature.
fn parameters(signature: &[u8]) -> Vec<Parameter> {
    let element = |code: Option<&u8>| {
        let (name, bytes) = match code {
            Some(b'b') => ("u8", 1),
            Some(b'u') => ("u32", 4),
            Some(b'U') => ("u64", 8),
            Some(b'i') => ("i32", 4),
            Some(b'I') => ("i64", 8),
            Some(b'd') => ("f64", 8),
            // Of F32x4, the type of each part.
            Some(b'f' | b'q') => ("f32", 4),
            code => unreachable!("signatures have no type {code:?}"),
        };
        Element { name, bytes }
    };
    let size = |code: &u8| element(Some(code)).bytes * if *code == b'q' { 4 } else { 1 };
    let mut parameters = Vec::new();
    let mut codes = signature.iter().skip(1);
    while let Some(&kind) = codes.next() {
        parameters.push(match kind {
            signature::END => break,
            signature::STRUCT => {
                let fields = codes.by_ref().take_while(|&&code| code != signature::END_OF_STRUCT);
                // Structures have no padding.
                Parameter::Value { bytes: fields.map(size).sum() }
            }
            signature::SCALAR => match codes.next() {
                Some(code @ b'q') => Parameter::Value { bytes: size(code) },
                code => Parameter::Scalar(element(code)),
            },
            _ => {
                let code = codes.next();
                Parameter::Buffer { element: element(code), parts: if code == Some(&b'q') { 4 } else { 1 } }
            }
        });
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_the_sizes_of_their_types() {
        let shown = |signature: &[u8]| {
            let of = |parameter: &Parameter| match parameter {
                Parameter::Buffer { element, parts } => format!("{parts} × {}", element.name),
                Parameter::Scalar(element) => element.name.to_owned(),
                Parameter::Value { bytes } => format!("{bytes} bytes"),
            };
            parameters(signature).iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(shown(b"(rfsusUwq{fuU}sq)"), ["1 × f32", "u32", "u64", "4 × f32", "16 bytes", "16 bytes"]);
        assert!(shown(b"()").is_empty());
    }

    #[test]
    fn a_launch_is_due_once_it_is_the_one() {
        let mut third = Capture { skipped: 2, ..Capture::new("directory", Some("max_kernel")) };
        let due: Vec<bool> =
            ["max_kernel", "other", "max_kernel", "max_kernel"].iter().map(|kernel| third.is_due(kernel)).collect();
        assert_eq!(due, [false, false, false, true]);
        assert!(Capture::new("directory", None).is_due("any"));
    }
}
