//! A repeatable launch: a machine with its kernel, its buffers and their initial values.

use std::num::NonZeroU32;
use std::sync::Arc;

use cuda_launch::LaunchConfig;
use ptx_interpreter::memory::GlobalSnapshot;
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{Fault, LaunchError, LaunchReport, Machine, Observer, Options, Snapshot};

use crate::argument::Argument;
use crate::debug_information::DebugInformation;
use crate::element_type::ElementType;
use crate::shared::SharedVariable;

/// Whether the blocks of a launch alternate, as in a cluster or a cooperative launch. All others
/// run one after the other.
pub fn takes_turns(config: LaunchConfig) -> bool {
    config.cooperative || config.cluster > 1
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

    /// The options of its runs, as set in the launch file.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Names of the kernel's functions and variables.
    pub fn debug_information(&self) -> &DebugInformation {
        &self.debug_information
    }

    /// The kernel's variables in shared memory, in the order of `StoppedBlock::shared`.
    pub fn shared(&self) -> &[SharedVariable] {
        &self.shared
    }

    /// The source name of a shared variable for `shared0`, `shared1`, …; any other name is returned
    /// unchanged.
    pub fn name_of_shared<'n>(&'n self, name: &'n str) -> &'n str {
        let is_named = self.shared.iter().any(|variable| variable.name == name);
        let index = name.strip_prefix("shared").and_then(|index| index.parse::<usize>().ok()).filter(|_| !is_named);
        index.and_then(|index| self.shared.get(index)).map_or(name, |variable| &variable.name)
    }

    /// The error with the source's names for shared memory, and with the argument's name for a
    /// buffer that an index is out of bounds of.
    pub fn with_names(&self, fault: &Fault) -> Box<Fault> {
        let mut named = Box::new(fault.clone());
        SharedVariable::name_in(&self.shared, &mut named);
        named.set_buffer_names(&|parameter| self.buffer_of(parameter).map(Arc::from));
        named
    }

    /// The name of the buffer with its address in this PTX parameter.
    fn buffer_of(&self, parameter: usize) -> Option<&str> {
        let mut first = 0;
        self.arguments.iter().find_map(|argument| {
            let number = first;
            first += argument.parameters().len();
            match argument {
                Argument::Buffer { name, .. } if number == parameter => Some(name.as_str()),
                _ => None,
            }
        })
    }

    /// The kernel's arguments, in order.
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    /// Runs the launch from its beginning under an observer. Returns false if the observer stopped
    /// it.
    ///
    /// # Errors
    /// If the launch is invalid, or a thread causes an error.
    pub fn run(&self, observer: &mut dyn Observer) -> Result<bool, LaunchError> {
        self.run_with(self.options.clone(), observer)
    }

    /// Runs the launch from its beginning under an observer, with these options instead of its own.
    /// Returns false if the observer stopped it.
    ///
    /// # Errors
    /// If the launch is invalid, or a thread causes an error.
    pub fn run_with(&self, options: Options, observer: &mut dyn Observer) -> Result<bool, LaunchError> {
        self.run_from(None, options, observer)
    }

    /// Runs the launch from its beginning without an observer, with these options instead of its
    /// own. Errors and notes contain the arguments' names.
    ///
    /// # Errors
    /// If the launch is invalid, or a thread causes an error.
    pub fn check(&self, options: Options) -> Result<LaunchReport, LaunchError> {
        self.machine.memory().restore(&self.before);
        let result =
            self.with_parameters(|parameters| self.machine.launch(options, &self.kernel, self.config, parameters));
        let named = |fault: &Fault| {
            let mut named = self.with_names(fault);
            self.name_buffer(&mut named);
            named
        };
        match result {
            Ok(mut report) => {
                report.notes.iter_mut().for_each(|note| *note = *named(note));
                Ok(report)
            }
            Err(LaunchError::Fault(fault)) => {
                let all_named = |faults: &[Fault]| faults.iter().map(|fault| *named(fault)).collect();
                let (others, notes) = (all_named(&fault.others), all_named(&fault.notes));
                Err(LaunchError::Fault(Box::new(Fault { others, notes, ..*named(&fault) })))
            }
            Err(error) => Err(error),
        }
    }

    /// Adds the argument's name and element type to the buffer in an error.
    fn name_buffer(&self, fault: &mut Fault) {
        let Some(memory) = fault.kind.memory_mut().filter(|memory| memory.space == Space::Global) else { return };
        if let Some((name, element)) = self.buffer_at(memory.start) {
            memory.name = name.into();
            memory.element = u32::try_from(element.bytes()).ok().and_then(NonZeroU32::new);
        }
    }

    /// Name and element type of the buffer that begins at an address.
    fn buffer_at(&self, start: u64) -> Option<(&str, ElementType)> {
        self.arguments.iter().find_map(|argument| match argument {
            Argument::Buffer { name, element, address, .. } if *address == start => Some((name.as_str(), *element)),
            _ => None,
        })
    }

    /// Runs the launch again, from a snapshot or from its beginning, without checking for data
    /// races, which takes a third of the time. The order of execution is the same. Returns false if
    /// the observer stopped it.
    ///
    /// # Errors
    /// If the launch is invalid, or a thread causes an error.
    pub fn replay(&self, from: Option<&Snapshot>, observer: &mut dyn Observer) -> Result<bool, LaunchError> {
        self.run_from(from, Options { check_races: false, ..self.options.clone() }, observer)
    }

    fn run_from(
        &self,
        from: Option<&Snapshot>,
        options: Options,
        observer: &mut dyn Observer,
    ) -> Result<bool, LaunchError> {
        let (machine, kernel, config) = (&self.machine, &self.kernel, self.config);
        let result = self.with_parameters(|parameters| match from {
            Some(snapshot) => machine.resume(options, kernel, config, parameters, snapshot, observer),
            None => {
                machine.memory().restore(&self.before);
                machine.observe(options, kernel, config, parameters, observer)
            }
        });
        result.map_err(|error| match error {
            LaunchError::Fault(fault) => LaunchError::Fault(self.with_names(&fault)),
            error => error,
        })
    }

    /// Calls `run` with the bytes of the kernel's parameters.
    fn with_parameters<T>(&self, run: impl FnOnce(&[&[u8]]) -> T) -> T {
        let parameters: Vec<Vec<u8>> = self.arguments.iter().flat_map(Argument::parameters).collect();
        let parameters: Vec<&[u8]> = parameters.iter().map(Vec::as_slice).collect();
        run(&parameters)
    }
}
