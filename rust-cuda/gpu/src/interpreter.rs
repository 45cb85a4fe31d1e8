//! The PTX interpreter as a device: it runs the PTX that a GPU would load on the CPU.

mod buffer;
mod thread_pool;

use std::cell::{Cell, Ref, RefCell};
use std::collections::{HashMap, hash_map};

use cuda_std::{LaunchConfig, MemoryId, PtxVariant, RawParameters};
use ptx_interpreter::{Executor, LaunchError, LaunchReport, Machine, Options};

use crate::capture::{Capture, buffer_of};
use crate::erased::AnyLaunch;
use crate::ptx::{Entry, require_fresh};
use crate::{Error, OpenError, entry_check, source_line};
pub(crate) use buffer::InterpreterBuffer;
use thread_pool::{OwnThreads, ThreadPool};

/// An interpreter machine with the kernels of one PTX module.
#[derive(Debug)]
pub(crate) struct Interpreter {
    pub(crate) name: String,
    pub(crate) ptx: PtxVariant,
    /// Distinguishes this machine's buffers from those of other devices.
    pub(crate) memory: MemoryId,
    entries: RefCell<HashMap<&'static str, Entry>>,
    machine: RefCell<Machine>,
    options: Options,
    /// The kernel of the launch that is currently taking its arguments.
    launching: Cell<Option<&'static str>>,
    /// Whether a launch was captured and not run.
    has_skipped: Cell<bool>,
    /// The report of each launch; None until `take_reports` is first called.
    reports: RefCell<Option<Vec<LaunchReport>>>,
    /// The launch to capture; None once it has been captured.
    capture: RefCell<Option<Capture>>,
}

/// A checked launch with its parameters.
#[derive(Debug)]
pub(crate) struct InterpreterLaunch {
    pub(crate) kernel: &'static str,
    pub(crate) signature: &'static [u8],
    pub(crate) config: LaunchConfig,
    pub(crate) raw: RawParameters,
}

impl Interpreter {
    /// Loads the kernels of `variant`.
    pub(crate) fn open(variant: &PtxVariant, options: Options) -> Result<Self, OpenError> {
        require_fresh(variant)?;
        let compute_capability @ (major, minor) = variant.compute_capability();
        let machine = Machine::new(variant.text())
            .map_err(|error| OpenError::Interpreter { variant: compute_capability, error: Box::new(error) })?;
        Ok(Self {
            name: format!("PTX interpreter, sm_{major}{minor}"),
            ptx: *variant,
            memory: MemoryId::unique(),
            entries: RefCell::default(),
            machine: RefCell::new(machine),
            options,
            launching: Cell::new(None),
            has_skipped: Cell::new(false),
            reports: RefCell::new(None),
            capture: RefCell::new(Capture::from_environment()),
        })
    }

    /// Runs a kernel to completion.
    pub(crate) fn launch(&self, launch: &mut dyn AnyLaunch) -> Result<(), Error> {
        self.run(&self.prepare(launch)?)
    }

    /// Checks a launch and takes its arguments.
    pub(crate) fn prepare(&self, launch: &mut dyn AnyLaunch) -> Result<InterpreterLaunch, Error> {
        let (kernel, config) = (launch.kernel(), launch.config());
        self.launching.set(Some(kernel));
        let raw = launch.raw_parameters(self.memory).map_err(|error| Error::Argument { kernel, error })?;
        let check = self.with_entry(kernel, |entry| entry_check::check(entry, launch));
        check.unwrap_or(Err(Error::NoSuchKernel { kernel }))?;
        let parameters: Vec<&[u8]> = raw.values().collect();
        let machine = self.machine.borrow();
        machine.check(kernel, config, &parameters).map_err(|error| failed(&machine, kernel, error))?;
        Ok(InterpreterLaunch { kernel, signature: launch.signature(), config, raw })
    }

    /// Runs a checked launch to completion.
    pub(crate) fn run(&self, launch: &InterpreterLaunch) -> Result<(), Error> {
        let &InterpreterLaunch { kernel, config, ref raw, .. } = launch;
        let machine = self.machine.borrow();
        if self.capture.borrow_mut().as_mut().is_some_and(|capture| capture.is_due(kernel))
            && let Some(capture) = self.capture.take()
        {
            capture.write(launch, &self.ptx, (&machine, &self.options))?;
            if !capture.runs {
                self.has_skipped.set(true);
                return Ok(());
            }
        }
        let parameters: Vec<&[u8]> = raw.values().collect();
        let executor: &dyn Executor = if config.cooperative { &OwnThreads } else { &ThreadPool };
        let report = machine.launch_on(executor, self.options.clone(), kernel, config, &parameters);
        machine.take_printed().iter().for_each(|printed| println!("{printed}"));
        let report = report.map_err(|error| {
            let mut error = failed(&machine, kernel, error);
            if let Error::Interpreter(error) = &mut error
                && let LaunchError::Fault(fault) = &mut **error
            {
                fault.set_buffer_names(&|number| buffer_of(number, launch.signature, raw.names()).map(Into::into));
            }
            error
        })?;
        if let Some(reports) = &mut *self.reports.borrow_mut() {
            reports.push(report);
        }
        Ok(())
    }

    /// The cluster size for which a kernel was compiled; None if there is no such kernel.
    pub(crate) fn cluster_of(&self, kernel: &'static str) -> Option<u32> {
        self.with_entry(kernel, |entry| entry.cluster)
    }

    /// Calls `look` with the kernel's entry, which is parsed once. None if there is no such kernel.
    fn with_entry<R>(&self, kernel: &'static str, look: impl FnOnce(&Entry) -> R) -> Option<R> {
        let mut entries = self.entries.borrow_mut();
        let entry = match entries.entry(kernel) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(vacant) => vacant.insert(Entry::find(self.ptx.text(), kernel)?),
        };
        Some(look(entry))
    }

    /// The reports since the last call. The first call starts collecting them.
    pub(crate) fn take_reports(&self) -> Vec<LaunchReport> {
        self.reports.replace(Some(Vec::new())).unwrap_or_default()
    }

    /// Selects a launch to capture.
    pub(crate) fn capture(&self, capture: Capture) {
        self.capture.replace(Some(capture));
    }

    /// The kernel of the launch that is currently taking its arguments.
    fn launching(&self) -> Option<&'static str> {
        self.launching.get()
    }

    /// Whether a launch was captured and not run.
    fn has_skipped(&self) -> bool {
        self.has_skipped.get()
    }

    fn machine(&self) -> Ref<'_, Machine> {
        self.machine.borrow()
    }
}

/// Converts an error in a launch of `kernel`.
fn failed(machine: &Machine, kernel: &'static str, error: LaunchError) -> Error {
    match error {
        LaunchError::Limit { error, .. } => Error::Limit { kernel, error },
        mut error => {
            if let LaunchError::Fault(fault) = &mut error {
                source_line::add_to(fault, machine.code(kernel));
            }
            Error::Interpreter(Box::new(error))
        }
    }
}
