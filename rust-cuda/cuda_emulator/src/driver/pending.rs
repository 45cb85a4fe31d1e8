//! Work that is queued and has not run yet: in an asynchronous order, each piece runs as late or as early as CUDA allows.
//!
//! A seed gives each stream a pace, which changes now and then: how many calls its work waits, and before which other streams it runs
//! where CUDA leaves that open. A function that has to wait runs what it waits for. Without a seed nothing is ever pending: work runs
//! when it is queued.

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

/// Maximum number of pieces of work that are pending. Once there are more, all run: the queues of a GPU are finite too.
const MAX_ITEMS: usize = 1000;

/// One of this many pieces of work, on average, has a new pace.
const NEW_PACE: u64 = 4;

/// Number of a piece of work. No other has it.
pub(crate) type Number = u64;

/// A stream of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    /// The context's default stream, in order with all of its blocking streams.
    Legacy,
    /// The default stream of a thread.
    Thread(ThreadId),
    /// One that a program has made.
    Made(Handle),
}

/// Where a piece of work is queued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub(crate) context: Handle,
    pub(crate) lane: Lane,
    /// Whether the stream is in order with the context's default stream.
    pub(crate) is_blocking: bool,
}

/// What a function waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// A piece of work.
    Item(Number),
    /// All work of a stream; of the default stream, that of the blocking ones too.
    Stream(Queue),
    /// All work that the next one in a stream comes after.
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
    /// Number of calls that each piece waits; None if it waits until a function needs it.
    delay: Option<u64>,
    /// Of the pieces that may run, the one with the largest priority is next.
    priority: u64,
}

/// A piece of work.
#[derive(Debug)]
struct Item {
    queue: Queue,
    ordinal: usize,
    work: Arc<dyn Work>,
    /// The work that has to run before it.
    after: BTreeSet<Number>,
    /// As it was when the work was queued, less the calls since.
    pace: Pace,
}

/// The pending work of all contexts.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    random: SplitMix,
    items: BTreeMap<Number, Item>,
    made: Number,
    /// By context and stream, the pace of the work that is queued next.
    paces: HashMap<(Handle, Lane), Pace>,
    /// By context, the first error of work that has failed without a fault.
    errors: BTreeMap<Handle, Error>,
}

thread_local! {
    /// Whether this thread runs pending work.
    static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// The thread runs pending work until this is dropped.
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

/// Whether work is queued, and does not run at once.
pub(crate) fn is_asynchronous() -> bool {
    driver().is_ok_and(|driver| driver.options.async_order.is_some())
}

/// Runs everything that a function waits for, and perhaps other work.
///
/// # Errors
/// `NOT_PERMITTED` in a function of the host that the driver calls; the error of the piece of work that is waited for alone.
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

/// Counts a call, and runs the work that does not wait any longer.
///
/// # Errors
/// `NOT_INITIALIZED`; never those of the work.
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

/// Asks whether work is pending, and runs a piece of it: a program that asks again and again gets an end.
///
/// # Errors
/// `NOT_READY` if there is work left.
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
    /// Runs the pieces of work that are needed, and those that do not wait any longer, in the order of their paces. The thread has
    /// the turn.
    ///
    /// # Errors
    /// That of the piece of work that `until` names.
    fn run(&self, needed: &BTreeSet<Number>, until: Until) -> Result {
        let _running = Running::begin();
        let mut result = Ok(());
        loop {
            let next = {
                let state = state()?;
                let Some(number) = state.pending.choose(needed, true) else { return result };
                let Some(item) = state.pending.items.get(&number) else { return result };
                // After a fault the rest does not run.
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

    /// Runs what is pending when the process ends, so that its kernels are checked. What calls the host or writes to its memory is left
    /// out: the program may have taken it down.
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
    /// No work, and a generator of random numbers that begins with a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self { random: SplitMix(seed), ..Self::default() }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.number() % limit
    }

    /// Whether a piece of work has not ended yet.
    pub(crate) fn contains(&self, number: Number) -> bool {
        self.items.contains_key(&number)
    }

    /// The pending work.
    pub(crate) fn works(&self) -> impl Iterator<Item = &dyn Work> {
        self.items.values().map(|item| &*item.work)
    }

    /// Whether work that the next one of a queue comes after calls the host or writes to its memory.
    pub(crate) fn has_work_for_host(&self, queue: Queue) -> bool {
        self.needed(Until::Before(queue)).iter().any(|number| self.items[number].work.is_for_host())
    }

    /// The work that a function waits for, with all that comes before it.
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
        // Work comes after work with lower numbers.
        for (number, item) in self.items.iter().rev() {
            if needed.contains(number) || matches(*number, item) {
                needed.insert(*number);
                needed.extend(item.after.iter().filter(|before| self.contains(**before)));
            }
        }
        needed
    }

    /// The next one of the pieces of work that may run: of those that are needed or, if `others`, do not wait any longer.
    fn choose(&self, needed: &BTreeSet<Number>, others: bool) -> Option<Number> {
        let may_run = |(number, item): &(&Number, &Item)| {
            let is_due = needed.contains(number) || others && item.pace.delay == Some(0);
            is_due && !item.after.iter().any(|before| self.contains(*before))
        };
        let next = self.items.iter().filter(may_run).max_by_key(|(_, item)| item.pace.priority);
        next.map(|(number, _)| *number)
    }

    /// The pace of a stream's next work: that of the work before, or a new one.
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
    /// Whether the next work of a queue comes after it: in the same stream, and between the default stream and blocking ones.
    fn precedes(&self, queue: Queue) -> bool {
        let is_blocked = self.queue.is_blocking && queue.is_blocking;
        let is_default = self.queue.lane == Lane::Legacy || queue.lane == Lane::Legacy;
        self.queue.context == queue.context && (self.queue.lane == queue.lane || is_blocked && is_default)
    }
}

impl State {
    /// Queues work, which also comes after the work with these numbers.
    ///
    /// # Errors
    /// As [`usable`](Self::usable).
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

    /// The error of a context, after a function has waited for its work: that of a fault, or the first one of other work, once.
    ///
    /// # Errors
    /// As it says.
    pub(crate) fn settled(&mut self, context: Handle) -> Result {
        self.usable(context)?;
        self.pending.errors.remove(&context).map_or(Ok(()), Err)
    }

    /// Notes that work has failed after the call that has queued it. An address that was right then is of memory that has been freed.
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
