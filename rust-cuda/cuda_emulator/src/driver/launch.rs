//! Launches: their checks and their execution in the interpreter.

use std::io::Write as _;
use std::sync::{Arc, OnceLock};

use cuda_launch::{Dim3, LaunchConfig};
use ptx_interpreter::{Executor, LoadedModule};

use crate::abi::{HostAddress, KernelNode, KernelShape, RawLaunchConfig};
use crate::architecture::Architecture;
use crate::capture::{Captive, Captured};
use crate::driver::function::Function;
use crate::driver::stream;
use crate::driver::{State, driver, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::shape::{Attributes, Shape};
use crate::work::Work;
use crate::{fault, host, journal, names};

/// Keys in `extra`: the end, the buffer with all parameters, and its size.
const EXTRA_END: usize = 0;
const EXTRA_BUFFER: usize = 1;
const EXTRA_BYTES: usize = 2;

/// A launch with its parameters already read.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) function: Handle,
    pub(crate) context: Handle,
    pub(crate) module: Arc<LoadedModule>,
    pub(crate) ptx: Arc<str>,
    pub(crate) kernel: Arc<str>,
    pub(crate) config: LaunchConfig,
    pub(crate) attributes: Attributes,
    pub(crate) parameters: Vec<Vec<u8>>,
    /// Addresses of the parameters, for programs that query a node's parameters.
    pointers: Vec<usize>,
}

/// `cuLaunchKernelEx`
pub(crate) fn launch_with(
    config: RawLaunchConfig,
    function: Handle,
    parameters: HostAddress,
    extra: HostAddress,
) -> Result {
    let attributes = Attributes::of(&config)?;
    let shape = Shape { grid: config.grid, block: config.block, shared_bytes: config.shared_bytes, attributes };
    launch(function, shape, config.stream, parameters, extra)
}

/// Launches a function or a library's kernel in a stream.
pub(crate) fn launch(
    function: Handle,
    shape: Shape,
    stream: Handle,
    parameters: HostAddress,
    extra: HostAddress,
) -> Result {
    let call = {
        let mut state = state()?;
        let context = state.context_of(stream)?;
        prepare(&mut state, context, function, shape, (parameters, extra))?
    };
    stream::submit(stream, Arc::new(call))
}

/// Checks a launch in a context and reads its parameters.
fn prepare(
    state: &mut State,
    context: Handle,
    function: Handle,
    shape: Shape,
    parameters: (HostAddress, HostAddress),
) -> Result<Call> {
    let call = prepare_node(state, context, function, shape, parameters)?;
    call.check()?;
    Ok(call)
}

/// Checks the launch of a graph node and reads its parameters. Its grid may be empty as long as the
/// graph is not launched.
pub(crate) fn prepare_node(
    state: &mut State,
    context: Handle,
    function: Handle,
    shape: Shape,
    (parameters, extra): (HostAddress, HostAddress),
) -> Result<Call> {
    state.usable(context)?;
    let function = state.function_in(function, context)?;
    let (found, architecture) = state.function_and_architecture(function)?;
    if found.context != context {
        return Err(Error::INVALID_HANDLE);
    }
    let config = checked(found, architecture, shape)?;
    let parameters = read_parameters(state, found, parameters, extra)?;
    let pointers = parameters.iter().map(|value| value.as_ptr() as usize).collect();
    let module = state.modules.get(found.module)?;
    Ok(Call {
        function,
        context,
        module: Arc::clone(&module.loaded),
        ptx: Arc::clone(&module.ptx),
        kernel: Arc::clone(&found.name),
        config,
        attributes: shape.attributes,
        parameters,
        pointers,
    })
}

/// Checks the shape of a launch. The grid may be empty.
fn checked(function: &Function, architecture: Architecture, shape: Shape) -> Result<LaunchConfig> {
    let Shape { grid, block, shared_bytes, attributes } = shape;
    let [grid, block] = [grid, block].map(|[x, y, z]| Dim3::new(x, y, z));
    let cluster = function.cluster_size(architecture, attributes.cluster)?;
    let config =
        LaunchConfig { grid, block, dynamic_shared_bytes: shared_bytes, cooperative: attributes.cooperative, cluster };
    let name = || names::short_name(&function.name);
    if config.cooperative && cluster > 1 {
        journal::unsupported("a cooperative launch with clusters");
        return Err(Error::NOT_SUPPORTED);
    }
    if cluster > 1 && grid.x != 0 && !grid.x.is_multiple_of(cluster.into()) {
        return Err(Error::INVALID_CLUSTER_SIZE);
    }
    let with_blocks = Dim3::new(grid.x.max(1), grid.y.max(1), grid.z.max(1));
    check_limits(&function.name, LaunchConfig { grid: with_blocks, ..config })?;
    if shared_bytes as usize > function.max_dynamic_bytes {
        let limit = function.max_dynamic_bytes;
        journal::note(&format!(
            "launch of {}: {shared_bytes} bytes of dynamic shared memory; its limit is {limit}",
            name()
        ));
        return Err(Error::INVALID_VALUE);
    }
    if block.count() > u64::from(function.resources.max_threads) {
        let limit = function.resources.max_threads;
        journal::note(&format!("launch of {}: blocks of {block} threads; it was compiled for {limit}", name()));
        return Err(Error::INVALID_VALUE);
    }
    if config.cooperative {
        let resident = function.resident_blocks(architecture, block.count() as u32, shared_bytes as usize);
        if grid.count() > u64::from(resident * architecture.multiprocessors) {
            return Err(Error::COOPERATIVE_LAUNCH_TOO_LARGE);
        }
    }
    Ok(config)
}

/// # Errors
/// `INVALID_VALUE` if the grid or the block has an impossible size.
fn check_limits(kernel: &str, config: LaunchConfig) -> Result {
    config.check().map_err(|error| {
        journal::note(&format!("launch of {}: {error}", names::short_name(kernel)));
        Error::INVALID_VALUE
    })
}

/// Reads the parameter values: through a pointer to each, or from one buffer.
fn read_parameters(
    state: &State,
    function: &Function,
    parameters: HostAddress,
    extra: HostAddress,
) -> Result<Vec<Vec<u8>>> {
    let sizes = &*function.parameters;
    let mut values: Vec<Vec<u8>> = sizes.iter().map(|bytes| vec![0; *bytes]).collect();
    if sizes.is_empty() {
        return Ok(values);
    }
    if parameters.0 != 0 {
        let mut pointers = vec![0; size_of_val(sizes)];
        host::read(parameters, &mut pointers)?;
        let pointers = pointers.as_chunks::<{ size_of::<usize>() }>().0.iter();
        let pointers = pointers.map(|bytes| HostAddress(usize::from_le_bytes(*bytes)));
        let mut parts: Vec<_> = pointers.zip(values.iter_mut().map(Vec::as_mut_slice)).collect();
        host::read_all(&mut parts)?;
        return Ok(values);
    }
    let (buffer, bytes) = parameter_buffer(extra)?;
    let offsets = state.modules.get(function.module)?.loaded.parameter_offsets(&function.name);
    for (value, offset) in values.iter_mut().zip(offsets) {
        let offset = offset as usize;
        if offset + value.len() > bytes {
            return Err(Error::INVALID_VALUE);
        }
        host::read(HostAddress(buffer.0 + offset), value)?;
    }
    Ok(values)
}

/// Address and size of the parameter buffer in `extra`.
fn parameter_buffer(extra: HostAddress) -> Result<(HostAddress, usize)> {
    let word = |address: usize| {
        let mut bytes = [0; size_of::<usize>()];
        host::read(HostAddress(address), &mut bytes).map(|()| usize::from_le_bytes(bytes))
    };
    let (mut buffer, mut bytes) = (None, None);
    let mut next = extra.0;
    // Each key occurs once.
    for _ in 0..3 {
        let value = next.checked_add(size_of::<usize>()).ok_or(Error::INVALID_VALUE)?;
        match word(next)? {
            EXTRA_END => break,
            EXTRA_BUFFER => buffer = Some(HostAddress(word(value)?)),
            EXTRA_BYTES => bytes = Some(word(word(value)?)?),
            _ => return Err(Error::INVALID_VALUE),
        }
        next = value + size_of::<usize>();
    }
    buffer.zip(bytes).ok_or(Error::INVALID_VALUE)
}

/// Host threads for the blocks of a launch. None of them outlives the launch, so the process may
/// fork.
struct Threads;

impl Executor for Threads {
    fn workers(&self) -> usize {
        // The query takes as long as a short launch, so its result is cached.
        static CORES: OnceLock<usize> = OnceLock::new();
        *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    fn run(&self, workers: usize, work: &(dyn Fn(usize) + Sync)) {
        if workers == 1 {
            return work(0);
        }
        std::thread::scope(|scope| {
            for number in 1..workers {
                scope.spawn(move || work(number));
            }
            work(0);
        });
    }
}

impl Work for Call {
    /// Runs the launch. After an error, every later call returns the context's error, unless the
    /// program keeps going. This call returns it only if the environment asks for blocking
    /// launches, as on a GPU.
    ///
    /// # Errors
    /// The errors for anything that the interpreter does not permit.
    fn run(&self) -> Result {
        let driver = driver()?;
        let _turn = driver.launching();
        let (memory, ordinal) = {
            let mut state = state()?;
            state.usable(self.context)?;
            state.map_parameters(&self.parameters)?;
            state.copy_to_kernels()?;
            state.memory_of(self.context)?
        };
        let parameters: Vec<&[u8]> = self.parameters.iter().map(Vec::as_slice).collect();
        let captured =
            driver.options.capture.as_ref().and_then(|folder| Some((folder, Captured::of(&self.parameters, &memory)?)));
        let options = driver.options.launch.clone();
        // With several schedules, memory is restored before each, so copies and allocations from
        // other host threads must wait.
        let waiting = if options.search.runs > 1 { Some(state()?) } else { None };
        let result = self.module.launch_on(&memory, &Threads, options, &self.kernel, self.config, &parameters);
        drop(waiting);
        for printed in self.module.take_printed() {
            // A closed stdout is not an error of the launch.
            let _ = write!(std::io::stdout(), "{}", printed.text);
        }
        if let Some(count) = driver.count_launch((&self.kernel, self.config, &self.parameters), &memory) {
            journal::note_once(&format!(
                "note: {} has been launched {count} times with the same arguments, and the last two launches left the same in memory: \
                 does the loop around it end?",
                names::short_name(&self.kernel)
            ));
        }
        drop(memory);
        let mut state = state()?;
        state.copy_from_kernels()?;
        match result {
            Ok(report) => {
                driver.journal.ran(&report);
                Ok(())
            }
            Err(error) => {
                let code = fault::code(&error);
                let is_fault = error.fault().is_some();
                let keeps_going = is_fault && driver.options.launch.keep_going;
                if is_fault
                    && !keeps_going
                    && let Ok(context) = state.contexts.get_mut(self.context)
                {
                    context.failure = Some(code);
                }
                drop(state);
                let device = Some(ordinal).filter(|_| driver.options.devices.len() > 1);
                driver.journal.failed((&self.kernel, self.config), device, code, error);
                if let Some((folder, captured)) = captured.filter(|_| is_fault) {
                    let Self { ptx, kernel, config, .. } = self;
                    let options = &driver.options.launch;
                    captured.write(folder, Captive { ptx, kernel, config: *config, options });
                }
                if is_fault && !driver.options.launch_blocking || keeps_going { Ok(()) } else { Err(code) }
            }
        }
    }

    fn node_type(&self) -> i32 {
        0
    }

    /// A node's grid may have no blocks until its graph is launched.
    fn check(&self) -> Result {
        check_limits(&self.kernel, self.config)
    }
}

impl Call {
    /// The launch as a graph node. Its parameters are valid as long as the launch is.
    pub(crate) fn node(&self) -> KernelNode {
        let [grid, block] = [self.config.grid, self.config.block].map(|size| [size.x, size.y, size.z]);
        let shared_bytes = self.config.dynamic_shared_bytes;
        let parameters = if self.pointers.is_empty() { 0 } else { self.pointers.as_ptr() as usize };
        let shape = KernelShape { function: self.function, grid, block, shared_bytes, parameters, extra: 0 };
        KernelNode { shape, kernel: 0, context: self.context }
    }
}
