//! Libraries: modules that belong to no context. A library is loaded in each context that uses one
//! of its kernels.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int, c_uint};
use std::sync::Arc;

use crate::abi::{HostAddress, Out, Text};
use crate::driver::function;
use crate::driver::pending::{self, Until};
use crate::driver::{State, driver, in_context, state};
use crate::driver::{context, device};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::jit::JitOptions;
use crate::{image, journal};

/// A library.
#[derive(Debug)]
pub(crate) struct Library {
    ptx: Arc<str>,
    /// By context.
    modules: BTreeMap<Handle, Handle>,
    /// Handles of its kernels that programs have asked for.
    kernels: BTreeMap<String, Handle>,
}

/// A kernel of a library.
#[derive(Debug)]
pub(crate) struct Kernel {
    library: Handle,
    name: CString,
}

impl Library {
    /// Forgets the module of a destroyed context.
    pub(crate) fn forget_context(&mut self, context: Handle) {
        self.modules.remove(&context);
    }
}

pub(crate) fn load_data(library: Out<Handle>, code: HostAddress, options: &JitOptions) -> Result {
    driver()?;
    load(library, &image::at(code)?, options)
}

pub(crate) fn load_file(library: Out<Handle>, path: Text, options: &JitOptions) -> Result {
    driver()?;
    let path = path.get()?;
    let bytes = std::fs::read(&path).map_err(|error| {
        journal::note(&format!("{path}: {error}"));
        Error::FILE_NOT_FOUND
    })?;
    load(library, &image::of_bytes(&bytes)?, options)
}

/// Adds a library. If a context is current, loads it there, so errors in its text are reported now.
fn load(library: Out<Handle>, ptx: &str, options: &JitOptions) -> Result {
    let mut state = state()?;
    let ptx: Arc<str> = ptx.into();
    let mut modules = BTreeMap::new();
    if let Some(context) = context::current() {
        modules.insert(context, state.load(context, Arc::clone(&ptx), options)?);
    }
    library.set(state.libraries.add(Library { ptx, modules, kernels: BTreeMap::new() }))
}

pub(crate) fn unload(library: Handle) -> Result {
    pending::wait(Until::Everything)?;
    let mut state = state()?;
    let unloaded = state.libraries.remove(library)?;
    state.kernels.remove_where(|kernel| kernel.library == library);
    unloaded.modules.into_values().try_for_each(|module| state.unload(module))
}

pub(crate) fn kernel(kernel: Out<Handle>, library: Handle, name: Text) -> Result {
    let name = name.get()?;
    kernel.set(state()?.kernel(library, &name)?)
}

pub(crate) fn kernel_count(count: Out<c_uint>, library: Handle) -> Result {
    let names = state()?.kernel_names(library)?;
    count.set(names.len() as c_uint)
}

/// Writes as many of the library's kernels as there is room for.
pub(crate) fn kernels(kernels: Out<Handle>, room: c_uint, library: Handle) -> Result {
    let mut state = state()?;
    for (index, name) in state.kernel_names(library)?.iter().take(room as usize).enumerate() {
        kernels.set_nth(index, state.kernel(library, name)?)?;
    }
    Ok(())
}

/// The library's module in the current context.
pub(crate) fn module(module: Out<Handle>, library: Handle) -> Result {
    let found = in_context(|state, context, _| state.module_of(library, context));
    module.set(found?)
}

/// A variable of the library in the current context.
pub(crate) fn global(address: Out<u64>, bytes: Out<usize>, library: Handle, name: Text) -> Result {
    let name = name.get()?;
    in_context(|state, context, _| {
        let module = state.module_of(library, context)?;
        state.global(module, &name, address, bytes)
    })
}

/// No library has managed variables or unified functions, since PTX does not mark them.
pub(crate) fn has_none(library: Handle) -> Result {
    state()?.libraries.get(library)?;
    Err(Error::NOT_FOUND)
}

/// The kernel's function in the current context.
pub(crate) fn function(function: Out<Handle>, kernel: Handle) -> Result {
    let found = in_context(|state, context, _| state.function_in(kernel, context));
    function.set(found?)
}

pub(crate) fn library_of(library: Out<Handle>, kernel: Handle) -> Result {
    library.set(state()?.kernels.get(kernel)?.library)
}

/// The kernel's name, which is valid as long as the kernel.
pub(crate) fn kernel_name(name: Out<*const c_char>, kernel: Handle) -> Result {
    name.set(state()?.kernels.get(kernel)?.name.as_ptr())
}

/// An attribute of a kernel on a device.
pub(crate) fn attribute(value: Out<c_int>, attribute: c_int, kernel: Handle, device: c_int) -> Result {
    let mut state = state()?;
    let context = state.context_on(device)?;
    let function = state.function_in(kernel, context)?;
    value.set(function::attribute_of(&state, function, attribute)?)
}

pub(crate) fn set_attribute(attribute: c_int, value: c_int, kernel: Handle, device: c_int) -> Result {
    let mut state = state()?;
    let context = state.context_on(device)?;
    let function = state.function_in(kernel, context)?;
    function::set_attribute_of(&mut state, function, attribute, value)
}

impl State {
    /// Adds a library that is not loaded in any context yet.
    pub(crate) fn add_library(&mut self, ptx: Arc<str>) -> Handle {
        self.libraries.add(Library { ptx, modules: BTreeMap::new(), kernels: BTreeMap::new() })
    }

    /// Whether a module belongs to a library.
    pub(crate) fn has_loaded(&self, library: Handle, module: Handle) -> bool {
        self.libraries.get(library).is_ok_and(|library| library.modules.values().any(|known| *known == module))
    }

    /// The handle of a kernel, the same for each call.
    ///
    /// # Errors
    /// `INVALID_HANDLE`, `NOT_FOUND`; `INVALID_CONTEXT` if the library is not loaded in any context
    /// and none is current.
    pub(crate) fn kernel(&mut self, library: Handle, name: &str) -> Result<Handle> {
        if let Some(known) = self.libraries.get(library)?.kernels.get(name) {
            return Ok(*known);
        }
        if !self.kernel_names(library)?.iter().any(|known| known == name) {
            return Err(Error::NOT_FOUND);
        }
        let c_name = CString::new(name).map_err(|_| Error::INVALID_VALUE)?;
        let made = self.kernels.add(Kernel { library, name: c_name });
        self.libraries.get_mut(library)?.kernels.insert(name.to_owned(), made);
        Ok(made)
    }

    /// Names of a library's kernels, including those that the interpreter does not support.
    fn kernel_names(&mut self, library: Handle) -> Result<Vec<String>> {
        let loaded = self.libraries.get(library)?.modules.values().next().copied();
        let module =
            match loaded.or_else(|| context::current().and_then(|context| self.module_of(library, context).ok())) {
                Some(module) => module,
                None => return Err(Error::INVALID_CONTEXT),
            };
        let loaded = &self.modules.get(module)?.loaded;
        let names = loaded.kernels().chain(loaded.refused().map(|(name, _)| name));
        Ok(names.map(str::to_owned).collect())
    }

    /// The module of a library in a context, loaded on first use.
    pub(crate) fn module_of(&mut self, library: Handle, context: Handle) -> Result<Handle> {
        let of_library = self.libraries.get(library)?;
        if let Some(known) = of_library.modules.get(&context) {
            return Ok(*known);
        }
        let ptx = Arc::clone(&of_library.ptx);
        let made = self.load(context, ptx, &JitOptions::default())?;
        self.libraries.get_mut(library)?.modules.insert(context, made);
        Ok(made)
    }

    /// The function of a kernel in a context. A function's handle is returned unchanged.
    pub(crate) fn function_in(&mut self, kernel: Handle, context: Handle) -> Result<Handle> {
        if self.functions.get(kernel).is_ok() {
            return Ok(kernel);
        }
        let Kernel { library, name } = self.kernels.get(kernel)?;
        let (library, name) = (*library, name.to_string_lossy().into_owned());
        let module = self.module_of(library, context)?;
        self.function(module, &name)
    }

    /// The current context if it is on the device, otherwise the device's primary context.
    fn context_on(&self, device: c_int) -> Result<Handle> {
        let (ordinal, _) = device::with_ordinal(device)?;
        let current = context::current().filter(|context| self.usable(*context) == Ok(ordinal));
        current.or_else(|| self.primaries[ordinal].handle()).ok_or(Error::INVALID_CONTEXT)
    }
}
