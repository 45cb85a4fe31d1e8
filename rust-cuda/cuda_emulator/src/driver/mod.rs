//! The driver's state, which all threads of a process share. Its submodules contain the functions
//! that change it.

pub(crate) mod array;
pub(crate) mod context;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod function;
pub(crate) mod graph;
pub(crate) mod graph_memory;
pub(crate) mod graph_nodes;
pub(crate) mod graph_queries;
pub(crate) mod graph_update;
pub(crate) mod image_object;
pub(crate) mod launch;
pub(crate) mod library;
pub(crate) mod link;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod object;
pub(crate) mod pending;
mod relaunches;
pub(crate) mod stream;
pub(crate) mod tensor_map;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use cuda_launch::LaunchConfig;
use ptx_interpreter::memory::GlobalMemory;

use crate::driver::array::Array;
use crate::driver::context::{Context, Primary};
use crate::driver::device::memory_bytes;
use crate::driver::event::Event;
use crate::driver::function::Function;
use crate::driver::graph::{Executable, Graph, Node};
use crate::driver::graph_memory::GraphMemory;
use crate::driver::image_object::{Surface, Texture};
use crate::driver::library::{Kernel, Library};
use crate::driver::link::Link;
use crate::driver::memory::{Pool, shared::SharedMemory};
use crate::driver::module::Module;
use crate::driver::object::UserObject;
use crate::driver::pending::Pending;
use crate::driver::relaunches::Relaunches;
use crate::driver::stream::{Capture, Stream};
use crate::error::{Error, Result};
use crate::handles::{Handle, Kind, Table};
use crate::journal::{self, Journal};
use crate::options::Options;

/// The driver, once `cuInit` has been called.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) options: Options,
    state: Mutex<State>,
    /// Held during a launch: kernels run one at a time, so each run of a program has the same
    /// order.
    launching: Mutex<()>,
    /// Held while pending work runs, so only one piece runs at a time.
    running: Mutex<()>,
    relaunches: Mutex<Relaunches>,
    pub(crate) journal: Journal,
}

/// Everything that driver functions can change.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) contexts: Table<Context>,
    /// One for each device.
    pub(crate) primaries: Vec<Primary>,
    /// Global memory of each device.
    pub(crate) memories: Vec<GlobalMemory>,
    /// Host memory that devices access too.
    pub(crate) shared: SharedMemory,
    pub(crate) modules: Table<Module>,
    pub(crate) functions: Table<Function>,
    pub(crate) libraries: Table<Library>,
    pub(crate) kernels: Table<Kernel>,
    pub(crate) links: Table<Link>,
    pub(crate) streams: Table<Stream>,
    pub(crate) captures: Vec<Capture>,
    pub(crate) pending: Pending,
    pub(crate) events: Table<Event>,
    pub(crate) graphs: Table<Graph>,
    pub(crate) nodes: Table<Node>,
    pub(crate) executables: Table<Executable>,
    pub(crate) graph_memory: GraphMemory,
    pub(crate) objects: Table<UserObject>,
    /// The first ones are the default pools.
    pub(crate) pools: Table<Pool>,
    pub(crate) arrays: Table<Array>,
    pub(crate) textures: Table<Texture>,
    pub(crate) surfaces: Table<Surface>,
}

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// `cuInit`
pub(crate) fn initialise(flags: u32) -> Result {
    if flags != 0 {
        return Err(Error::INVALID_VALUE);
    }
    if DRIVER.get().is_some() {
        return driver().map(|_| ());
    }
    let options = Options::from_environment().map_err(|error| {
        journal::note(&error.to_string());
        Error::INVALID_VALUE
    })?;
    if options.devices.is_empty() {
        return Err(Error::NO_DEVICE);
    }
    let driver = DRIVER.get_or_init(|| {
        if let Some(seed) = options.async_order {
            journal::note(&format!("async order {seed}"));
        }
        Driver::new(options)
    });
    driver.write_at_exit();
    notice_forks();
    Ok(())
}

/// Whether this process was forked from one with an initialized driver. As on a GPU, it cannot use
/// the driver, since locks held by other threads would never be released.
static IS_FORK: AtomicBool = AtomicBool::new(false);

/// Makes forked processes record that they are forks.
#[cfg(unix)]
#[allow(unsafe_code, reason = "a call of the C library")]
fn notice_forks() {
    extern "C" fn note_fork() {
        IS_FORK.store(true, Ordering::Relaxed);
    }
    type Handler = Option<extern "C" fn()>;
    unsafe extern "C" {
        fn pthread_atfork(before: Handler, in_parent: Handler, in_child: Handler) -> std::ffi::c_int;
    }
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // SAFETY: this is the function's type in C's pthread.h, and `note_fork` only stores to an atomic.
        let _registered = unsafe { pthread_atfork(None, None, Some(note_fork)) };
    });
}

#[cfg(not(unix))]
fn notice_forks() {}

/// The driver.
///
/// # Errors
/// `NOT_INITIALIZED`, also in a process forked from one that initialized the driver.
pub(crate) fn driver() -> Result<&'static Driver> {
    DRIVER.get().filter(|_| !IS_FORK.load(Ordering::Relaxed)).ok_or(Error::NOT_INITIALIZED)
}

/// The CUDA version, which programs may query before `cuInit`.
///
/// # Errors
/// `INVALID_VALUE` if the environment is invalid.
pub(crate) fn version() -> Result<i32> {
    let version = DRIVER.get().map(|driver| driver.options.version);
    version.map_or_else(
        || Options::from_environment().map(|options| options.version).map_err(|_| Error::INVALID_VALUE),
        Ok,
    )
}

extern "C" fn write_report() {
    // A panic must not reach C.
    let _ = std::panic::catch_unwind(|| {
        if let Ok(driver) = driver() {
            driver.run_at_exit();
            // A thread that ends with the process may hold the lock.
            let live = driver.state.try_lock().map_or((0, 0), |state| state.live_buffers());
            driver.journal.end(live);
        }
    });
}

/// Locks the driver's state. No other thread can use it until the guard is dropped.
///
/// # Errors
/// `NOT_INITIALIZED`
pub(crate) fn state() -> Result<MutexGuard<'static, State>> {
    Ok(driver()?.state.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Calls `work` with the state, the current context and its device's ordinal.
///
/// # Errors
/// Errors from `work`; `INVALID_CONTEXT` if no context is current; the context's own error after a
/// kernel failed in it.
pub(crate) fn in_context<R>(work: impl FnOnce(&mut State, Handle, usize) -> Result<R>) -> Result<R> {
    let mut state = state()?;
    let context = context::current().ok_or(Error::INVALID_CONTEXT)?;
    let ordinal = state.usable(context)?;
    work(&mut state, context, ordinal)
}

impl Driver {
    fn new(options: Options) -> Self {
        let devices = options.devices.len();
        let mut pools = Table::new(Kind::Pool);
        Pool::defaults(devices).for_each(|pool| _ = pools.add(pool));
        let memories = (0..devices).map(|ordinal| GlobalMemory::of_device(ordinal as u16, memory_bytes()));
        let state = State {
            contexts: Table::new(Kind::Context),
            primaries: (0..devices).map(|_| Primary::default()).collect(),
            memories: memories.collect(),
            shared: SharedMemory::default(),
            modules: Table::new(Kind::Module),
            functions: Table::new(Kind::Function),
            libraries: Table::new(Kind::Library),
            kernels: Table::new(Kind::Kernel),
            links: Table::new(Kind::Link),
            streams: Table::new(Kind::Stream),
            captures: Vec::new(),
            pending: Pending::new(options.async_order.unwrap_or(0)),
            events: Table::new(Kind::Event),
            graphs: Table::new(Kind::Graph),
            nodes: Table::new(Kind::Node),
            executables: Table::new(Kind::Executable),
            graph_memory: GraphMemory::default(),
            objects: Table::new(Kind::Object),
            pools,
            arrays: Table::new(Kind::Array),
            textures: Table::new(Kind::Texture),
            surfaces: Table::new(Kind::Surface),
        };
        let journal = Journal::new(options.json.clone(), options.calls.as_deref());
        Self {
            options,
            state: Mutex::new(state),
            launching: Mutex::default(),
            running: Mutex::default(),
            relaunches: Mutex::default(),
            journal,
        }
    }

    /// Registers the report, if enabled, to be written when the process exits, after any pending
    /// work.
    #[allow(unsafe_code, reason = "a call of the C library")]
    fn write_at_exit(&self) {
        unsafe extern "C" {
            fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
        }
        static ONCE: std::sync::Once = std::sync::Once::new();
        if self.options.json.is_some() || self.options.async_order.is_some() {
            ONCE.call_once(|| {
                // SAFETY: this is the function's type in C's stdlib.h, and `write_report` may be called at any time.
                let _registered = unsafe { atexit(write_report) };
            });
        }
    }

    /// Counts a finished launch; see [`Relaunches::count`].
    pub(crate) fn count_launch(&self, launch: (&str, LaunchConfig, &[Vec<u8>]), memory: &GlobalMemory) -> Option<u32> {
        self.relaunches.lock().unwrap_or_else(PoisonError::into_inner).count(launch, memory)
    }

    /// Waits until no other thread runs pending work, and keeps others from running any.
    fn turn(&self) -> MutexGuard<'_, ()> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Like [`turn`](Self::turn), but returns None if another thread runs pending work.
    fn try_turn(&self) -> Option<MutexGuard<'_, ()>> {
        self.running.try_lock().ok()
    }

    /// Waits for another thread's launch, and keeps others from launching.
    pub(crate) fn launching(&self) -> MutexGuard<'_, ()> {
        self.launching.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Number of device buffers that are not freed, and their total size in bytes.
    fn live_buffers(&self) -> (u64, u64) {
        let addresses =
            self.contexts.iter().flat_map(|(_, context)| context.allocations.iter().map(|at| (context.ordinal, *at)));
        addresses.fold((0, 0), |(count, sum), (ordinal, address)| {
            let view = self.memories[ordinal].view();
            let bytes = view.find(address, 1).map_or(0, |(index, _)| view.allocations()[index].extent.bytes);
            (count + 1, sum + bytes)
        })
    }

    /// The ordinal of a context's device.
    ///
    /// # Errors
    /// `INVALID_CONTEXT`, or the error that a kernel caused in the context.
    pub(crate) fn usable(&self, context: Handle) -> Result<usize> {
        let context = self.contexts.get(context).map_err(|_| Error::INVALID_CONTEXT)?;
        context.failure.map_or(Ok(context.ordinal), Err)
    }
}
