//! Records what each thread of a launch reads and writes, in execution order, for the page to draw.

use std::ops::ControlFlow;

use kernel_debugger::Lines;
use kernel_launch::{Argument, ElementType, Launch};
use ptx_interpreter::memory::Extent;
use ptx_interpreter::semantics::LANES;
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{Access, Fault, LaunchError, ObservedAccess, Observer, Options, Step, StoppedBlock, StoppedWarp};
use serde::Serialize;
use serde::ser::{SerializeTuple, Serializer};

/// Maximum number of events. More could not be drawn clearly.
const MAX_EVENTS: usize = 20_000;

/// The events of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Trace<'a> {
    /// The buffers, followed by each block's variables in shared memory.
    arrays: Vec<Array<'a>>,
    events: Vec<Event>,
    /// Whether events were omitted.
    is_cut: bool,
}

/// Memory with elements.
#[derive(Debug, Serialize)]
struct Array<'a> {
    name: &'a str,
    r#type: &'static str,
    is_shared: bool,
    length: u64,
    #[serde(skip)]
    start: u64,
    #[serde(skip)]
    element: ElementType,
}

/// What a thread does in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Read,
    Write,
    Atomic,
    /// Arrives at a block barrier.
    Barrier,
    /// Takes a value from the lane with this number.
    Shuffle(u32),
}

/// An action of a thread.
#[derive(Debug)]
struct Event {
    block: u32,
    /// The thread's number in its block.
    thread: u32,
    action: Action,
    /// The index of the array, and of the element.
    element: Option<(usize, u64)>,
    /// The element's value afterwards.
    value: Option<String>,
    /// The line in the kernel's source; 0 if unknown.
    line: u32,
}

/// Serialized as a list of seven: block, thread, the action's letter, the array or the lane, the
/// element, the value, the line.
impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (letter, lane) = match self.action {
            Action::Read => ("r", None),
            Action::Write => ("w", None),
            Action::Atomic => ("a", None),
            Action::Barrier => ("b", None),
            Action::Shuffle(lane) => ("s", Some(lane)),
        };
        let mut tuple = serializer.serialize_tuple(7)?;
        tuple.serialize_element(&self.block)?;
        tuple.serialize_element(&self.thread)?;
        tuple.serialize_element(letter)?;
        tuple.serialize_element(&lane.map(u64::from).or(self.element.map(|(array, _)| array as u64)))?;
        tuple.serialize_element(&self.element.map(|(_, index)| index))?;
        tuple.serialize_element(&self.value)?;
        tuple.serialize_element(&self.line)?;
        tuple.end()
    }
}

/// Runs a launch with these options until it ends or fails. Memory then has the contents from this
/// run.
///
/// # Errors
/// If the launch cannot run.
pub(crate) fn trace(launch: &Launch, options: Options) -> Result<Trace<'_>, LaunchError> {
    let mut tracer = Tracer {
        lines: Lines::new(launch),
        trace: Trace { arrays: arrays(launch), events: Vec::new(), is_cut: false },
        unread: Vec::new(),
    };
    match launch.run_with(options, &mut tracer) {
        Ok(_) | Err(LaunchError::Fault(_)) => Ok(tracer.trace),
        Err(error) => Err(error),
    }
}

/// The buffers of a launch and its kernel's variables in shared memory.
fn arrays(launch: &Launch) -> Vec<Array<'_>> {
    let buffers = launch.arguments().iter().filter_map(|argument| match argument {
        Argument::Buffer { name, element, shape, address, .. } => {
            let length = shape.iter().product::<usize>() as u64;
            Some(Array { name, r#type: element.name(), is_shared: false, length, start: *address, element: *element })
        }
        _ => None,
    });
    let code = launch.machine().code(launch.kernel()).expect("a launch's kernel is in its module");
    let shared = code.shared().zip(launch.shared()).map(|((extent, _), variable)| {
        let element = variable.element.unwrap_or(ElementType::U32);
        let length = extent.bytes / element.bytes() as u64;
        let (name, start) = (variable.name.as_str(), extent.start);
        Array { name, r#type: element.name(), is_shared: true, length, start, element }
    });
    buffers.chain(shared).collect()
}

struct Tracer<'a> {
    lines: Lines,
    trace: Trace<'a>,
    /// Events with values to be read before the next instruction of their block.
    unread: Vec<usize>,
}

impl Tracer<'_> {
    fn push(&mut self, event: Event) {
        match self.trace.events.len() < MAX_EVENTS {
            true => self.trace.events.push(event),
            false => self.trace.is_cut = true,
        }
    }

    /// The line of the kernel's source that an instruction belongs to. If functions are inlined, it
    /// is the outermost call's line.
    fn line(&self, pc: usize) -> u32 {
        let mut source = self.lines.place(pc).source.as_ref();
        while let Some(call) = source.and_then(|source| source.inlined_at.as_deref()) {
            source = Some(call);
        }
        source.map_or(0, |source| source.line)
    }

    /// Adds the lanes that are about to arrive at a barrier.
    fn arrive(&mut self, step: Step) {
        let line = self.line(step.pc);
        for thread in threads(step) {
            self.push(Event { block: step.block, thread, action: Action::Barrier, element: None, value: None, line });
        }
    }

    /// Adds the lanes that are about to take a value from another lane.
    fn shuffle(&mut self, step: Step, warp: &StoppedWarp<'_>) {
        let text = self.lines.place(step.pc).text.clone();
        let Some((mode, by)) = shuffle_mode(&text) else { return };
        let by = match by.parse() {
            Ok(constant) => Some([constant; LANES]),
            Err(_) => warp.register(by),
        };
        let Some(by) = by else { return };
        let line = self.line(step.pc);
        for thread in threads(step) {
            let lane = thread % LANES as u32;
            let by = by[lane as usize] as u32;
            let from = match mode {
                "down" => lane.saturating_add(by),
                "up" => lane.wrapping_sub(by),
                "bfly" => lane ^ by,
                _ => by,
            };
            // If the source is outside the warp, a lane keeps its own value.
            let from = if from < LANES as u32 { from } else { lane };
            let (block, action) = (step.block, Action::Shuffle(from));
            self.push(Event { block, thread, action, element: None, value: None, line });
        }
    }

    /// Reads the values of the last instruction's elements.
    fn read_values(&mut self, block: &StoppedBlock<'_>) {
        for index in std::mem::take(&mut self.unread) {
            let event = &mut self.trace.events[index];
            let Some((array, index)) = event.element.filter(|_| event.block == block.number()) else { continue };
            let Array { start, element, is_shared, .. } = self.trace.arrays[array];
            let is_it = |extent: &Extent| extent.start == start;
            let range = match is_shared {
                true => block.shared().find(|range| is_it(range.extent)),
                false => block.global().find(|range| is_it(range.extent)),
            };
            let mut bytes = [0; 8];
            let bytes = &mut bytes[..element.bytes()];
            let offset = index as usize * bytes.len();
            let is_read =
                range.is_some_and(|range| range.is_written(offset, bytes.len()) && range.read(offset, bytes).is_some());
            event.value = is_read.then(|| element.show(bytes));
        }
    }
}

/// The block-local numbers of the threads that execute an instruction.
fn threads(step: Step) -> impl Iterator<Item = u32> {
    let first = step.warp * LANES as u32;
    (0..LANES as u32).filter(move |lane| step.lanes >> lane & 1 == 1).map(move |lane| first + lane)
}

/// The mode and third operand of a shuffle, such as `shfl.sync.down.b32 %r1|%p1, %r2, 4, 31, -1`.
fn shuffle_mode(text: &str) -> Option<(&str, &str)> {
    let (opcode, operands) = text.split_once([' ', '\t'])?;
    let mode = opcode.strip_prefix("shfl.sync.")?.split('.').next()?;
    Some((mode, operands.split(',').nth(2)?.trim()))
}

impl Observer for Tracer<'_> {
    fn stops_before(&mut self, step: Step) -> bool {
        if self.lines.is_barrier(step.pc) {
            self.arrive(step);
        }
        !self.unread.is_empty() || self.lines.place(step.pc).text.starts_with("shfl.")
    }

    fn stop(&mut self, step: Step, block: &StoppedBlock<'_>) -> ControlFlow<()> {
        self.read_values(block);
        if let Some(warp) = block.warps().nth(step.warp as usize) {
            self.shuffle(step, &warp);
        }
        ControlFlow::Continue(())
    }

    fn fault(&mut self, _: &Fault, block: &StoppedBlock<'_>) {
        self.read_values(block);
    }

    fn access(&mut self, access: ObservedAccess) {
        let ObservedAccess { step, access, space, owner, address, .. } = access;
        let is_in = |array: &Array<'_>| {
            let bytes = array.length * array.element.bytes() as u64;
            array.is_shared == (space == Space::Shared) && (array.start..array.start + bytes).contains(&address)
        };
        let array = self.trace.arrays.iter().position(is_in).filter(|_| owner == step.block);
        let element = array.map(|array| {
            let Array { start, element, .. } = self.trace.arrays[array];
            (array, (address - start) / element.bytes() as u64)
        });
        let action = match access {
            Access::Read => Action::Read,
            Access::Write => Action::Write,
            Access::Atomic => Action::Atomic,
        };
        let (line, count) = (self.line(step.pc), self.trace.events.len());
        for thread in threads(step) {
            self.push(Event { block: step.block, thread, action, element, value: None, line });
        }
        self.unread.extend(count..self.trace.events.len());
    }
}
