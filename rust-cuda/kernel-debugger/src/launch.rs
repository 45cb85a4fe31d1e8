//! A launch that can be repeated: a machine with its kernel, its buffers and their first values.

use cuda_std::LaunchConfig;
use ptx_interpreter::memory::GlobalSnapshot;
use ptx_interpreter::{Fault, LaunchError, Machine, Observer, Options, Snapshot};

use crate::debug_information::DebugInformation;
use crate::element_type::ElementType;
use crate::shared::SharedVariable;

/// A parameter of the kernel as its author writes it: a buffer is one, though PTX has its address and its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A buffer in global memory.
    Buffer {
        /// The parameter's name.
        name: String,
        /// The type of its elements.
        element: ElementType,
        /// Its extents, the slowest first: rows and columns for a matrix.
        shape: Vec<usize>,
        /// Its address.
        address: u64,
    },
    /// A value.
    Value {
        /// The parameter's name.
        name: String,
        /// Its type.
        element: ElementType,
        /// Its little-endian bytes, padded with zeros.
        bytes: [u8; 8],
    },
    /// A structure that is passed by value.
    Structure {
        /// The parameter's name.
        name: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

/// Whether blocks of a launch run in turns, as those of a cluster and of a cooperative launch do. All others run one after
/// the other.
pub(crate) fn takes_turns(config: LaunchConfig) -> bool {
    config.cooperative || config.cluster > 1
}

impl Argument {
    /// The parameter's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Buffer { name, .. } | Self::Value { name, .. } | Self::Structure { name, .. } => name,
        }
    }
}

/// A launch that can be repeated.
#[derive(Debug)]
pub struct Launch {
    machine: Machine,
    kernel: String,
    config: LaunchConfig,
    options: Options,
    arguments: Vec<Argument>,
    /// Global memory before the launch.
    before: GlobalSnapshot,
    debug_information: DebugInformation,
    shared: Vec<SharedVariable>,
}

impl Launch {
    pub(crate) fn new(
        machine: Machine,
        kernel: String,
        (config, options): (LaunchConfig, Options),
        arguments: Vec<Argument>,
        before: GlobalSnapshot,
        debug_information: DebugInformation,
    ) -> Self {
        let shared = SharedVariable::all(&machine, &kernel, config, &arguments, &debug_information);
        Self { machine, kernel, config, options, arguments, before, debug_information, shared }
    }

    /// The machine, with the kernel's module loaded.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// The launch configuration.
    pub fn config(&self) -> LaunchConfig {
        self.config
    }

    /// Names of the kernel's functions and variables.
    pub fn debug_information(&self) -> &DebugInformation {
        &self.debug_information
    }

    /// The kernel's variables in shared memory, in the order of `StoppedBlock::shared`.
    pub(crate) fn shared(&self) -> &[SharedVariable] {
        &self.shared
    }

    /// The name of a shared variable for `shared0`, `shared1`, …; every other name is its own.
    pub(crate) fn name_of_shared<'n>(&'n self, name: &'n str) -> &'n str {
        let is_named = self.shared.iter().any(|variable| variable.name == name);
        let index = name.strip_prefix("shared").and_then(|index| index.parse::<usize>().ok()).filter(|_| !is_named);
        index.and_then(|index| self.shared.get(index)).map_or(name, |variable| &variable.name)
    }

    /// A fault with the source's names of shared memory.
    pub(crate) fn with_names(&self, fault: &Fault) -> Box<Fault> {
        let mut named = Box::new(fault.clone());
        SharedVariable::name_in(&self.shared, &mut named);
        named
    }

    /// The kernel's arguments, in order.
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    /// Runs the launch from its beginning under an observer. Returns false if the observer has abandoned it.
    ///
    /// # Errors
    /// If the launch is invalid, or a thread causes a fault.
    pub fn run(&self, observer: &mut dyn Observer) -> Result<bool, LaunchError> {
        self.run_from(None, self.options.clone(), observer)
    }

    /// Runs the launch again, from a snapshot of it or from its beginning, without looking for races, which takes a
    /// third of the time. The order of execution is the same.
    pub(crate) fn replay(&self, from: Option<&Snapshot>, observer: &mut dyn Observer) -> Result<bool, LaunchError> {
        self.run_from(from, Options { check_races: false, ..self.options.clone() }, observer)
    }

    fn run_from(
        &self,
        from: Option<&Snapshot>,
        options: Options,
        observer: &mut dyn Observer,
    ) -> Result<bool, LaunchError> {
        let length = |shape: &[usize]| shape.iter().product::<usize>() as u64;
        let parameters = self.arguments.iter().flat_map(|argument| match argument {
            Argument::Buffer { address, shape, .. } => {
                vec![address.to_le_bytes().to_vec(), length(shape).to_le_bytes().to_vec()]
            }
            Argument::Value { bytes, .. } => vec![bytes.to_vec()],
            Argument::Structure { bytes, .. } => vec![bytes.clone()],
        });
        let parameters: Vec<Vec<u8>> = parameters.collect();
        let parameters: Vec<&[u8]> = parameters.iter().map(|bytes| &bytes[..]).collect();
        let (machine, kernel, config) = (&self.machine, &self.kernel, self.config);
        let result = match from {
            Some(snapshot) => machine.resume(options, kernel, config, &parameters, snapshot, observer),
            None => {
                machine.memory().restore(&self.before);
                machine.observe(options, kernel, config, &parameters, observer)
            }
        };
        result.map_err(|error| match error {
            LaunchError::Fault(fault) => LaunchError::Fault(self.with_names(&fault)),
            error => error,
        })
    }
}
