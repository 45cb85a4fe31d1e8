//! Barriers in shared memory that count arrivals and bytes (`mbarrier`): a thread waits for data that others send by
//! [`set_async`](crate::cluster::ClusterShared::set_async), without a barrier of the cluster.
//!
//! Each phase of an mbarrier is complete when all its arrivals and all bytes that they expect have come; the next one begins then. The
//! receiver expects the bytes, and waits for phases in turn, by their parity:
//!
//! ```
//! use cuda_std::mbarrier::Mbarriers;
//! use cuda_std::simulator::{self, SimulatorBuffer};
//! use cuda_std::{F32x4, GlobalMut, LaunchConfig, cluster, dynamic_shared, kernel, shared_array, thread};
//!
//! /// Two blocks send each other a value, `rounds` times, and add one to what they get.
//! #[kernel]
//! pub fn exchange(x: GlobalMut<f32>, rounds: u32) {
//!     // Two elements and two mbarriers, in turn: a block may send before the other one has read what it sent last.
//!     let shared = dynamic_shared::<F32x4>();
//!     let arrivals = Mbarriers::<2>::new(shared_array![u64; 2]);
//!     for index in 0..2 {
//!         arrivals.init(index, 1);
//!         arrivals.arrive_expecting(index, 16);
//!     }
//!     // All mbarriers are there before one sends.
//!     cluster::sync();
//!     let other = cluster::map_shared(&shared, 1 - cluster::rank());
//!     let block = thread::block_idx_x() as usize;
//!     let mut value = x.get(block);
//!     for round in 0..rounds {
//!         let turn = round as usize % 2;
//!         other.set_async(turn, F32x4::splat(value), &arrivals, turn);
//!         arrivals.wait(turn, round / 2 % 2);
//!         arrivals.arrive_expecting(turn, 16);
//!         value = shared.get(turn).x + 1.0;
//!     }
//!     x.set(block, value);
//! }
//!
//! let mut x = SimulatorBuffer::from_slice(&[10.0, 20.0]);
//! let config = LaunchConfig::new(2, 1).clusters_of(2).with_dynamic_shared(32);
//! simulator::launch(&exchange, config, (&mut x, 3))?;
//! assert_eq!(x.to_vec(), [23.0, 13.0]);
//! # Ok::<(), simulator::LaunchError>(())
//! ```
//!
//! Until the phase is complete, each access to what is sent for it is a race; after it, those of threads that have not waited are.

use std::panic::Location;

use cuda_launch::{Mbarrier, MbarrierError};

use super::block::{Block, Saved};
use super::current::{self, Wait};
use super::fault;
use super::phases::{MbarrierId, Phase, raise};
use super::shadow::Accessor;
use super::shared::SharedArray;
use super::synchronization;
use crate::order::Scope;

/// The mbarriers of a block, in an array of its shared memory.
#[derive(Clone)]
pub struct Mbarriers<const N: usize> {
    words: SharedArray<u64, N>,
}

impl<const N: usize> Mbarriers<N> {
    /// The mbarriers in these words, which nothing else uses.
    pub fn new(words: SharedArray<u64, N>) -> Self {
        Self { words }
    }

    /// Begins the first phase of mbarrier `index`, each phase of which expects a number of arrivals, and some bytes. One thread calls it;
    /// [`cluster::sync`](crate::cluster::sync) before the first use by others. An index out of bounds is a fault.
    #[track_caller]
    pub fn init(&self, index: usize, arrivals: u32) {
        if fault::is_unwinding() {
            return;
        }
        let location = Location::caller();
        self.words.set(index, 0);
        let mbarrier = Mbarrier::new(arrivals.into()).unwrap_or_else(|error| raise(error, location));
        let phase = Phase { mbarrier, number: 0, stores: Vec::new() };
        current::with_block(|block| block.phases.0.borrow_mut().insert(self.id(index), phase));
    }

    /// Arrives at mbarrier `index`, whose current phase expects `bytes` more bytes.
    #[track_caller]
    pub fn arrive_expecting(&self, index: usize, bytes: u32) {
        if fault::is_unwinding() {
            return;
        }
        let location = Location::caller();
        let id = self.id(index);
        current::with_block(|block| block.phases.check(id, location));
        let place = self.words.synchronise(index);
        current::with_block(|block| {
            block.change_mbarrier((id, place), location, |phase, here| {
                synchronization::before_store(current::checked_accessor, here, Scope::Device, true, true);
                phase.mbarrier.arrive_expecting(bytes)
            });
        });
    }

    /// Waits until the phase of mbarrier `index` with this parity, 0 for the first phase, is complete. What was sent for the phase is then
    /// visible to this thread. A phase that is never complete is a fault,
    /// [`PhaseNeverEnds`](crate::simulator::FaultKind::PhaseNeverEnds).
    #[track_caller]
    pub fn wait(&self, index: usize, parity: u32) {
        if fault::is_unwinding() {
            return;
        }
        let location = Location::caller();
        let id = self.id(index);
        current::with_block(|block| block.phases.check(id, location));
        let place = self.words.synchronise(index);
        let number = loop {
            let number = current::with_block(|block| {
                let phases = block.phases.0.borrow();
                phases.get(&id).filter(|phase| phase.mbarrier.has_completed(parity & 1 == 1)).map(|phase| phase.number)
            });
            match number {
                Some(number) => break number,
                None => current::wait(Wait::Phase(location, id)),
            }
        };
        // The last complete phase.
        let place = place_of_phase(place, number.wrapping_sub(1));
        synchronization::after_load(current::checked_accessor, place, Scope::Device, true);
    }

    /// Completes `bytes` bytes of the current phase of mbarrier `index` of another block of the cluster, or of the current one. The bytes
    /// are those of the element with this shadow. Returns what has stored them, if races are checked.
    pub(super) fn complete_bytes(
        &self,
        other: Option<&Block>,
        index: usize,
        (bytes, shadow): (u32, Option<usize>),
        location: &'static Location<'static>,
    ) -> Option<Accessor> {
        let id = self.id(index);
        let complete = |block: &Block| {
            block.phases.check(id, location);
            let words = if other.is_some() { self.words.in_other_block(block) } else { Some(self.words.clone()) };
            let Some(words) = words else { raise(MbarrierError::NotInitialised, location) };
            let place = words.synchronise_at(index, location);
            if let Some(shadow) = shadow {
                block.note_async_store(shadow, current::accessor(), location);
            }
            let mut store = None;
            block.change_mbarrier((id, place), location, |phase, here| {
                store = synchronization::store_async(current::checked_accessor(), place, (phase.number, here));
                phase.stores.extend(shadow);
                phase.mbarrier.complete_bytes(bytes)
            });
            store
        };
        match other {
            Some(block) => complete(block),
            None => current::with_block(complete),
        }
    }

    fn id(&self, index: usize) -> MbarrierId {
        (self.words.key(), index)
    }
}

impl Block {
    /// Notes an asynchronous store to the element with a shadow.
    fn note_async_store(&self, target: usize, by: Accessor, location: &'static Location<'static>) {
        self.copies.0.borrow_mut().targets.insert(target, (by, location));
        self.add_copies(1);
    }

    /// Notes that the phase of such a store is complete.
    fn end_async_store(&self, target: usize) {
        self.copies.0.borrow_mut().targets.remove(&target);
        self.add_copies(-1);
    }

    /// Adds to the number of what is in flight.
    fn add_copies(&self, more: i32) {
        let add = |copies: u32| copies.wrapping_add_signed(more);
        if current::is_current(self.number) {
            current::with(|current| current.copies.set(add(current.copies.get())));
        } else {
            let saved = self.saved.get();
            self.saved.set(Saved { copies: add(saved.copies), ..saved });
        }
    }

    /// A thread changes an mbarrier of this block, which is at a place, and may complete its phase. `change` gets the place at which the
    /// phase leaves what its threads know.
    fn change_mbarrier(
        &self,
        (id, place): (MbarrierId, usize),
        location: &'static Location<'static>,
        change: impl FnOnce(&mut Phase, usize) -> Result<bool, MbarrierError>,
    ) {
        let mut phases = self.phases.0.borrow_mut();
        let Some(phase) = phases.get_mut(&id) else { raise(MbarrierError::NotInitialised, location) };
        let here = place_of_phase(place, phase.number);
        if change(phase, here).unwrap_or_else(|error| raise(error, location)) {
            phase.number += 1;
            // What the phase before left, whose place the next one takes.
            synchronization::forget(place_of_phase(place, phase.number));
            let stores = std::mem::take(&mut phase.stores);
            stores.into_iter().for_each(|shadow| self.end_async_store(shadow));
        }
    }
}

/// The place at which a phase leaves what its threads know, of an mbarrier at a place: two phases in a row have different ones.
fn place_of_phase(place: usize, number: u64) -> usize {
    place + (number % 2) as usize
}
