//! Contexts: the modules, memory and streams of a device, as host threads use them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_uint};

use ptx_interpreter::memory::{DEFAULT_HEAP_BYTES, GlobalMemory};

use crate::abi::Out;
use crate::driver::device;
use crate::driver::pending::{self, Until};
use crate::driver::{State, driver, in_context, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;

/// A context.
#[derive(Debug)]
pub(crate) struct Context {
    /// Ordinal of its device.
    pub(crate) ordinal: usize,
    flags: c_uint,
    is_primary: bool,
    /// The error that a kernel caused. Every later call in the context returns it, as on a GPU.
    pub(crate) failure: Option<Error>,
    limits: BTreeMap<c_int, usize>,
    cache_config: c_int,
    shared_config: c_int,
    /// The context's allocations, which are freed with it.
    pub(crate) allocations: BTreeSet<u64>,
    /// The contexts with memory that this context's kernels may access too.
    peers: BTreeSet<Handle>,
}

/// A device's primary context.
#[derive(Debug, Default)]
pub(crate) struct Primary {
    context: Option<Handle>,
    retained: u32,
    /// Whether the runtime library is among the holders that retain it.
    is_held_by_runtime: bool,
    flags: c_uint,
}

/// Flags that a context may have (`CU_CTX_FLAGS_MASK`).
const ALL_FLAGS: c_uint = 0xff;

impl Primary {
    /// The context, if it is active.
    pub(crate) fn handle(&self) -> Option<Handle> {
        self.context
    }
}

thread_local! {
    /// The contexts that this thread has pushed. The last one is current.
    static STACK: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// The calling thread's current context.
pub(crate) fn current() -> Option<Handle> {
    STACK.with_borrow(|stack| stack.last().copied()).filter(|context| *context != 0)
}

impl Context {
    fn new(ordinal: usize, flags: c_uint, is_primary: bool) -> Self {
        // In bytes: a thread's stack, the buffer of printf and the heap; then the depth and number
        // of nested launches, and the L2 cache's granularity and persisting size.
        let limits = [
            (0, 16 << 10),
            (1, 1 << 20),
            (HEAP_BYTES, DEFAULT_HEAP_BYTES as usize),
            (3, 2),
            (4, 2048),
            (5, 64),
            (6, 0),
        ]
        .into();
        let (failure, allocations, peers) = (None, BTreeSet::new(), BTreeSet::new());
        Self { ordinal, flags, is_primary, failure, limits, cache_config: 0, shared_config: 0, allocations, peers }
    }
}

pub(crate) fn create(context: Out<Handle>, flags: c_uint, device: c_int) -> Result {
    let (ordinal, _) = device::with_ordinal(device)?;
    if context.is_null() || flags & !ALL_FLAGS != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let made = state()?.contexts.add(Context::new(ordinal, flags, false));
    STACK.with_borrow_mut(|stack| stack.push(made));
    context.set(made)
}

/// Like [`create`], but fails if the caller asks for special properties of the context.
pub(crate) fn create_plain(context: Out<Handle>, asked: Option<&str>, flags: c_uint, device: c_int) -> Result {
    if let Some(asked) = asked {
        journal::unsupported(&format!("a context with {asked}"));
        return Err(Error::NOT_SUPPORTED);
    }
    create(context, flags, device)
}

pub(crate) fn destroy(context: Handle) -> Result {
    if state()?.contexts.get(context).map_err(|_| Error::INVALID_CONTEXT)?.is_primary {
        return Err(Error::INVALID_CONTEXT);
    }
    pending::wait(Until::Context(context))?;
    state()?.destroy(context);
    STACK.with_borrow_mut(|stack| {
        if stack.last() == Some(&context) {
            stack.pop();
        }
    });
    Ok(())
}

pub(crate) fn push(context: Handle) -> Result {
    state()?.contexts.get(context).map_err(|_| Error::INVALID_CONTEXT)?;
    STACK.with_borrow_mut(|stack| stack.push(context));
    Ok(())
}

pub(crate) fn pop(context: Out<Handle>) -> Result {
    driver()?;
    let popped = STACK.with_borrow_mut(Vec::pop).ok_or(Error::INVALID_CONTEXT)?;
    context.set_if_wanted(popped);
    Ok(())
}

/// Replaces the current context with another, or with none if the handle is 0.
pub(crate) fn set_current(context: Handle) -> Result {
    let state = state()?;
    if context != 0 {
        state.contexts.get(context).map_err(|_| Error::INVALID_CONTEXT)?;
    }
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        if context != 0 {
            stack.push(context);
        }
    });
    Ok(())
}

pub(crate) fn get_current(context: Out<Handle>) -> Result {
    driver()?;
    context.set(current().unwrap_or(0))
}

/// The device of a context, or of the current context if the handle is 0.
pub(crate) fn device(device: Out<c_int>, context: Handle) -> Result {
    let state = state()?;
    let context = or_current(context)?;
    device.set(state.contexts.get(context).map_err(|_| Error::INVALID_CONTEXT)?.ordinal as c_int)
}

fn or_current(context: Handle) -> Result<Handle> {
    if context == 0 { current().ok_or(Error::INVALID_CONTEXT) } else { Ok(context) }
}

pub(crate) fn flags(flags: Out<c_uint>) -> Result {
    in_context(|state, context, _| flags.set(state.contexts.get(context)?.flags))
}

pub(crate) fn set_flags(flags: c_uint) -> Result {
    if flags & !ALL_FLAGS != 0 {
        return Err(Error::INVALID_VALUE);
    }
    in_context(|state, context, _| {
        state.contexts.get_mut(context)?.flags = flags;
        Ok(())
    })
}

/// A number that no other context of the process has.
pub(crate) fn id(context: Handle, id: Out<u64>) -> Result {
    let state = state()?;
    let context = or_current(context)?;
    state.contexts.get(context).map_err(|_| Error::INVALID_CONTEXT)?;
    id.set(context as u64)
}

/// The API version of a context, which is the driver's version.
pub(crate) fn api_version(context: Handle, version: Out<c_uint>) -> Result {
    let state = state()?;
    let context = or_current(context)?;
    state.contexts.get(context).map_err(|_| Error::INVALID_CONTEXT)?;
    version.set(driver()?.options.version as c_uint)
}

/// Waits for the work of a context, and reports a kernel's failure. A handle of 0 means the current
/// context.
pub(crate) fn synchronise(context: Handle) -> Result {
    let context = {
        let state = state()?;
        let context = or_current(context)?;
        if state.is_capturing(context) {
            return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
        }
        context
    };
    pending::wait(Until::Context(context))?;
    state()?.settled(context)
}

pub(crate) fn limit(value: Out<usize>, limit: c_int) -> Result {
    in_context(|state, context, _| {
        let limits = &state.contexts.get(context)?.limits;
        value.set(*limits.get(&limit).ok_or(Error::UNSUPPORTED_LIMIT)?)
    })
}

/// `CU_LIMIT_MALLOC_HEAP_SIZE`
const HEAP_BYTES: c_int = 2;

/// Stores the limit. Only the heap size has an effect, and only on a device where no module that
/// uses the heap has been loaded.
pub(crate) fn set_limit(limit: c_int, value: usize) -> Result {
    in_context(|state, context, ordinal| {
        if limit == HEAP_BYTES && !state.memories[ordinal].set_heap_bytes(value as u64) {
            return Err(Error::INVALID_VALUE);
        }
        let limits = &mut state.contexts.get_mut(context)?.limits;
        *limits.get_mut(&limit).ok_or(Error::UNSUPPORTED_LIMIT)? = value;
        Ok(())
    })
}

pub(crate) fn cache_config(config: Out<c_int>) -> Result {
    in_context(|state, context, _| config.set(state.contexts.get(context)?.cache_config))
}

pub(crate) fn set_cache_config(config: c_int) -> Result {
    in_context(|state, context, _| {
        state.contexts.get_mut(context)?.cache_config = config;
        Ok(())
    })
}

pub(crate) fn shared_config(config: Out<c_int>) -> Result {
    in_context(|state, context, _| config.set(state.contexts.get(context)?.shared_config))
}

pub(crate) fn set_shared_config(config: c_int) -> Result {
    in_context(|state, context, _| {
        state.contexts.get_mut(context)?.shared_config = config;
        Ok(())
    })
}

/// All streams have the same priority. Programs may ask for one from 0 down to −5.
pub(crate) fn priority_range(least: Out<c_int>, greatest: Out<c_int>) -> Result {
    in_context(|_, _, _| {
        least.set_if_wanted(0);
        greatest.set_if_wanted(-5);
        Ok(())
    })
}

/// Lets kernels of the current context access memory on another context's device.
///
/// # Errors
/// `INVALID_VALUE` if there are flags; `INVALID_CONTEXT` if no context is current, or the other one
/// is the current one or does not exist; `PEER_ACCESS_UNSUPPORTED` if both are on one device;
/// `PEER_ACCESS_ALREADY_ENABLED`.
pub(crate) fn enable_peer(peer: Handle, flags: c_uint) -> Result {
    in_context(|state, context, ordinal| {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        if peer == context {
            return Err(Error::INVALID_CONTEXT);
        }
        if state.contexts.get(peer).map_err(|_| Error::INVALID_CONTEXT)?.ordinal == ordinal {
            return Err(Error::PEER_ACCESS_UNSUPPORTED);
        }
        let is_new = state.contexts.get_mut(context)?.peers.insert(peer);
        if is_new { Ok(()) } else { Err(Error::PEER_ACCESS_ALREADY_ENABLED) }
    })
}

/// Revokes the access that [`enable_peer`] gave.
///
/// # Errors
/// `INVALID_CONTEXT` if no context is current or the other one does not exist;
/// `PEER_ACCESS_NOT_ENABLED`.
pub(crate) fn disable_peer(peer: Handle) -> Result {
    pending::wait(Until::Everything)?;
    in_context(|state, context, _| {
        state.contexts.get(peer).map_err(|_| Error::INVALID_CONTEXT)?;
        let was_enabled = state.contexts.get_mut(context)?.peers.remove(&peer);
        if was_enabled { Ok(()) } else { Err(Error::PEER_ACCESS_NOT_ENABLED) }
    })
}

impl State {
    /// The memory that kernels of a context can access, on its own device and its peers' devices,
    /// and its device's ordinal.
    pub(crate) fn memory_of(&self, context: Handle) -> Result<(GlobalMemory, usize)> {
        let ordinal = self.usable(context)?;
        let peers = self.contexts.get(context)?.peers.iter().filter_map(|peer| self.contexts.get(*peer).ok());
        let peers: BTreeSet<usize> = peers.map(|peer| peer.ordinal).collect();
        let own = self.memories[ordinal].clone();
        Ok((peers.into_iter().fold(own, |memory, peer| memory.with_allocations_of(&self.memories[peer])), ordinal))
    }
}

pub(crate) fn retain_primary(context: Out<Handle>, device: c_int) -> Result {
    let (ordinal, _) = device::with_ordinal(device)?;
    if context.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let mut state = state()?;
    let handle = state.primary(ordinal);
    state.primaries[ordinal].retained += 1;
    context.set(handle)
}

pub(crate) fn release_primary(device: c_int) -> Result {
    let (ordinal, _) = device::with_ordinal(device)?;
    if state()?.primaries[ordinal].retained == 1 {
        pending::wait(Until::Device(ordinal))?;
    }
    let mut state = state()?;
    let primary = &mut state.primaries[ordinal];
    primary.retained = primary.retained.checked_sub(1).ok_or(Error::INVALID_CONTEXT)?;
    if primary.retained == 0 {
        primary.is_held_by_runtime = false;
        state.destroy_primary(ordinal);
    }
    Ok(())
}

/// Destroys the contents of the primary context. Its retain count does not change.
pub(crate) fn reset_primary(device: c_int) -> Result {
    let (ordinal, _) = device::with_ordinal(device)?;
    pending::wait(Until::Device(ordinal))?;
    state()?.destroy_primary(ordinal);
    Ok(())
}

pub(crate) fn set_primary_flags(device: c_int, flags: c_uint) -> Result {
    let (ordinal, _) = device::with_ordinal(device)?;
    if flags & !ALL_FLAGS != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let mut state = state()?;
    let state = &mut *state;
    let primary = &mut state.primaries[ordinal];
    primary.flags = flags;
    if let Some(context) = primary.context {
        state.contexts.get_mut(context)?.flags = flags;
    }
    Ok(())
}

pub(crate) fn primary_state(device: c_int, flags: Out<c_uint>, is_active: Out<c_int>) -> Result {
    let (ordinal, _) = device::with_ordinal(device)?;
    let state = state()?;
    let primary = &state.primaries[ordinal];
    flags.set(primary.flags)?;
    is_active.set(c_int::from(primary.context.is_some()))
}

impl State {
    /// The primary context of a device, created if necessary.
    fn primary(&mut self, ordinal: usize) -> Handle {
        let primary = &mut self.primaries[ordinal];
        let flags = primary.flags;
        *primary.context.get_or_insert_with(|| self.contexts.add(Context::new(ordinal, flags, true)))
    }

    /// The primary context of a device. The runtime library retains it once.
    pub(crate) fn primary_of_runtime(&mut self, ordinal: usize) -> Handle {
        let context = self.primary(ordinal);
        let primary = &mut self.primaries[ordinal];
        primary.retained += u32::from(!primary.is_held_by_runtime);
        primary.is_held_by_runtime = true;
        context
    }

    fn destroy_primary(&mut self, ordinal: usize) {
        if let Some(context) = self.primaries[ordinal].context.take() {
            self.destroy(context);
        }
    }

    /// Frees everything that belongs to a context.
    fn destroy(&mut self, context: Handle) {
        let Ok(destroyed) = self.contexts.remove(context) else { return };
        for address in destroyed.allocations {
            let _freed_before = self.memories[destroyed.ordinal].free(address);
        }
        let modules = self.modules.iter().filter(|(_, module)| module.context == context);
        for module in modules.map(|(handle, _)| handle).collect::<Vec<_>>() {
            let _is_known = self.unload(module);
        }
        self.streams.remove_where(|stream| stream.context == context);
        self.arrays.remove_where(|array| array.context == context);
        self.destroy_image_objects(context);
        self.captures.retain(|capture| capture.context != context);
        self.events.remove_where(|event| event.context == context);
        self.executables.remove_where(|executable| executable.context == context);
        self.libraries.iter_mut().for_each(|(_, library)| library.forget_context(context));
    }
}
