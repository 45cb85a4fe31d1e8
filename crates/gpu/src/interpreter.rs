//! The interpreter of PTX as a device: what a GPU would get runs on the CPU.

mod buffer;
mod bytes;

use std::cell::{Ref, RefCell};
use std::collections::{HashMap, hash_map};

use cuda_std::{Kernel, LaunchConfig, MemoryId, PtxVariant, RawParameters};
use ptx_interpreter::{LaunchError, LaunchReport, Machine, Options};

use crate::ptx::Entry;
use crate::{DeviceMemory, Error, OpenError, entry_check};
pub(crate) use buffer::InterpreterBuffer;

/// A machine of the interpreter's with the kernels of one PTX.
#[derive(Debug)]
pub(crate) struct Interpreter {
    pub(crate) name: String,
    pub(crate) compute_capability: (u32, u32),
    /// Tells this machine's buffers from those of others.
    pub(crate) memory: MemoryId,
    text: &'static str,
    entries: RefCell<HashMap<&'static str, Entry>>,
    machine: RefCell<Machine>,
    options: Options,
    /// What each launch did, if somebody wants to know.
    reports: RefCell<Option<Vec<LaunchReport>>>,
}

impl Interpreter {
    /// Loads the kernels.
    pub(crate) fn open(variant: &PtxVariant, options: Options) -> Result<Self, OpenError> {
        let compute_capability @ (major, minor) = variant.compute_capability();
        let machine = Machine::new(variant.text())
            .map_err(|error| OpenError::Interpreter { variant: compute_capability, error: Box::new(error) })?;
        Ok(Self {
            name: format!("PTX interpreter, sm_{major}{minor}"),
            compute_capability,
            memory: MemoryId::unique(),
            text: variant.text(),
            entries: RefCell::default(),
            machine: RefCell::new(machine),
            options,
            reports: RefCell::new(None),
        })
    }

    /// Runs a kernel.
    pub(crate) fn launch<K: Kernel>(
        &self,
        kernel: &K,
        config: LaunchConfig,
        arguments: K::Arguments<'_, DeviceMemory>,
    ) -> Result<(), Error> {
        let raw = RawParameters::of::<K, DeviceMemory>(kernel, arguments, self.memory);
        let raw = raw.map_err(|error| Error::Argument { kernel: K::NAME, error })?;
        self.check_entry::<K>(config)?;
        let machine = self.machine.borrow();
        let parameters: Vec<&[u8]> = raw.values().map(|value| &value[..]).collect();
        let report = machine.launch(self.options, K::NAME, config, &parameters).map_err(|error| match error {
            LaunchError::Limit { error, .. } => Error::Limit { kernel: K::NAME, error },
            error => Error::Interpreter(Box::new(error)),
        })?;
        if let Some(reports) = &mut *self.reports.borrow_mut() {
            reports.push(report);
        }
        Ok(())
    }

    /// Compares the kernel with the entry of its name, whose part of the text is read once.
    fn check_entry<K: Kernel>(&self, config: LaunchConfig) -> Result<(), Error> {
        let mut entries = self.entries.borrow_mut();
        let entry = match entries.entry(K::NAME) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(vacant) => {
                let entry = Entry::find(self.text, K::NAME).ok_or(Error::NoSuchKernel { kernel: K::NAME })?;
                vacant.insert(entry)
            }
        };
        entry_check::check::<K>(entry, config)
    }

    /// From now on keeps what each launch did; returns what was kept.
    pub(crate) fn take_reports(&self) -> Vec<LaunchReport> {
        self.reports.replace(Some(Vec::new())).unwrap_or_default()
    }

    fn machine(&self) -> Ref<'_, Machine> {
        self.machine.borrow()
    }
}
