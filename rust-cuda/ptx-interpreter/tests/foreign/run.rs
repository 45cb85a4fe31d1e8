//! Launches kernels with arguments of several types, and compares their results.

use cuda_launch::LaunchConfig;
use ptx_interpreter::{LaunchError, LaunchReport, Machine, Options};

/// Elements in global memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Elements {
    Bytes(Vec<u8>),
    Shorts(Vec<i16>),
    Ints(Vec<i32>),
    Floats(Vec<f32>),
    Doubles(Vec<f64>),
}

impl Elements {
    fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Bytes(values) => values.clone(),
            Self::Shorts(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::Ints(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::Floats(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::Doubles(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }

    /// Elements of the same type from these bytes.
    fn with_bytes(&self, bytes: &[u8]) -> Self {
        match self {
            Self::Bytes(_) => Self::Bytes(bytes.to_vec()),
            Self::Shorts(_) => Self::Shorts(bytes.as_chunks().0.iter().map(|b| i16::from_le_bytes(*b)).collect()),
            Self::Ints(_) => Self::Ints(bytes.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b)).collect()),
            Self::Floats(_) => Self::Floats(bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()),
            Self::Doubles(_) => Self::Doubles(bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()),
        }
    }

    /// Whether the elements are equal. Floats may differ by a relative error.
    fn agrees(&self, expected: &Self) -> bool {
        let is_close = |a: f64, b: f64, relative: f64| (a - b).abs() <= relative * b.abs().max(1.0);
        match (self, expected) {
            (Self::Floats(found), Self::Floats(expected)) => {
                found.iter().zip(expected).all(|(a, b)| is_close((*a).into(), (*b).into(), 2e-5))
            }
            (Self::Doubles(found), Self::Doubles(expected)) => {
                found.iter().zip(expected).all(|(a, b)| is_close(*a, *b, 1e-12))
            }
            (found, expected) => found == expected,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// Initialized memory.
    Buffer(Elements),
    /// Uninitialized memory with room for this number of elements.
    Output(Elements),
    Int(i32),
    Float(f32),
    Null,
}

impl Argument {
    pub(crate) fn elements(&self) -> Option<&Elements> {
        match self {
            Self::Buffer(elements) | Self::Output(elements) => Some(elements),
            Self::Int(_) | Self::Float(_) | Self::Null => None,
        }
    }
}

/// A compiler's calling convention for kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Calling {
    /// One parameter per argument.
    C,
    /// Seven parameters per array: two Python pointers, length, element size, address, length, and
    /// stride in bytes.
    Numba,
    /// Like C, followed by two scratch memories.
    Triton,
}

impl Elements {
    fn bytes_of_one(&self) -> usize {
        match self {
            Self::Bytes(_) => 1,
            Self::Shorts(_) => 2,
            Self::Ints(_) | Self::Floats(_) => 4,
            Self::Doubles(_) => 8,
        }
    }
}

/// Runs a kernel. Returns the buffers' elements afterwards, and the report.
pub(crate) fn launch(
    machine: &mut Machine,
    options: Options,
    kernel: &str,
    (config, calling): (LaunchConfig, Calling),
    arguments: &[Argument],
) -> Result<(Vec<Option<Elements>>, LaunchReport), LaunchError> {
    let mut parameters: Vec<Vec<u8>> = Vec::new();
    let mut addresses = Vec::new();
    for argument in arguments {
        let address = argument.elements().map(|elements| {
            let bytes = elements.to_bytes();
            let address = machine.allocate(bytes.len() as u64).unwrap();
            if matches!(argument, Argument::Buffer(_)) {
                machine.memory().write(address, &bytes).unwrap();
            }
            address
        });
        addresses.push(address);
        match (argument, address, argument.elements()) {
            (Argument::Int(value), ..) => parameters.push(value.to_le_bytes().to_vec()),
            (Argument::Float(value), ..) => parameters.push(value.to_le_bytes().to_vec()),
            (_, Some(address), Some(elements)) if calling == Calling::Numba => {
                let size = elements.bytes_of_one() as u64;
                let count = elements.to_bytes().len() as u64 / size;
                parameters.extend([0, 0, count, size, address, count, size].map(|value| value.to_le_bytes().to_vec()));
            }
            (_, address, _) => parameters.push(address.unwrap_or(0).to_le_bytes().to_vec()),
        }
    }
    if calling == Calling::Triton {
        parameters.extend([vec![0; 8], vec![0; 8]]);
    }
    let parameters: Vec<&[u8]> = parameters.iter().map(Vec::as_slice).collect();
    let report = machine.launch(options, kernel, config, &parameters);
    let read = |(address, argument): (&Option<u64>, &Argument)| {
        let elements = argument.elements()?;
        let mut bytes = elements.to_bytes();
        machine.memory().read((*address)?, &mut bytes).unwrap();
        Some(elements.with_bytes(&bytes))
    };
    let found = addresses.iter().zip(arguments).map(read).collect();
    addresses.into_iter().flatten().for_each(|address| machine.free(address).unwrap());
    report.map(|report| (found, report))
}

/// The first difference between the buffers and the expected ones.
pub(crate) fn difference(found: &[Option<Elements>], expected: &[Argument]) -> Option<String> {
    let buffers = found.iter().zip(expected.iter().map(Argument::elements)).enumerate();
    buffers.filter_map(|(number, buffers)| Some((number, buffers.0.as_ref()?, buffers.1?))).find_map(
        |(number, found, expected)| {
            (!found.agrees(expected)).then(|| format!("argument {number}: {found:?}, expected {expected:?}"))
        },
    )
}
