//! Loads, stores and atomic operations.

use super::context::Context;
use super::fault::{Access, Failure};
use super::lane_addresses::{LaneAddresses, Memory};
use super::lanes::{extend_sign, lanes_in, lanes_of};
use super::resolve::Request;
use super::spin::Spin;
use super::warp::Warp;
use crate::program::instruction::{Atomic, Extend, Load, Store};
use crate::semantics::{LANES, Lanes};

impl Warp {
    pub(super) fn load(
        &mut self,
        pc: usize,
        load: &Load,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let bytes = load.bytes * load.destinations.len();
        let request = Request { ordering: load.ordering, ..Request::plain(pc, bytes, Access::Read) };
        let resolved = match self.resolve_and_record(request, load.space, &load.address, active, context) {
            Ok(resolved) => resolved,
            Err(failure) => return self.load_uninitialised(pc, load, active, context, failure),
        };
        for (part, destination) in load.destinations.iter().enumerate() {
            let Some(destination) = destination else { continue };
            let part = part * load.bytes;
            let mut values = [0; LANES];
            match resolved {
                LaneAddresses::Strided { memory, offset, stride: 0 } if !load.ordering.strong => {
                    values = [context.region(memory, self).load(offset + part, load.bytes); LANES];
                }
                LaneAddresses::Strided { memory, offset, stride } if stride == load.bytes && !load.ordering.strong => {
                    context.region(memory, self).load_run(offset, load.bytes, &mut values);
                }
                _ => {
                    for lane in lanes_of(active) {
                        let (memory, offset) = resolved.at(lane);
                        let region = context.region(memory, self);
                        values[lane] = match load.ordering.strong {
                            false => region.load(offset + part, load.bytes),
                            true => region.load_whole(offset + part, load.bytes),
                        };
                    }
                }
            }
            load.extend(&mut values);
            self.write(*destination, &values, active);
        }
        if load.ordering.acquire {
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        pc: usize,
        store: &Store,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        if store.ordering.release {
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        }
        let bytes = store.bytes * store.sources.len();
        let request = Request { pc, bytes, access: Access::Write, ordering: store.ordering, stored: &store.sources };
        let resolved = self.resolve_and_record(request, store.space, &store.address, active, context)?;
        if lanes_of(active).next().is_some_and(|lane| resolved.at(lane).0 != Memory::Local) {
            context.note_change();
        } else if self.is_tested() && self.changes_memory(store, active, &resolved, context) {
            self.spin = Spin::No;
        }
        let has_uninitialised = !self.uninitialised.is_empty();
        for (part, source) in store.sources.iter().enumerate() {
            let values = &self.registers[*source as usize];
            let part = part * store.bytes;
            match resolved {
                LaneAddresses::Strided { memory, offset, stride }
                    if stride == store.bytes && !store.ordering.strong =>
                {
                    context.region(memory, self).store_run(offset, store.bytes, values);
                }
                _ => {
                    for lane in lanes_of(active) {
                        let (memory, offset) = resolved.at(lane);
                        let region = context.region(memory, self);
                        match store.ordering.strong {
                            false => region.store(offset + part, store.bytes, values[lane]),
                            true => region.store_whole(offset + part, store.bytes, values[lane]),
                        }
                    }
                }
            }
            if has_uninitialised {
                for lane in lanes_of(active) {
                    let (memory, offset) = resolved.at(lane);
                    self.store_uninitialised(*source, store.bytes, lane, (memory, offset + part), context)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a store changes any byte. A loop may store the same values again, as unoptimized
    /// code does with local variables.
    #[cold]
    fn changes_memory(&self, store: &Store, active: u32, resolved: &LaneAddresses, context: &Context<'_>) -> bool {
        let low = |value: u64| if store.bytes < 8 { value & ((1 << (store.bytes * 8)) - 1) } else { value };
        lanes_of(active).any(|lane| {
            let (memory, offset) = resolved.at(lane);
            let region = context.region(memory, self);
            store.sources.iter().enumerate().any(|(part, source)| {
                let stored = low(self.registers[*source as usize][lane]);
                region.load(offset + part * store.bytes, store.bytes) != stored
            })
        })
    }

    pub(super) fn atomic(
        &mut self,
        pc: usize,
        atomic: &Atomic,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        let request = Request { ordering: atomic.ordering, ..Request::plain(pc, atomic.bytes, Access::Atomic) };
        let resolved = self.resolve_and_record(request, atomic.space, &atomic.address, active, context)?;
        let [first, second] = atomic.operands.map(|operand| self.registers[operand as usize]);
        let mut old = [0; LANES];
        let mut changes = false;
        for lane in lanes_in(active, context.reverses_lanes) {
            let (memory, offset) = resolved.at(lane);
            let update = if matches!(memory, Memory::Global(_)) { atomic.update_global } else { atomic.update };
            let region = context.region(memory, self);
            old[lane] = region.update(offset, atomic.bytes, |old| {
                let new = update(old, first[lane], second[lane]);
                changes |= new != old;
                new
            });
        }
        if changes {
            context.residents.changes += 1;
        }
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        if let Some(destination) = atomic.destination {
            self.write(destination, &old, active);
        }
        Ok(())
    }
}

impl Load {
    /// Extends loaded values to the width of the destination registers.
    pub(super) fn extend(&self, values: &mut Lanes) {
        self.extend.extend(values);
    }
}

impl Extend {
    /// Extends values to the width of a register.
    pub(super) fn extend(self, values: &mut Lanes) {
        if let Self::Sign { from, to } = self {
            extend_sign(values, from, to);
        }
    }
}
