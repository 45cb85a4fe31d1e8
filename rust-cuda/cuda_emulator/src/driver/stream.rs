//! Streams. Work runs when it is queued, so each stream is in order and every run of a program has
//! the same order. In an asynchronous order, work becomes [`pending`].

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use crate::abi::{self, HostAddress, HostFunction, Out, RawHostFunction, RawStreamCallback};
use crate::driver::context;
use crate::driver::graph::{Graph, Operation};
use crate::driver::pending::{self, Lane, Queue, Until};
use crate::driver::{State, driver, in_context, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;
use crate::work::Work;

/// The default streams: the context's, under two names, and the thread's.
const DEFAULT: Handle = 0;
const LEGACY: Handle = 1;
const PER_THREAD: Handle = 2;

/// `CU_GRAPH_NODE_TYPE_KERNEL`, `CU_GRAPH_NODE_TYPE_HOST`, `CU_GRAPH_NODE_TYPE_WAIT_EVENT`
const LAUNCH: i32 = 0;
const HOST: i32 = 3;
const WAIT: i32 = 6;

/// `CU_STREAM_NON_BLOCKING`
const NON_BLOCKING: c_uint = 1;

/// A stream that the program created.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) context: Handle,
    flags: c_uint,
    priority: c_int,
}

/// A capture: a set of streams that record their work instead of running it.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) id: u64,
    pub(crate) context: Handle,
    /// The stream in which it began and must end.
    origin: Handle,
    /// For each captured stream, how much of every stream's work precedes its next operation.
    clocks: BTreeMap<Handle, Clock>,
    operations: Vec<Operation>,
    /// For each stream, the index of each of its operations among all operations, and the work that
    /// precedes it.
    recorded: BTreeMap<Handle, Vec<(usize, Clock)>>,
    /// The graph that receives the operations when the capture ends.
    pub(crate) graph: Handle,
}

/// Number of operations in each stream that precede something.
pub(crate) type Clock = BTreeMap<Handle, usize>;

/// Number of captures started in the process.
static CAPTURES: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// Queues work in a stream, or records it if the stream is captured.
pub(crate) fn submit(stream: Handle, work: Arc<dyn Work>) -> Result {
    let number = {
        let mut state = state()?;
        if state.record(stream, || vec![Arc::clone(&work)])? {
            return Ok(());
        }
        if !pending::is_asynchronous() {
            drop(state);
            return work.run();
        }
        let queue = state.queue_of(stream)?;
        state.queue(queue, Arc::clone(&work), &[])?
    };
    if work.node_type() == LAUNCH && driver()?.options.launch_blocking {
        return pending::wait(Until::Item(number));
    }
    pending::progress()
}

pub(crate) fn create(stream: Out<Handle>, flags: c_uint, priority: c_int) -> Result {
    if flags > NON_BLOCKING || stream.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // Priorities are clamped to `priority_range` and have no effect.
    let priority = priority.clamp(-5, 0);
    let made = in_context(|state, context, _| Ok(state.streams.add(Stream { context, flags, priority })));
    stream.set(made?)
}

pub(crate) fn destroy(stream: Handle) -> Result {
    let mut state = state()?;
    state.streams.remove(stream)?;
    state.captures.retain(|capture| capture.origin != stream);
    Ok(())
}

/// Waits for the stream's work, and reports a kernel's failure.
pub(crate) fn synchronise(stream: Handle) -> Result {
    let queue = uncaptured(stream)?;
    pending::wait(Until::Stream(queue))?;
    state()?.settled(queue.context)
}

/// Like [`synchronise`], but does not wait.
///
/// # Errors
/// `NOT_READY` if work is pending.
pub(crate) fn query(stream: Handle) -> Result {
    let queue = uncaptured(stream)?;
    pending::poll(Until::Stream(queue))?;
    state()?.settled(queue.context)
}

/// The queue of a stream.
///
/// # Errors
/// `STREAM_CAPTURE_UNSUPPORTED` if it is captured.
fn uncaptured(stream: Handle) -> Result<Queue> {
    let state = state()?;
    let queue = state.queue_of(stream)?;
    if state.capture_of(stream).is_some() { Err(Error::STREAM_CAPTURE_UNSUPPORTED) } else { Ok(queue) }
}

pub(crate) fn context(stream: Handle, context: Out<Handle>) -> Result {
    context.set(state()?.context_of(stream)?)
}

pub(crate) fn device(stream: Handle, device: Out<c_int>) -> Result {
    let state = state()?;
    let context = state.context_of(stream)?;
    device.set(state.contexts.get(context)?.ordinal as c_int)
}

pub(crate) fn flags(stream: Handle, flags: Out<c_uint>) -> Result {
    let state = state()?;
    flags.set(if stream > PER_THREAD { state.streams.get(stream)?.flags } else { 0 })
}

pub(crate) fn priority(stream: Handle, priority: Out<c_int>) -> Result {
    let state = state()?;
    priority.set(if stream > PER_THREAD { state.streams.get(stream)?.priority } else { 0 })
}

pub(crate) fn id(stream: Handle, id: Out<u64>) -> Result {
    state()?.context_of(stream)?;
    id.set(stream as u64)
}

/// Makes the stream wait for an event. In a capture, it waits for the work that precedes the event.
/// Otherwise that work has already finished or is pending.
pub(crate) fn wait(stream: Handle, event: Handle) -> Result {
    let mut state = state()?;
    let state = &mut *state;
    let queue = state.queue_of(stream)?;
    let event = state.events.get(event)?;
    let Some((id, clock)) = event.captured.clone() else {
        let recorded = event.pending.filter(|number| state.pending.contains(*number));
        if let Some(number) =
            recorded.filter(|_| state.capture_of(stream).is_none() && state.usable(queue.context).is_ok())
        {
            state.queue(queue, Arc::new(Wait), &[number])?;
        }
        return Ok(());
    };
    let own = state.captures.iter().position(|capture| capture.clocks.contains_key(&stream));
    let captured = state.captures.iter().position(|capture| capture.id == id).ok_or(Error::INVALID_VALUE)?;
    if own.is_some_and(|own| own != captured) {
        return Err(Error::STREAM_CAPTURE_INVALIDATED);
    }
    let of_stream = state.captures[captured].clocks.entry(stream).or_default();
    for (stream, count) in clock {
        let known = of_stream.entry(stream).or_default();
        *known = count.max(*known);
    }
    Ok(())
}

/// Waits for an event. It only orders work and has no effect of its own.
#[derive(Debug)]
struct Wait;

impl Work for Wait {
    fn run(&self) -> Result {
        Ok(())
    }

    fn node_type(&self) -> i32 {
        WAIT
    }
}

/// Calls a host function in the stream.
pub(crate) fn call_host(stream: Handle, function: RawHostFunction, data: HostAddress) -> Result {
    submit(stream, Arc::new(HostFunction::new(function, data)?))
}

/// Queues a callback that receives the stream's result.
pub(crate) fn add_callback(stream: Handle, callback: RawStreamCallback, data: HostAddress) -> Result {
    {
        let state = state()?;
        let context = state.context_of(stream)?;
        state.usable(context)?;
        if state.capture_of(stream).is_some() {
            return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
        }
    }
    if callback.is_none() || !pending::is_asynchronous() {
        return abi::call_back(callback, stream, data);
    }
    submit(stream, Arc::new(Callback { callback, stream, data }))
}

/// A callback with its stream and pointer.
#[derive(Debug)]
struct Callback {
    callback: RawStreamCallback,
    stream: Handle,
    data: HostAddress,
}

impl Work for Callback {
    fn run(&self) -> Result {
        abi::call_back(self.callback, self.stream, self.data)
    }

    fn node_type(&self) -> i32 {
        HOST
    }

    fn is_for_host(&self) -> bool {
        true
    }
}

pub(crate) fn begin_capture(stream: Handle, mode: c_int) -> Result {
    if !(0..=2).contains(&mode) {
        return Err(Error::INVALID_VALUE);
    }
    let mut state = state()?;
    let context = state.context_of(stream)?;
    state.usable(context)?;
    if matches!(stream, DEFAULT | LEGACY) {
        return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
    }
    if state.capture_of(stream).is_some() {
        return Err(Error::ILLEGAL_STATE);
    }
    let id = 1 + CAPTURES.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let clocks = [(stream, Clock::new())].into();
    let graph = state.graphs.add(Graph::new(context, Vec::new()));
    let (operations, recorded) = (Vec::new(), BTreeMap::new());
    state.captures.push(Capture { id, context, origin: stream, clocks, operations, recorded, graph });
    Ok(())
}

pub(crate) fn end_capture(stream: Handle, graph: Out<Handle>) -> Result {
    let mut state = state()?;
    state.context_of(stream)?;
    let position = state.captures.iter().position(|capture| capture.clocks.contains_key(&stream));
    let position = position.ok_or(Error::ILLEGAL_STATE)?;
    if state.captures[position].origin != stream {
        return Err(Error::STREAM_CAPTURE_UNMATCHED);
    }
    let capture = state.captures.swap_remove(position);
    let known = &capture.clocks[&stream];
    let is_joined = |(of, clock): (&Handle, &Clock)| {
        let done = clock.get(of).copied().unwrap_or(0);
        done == 0 || known.get(of).is_some_and(|known| *known >= done)
    };
    if !capture.clocks.iter().all(is_joined) {
        graph.set_if_wanted(0);
        state.graphs.remove(capture.graph)?;
        return Err(Error::STREAM_CAPTURE_UNJOINED);
    }
    state.graphs.get_mut(capture.graph)?.set_operations(capture.operations);
    graph.set(capture.graph)
}

/// The status and id of a stream's capture.
pub(crate) fn capture_info(stream: Handle, status: Out<c_int>, id: Out<u64>) -> Result {
    let state = state()?;
    state.context_of(stream)?;
    let capture = state.capture_of(stream);
    status.set(c_int::from(capture.is_some()))?;
    id.set_if_wanted(capture.map_or(0, |capture| capture.id));
    Ok(())
}

/// The status of a stream's capture.
pub(crate) fn capture_status(stream: Handle, status: Out<c_int>) -> Result {
    let state = state()?;
    state.context_of(stream)?;
    status.set(c_int::from(state.capture_of(stream).is_some()))
}

/// The status, id and graph of a stream's capture. The dependencies of the next node are not known
/// before the capture ends.
pub(crate) fn capture_graph(
    stream: Handle,
    (status, id): (Out<c_int>, Out<u64>),
    (graph, nodes, count): (Out<Handle>, Out<*const c_void>, Out<usize>),
) -> Result {
    capture_info(stream, status, id)?;
    let state = state()?;
    let capture = state.capture_of(stream);
    if !nodes.is_null() && capture.is_some_and(|capture| !capture.operations.is_empty()) {
        journal::unsupported("cuStreamGetCaptureInfo of the nodes of a graph that is being captured");
        return Err(Error::NOT_SUPPORTED);
    }
    graph.set_if_wanted(capture.map_or(0, |capture| capture.graph));
    nodes.set_if_wanted(std::ptr::null());
    count.set_if_wanted(0);
    Ok(())
}

/// Exchanges the calling thread's capture mode. The emulator prohibits the same calls in each mode.
pub(crate) fn exchange_mode(mode: Out<c_int>) -> Result {
    thread_local! {
        static MODE: std::cell::Cell<c_int> = const { std::cell::Cell::new(0) };
    }
    let new = mode.get()?;
    if !(0..=2).contains(&new) {
        return Err(Error::INVALID_VALUE);
    }
    mode.set(MODE.replace(new))
}

impl Work for HostFunction {
    fn run(&self) -> Result {
        self.call();
        Ok(())
    }

    fn node_type(&self) -> i32 {
        HOST
    }

    fn is_for_host(&self) -> bool {
        true
    }
}

impl Capture {
    /// Records work in one of its streams.
    fn add(&mut self, stream: Handle, work: Arc<dyn Work>) {
        let Some(clock) = self.clocks.get_mut(&stream) else { return };
        let before = clock.clone();
        *clock.entry(stream).or_default() += 1;
        let last = before.iter().filter_map(|(stream, count)| {
            let (place, known) = self.recorded.get(stream)?.get(count.checked_sub(1)?)?;
            Some((*stream, *count, *place, known))
        });
        let last: Vec<_> = last.collect();
        // Dependencies of a dependency are not listed again.
        let is_implied =
            |stream, count| last.iter().any(|(.., known)| known.get(&stream).is_some_and(|of| *of >= count));
        let direct = last.iter().filter(|(stream, count, ..)| !is_implied(*stream, *count));
        let mut after: Vec<usize> = direct.map(|(_, _, place, _)| *place).collect();
        after.sort_unstable();
        self.recorded.entry(stream).or_default().push((self.operations.len(), before));
        self.operations.push(Operation { work, after });
    }
}

impl State {
    /// The context of a stream. For a default stream, the current context.
    pub(crate) fn context_of(&self, stream: Handle) -> Result<Handle> {
        if stream > PER_THREAD {
            return Ok(self.streams.get(stream)?.context);
        }
        let context = context::current().ok_or(Error::INVALID_CONTEXT)?;
        self.contexts.get(context).map(|_| context).map_err(|_| Error::INVALID_CONTEXT)
    }

    /// The queue of a stream.
    ///
    /// # Errors
    /// Same as [`context_of`](Self::context_of).
    pub(crate) fn queue_of(&self, stream: Handle) -> Result<Queue> {
        let context = self.context_of(stream)?;
        let (lane, is_blocking) = match stream {
            DEFAULT | LEGACY => (Lane::Legacy, true),
            PER_THREAD => (Lane::Thread(std::thread::current().id()), true),
            _ => (Lane::Made(stream), self.streams.get(stream)?.flags & NON_BLOCKING == 0),
        };
        Ok(Queue { context, lane, is_blocking })
    }

    /// The capture in which a stream takes part.
    pub(crate) fn capture_of(&self, stream: Handle) -> Option<&Capture> {
        self.captures.iter().find(|capture| capture.clocks.contains_key(&stream))
    }

    /// Whether any stream of the context is being captured.
    pub(crate) fn is_capturing(&self, context: Handle) -> bool {
        self.captures.iter().any(|capture| capture.context == context)
    }

    /// Records the operations if the stream is being captured, otherwise returns false.
    ///
    /// # Errors
    /// If the stream does not exist or a kernel failed in its context; `STREAM_CAPTURE_IMPLICIT` if
    /// it is a default stream that waits for captured streams.
    pub(crate) fn record(&mut self, stream: Handle, operations: impl FnOnce() -> Vec<Arc<dyn Work>>) -> Result<bool> {
        let context = self.context_of(stream)?;
        self.usable(context)?;
        let Some(capture) = self.captures.iter_mut().find(|capture| capture.clocks.contains_key(&stream)) else {
            let is_blocking = |capture: &Capture| {
                let is_blocking =
                    |stream| self.streams.get(stream).is_ok_and(|stream| stream.flags & NON_BLOCKING == 0);
                capture.context == context && capture.clocks.keys().any(|stream| is_blocking(*stream))
            };
            if matches!(stream, DEFAULT | LEGACY) && self.captures.iter().any(is_blocking) {
                return Err(Error::STREAM_CAPTURE_IMPLICIT);
            }
            return Ok(false);
        };
        operations().into_iter().for_each(|work| capture.add(stream, work));
        Ok(true)
    }

    /// The capture of a stream and the work that precedes its next operation.
    pub(crate) fn captured_at(&self, stream: Handle) -> Option<(u64, Clock)> {
        let capture = self.capture_of(stream)?;
        Some((capture.id, capture.clocks[&stream].clone()))
    }
}
