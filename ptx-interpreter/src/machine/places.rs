//! Where the addresses of a warp's lanes are in memory, and whether they may be accessed.

use std::ops::Range;

use super::block::{BlockState, Context};
use super::fault::{Access, FaultKind};
use super::lanes::{ALL, lanes_of};
use super::launch::Launch;
use super::race::Recorded;
use super::warp::{Failure, Warp};
use crate::memory::{
    AccessError, Region, first_address, from_generic, global_pattern, shared_pattern, space_of, stride,
};
use crate::program::DYNAMIC_SHARED_START;
use crate::program::instruction::{AccessSpace, Address, Ordering, Register};
use crate::semantics::{LANES, Lanes};
use crate::syntax::Space;

/// Where an address turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// The allocation of this index.
    Global(usize),
    Shared,
    DynamicShared,
    Local,
    Parameters,
    Constants,
}

/// An access of a warp in one space: what its lanes have in common.
#[derive(Clone, Copy)]
pub(super) struct WarpAccess<'a> {
    pub(super) space: Space,
    /// The bytes of a lane's access, all parts of a vector together.
    pub(super) bytes: usize,
    pub(super) access: Access,
    pub(super) ordering: Ordering,
    /// The registers that a plain store writes, the first at the lowest address; none of any other access.
    pub(super) stored: &'a [Register],
}

/// A lane's place in memory.
pub(super) type Found = (Memory, usize);

/// The places of the lanes of an access.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "it lives on the stack, where a box would cost an allocation an access")]
pub(super) enum Places {
    /// All lanes, each so many bytes after the one before it.
    Run { memory: Memory, offset: usize, stride: usize },
    /// Wherever each is; of lanes that take no part, anywhere.
    Each([Found; LANES]),
}

impl Places {
    /// No lane's place yet.
    pub(super) fn unknown() -> Self {
        Self::Each([(Memory::Local, 0); LANES])
    }

    /// The place of a lane.
    #[inline]
    pub(super) fn of(&self, lane: usize) -> Found {
        match self {
            Self::Run { memory, offset, stride } => (*memory, offset + lane * stride),
            Self::Each(places) => places[lane],
        }
    }

    fn set(&mut self, lane: usize, found: Found) {
        if let Self::Run { memory, offset, stride } = *self {
            let each = std::array::from_fn(|lane| (memory, offset + lane * stride));
            *self = Self::Each(each);
        }
        if let Self::Each(places) = self {
            places[lane] = found;
        }
    }
}

impl Warp {
    /// The address of each lane.
    #[inline]
    pub(super) fn addresses(&self, address: &Address) -> Lanes {
        let Address { base, offset, narrow } = *address;
        let mut addresses = match base {
            Some(base) => self.registers[base as usize],
            None => [0; LANES],
        };
        for address in &mut addresses {
            *address = address.wrapping_add_signed(offset);
        }
        if narrow {
            addresses.iter_mut().for_each(|address| *address &= u64::from(u32::MAX));
        }
        addresses
    }

    /// Finds the place of each active lane's access, checks and counts it.
    #[inline]
    pub(super) fn locate(
        &self,
        pc: usize,
        space: AccessSpace,
        address: &Address,
        active: u32,
        (bytes, access, ordering, stored): (usize, Access, Ordering, &[Register]),
        context: &mut Context<'_>,
    ) -> Result<Places, Failure> {
        let mut places = Places::unknown();
        let addresses = self.addresses(address);
        if let AccessSpace::Space(space) = space {
            let access = WarpAccess { space, bytes, access, ordering, stored };
            self.locate_in(pc, access, &addresses, active, &mut places, context)?;
            return Ok(places);
        }
        // Generic: most often all lanes are in one space.
        let mut rest = active;
        while rest != 0 {
            let space = space_of(addresses[rest.trailing_zeros() as usize]);
            let here = lanes_of(rest).filter(|lane| space_of(addresses[*lane]) == space);
            let here = here.fold(0, |mask, lane| mask | 1 << lane);
            let within = addresses.map(|address| from_generic(space, address));
            let access = WarpAccess { space, bytes, access, ordering, stored };
            self.locate_in(pc, access, &within, here, &mut places, context)?;
            rest &= !here;
        }
        Ok(places)
    }

    fn locate_in(
        &self,
        pc: usize,
        access: WarpAccess<'_>,
        addresses: &Lanes,
        active: u32,
        places: &mut Places,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let WarpAccess { space, bytes, .. } = access;
        self.find_lanes(access, addresses, active, places, context)?;
        self.record_lanes(pc, access, active, places, context)?;
        match space {
            Space::Global if active != 0 => {
                let pattern = global_pattern(addresses, active, bytes);
                context.counts[pc].add_access(pattern.sectors, pattern.ideal_sectors);
            }
            Space::Shared if active != 0 => {
                let pattern = shared_pattern(addresses, active, bytes);
                context.counts[pc].add_access(pattern.wavefronts, pattern.ideal_wavefronts);
            }
            _ => {}
        }
        Ok(())
    }

    /// Tells the race detector of each lane's access.
    #[inline]
    pub(super) fn record_lanes(
        &self,
        pc: usize,
        WarpAccess { bytes, access, ordering, stored, .. }: WarpAccess<'_>,
        active: u32,
        places: &Places,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        if context.races.is_some() {
            let recorded = Recorded { pc, access, ordering, bytes };
            for lane in lanes_of(active) {
                let (memory, _) = places.of(lane);
                // Lanes store one after the other, and have not yet.
                let byte_by = |lane: usize, offset: usize| {
                    let index = offset.checked_sub(places.of(lane).1).filter(|index| *index < bytes)?;
                    let element = bytes / stored.len();
                    let value = self.registers[stored[index / element] as usize][lane];
                    Some(value.to_le_bytes()[index % element])
                };
                let byte_before = |region: &Region, offset: usize| {
                    let before = lanes_of(active & ((1 << lane) - 1)).filter(|other| places.of(*other).0 == memory);
                    let stored = before.filter_map(|other| byte_by(other, offset)).last();
                    stored.unwrap_or_else(|| region.load(offset, 1) as u8)
                };
                let same_value = |region: &Region, mut range: Range<usize>| {
                    !stored.is_empty() && range.all(|offset| byte_by(lane, offset) == Some(byte_before(region, offset)))
                };
                context.record(self, lane, places.of(lane), recorded, same_value)?;
            }
        }
        Ok(())
    }

    /// The places of the rows of 16 bytes at the addresses of some lanes, for `ldmatrix`.
    pub(super) fn shared_rows(
        &self,
        pc: usize,
        addresses: &Lanes,
        lanes: u32,
        context: &mut Context<'_>,
    ) -> Result<Places, Failure> {
        let mut places = Places::unknown();
        let access = WarpAccess {
            space: Space::Shared,
            bytes: 16,
            access: Access::Read,
            ordering: Ordering::default(),
            stored: &[],
        };
        self.locate_in(pc, access, addresses, lanes, &mut places, context)?;
        Ok(places)
    }

    pub(super) fn find_lanes(
        &self,
        WarpAccess { space, bytes, access, .. }: WarpAccess<'_>,
        addresses: &Lanes,
        active: u32,
        places: &mut Places,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        if active == ALL
            && let Some(run) = self.find_run(space, bytes, access, addresses, context)
        {
            *places = run;
            return Ok(());
        }
        for lane in lanes_of(active) {
            let address = addresses[lane];
            let found = AccessError::check_aligned(space, address, bytes)
                .and_then(|()| context.find(self, space, lane, address, bytes))
                .and_then(|found| self.check(found, address, bytes, access, context).map(|()| found));
            match found {
                Ok(found) => places.set(lane, found),
                Err(error) => return Err(Failure::at(lane, FaultKind::Access { access, error })),
            }
        }
        Ok(())
    }

    /// The places of all lanes, if they access one place or side by side and nothing is wrong with that.
    #[inline]
    fn find_run(
        &self,
        space: Space,
        bytes: usize,
        access: Access,
        addresses: &Lanes,
        context: &mut Context<'_>,
    ) -> Option<Places> {
        let stride = stride(addresses).filter(|stride| *stride == 0 || *stride == bytes as u64)? as usize;
        // Each lane has local memory of its own.
        if space == Space::Local {
            return None;
        }
        let (address, length) = (addresses[0], stride * (LANES - 1) + bytes);
        AccessError::check_aligned(space, address, bytes).ok()?;
        let (memory, offset) = context.find(self, space, 0, address, length).ok()?;
        self.check((memory, offset), address, length, access, context).ok()?;
        Some(Places::Run { memory, offset, stride })
    }

    /// What is read must have been written, and some memory is only read.
    #[inline]
    fn check(
        &self,
        (memory, offset): Found,
        address: u64,
        bytes: usize,
        access: Access,
        context: &Context<'_>,
    ) -> Result<(), AccessError> {
        if access != Access::Read && matches!(memory, Memory::Parameters | Memory::Constants) {
            let space = if memory == Memory::Constants { Space::Const } else { Space::Param };
            return Err(AccessError::ReadOnly { address, bytes, space });
        }
        if access == Access::Write || context.region(memory, self).is_initialised(offset, bytes) {
            return Ok(());
        }
        Err(context.uninitialised(self, (memory, offset), address, bytes))
    }
}

/// The bytes of a memory.
#[inline]
pub(super) fn region<'r>(memory: Memory, launch: &'r Launch<'_>, state: &'r BlockState, warp: &'r Warp) -> &'r Region {
    match memory {
        Memory::Global(index) => &launch.view.allocations()[index].region,
        Memory::Shared => &state.shared,
        Memory::DynamicShared => &state.dynamic_shared,
        Memory::Local => &warp.local,
        Memory::Parameters => &launch.parameters,
        Memory::Constants => launch.constants,
    }
}

impl Context<'_> {
    /// The bytes of a memory.
    #[inline]
    pub(super) fn region<'r>(&'r self, memory: Memory, warp: &'r Warp) -> &'r Region {
        region(memory, self.launch, &self.state, warp)
    }

    /// The memory and the offset in it of a lane's access.
    #[inline]
    pub(super) fn find(
        &mut self,
        warp: &Warp,
        space: Space,
        lane: usize,
        address: u64,
        bytes: usize,
    ) -> Result<Found, AccessError> {
        match space {
            Space::Global => {
                if let Some(allocation) = self.launch.view.allocations().get(self.last_allocation)
                    && let Some(offset) = allocation.extent.offset_of(address, bytes)
                {
                    return Ok((Memory::Global(self.last_allocation), offset));
                }
                let (index, offset) = self.launch.view.find(address, bytes)?;
                self.last_allocation = index;
                Ok((Memory::Global(index), offset))
            }
            Space::Shared => {
                if address >= DYNAMIC_SHARED_START {
                    let offset = self.launch.dynamic_shared.check(address, bytes)?;
                    return Ok((Memory::DynamicShared, offset));
                }
                self.kernel.shared.find(address, bytes)?;
                Ok((Memory::Shared, (address - first_address(Space::Shared)) as usize))
            }
            Space::Local => {
                self.kernel.local.find(address, bytes)?;
                let of_a_lane = warp.local.bytes() / LANES;
                Ok((Memory::Local, lane * of_a_lane + (address - first_address(Space::Local)) as usize))
            }
            Space::Param => {
                self.kernel.parameters.find(address, bytes)?;
                Ok((Memory::Parameters, (address - first_address(Space::Param)) as usize))
            }
            Space::Const => {
                self.launch.program.constants.find(address, bytes)?;
                Ok((Memory::Constants, (address - first_address(Space::Const)) as usize))
            }
        }
    }

    #[cold]
    fn uninitialised(&self, warp: &Warp, (memory, offset): Found, address: u64, bytes: usize) -> AccessError {
        let first = self.region(memory, warp).first_uninitialised(offset, bytes).unwrap_or(offset) - offset;
        let place = match memory {
            Memory::Global(index) => self.launch.view.allocations()[index].extent.clone(),
            Memory::DynamicShared => self.launch.dynamic_shared.clone(),
            Memory::Shared | Memory::Local | Memory::Parameters | Memory::Constants => {
                let ranges = match memory {
                    Memory::Shared => &self.kernel.shared,
                    Memory::Local => &self.kernel.local,
                    Memory::Parameters => &self.kernel.parameters,
                    _ => &self.launch.program.constants,
                };
                match ranges.find(address, bytes) {
                    Ok(extent) => extent.clone(),
                    Err(error) => return error,
                }
            }
        };
        AccessError::Uninitialised { address, bytes, first: address + first as u64 - place.start, place }
    }

    /// What a place is called, and its address within its space.
    pub(super) fn extent_at(&self, memory: Memory, offset: usize) -> (String, u64) {
        let address = |space| first_address(space) + offset as u64;
        match memory {
            Memory::Global(index) => {
                let extent = &self.launch.view.allocations()[index].extent;
                (extent.to_string(), extent.start + offset as u64)
            }
            Memory::DynamicShared => {
                (self.launch.dynamic_shared.to_string(), self.launch.dynamic_shared.start + offset as u64)
            }
            _ => {
                let address = address(Space::Shared);
                let name = self.kernel.shared.find(address, 1).map_or_else(|_| String::new(), ToString::to_string);
                (name, address)
            }
        }
    }
}
