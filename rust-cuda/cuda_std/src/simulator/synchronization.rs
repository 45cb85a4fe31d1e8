//! What threads know of each other's accesses by atomic operations: which of them are before their own next ones.
//!
//! An operation that releases leaves at its place what its thread knows, and what it did itself; one that acquires takes what it finds
//! there (PTX ISA 8.9.5, release and acquire patterns). A fence does so for the relaxed operations beside it. Operations that read and
//! write pass on what they find. Of a thread, all of the time between two barriers counts as one: a race with what it does after it
//! has released may be missed, but no access that is ordered is called a race.
//!
//! An asynchronous store is one of an agent of its mbarrier. Those that wait for the phase come after it, after what its thread has read, and
//! after the asynchronous stores that the thread has waited for, but not after the thread's writes.
//!
//! Launches that check races run on one thread of the host, which has their state.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};

use super::exchange::LANES;
use super::shadow::{Accessor, agent_index};
use crate::order::Scope;

/// What is known of the threads of one block: accesses before this epoch, and those of some threads up to an epoch.
#[derive(Clone, Debug, Default)]
struct KnownOfBlock {
    before: u32,
    threads: BTreeMap<u64, u32>,
}

impl KnownOfBlock {
    fn join(&mut self, other: &Self) {
        self.before = self.before.max(other.before);
        for (thread, epoch) in &other.threads {
            let known = self.threads.entry(*thread).or_insert(0);
            *known = (*known).max(*epoch);
        }
    }

    fn has(&self, accessor: Accessor) -> bool {
        accessor.epoch() < self.before
            || self.threads.get(&accessor.thread()).is_some_and(|&epoch| accessor.epoch() <= epoch)
    }
}

/// Accesses that are ordered.
#[derive(Clone, Debug, Default)]
struct Knowledge {
    /// By blocks and agents.
    all: BTreeMap<u64, KnownOfBlock>,
    /// Those of which only what reads is ordered, by blocks.
    reads: BTreeMap<u64, KnownOfBlock>,
}

impl Knowledge {
    fn join(&mut self, other: &Self) {
        other.all.iter().for_each(|(block, of_block)| self.all.entry(*block).or_default().join(of_block));
        other.reads.iter().for_each(|(block, of_block)| self.reads.entry(*block).or_default().join(of_block));
    }

    /// Adds what has been performed where a thread that knows `other` stores asynchronously.
    fn join_performed(&mut self, other: &Self) {
        for (block, of_block) in other.all.iter().chain(&other.reads) {
            let known = if agent_index(*block).is_some() { &mut self.all } else { &mut self.reads };
            known.entry(*block).or_default().join(of_block);
        }
    }

    /// Adds what `accessor` has done, and what the last barrier of its block has ordered before that.
    fn add(&mut self, accessor: Accessor) {
        let known = self.all.entry(accessor.block()).or_default();
        known.before = known.before.max(accessor.epoch());
        known.threads.insert(accessor.thread(), accessor.epoch());
    }

    /// Adds an agent's stores for a phase.
    fn add_phase(&mut self, agent: Accessor) {
        let known = self.all.entry(agent.block()).or_default();
        known.before = known.before.max(agent.epoch() + 1);
    }

    /// Whether it has an access, which reads if the flag is set.
    fn has(&self, accessor: Accessor, reads: bool) -> bool {
        let is_in =
            |known: &BTreeMap<u64, KnownOfBlock>| known.get(&accessor.block()).is_some_and(|known| known.has(accessor));
        is_in(&self.all) || reads && is_in(&self.reads)
    }
}

/// What a thread knows, beside its block.
#[derive(Default)]
struct Thread {
    known: Knowledge,
    /// What relaxed operations have found, for a fence behind them.
    found: Knowledge,
    /// What a fence has left for the relaxed operations behind it.
    fenced: Option<Knowledge>,
}

/// A block's threads, and what all of them know since its last barrier.
#[derive(Default)]
struct Block {
    common: Knowledge,
    threads: HashMap<u64, Thread>,
}

impl Block {
    fn pass_barrier(&mut self) {
        for thread in self.threads.values_mut() {
            self.common.join(&std::mem::take(&mut thread.known));
        }
    }
}

#[derive(Default)]
struct State {
    blocks: HashMap<u64, Block>,
    /// What has been left at a place, for all blocks or for one.
    left: HashMap<(usize, Option<u64>), Knowledge>,
    /// The block of each agent, from 0, and the agents by their mbarrier's place and block.
    agents: Vec<u64>,
    agent_of: HashMap<(usize, u64), u32>,
}

/// Where operations of a scope leave what they know, and find it. One whose scope is the block orders nothing for others, and a wider
/// one orders for the block too.
fn places(place: usize, scope: Scope, block: u64) -> impl Iterator<Item = (usize, Option<u64>)> {
    let wider = (scope != Scope::Block).then_some((place, None));
    [(place, Some(block))].into_iter().chain(wider)
}

impl State {
    fn thread(&mut self, accessor: Accessor) -> &mut Thread {
        self.blocks.entry(accessor.block()).or_default().threads.entry(accessor.thread()).or_default()
    }

    /// What the thread knows, and what it has done.
    fn known_to(&mut self, accessor: Accessor) -> Knowledge {
        let mut known = self.thread(accessor).known.clone();
        known.join(&self.blocks[&accessor.block()].common);
        known.add(accessor);
        known
    }
}

thread_local! {
    /// Whether the launch has ordered anything.
    static IS_USED: Cell<bool> = const { Cell::new(false) };
    static STATE: RefCell<State> = RefCell::default();
}

/// Forgets the last launch.
pub(super) fn reset() {
    if IS_USED.replace(false) {
        STATE.set(State::default());
    }
}

/// Notes that a thread stores to a place, before it does: an update, of a value that it reads, or any other. Here and below `accessor`
/// is the thread, None if races are not checked.
#[inline]
pub(super) fn before_store(
    accessor: impl FnOnce() -> Option<Accessor>,
    place: usize,
    scope: Scope,
    releases: bool,
    is_update: bool,
) {
    if !releases && !IS_USED.get() {
        return;
    }
    let Some(accessor) = accessor() else { return };
    IS_USED.set(true);
    STATE.with_borrow_mut(|state| {
        let left = match releases {
            true => Some(state.known_to(accessor)),
            false => state.thread(accessor).fenced.clone(),
        };
        for place in places(place, scope, accessor.block()) {
            match (&left, is_update) {
                (Some(left), true) => state.left.entry(place).or_default().join(left),
                (Some(left), false) => drop(state.left.insert(place, left.clone())),
                (None, true) => {}
                (None, false) => drop(state.left.remove(&place)),
            }
        }
    });
}

/// Notes that a thread stores asynchronously for the phase with this number of the mbarrier at a place, and leaves at the phase's place what
/// is ordered so. Returns the agent that makes the store; None if races are not checked.
pub(super) fn store_async(
    accessor: Option<Accessor>,
    mbarrier: usize,
    (number, of_phase): (u64, usize),
) -> Option<Accessor> {
    let accessor = accessor?;
    IS_USED.set(true);
    STATE.with_borrow_mut(|state| {
        let known = state.known_to(accessor);
        let State { agents, agent_of, left, .. } = state;
        let agent = *agent_of.entry((mbarrier, accessor.block())).or_insert_with(|| {
            agents.push(accessor.block());
            agents.len() as u32 - 1
        });
        let store = Accessor::agent(agent, accessor.thread(), number);
        let left = left.entry((of_phase, None)).or_default();
        left.join_performed(&known);
        left.add_phase(store);
        Some(store)
    })
}

/// The block that has made an access, or whose agent has, from 0.
pub(super) fn block_of(accessor: Accessor) -> u64 {
    accessor.agent_index().map_or(accessor.block(), |agent| STATE.with_borrow(|state| state.agents[agent]))
}

/// Forgets what has been left at a place.
pub(super) fn forget(place: usize) {
    if IS_USED.get() {
        STATE.with_borrow_mut(|state| state.left.retain(|(of, _), _| *of != place));
    }
}

/// Notes that a thread has loaded from a place.
#[inline]
pub(super) fn after_load(accessor: impl FnOnce() -> Option<Accessor>, place: usize, scope: Scope, acquires: bool) {
    if !IS_USED.get() {
        return;
    }
    let Some(accessor) = accessor() else { return };
    STATE.with_borrow_mut(|state| {
        for place in places(place, scope, accessor.block()) {
            let Some(left) = state.left.get(&place).cloned() else { continue };
            let thread = state.thread(accessor);
            let to = if acquires { &mut thread.known } else { &mut thread.found };
            to.join(&left);
        }
    });
}

/// Notes a fence of a thread.
pub(super) fn fence(accessor: Option<Accessor>, releases: bool, acquires: bool) {
    let Some(accessor) = accessor else { return };
    IS_USED.set(true);
    STATE.with_borrow_mut(|state| {
        if acquires {
            let thread = state.thread(accessor);
            let found = std::mem::take(&mut thread.found);
            thread.known.join(&found);
        }
        if releases {
            let known = state.known_to(accessor);
            state.thread(accessor).fenced = Some(known);
        }
    });
}

/// The place at which these lanes of a warp of each block leave what they know: none of a cell.
fn place_of_lanes(warp: u32, lanes: u32) -> usize {
    usize::MAX - (warp as usize + LANES as usize * !lanes as usize)
}

/// Notes that a thread waits for lanes of its warp.
pub(super) fn leave_for_lanes(accessor: Option<Accessor>, warp: u32, lanes: u32) {
    before_store(|| accessor, place_of_lanes(warp, lanes), Scope::Block, true, true);
}

/// Notes that the lanes of a thread's warp have waited.
pub(super) fn take_from_lanes(accessor: Option<Accessor>, warp: u32, lanes: u32) {
    after_load(|| accessor, place_of_lanes(warp, lanes), Scope::Block, true);
}

/// Notes that a block, by its number from 1, passes a barrier.
pub(super) fn pass_barrier(block: u32) {
    if IS_USED.get() {
        STATE.with_borrow_mut(|state| {
            if let Some(block) = state.blocks.get_mut(&(u64::from(block) - 1)) {
                block.pass_barrier();
            }
        });
    }
}

/// Notes that blocks, by their numbers from 1, pass a barrier together.
pub(super) fn pass_wide_barrier(blocks: impl Iterator<Item = u32> + Clone) {
    if !IS_USED.get() {
        return;
    }
    STATE.with_borrow_mut(|state| {
        let mut all = Knowledge::default();
        for block in blocks.clone() {
            if let Some(block) = state.blocks.get_mut(&(u64::from(block) - 1)) {
                block.pass_barrier();
                all.join(&block.common);
            }
        }
        for block in blocks {
            state.blocks.entry(u64::from(block) - 1).or_default().common = all.clone();
        }
    });
}

/// Whether an access, which reads if the flag is set, is before the next ones of a thread, `now`, by atomic operations.
pub(super) fn has_ordered((earlier, reads): (Accessor, bool), now: Accessor) -> bool {
    IS_USED.get()
        && STATE.with_borrow(|state| {
            state.blocks.get(&now.block()).is_some_and(|block| {
                let thread = block.threads.get(&now.thread());
                block.common.has(earlier, reads) || thread.is_some_and(|thread| thread.known.has(earlier, reads))
            })
        })
}
