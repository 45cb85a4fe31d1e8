//! Work that is queued but has not run yet. In an asynchronous order, each item runs as late or as
//! early as CUDA allows.
//!
//! A seed gives each stream a pace, which changes occasionally: how many calls its work is delayed,
//! and which streams go first where CUDA leaves that open. A function that has to wait runs the
//! work it waits for. Without a seed nothing is ever pending: work runs when it is queued.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::thread::ThreadId;

use cuda_launch::SplitMix;

use crate::driver::{Driver, State, driver, state};
use crate::error::{Error, Result};
use crate::handles::Handle;
use crate::journal;
use crate::work::Work;

/// Maximum number of pending items. Beyond it, all of them run: a GPU's queues are finite too.
const MAX_ITEMS: usize = 1000;

/// On average, one item in this many gets a new pace.
const NEW_PACE: u64 = 4;

/// Unique number of an item.
pub(crate) type Number = u64;

/// A stream of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    /// The context's default stream, which is ordered with all of the context's blocking streams.
    Legacy,
    /// The default stream of a thread.
    Thread(ThreadId),
    /// A stream that the program created.
    Made(Handle),
}

/// The queue that an item belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub(crate) context: Handle,
    pub(crate) lane: Lane,
    /// Whether the stream is ordered with the context's default stream.
    pub(crate) is_blocking: bool,
}

/// What a function waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// One item.
    Item(Number),
    /// All work of a stream. For the default stream, also the work of the blocking streams.
    Stream(Queue),
    /// All work that must run before the stream's next item.
    Before(Queue),
    /// All work of a context.
    Context(Handle),
    /// All work of the device with this ordinal.
    Device(usize),
    /// All work.
    Everything,
}

/// How soon the work of a stream runs.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Number of calls for which each item is delayed; None if it waits until a function needs it.
    delay: Option<u64>,
    /// Among the items that may run, the one with the highest priority is next.
    priority: u64,
}

/// An item of work.
#[derive(Debug)]
struct Item {
    queue: Queue,
    ordinal: usize,
    work: Arc<dyn Work>,
    /// The items that must run before it.
    after: BTreeSet<Number>,
    /// Its pace when it was queued, less the calls since then.
    pace: Pace,
}

/// The pending work of all contexts.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    random: SplitMix,
    items: BTreeMap<Number, Item>,
    made: Number,
    /// The pace of the next item, by context and stream.
    paces: HashMap<(Handle, Lane), Pace>,
    /// The first error of each context from work that failed without a kernel error.
    errors: BTreeMap<Handle, Error>,
}

thread_local! {
    /// Whether this thread is running pending work.
    static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// Marks the thread as running pending work until this is dropped.
struct Running;

impl Running {
    fn begin() -> Self {
        IS_RUNNING.set(true);
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        IS_RUNNING.set(false);
    }
}

/// Whether work is queued instead of running at once.
pub(crate) fn is_asynchronous() -> bool {
    driver().is_ok_and(|driver| driver.options.async_order.is_some())
}

/// Runs everything that a function waits for, and possibly other work.
///
/// # Errors
/// `NOT_PERMITTED` in a host function that the driver calls. If `until` names a single item, that
/// item's error.
pub(crate) fn wait(until: Until) -> Result {
    let driver = driver()?;
    if driver.options.async_order.is_none() {
        return Ok(());
    }
    if IS_RUNNING.get() {
        let is_done = state()?.pending.needed(until).is_empty();
        return if is_done { Ok(()) } else { Err(Error::NOT_PERMITTED) };
    }
    let _turn = driver.turn();
    let needed = state()?.pending.needed(until);
    driver.run(&needed, until)
}

/// Counts a call and runs the work with an expired delay.
///
/// # Errors
/// `NOT_INITIALIZED`; never an error of the work itself.
pub(crate) fn progress() -> Result {
    let driver = driver()?;
    if driver.options.async_order.is_none() || IS_RUNNING.get() {
        return Ok(());
    }
    let _turn = driver.turn();
    let needed = {
        let pending = &mut state()?.pending;
        let delays = pending.items.values_mut().filter_map(|item| item.pace.delay.as_mut());
        delays.for_each(|delay| *delay = delay.saturating_sub(1));
        if pending.items.len() > MAX_ITEMS { pending.needed(Until::Everything) } else { BTreeSet::new() }
    };
    driver.run(&needed, Until::Everything)
}

/// Checks whether work is pending, and runs one item of it, so a program that polls eventually
/// finishes.
///
/// # Errors
/// `NOT_READY` if work is left.
pub(crate) fn poll(until: Until) -> Result {
    let driver = driver()?;
    if driver.options.async_order.is_none() {
        return Ok(());
    }
    if !IS_RUNNING.get() {
        let _turn = driver.turn();
        let next = {
            let pending = &mut state()?.pending;
            let needed = pending.needed(until);
            pending.choose(&needed, false)
        };
        driver.run(&next.into_iter().collect(), Until::Everything)?;
    }
    if state()?.pending.needed(until).is_empty() { Ok(()) } else { Err(Error::NOT_READY) }
}

impl Driver {
    /// Runs the items that are needed and those with an expired delay, in the order of their paces.
    /// The thread must hold the turn.
    ///
    /// # Errors
    /// The error of the item that `until` names.
    fn run(&self, needed: &BTreeSet<Number>, until: Until) -> Result {
        let _running = Running::begin();
        let mut result = Ok(());
        loop {
            let next = {
                let state = state()?;
                let Some(number) = state.pending.choose(needed, true) else { return result };
                let Some(item) = state.pending.items.get(&number) else { return result };
                // After a kernel error the rest does not run.
                let work = state.usable(item.queue.context).is_ok().then(|| Arc::clone(&item.work));
                (number, item.queue.context, work)
            };
            let (number, context, work) = next;
            let ended = work.as_ref().map_or(Ok(()), |work| work.run());
            let mut state = state()?;
            state.pending.items.remove(&number);
            match (ended, work) {
                (Err(error), _) if matches!(until, Until::Item(awaited) if awaited == number) => result = Err(error),
                (Err(error), Some(work)) => state.failed(context, error, &*work),
                _ => {}
            }
        }
    }

    /// Runs pending work when the process ends, so its kernels are checked. Skips work that calls
    /// the host or writes to its memory, because the program may have torn that down.
    pub(super) fn run_at_exit(&self) {
        let Some(_turn) = self.try_turn() else { return };
        if let Ok(mut state) = state() {
            let items = &mut state.pending.items;
            items.retain(|_, item| !item.work.is_for_host());
        }
        let _has_run = state()
            .map(|state| state.pending.needed(Until::Everything))
            .and_then(|needed| self.run(&needed, Until::Everything));
    }
}

impl Pending {
    /// An empty queue with a random number generator for this seed.
    pub(super) fn new(seed: u64) -> Self {
        Self { random: SplitMix(seed), ..Self::default() }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.number() % limit
    }

    /// Whether an item has not finished yet.
    pub(crate) fn contains(&self, number: Number) -> bool {
        self.items.contains_key(&number)
    }

    /// The pending work.
    pub(crate) fn works(&self) -> impl Iterator<Item = &dyn Work> {
        self.items.values().map(|item| &*item.work)
    }

    /// Whether any work that must precede a queue's next item calls the host or writes to its
    /// memory.
    pub(crate) fn has_work_for_host(&self, queue: Queue) -> bool {
        self.needed(Until::Before(queue)).iter().any(|number| self.items[number].work.is_for_host())
    }

    /// The work that a function waits for, including everything that must run first.
    fn needed(&self, until: Until) -> BTreeSet<Number> {
        let matches = |number: Number, item: &Item| match until {
            Until::Item(awaited) => number == awaited,
            Until::Stream(queue) if queue.lane != Lane::Legacy => {
                item.queue.lane == queue.lane && item.queue.context == queue.context
            }
            Until::Stream(queue) | Until::Before(queue) => item.precedes(queue),
            Until::Context(context) => item.queue.context == context,
            Until::Device(ordinal) => item.ordinal == ordinal,
            Until::Everything => true,
        };
        let mut needed = BTreeSet::new();
        // Work can only depend on work with lower numbers.
        for (number, item) in self.items.iter().rev() {
            if needed.contains(number) || matches(*number, item) {
                needed.insert(*number);
                needed.extend(item.after.iter().filter(|before| self.contains(**before)));
            }
        }
        needed
    }

    /// Chooses the next item among those that may run: the needed ones and, if `others` is set,
    /// those with an expired delay.
    fn choose(&self, needed: &BTreeSet<Number>, others: bool) -> Option<Number> {
        let may_run = |(number, item): &(&Number, &Item)| {
            let is_due = needed.contains(number) || others && item.pace.delay == Some(0);
            is_due && !item.after.iter().any(|before| self.contains(*before))
        };
        let next = self.items.iter().filter(may_run).max_by_key(|(_, item)| item.pace.priority);
        next.map(|(number, _)| *number)
    }

    /// The pace of a stream's next item: the previous pace or a new one.
    fn pace(&mut self, queue: Queue) -> Pace {
        let known = self.paces.get(&(queue.context, queue.lane)).copied();
        if let Some(known) = known.filter(|_| self.below(NEW_PACE) != 0) {
            return known;
        }
        let delay = match self.below(3) {
            0 => Some(0),
            1 => Some(2 + self.below(4)),
            _ => None,
        };
        let pace = Pace { delay, priority: self.random.number() };
        self.paces.insert((queue.context, queue.lane), pace);
        pace
    }
}

impl Item {
    /// Whether a queue's next item must run after this one: within a stream, and between the
    /// default stream and blocking streams.
    fn precedes(&self, queue: Queue) -> bool {
        let is_blocked = self.queue.is_blocking && queue.is_blocking;
        let is_default = self.queue.lane == Lane::Legacy || queue.lane == Lane::Legacy;
        self.queue.context == queue.context && (self.queue.lane == queue.lane || is_blocked && is_default)
    }
}

impl State {
    /// Queues work that also depends on the items with these numbers.
    ///
    /// # Errors
    /// Same as [`usable`](Self::usable).
    pub(crate) fn queue(&mut self, queue: Queue, work: Arc<dyn Work>, after: &[Number]) -> Result<Number> {
        let ordinal = self.usable(queue.context)?;
        let pending = &mut self.pending;
        let before = pending.items.iter().filter(|(_, item)| item.precedes(queue)).map(|(number, _)| *number);
        let after = before.chain(after.iter().copied()).collect();
        let pace = pending.pace(queue);
        pending.made += 1;
        let number = pending.made;
        pending.items.insert(number, Item { queue, ordinal, work, after, pace });
        Ok(number)
    }

    /// Returns a context's error after a function waited for its work: a kernel's error, or once,
    /// the first error of other work.
    ///
    /// # Errors
    /// The context's error, if it has one.
    pub(crate) fn settled(&mut self, context: Handle) -> Result {
        self.usable(context)?;
        self.pending.errors.remove(&context).map_or(Ok(()), Err)
    }

    /// Records that work failed after the call that queued it. An address that was valid then
    /// belongs to memory freed since.
    fn failed(&mut self, context: Handle, error: Error, work: &dyn Work) {
        let is_transfer = matches!(work.node_type(), 1 | 2);
        let error = if is_transfer && error == Error::INVALID_VALUE { Error::ILLEGAL_ADDRESS } else { error };
        if is_transfer {
            let what = if work.node_type() == 1 { "a copy" } else { "a fill" };
            journal::note(&format!(
                "{what} that was queued in a stream runs after its memory has been freed: {}",
                error.name()
            ));
        }
        self.pending.errors.entry(context).or_insert(error);
    }
}
