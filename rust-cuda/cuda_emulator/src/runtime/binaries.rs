//! The program's fat binaries, and their kernels and variables by their addresses in the program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::{HostAddress, Text};
use crate::driver::link::Modules;
use crate::driver::state;
use crate::error::{Error, Result};
use crate::handles::{Handle, Kind, Table};
use crate::{host, image, journal};

/// What the program's initializers have registered.
#[derive(Debug)]
struct Registered {
    binaries: Table<Binary>,
    /// By the address of the program's function with the kernel's name.
    kernels: BTreeMap<usize, Symbol>,
    /// By the address of the program's variable with the same name.
    variables: BTreeMap<usize, Symbol>,
    /// Addresses of variables that are pointers to managed variables.
    pointers: BTreeSet<usize>,
}

/// A fat binary.
#[derive(Debug)]
struct Binary {
    image: HostAddress,
    /// The library, once anything in it has been used, or the reason why it could not be loaded.
    library: Option<Result<Handle>>,
}

/// A kernel or a variable.
#[derive(Clone, Debug)]
struct Symbol {
    binary: Handle,
    name: Arc<str>,
}

static REGISTERED: Mutex<Option<Registered>> = Mutex::new(None);

/// Calls `work` with the registered items.
fn with<R>(work: impl FnOnce(&mut Registered) -> R) -> R {
    let mut registered: MutexGuard<'_, Option<Registered>> = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    work(registered.get_or_insert_with(|| Registered {
        binaries: Table::new(Kind::Binary),
        kernels: BTreeMap::new(),
        variables: BTreeMap::new(),
        pointers: BTreeSet::new(),
    }))
}

/// Registers a fat binary. It is not read before its first use.
pub(crate) fn register(image: HostAddress) -> Handle {
    with(|registered| registered.binaries.add(Binary { image, library: None }))
}

/// Unregisters a fat binary with all its contents, and unloads it.
pub(crate) fn unregister(binary: Handle) -> Result {
    let removed = with(|registered| {
        registered.kernels.retain(|_, kernel| kernel.binary != binary);
        registered.variables.retain(|_, variable| variable.binary != binary);
        let variables = &registered.variables;
        registered.pointers.retain(|pointer| variables.contains_key(pointer));
        registered.binaries.remove(binary)
    })?;
    match removed.library {
        Some(Ok(library)) => crate::driver::library::unload(library),
        _ => Ok(()),
    }
}

/// Registers a kernel of a fat binary.
pub(crate) fn register_kernel(binary: Handle, address: HostAddress, name: Text) -> Result {
    let name = name.get()?.into();
    with(|registered| registered.kernels.insert(address.0, Symbol { binary, name }));
    Ok(())
}

/// Registers a variable of a fat binary.
pub(crate) fn register_variable(binary: Handle, address: HostAddress, name: Text) -> Result {
    let name = name.get()?.into();
    with(|registered| registered.variables.insert(address.0, Symbol { binary, name }));
    Ok(())
}

/// Registers a managed variable of a fat binary. The program's own variable is a pointer, which is
/// set when the binary is loaded.
pub(crate) fn register_managed(binary: Handle, pointer: HostAddress, name: Text) -> Result {
    register_variable(binary, pointer, name)?;
    with(|registered| registered.pointers.insert(pointer.0));
    Ok(())
}

/// Loads a fat binary in a context, and writes the pointers to its managed variables. The program
/// calls this before it reads them.
///
/// # Errors
/// The reason why it cannot be loaded.
pub(crate) fn initialise(binary: Handle, context: Handle) -> Result {
    let module = load(binary, context)?;
    let pointers: Vec<(usize, Arc<str>)> = with(|registered| {
        let of_binary = registered.variables.iter().filter(|(_, variable)| variable.binary == binary);
        let pointers = of_binary.filter(|(address, _)| registered.pointers.contains(address));
        pointers.map(|(address, variable)| (*address, Arc::clone(&variable.name))).collect()
    });
    for (pointer, name) in pointers {
        let (address, _) = state()?.variable(module, &name)?;
        host::write(HostAddress(pointer), &address.to_le_bytes())?;
    }
    Ok(())
}

/// Loads a fat binary in a context, unless it is already loaded.
///
/// # Errors
/// The reason why it cannot be loaded.
pub(crate) fn load(binary: Handle, context: Handle) -> Result<Handle> {
    let library = library(binary)?;
    state()?.module_of(library, context)
}

fn library(binary: Handle) -> Result<Handle> {
    with(|registered| {
        let binary = registered.binaries.get_mut(binary)?;
        let image = binary.image;
        *binary.library.get_or_insert_with(|| Ok(state()?.add_library(ptx(image)?.into())))
    })
}

/// The PTX of a fat binary. Relocatable ones are linked.
fn ptx(image: HostAddress) -> Result<String> {
    let Some(parts) = image::parts_at(image)? else { return image::at(image) };
    Modules::of_program(parts).joined().map_err(|(error, text)| {
        journal::note(&text);
        error
    })
}

/// The function of a kernel in a context, by the kernel's address in the program. The driver's
/// kernel and function handles are accepted too.
///
/// # Errors
/// `INVALID_DEVICE_FUNCTION` if it is none of these; the error if the fat binary cannot be loaded
/// or the kernel is not supported.
pub(crate) fn function(address: HostAddress, context: Handle) -> Result<Handle> {
    let Some(Symbol { binary, name }) = with(|registered| registered.kernels.get(&address.0).cloned()) else {
        let found = state()?.function_in(address.0, context);
        return found.map_err(super::none_is(Error::INVALID_DEVICE_FUNCTION));
    };
    let module = load(binary, context)?;
    let found = state()?.function(module, &name);
    found.map_err(|error| if error == Error::NOT_FOUND { Error::INVALID_DEVICE_FUNCTION } else { error })
}

/// The driver's kernel for an address in the program.
///
/// # Errors
/// Same as [`function`].
pub(crate) fn kernel(address: HostAddress) -> Result<Handle> {
    let Some(Symbol { binary, name }) = with(|registered| registered.kernels.get(&address.0).cloned()) else {
        return Err(Error::INVALID_DEVICE_FUNCTION);
    };
    let library = library(binary)?;
    state()?.kernel(library, &name)
}

/// The address in the program of a function's kernel; None if the kernel is not the program's.
pub(crate) fn address_of(function: Handle) -> Result<Option<HostAddress>> {
    let (module, name) = {
        let state = state()?;
        let function = state.functions.get(function)?;
        (function.module, Arc::clone(&function.name))
    };
    let of_that_name: Vec<(HostAddress, Handle)> = with(|registered| {
        let named = registered.kernels.iter().filter(|(_, kernel)| kernel.name == name);
        let loaded = named.filter_map(|(address, kernel)| {
            let library = registered.binaries.get(kernel.binary).ok()?.library?.ok()?;
            Some((HostAddress(*address), library))
        });
        loaded.collect()
    });
    let state = state()?;
    let mut found = of_that_name.into_iter().filter(|(_, library)| state.has_loaded(*library, module));
    Ok(found.next().map(|(address, _)| address))
}

/// Address and size in a context of the variable at an address in the program.
///
/// # Errors
/// `INVALID_SYMBOL` if there is no such variable; the error if the fat binary cannot be loaded.
pub(crate) fn variable(address: HostAddress, context: Handle) -> Result<(u64, usize)> {
    let found = with(|registered| registered.variables.get(&address.0).cloned());
    let Symbol { binary, name } = found.ok_or(Error::INVALID_SYMBOL)?;
    let module = load(binary, context)?;
    state()?.variable(module, &name).map_err(|_| Error::INVALID_SYMBOL)
}
