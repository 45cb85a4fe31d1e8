//! The modules of a device's kernels: one per kernel, compiled by the driver on first use. So a
//! program does not wait for kernels that it never launches.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::module::{Function, LoadError, Module};
use super::speech::Speech;
use crate::ptx::{Entry, Kernels};
use crate::{DriverError, OpenError, PtxVariant};

/// Why a kernel cannot be used.
#[derive(Debug)]
pub(super) enum FunctionError {
    /// The driver rejected the kernel's PTX.
    Load(LoadError),
    /// Any other driver error.
    Driver(DriverError),
}

/// The kernels of a PTX variant on a GPU.
#[derive(Debug)]
pub(super) struct Modules {
    text: &'static str,
    kernels: Kernels<'static>,
    /// A single module with all kernels, if they cannot be separated.
    common: OnceCell<Module>,
    /// The loaded modules of single kernels.
    separate: RefCell<HashMap<&'static str, Module>>,
    functions: RefCell<HashMap<&'static str, Rc<Function>>>,
    pub(super) speech: Speech,
}

impl Modules {
    /// The kernels of `variant` on the GPU called `device`, which must have the current context.
    /// Loads the shortest kernel, or all of them if they cannot be separated, so a driver that is
    /// too old for the PTX rejects it here.
    pub(super) fn open(variant: &'static PtxVariant, device: &str) -> Result<Self, OpenError> {
        let text = variant.text();
        let modules = Self {
            text,
            kernels: Kernels::of(text),
            common: OnceCell::new(),
            separate: RefCell::default(),
            functions: RefCell::default(),
            speech: Speech::of(text),
        };
        let loaded = match modules.kernels.shortest() {
            Some(kernel) => modules.load(kernel),
            None => modules.load_text(text).map(|module| {
                modules.common.set(module).expect("it was empty above, and there is one thread");
            }),
        };
        loaded.map(|()| modules).map_err(|LoadError { error, log }| {
            let variant = variant.compute_capability();
            OpenError::Ptx { device: device.to_owned(), variant, error, log }
        })
    }

    /// The kernel called `name`, loaded on first use; None if the PTX does not contain it.
    pub(super) fn function(&self, name: &'static str) -> Result<Option<Rc<Function>>, FunctionError> {
        if let Some(function) = self.functions.borrow().get(name) {
            return Ok(Some(Rc::clone(function)));
        }
        let Some(entry) = Entry::find(self.text, name) else { return Ok(None) };
        if self.common.get().is_none() {
            self.load(name).map_err(FunctionError::Load)?;
        }
        let separate = self.separate.borrow();
        let Some(module) = self.common.get().or_else(|| separate.get(name)) else { return Ok(None) };
        let function = module.function(name, entry).map_err(FunctionError::Driver)?.map(Rc::new);
        if let Some(function) = &function {
            self.functions.borrow_mut().insert(name, Rc::clone(function));
        }
        Ok(function)
    }

    /// Loads the module of the kernel `name`, unless it is loaded or the text has no such kernel.
    fn load(&self, name: &'static str) -> Result<(), LoadError> {
        let mut separate = self.separate.borrow_mut();
        if !separate.contains_key(name)
            && let Some(text) = self.kernels.module_of(name)
        {
            separate.insert(name, self.load_text(&text)?);
        }
        Ok(())
    }

    /// Whether a loaded kernel may print messages or panic.
    pub(super) fn speaks(&self, kernel: &str) -> bool {
        self.speech.is_used() && self.kernels.calls(kernel)
    }

    /// Loads a module, and connects its kernels to the message buffer.
    fn load_text(&self, text: &str) -> Result<Module, LoadError> {
        let module = Module::load(text)?;
        self.speech.connect(&module, text).map_err(|error| LoadError { error, log: String::new() })?;
        Ok(module)
    }
}
