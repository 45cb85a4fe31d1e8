//! Captured launches: a launch on the PTX interpreter, written to files that `kernel-debugger` can
//! replay.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cuda_std::{PtxVariant, signature};
use ptx_interpreter::memory::GlobalMemory;
use ptx_interpreter::{Machine, Options};

use crate::Error;
use crate::interpreter::InterpreterLaunch;

/// Selects the launch to capture.
///
/// A device captures the launch that the environment selects when it opens.
/// `KERNEL_CAPTURE=/some/directory` captures the first launch of a program.
/// `KERNEL_CAPTURE_KERNEL=max_kernel` captures the first launch of that kernel, and `max_kernel:3`
/// the third. An existing capture in the directory is not overwritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    directory: PathBuf,
    /// The kernel; None for any.
    kernel: Option<String>,
    /// Number of the kernel's launches to skip first.
    skipped: u64,
    /// Whether the launch still runs after it is captured.
    pub(crate) runs: bool,
}

/// Name of a capture's launch file. It is written last.
const LAUNCH_FILE: &str = "launch.json";

impl Capture {
    /// The first launch of `kernel`, or of any kernel if it is None.
    pub fn new(directory: impl Into<PathBuf>, kernel: Option<&str>) -> Self {
        Self { directory: directory.into(), kernel: kernel.map(str::to_owned), skipped: 0, runs: true }
    }

    /// The same capture, except that the launch does not run: for callers that need only the files.
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

    /// Whether this launch of a kernel should be captured. It returns true only once.
    pub(crate) fn is_due(&mut self, kernel: &str) -> bool {
        if self.kernel.as_deref().is_some_and(|wanted| wanted != kernel) {
            return false;
        }
        let is_due = self.skipped == 0;
        self.skipped = self.skipped.saturating_sub(1);
        is_due
    }

    /// Writes a launch with these arguments: the PTX and its debug names, the bytes of its buffers,
    /// and the launch file.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(crate) fn write(
        &self,
        launch: &InterpreterLaunch,
        ptx: &PtxVariant,
        (machine, options): (&Machine, &Options),
    ) -> Result<(), Error> {
        let InterpreterLaunch { kernel, signature, config, raw } = launch;
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
        // If the debug names are missing, the debugger reports it.
        if let Some(names) = ptx.debug_file().and_then(|path| fs::read(path).ok()) {
            put("kernels.debug", &names)?;
        }
        let mut arguments = Vec::new();
        let mut values = raw.values();
        let mut next = || values.next().expect("a launch has all values of its signature");
        for (name, parameter) in raw.names().iter().zip(parameters(signature)) {
            arguments.push(match parameter {
                Parameter::Buffer { element, parts, has_length } => {
                    let address = word(next());
                    let size = (parts * element.bytes) as u64;
                    let length = match has_length {
                        true => word(next()),
                        false => bytes_from(machine.memory(), address) / size,
                    };
                    let (contents, written) = contents(machine.memory(), address, length * size);
                    let file = format!("{name}.bin");
                    put(&file, &contents)?;
                    let shape = if parts == 1 { length.to_string() } else { format!("{length}, {parts}") };
                    let written: Vec<String> =
                        written.iter().map(|(start, end)| format!("[{start}, {end}]")).collect();
                    format!(
                        r#"{{"name": "{name}", "type": "{}", "shape": [{shape}], {}"values": {{"file": "{file}", "written": [{}]}}}}"#,
                        element.name,
                        if has_length { "" } else { r#""length": false, "# },
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
        let text = format!(
            "{{\n  \"ptx\": \"kernels.ptx\", \"kernel\": \"{}\", \"grid\": {}, \"block\": {},\n  \
             \"dynamic_shared_bytes\": {}, \"cooperative\": {}, \"cluster\": {},\n  \
             \"strict\": {}, \"uninitialised\": \"{}\", \"same_value_races_are_faults\": {}, \"volatile_is_plain\": {}, \"block_instructions\": {}, \"instructions_without_progress\": {},\n  \"arguments\": [\n    {}\n  ]\n}}\n",
            kernel,
            extents(config.grid),
            extents(config.block),
            config.dynamic_shared_bytes,
            config.cooperative,
            config.cluster,
            options.strict,
            options.uninitialised,
            options.same_value_races_are_faults,
            options.volatile_is_plain,
            options.block_instructions,
            options.instructions_without_progress,
            arguments.join(",\n    ")
        );
        put(LAUNCH_FILE, text.as_bytes())
    }
}

/// Writes a file atomically: it appears complete or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Several processes may capture to the same directory.
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    fs::write(&partial, bytes)?;
    fs::rename(&partial, path)
}

fn word(value: &[u8]) -> u64 {
    let (word, _) = value.split_first_chunk().expect("a value has room for an address");
    u64::from_le_bytes(*word)
}

/// The bytes of a buffer and the ranges that have been written. All other bytes are zero.
fn contents(memory: &GlobalMemory, address: u64, bytes: u64) -> (Vec<u8>, Vec<(usize, usize)>) {
    let view = memory.view();
    match view.find(address, bytes as usize).ok().filter(|_| bytes > 0) {
        Some((index, start)) => view.allocations()[index].region.initialised_bytes(start, bytes as usize),
        None => (vec![0; bytes as usize], Vec::new()),
    }
}

/// The bytes from an address to the end of its allocation.
fn bytes_from(memory: &GlobalMemory, address: u64) -> u64 {
    let view = memory.view();
    let found = view.find(address, 1).ok();
    found.map_or(0, |(index, start)| (view.allocations()[index].region.bytes() - start) as u64)
}

/// A kernel's parameter.
enum Parameter {
    /// A buffer of elements that each consist of several numbers. It is passed with its length or
    /// as an address alone.
    Buffer {
        element: Element,
        parts: usize,
        has_length: bool,
    },
    Scalar(Element),
    /// A structure.
    Value {
        bytes: usize,
    },
}

/// A type supported by launch files.
struct Element {
    name: &'static str,
    bytes: usize,
}

/// The parameters in a signature.
fn parameters(signature: &[u8]) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    let mut bytes = signature.iter().copied().skip(1);
    while let Some(kind) = bytes.next() {
        parameters.push(match kind {
            signature::END => break,
            signature::COPIED => {
                Parameter::Value { bytes: bytes.by_ref().take(2).fold(0, |size, byte| size << 8 | usize::from(byte)) }
            }
            signature::SCALAR => match numbers(bytes.next()) {
                (Some(element), 1) => Parameter::Scalar(element),
                (element, parts) => Parameter::Value { bytes: parts * element.map_or(1, |element| element.bytes) },
            },
            signature::READ_ONLY | signature::MUTABLE | signature::POINTER | signature::POINTER_MUT => {
                let (element, parts) = numbers(bytes.next());
                let has_length = [signature::READ_ONLY, signature::MUTABLE].contains(&kind);
                Parameter::Buffer { element: element.expect("a buffer has elements"), parts, has_length }
            }
            _ => Parameter::Value { bytes: size(kind, &mut bytes) },
        });
    }
    parameters
}

/// The name of the buffer with its address in value `number` of a launch with these parameters.
pub(crate) fn buffer_of(number: usize, signature: &[u8], names: &[&'static str]) -> Option<&'static str> {
    let mut first = 0;
    parameters(signature).iter().zip(names).find_map(|(parameter, name)| {
        let is_address = first == number && matches!(parameter, Parameter::Buffer { .. });
        first += if matches!(parameter, Parameter::Buffer { has_length: true, .. }) { 2 } else { 1 };
        is_address.then_some(*name)
    })
}

/// The numbers in a type with this code, in a type supported by launch files; None for bool.
fn numbers(code: Option<u8>) -> (Option<Element>, usize) {
    let (name, bytes, parts) = match code {
        Some(b'b') => ("u8", 1, 1),
        Some(b'c') => ("i8", 1, 1),
        // Launch files have no 16-bit floats, so these are written as their bits.
        Some(b'h' | b'e' | b'E') => ("u16", 2, 1),
        Some(b'j') => ("i16", 2, 1),
        Some(b'u') => ("u32", 4, 1),
        Some(b'i') => ("i32", 4, 1),
        Some(b'U') => ("u64", 8, 1),
        Some(b'I') => ("i64", 8, 1),
        Some(b'w' | b'W') => ("u64", 8, 2),
        Some(b'f') => ("f32", 4, 1),
        Some(b'd') => ("f64", 8, 1),
        Some(b'q') => ("f32", 4, 4),
        Some(b'Q') => ("i32", 4, 4),
        Some(b'B') => return (None, 1),
        code => unreachable!("signatures have no type {code:?}"),
    };
    (Some(Element { name, bytes }), parts)
}

/// Size in bytes of the type with a code that begins with `first`. Structures and arrays have no
/// padding.
fn size(first: u8, rest: &mut impl Iterator<Item = u8>) -> usize {
    match first {
        signature::STRUCT => {
            let mut bytes = 0;
            while let Some(first) = rest.next().filter(|&byte| byte != signature::END_OF_STRUCT) {
                bytes += size(first, rest);
            }
            bytes
        }
        signature::ARRAY => {
            let element = rest.next().map_or(0, |first| size(first, rest));
            let digits = rest.skip(1).take_while(|&byte| byte != signature::END_OF_ARRAY);
            element * digits.fold(0, |count, digit| 10 * count + usize::from(digit - b'0'))
        }
        code => {
            let (element, parts) = numbers(Some(code));
            parts * element.map_or(1, |element| element.bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_the_sizes_of_their_types() {
        let shown = |signature: &[u8]| {
            let of = |parameter: &Parameter| match parameter {
                Parameter::Buffer { element, parts, has_length: true } => format!("{parts} × {}", element.name),
                Parameter::Buffer { element, parts, has_length: false } => format!("*{parts} × {}", element.name),
                Parameter::Scalar(element) => element.name.to_owned(),
                Parameter::Value { bytes } => format!("{bytes} bytes"),
            };
            parameters(signature).iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(
            shown(b"(rfsusUwqrQ{fuU}sq)"),
            ["1 × f32", "u32", "u64", "4 × f32", "4 × i32", "16 bytes", "16 bytes"]
        );
        let expected = ["*2 × u64", "*1 × i16", "260 bytes", "1 bytes", "u16", "16 bytes", "72 bytes"];
        assert_eq!(shown(b"(pwPjx\x01\x04sBshsW{[[f;2];8]{bbh}i})"), expected);
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
