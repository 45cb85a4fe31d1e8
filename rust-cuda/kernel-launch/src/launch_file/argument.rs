//! Arguments in a launch file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ptx_interpreter::Machine;
use ptx_interpreter::memory::MemoryError;
use serde::Deserialize;

use crate::argument::Argument;
use crate::element_type::ElementType;
use crate::named_file;

/// Maximum total size of all buffers in bytes. A session holds them twice.
const MAX_BUFFER_BYTES: usize = 256 << 20;

/// A kernel's argument.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileArgument {
    pub(super) name: String,
    r#type: Option<ElementType>,
    shape: Option<Vec<usize>>,
    values: Option<Values>,
    value: Option<serde_json::Number>,
    /// A value's bytes, in hexadecimal.
    bytes: Option<String>,
    /// Whether a buffer's length follows its address, as in a Rust slice. True by default.
    length: Option<bool>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Values {
    Filled(Filling),
    Repeated(serde_json::Number),
    Listed(Vec<serde_json::Number>),
    Stored(Stored),
}

/// A buffer's bytes in a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    /// A relative path starts at the launch file's directory.
    file: PathBuf,
    /// The ranges of initialized bytes: first byte, byte after the last. None if all are.
    written: Option<Vec<(usize, usize)>>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Filling {
    Zeros,
    Index,
    Unwritten,
}

/// What is wrong with an argument.
pub(super) enum ArgumentProblem {
    Text(String),
    Memory(MemoryError),
    File(PathBuf, io::Error),
}

impl From<MemoryError> for ArgumentProblem {
    fn from(error: MemoryError) -> Self {
        Self::Memory(error)
    }
}

fn problem(text: impl Into<String>) -> ArgumentProblem {
    ArgumentProblem::Text(text.into())
}

impl FileArgument {
    /// The file for its buffer, as named in the launch file.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.values {
            Some(Values::Stored(stored)) => Some(Path::new(&stored.file)),
            _ => None,
        }
    }

    /// The argument, with its buffer in the machine's memory. `launch_file` is the file's path,
    /// `all_bytes` the total size of the buffers so far.
    pub(super) fn make(
        &self,
        launch_file: &Path,
        machine: &mut Machine,
        all_bytes: &mut usize,
    ) -> Result<Argument, ArgumentProblem> {
        let name = self.name.clone();
        if self.length.is_some() && self.shape.is_none() {
            return Err(problem("\"length\" is for buffers alone, which have a \"shape\""));
        }
        match (self.r#type, &self.shape, &self.values, &self.value, &self.bytes) {
            (Some(element), None, None, Some(value), None) => {
                Ok(Argument::Value { name, element, bytes: encode(element, value)? })
            }
            (element, None, None, None, Some(digits)) => {
                let bytes = from_hexadecimal(digits)
                    .ok_or_else(|| problem(format!("`{digits}` is not two hexadecimal digits for each byte")))?;
                let Some(element) = element else { return Ok(Argument::Structure { name, bytes }) };
                let mut word = [0; 8];
                match bytes.len() == element.bytes() {
                    true => word[..bytes.len()].copy_from_slice(&bytes),
                    false => {
                        return Err(problem(format!(
                            "{} has {} bytes, not {}",
                            element.name(),
                            element.bytes(),
                            bytes.len()
                        )));
                    }
                }
                Ok(Argument::Value { name, element, bytes: word })
            }
            (Some(element), Some(shape), Some(values), None, None) => {
                let length = shape.iter().try_fold(1_usize, |length, extent| length.checked_mul(*extent));
                let bytes = length.and_then(|length| length.checked_mul(element.bytes()));
                let bytes = bytes.filter(|bytes| *bytes <= MAX_BUFFER_BYTES - *all_bytes);
                let (Some(length), Some(bytes)) = (length, bytes) else {
                    let limit = MAX_BUFFER_BYTES >> 20;
                    return Err(problem(format!("all buffers together have more than {limit} MiB; make them smaller")));
                };
                *all_bytes += bytes;
                let address = machine.allocate(bytes as u64)?;
                match values {
                    Values::Stored(stored) => stored.write(launch_file, machine, (address, bytes))?,
                    values => machine.memory().write(address, &values.image(element, length)?)?,
                }
                let has_length = self.length.unwrap_or(true);
                Ok(Argument::Buffer { name, element, shape: shape.clone(), address, has_length })
            }
            _ => Err(problem(
                "a buffer has \"type\", \"shape\" and \"values\", any other argument \"type\" and \"value\", or \"bytes\"",
            )),
        }
    }
}

impl Values {
    /// The initial bytes of a buffer, empty if it is not initialized. Bytes in a file are handled
    /// elsewhere.
    fn image(&self, element: ElementType, length: usize) -> Result<Vec<u8>, ArgumentProblem> {
        let encode_all = |numbers: &mut dyn Iterator<Item = serde_json::Number>| {
            let mut image = Vec::with_capacity(length * element.bytes());
            for number in numbers {
                image.extend_from_slice(&encode(element, &number)?[..element.bytes()]);
            }
            Ok(image)
        };
        match self {
            Self::Filled(Filling::Unwritten) | Self::Stored(_) => Ok(Vec::new()),
            Self::Filled(Filling::Zeros) => Ok(vec![0; length * element.bytes()]),
            Self::Filled(Filling::Index) => encode_all(&mut (0..length).map(serde_json::Number::from)),
            Self::Repeated(number) => encode_all(&mut std::iter::repeat_n(number, length).cloned()),
            Self::Listed(numbers) if numbers.len() != length => {
                Err(problem(format!("{} values for {length} elements", numbers.len())))
            }
            Self::Listed(numbers) => encode_all(&mut numbers.iter().cloned()),
        }
    }
}

impl Stored {
    /// Writes the file's bytes to a buffer of `bytes` bytes.
    fn write(
        &self,
        launch_file: &Path,
        machine: &Machine,
        (address, bytes): (u64, usize),
    ) -> Result<(), ArgumentProblem> {
        let path = launch_file.parent().unwrap_or(Path::new("")).join(&self.file);
        let length = fs::metadata(&path).map_err(|error| ArgumentProblem::File(path.clone(), error))?.len();
        if length != bytes as u64 {
            return Err(problem(format!("{} has {length} bytes, the buffer {bytes}", path.display())));
        }
        let contents = named_file::read(&path, length).map_err(|error| ArgumentProblem::File(path.clone(), error))?;
        for (from, to) in self.written.as_deref().unwrap_or(&[(0, bytes)]) {
            let part = contents.get(*from..*to);
            let part = part.ok_or_else(|| problem(format!("[{from}, {to}] is no range of its {bytes} bytes")))?;
            machine.memory().write(address + *from as u64, part)?;
        }
        Ok(())
    }
}

fn encode(element: ElementType, number: &serde_json::Number) -> Result<[u8; 8], ArgumentProblem> {
    element.encode(number).ok_or_else(|| problem(format!("{number} is no {}", element.name())))
}

fn from_hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok().filter(|text| text.len() == 2 && !text.starts_with('+'))?;
        u8::from_str_radix(text, 16).ok()
    };
    pairs.map(byte).collect()
}
