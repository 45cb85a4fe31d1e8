//! Modules: PTX loaded in a context.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use ptx_interpreter::{LoadError, LoadedModule};

use crate::abi::{HostAddress, Out, Text};
use crate::driver::function::Function;
use crate::driver::pending::{self, Until};
use crate::driver::{State, in_context, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::jit::JitOptions;
use crate::{image, journal, names};

/// A module.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) context: Handle,
    /// Ordinal of the context's device.
    ordinal: usize,
    pub(crate) loaded: Arc<LoadedModule>,
    /// The PTX, for captures.
    pub(crate) ptx: Arc<str>,
    /// Handles of its functions that programs have asked for.
    functions: BTreeMap<String, Handle>,
}

pub(crate) fn load(module: Out<Handle>, path: Text) -> Result {
    let path = path.get()?;
    let bytes = std::fs::read(&path).map_err(|error| {
        journal::note(&format!("{path}: {error}"));
        Error::FILE_NOT_FOUND
    })?;
    load_text(module, &image::of_bytes(&bytes)?, &JitOptions::default())
}

pub(crate) fn load_data(module: Out<Handle>, image: HostAddress, options: &JitOptions) -> Result {
    load_text(module, &image::at(image)?, options)
}

fn load_text(module: Out<Handle>, ptx: &str, options: &JitOptions) -> Result {
    let loaded = in_context(|state, context, _| state.load(context, ptx.into(), options));
    module.set(loaded?)
}

pub(crate) fn unload(module: Handle) -> Result {
    pending::wait(Until::Everything)?;
    state()?.unload(module)
}

pub(crate) fn function(function: Out<Handle>, module: Handle, name: Text) -> Result {
    let name = name.get()?;
    function.set(state()?.function(module, &name)?)
}

pub(crate) fn function_count(count: Out<c_uint>, module: Handle) -> Result {
    count.set(state()?.modules.get(module)?.loaded.kernels().count() as c_uint)
}

/// Writes as many of the module's functions as there is room for.
pub(crate) fn functions(functions: Out<Handle>, room: c_uint, module: Handle) -> Result {
    let mut state = state()?;
    let names: Vec<String> = state.modules.get(module)?.loaded.kernels().map(str::to_owned).collect();
    for (index, name) in names.iter().take(room as usize).enumerate() {
        functions.set_nth(index, state.function(module, name)?)?;
    }
    Ok(())
}

pub(crate) fn global(address: Out<u64>, bytes: Out<usize>, module: Handle, name: Text) -> Result {
    let name = name.get()?;
    state()?.global(module, &name, address, bytes)
}

/// `CU_MODULE_EAGER_LOADING`
pub(crate) fn loading_mode(mode: Out<c_int>) -> Result {
    mode.set(1)
}

impl State {
    /// Loads a module in a context.
    ///
    /// # Errors
    /// `INVALID_PTX`, or `NOT_SUPPORTED` if the PTX may be valid. The reason is written to the log
    /// in the options, otherwise to stderr.
    pub(crate) fn load(&mut self, context: Handle, ptx: Arc<str>, options: &JitOptions) -> Result<Handle> {
        let ordinal = self.usable(context)?;
        let memory = &mut self.memories[ordinal];
        let mut loaded = LoadedModule::load(&ptx, memory).map_err(|error| rejected(&error, options))?;
        // An unsupported kernel causes an error only when a program asks for it. If all are
        // unsupported, the module fails to load.
        if loaded.kernels().next().is_none()
            && let Some((_, error)) = loaded.refused().next()
        {
            let error = rejected(error, options);
            loaded.allocations().for_each(|address| _ = memory.free(address));
            return Err(error);
        }
        loaded.share_constants(memory).map_err(|_| Error::OUT_OF_MEMORY)?;
        let managed = loaded.variables().filter(|variable| variable.is_managed);
        for (address, bytes) in managed.map(|variable| (variable.address, variable.bytes)).collect::<Vec<_>>() {
            if let Err(error) = self.share_variable(ordinal, address, bytes as usize) {
                self.free_variables(ordinal, &loaded);
                return Err(error);
            }
        }
        Ok(self.modules.add(Module { context, ordinal, loaded: Arc::new(loaded), ptx, functions: BTreeMap::new() }))
    }

    /// Unloads a module. A running launch keeps what it needs.
    ///
    /// # Errors
    /// `INVALID_HANDLE`
    pub(crate) fn unload(&mut self, module: Handle) -> Result {
        let Module { ordinal, loaded, .. } = self.modules.remove(module)?;
        self.functions.remove_where(|function| function.module == module);
        self.free_variables(ordinal, &loaded);
        Ok(())
    }

    fn free_variables(&mut self, ordinal: usize, loaded: &LoadedModule) {
        for address in loaded.allocations() {
            self.forget_variable(address);
            let _is_allocated = self.memories[ordinal].free(address);
        }
    }

    /// The handle of a function, the same for each call.
    ///
    /// # Errors
    /// `NOT_FOUND`; `NOT_SUPPORTED` if the kernel uses something that the interpreter does not
    /// support, or `INVALID_PTX`. A line in the log says what is wrong.
    pub(crate) fn function(&mut self, module: Handle, name: &str) -> Result<Handle> {
        let of_module = self.modules.get_mut(module)?;
        if let Some(known) = of_module.functions.get(name) {
            return Ok(*known);
        }
        if let Some((_, error)) = of_module.loaded.refused().find(|(refused, _)| *refused == name) {
            journal::note_once(&format!("kernel {}: {error}", names::short_name(name)));
            return Err(code(error));
        }
        let made = Function::of(module, of_module.context, &of_module.loaded, name).ok_or(Error::NOT_FOUND)?;
        let made = self.functions.add(made);
        self.modules.get_mut(module)?.functions.insert(name.to_owned(), made);
        Ok(made)
    }

    /// Writes the address and size of a module's variable, each only if requested.
    pub(crate) fn global(&self, module: Handle, name: &str, address: Out<u64>, bytes: Out<usize>) -> Result {
        let (start, size) = self.variable(module, name)?;
        address.set_if_wanted(start);
        bytes.set_if_wanted(size);
        Ok(())
    }

    /// Address and size of a module's variable.
    ///
    /// # Errors
    /// `INVALID_HANDLE`, `NOT_FOUND`
    pub(crate) fn variable(&self, module: Handle, name: &str) -> Result<(u64, usize)> {
        let loaded = &self.modules.get(module)?.loaded;
        let variable = loaded.variables().find(|variable| variable.name == name).ok_or(Error::NOT_FOUND)?;
        Ok((variable.address, variable.bytes as usize))
    }
}

fn rejected(error: &LoadError, options: &JitOptions) -> Error {
    options.report(&error.to_string());
    code(error)
}

fn code(error: &LoadError) -> Error {
    if error.is_unsupported() { Error::NOT_SUPPORTED } else { Error::INVALID_PTX }
}
