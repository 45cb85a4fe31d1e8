//! Resolves the lanes' addresses to memories and offsets, and checks each access.

use std::ops::Range;

use super::block_state::BlockState;
use super::context::Context;
use super::fault::{Access, Failure, FaultKind};
use super::lane_addresses::{LaneAddress, LaneAddresses, Memory};
use super::lanes::{ALL, groups, lanes_in, lanes_of};
use super::launch::Launch;
use super::residents::{Resident, Residents};
use super::warp::Warp;
use crate::memory::{
    AccessError, Extent, Region, block_of_cluster, first_address, from_generic, global_pattern, shared_pattern,
    space_of, stride,
};
use crate::program::DYNAMIC_SHARED_START;
use crate::program::instruction::{AccessSpace, EffectiveAddress, MemoryOrdering, Register};
use crate::semantics::{LANES, Lanes};
use crate::syntax::Space;

/// A warp's access by an instruction, with one address per lane.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) pc: usize,
    /// Size of a lane's access in bytes, including all elements of a vector.
    pub(super) bytes: usize,
    pub(super) access: Access,
    pub(super) ordering: MemoryOrdering,
    /// The registers written by a plain store, the first one to the lowest address. Empty for any
    /// other access.
    pub(super) stored: &'a [Register],
}

impl Request<'_> {
    /// A plain access that does not store registers.
    pub(super) fn plain(pc: usize, bytes: usize, access: Access) -> Self {
        Self { pc, bytes, access, ordering: MemoryOrdering::default(), stored: &[] }
    }
}

/// A warp's access in one state space.
#[derive(Clone, Copy)]
pub(super) struct WarpAccess<'a> {
    pub(super) space: Space,
    /// The other block of the cluster that owns the accessed shared memory, by its index in the
    /// cluster.
    pub(super) block: Option<u32>,
    pub(super) request: Request<'a>,
}

impl Warp {
    /// Resolves, checks, records and counts the access of each active lane.
    #[inline]
    pub(super) fn resolve_and_record(
        &self,
        request: Request<'_>,
        space: AccessSpace,
        address: &EffectiveAddress,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<LaneAddresses, Failure> {
        self.resolve_addresses(request, space, &self.addresses(address), active, context)
    }

    /// Resolves, checks, records and counts the access of each active lane at its address.
    #[inline]
    pub(super) fn resolve_addresses(
        &self,
        request: Request<'_>,
        space: AccessSpace,
        addresses: &Lanes,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<LaneAddresses, Failure> {
        let mut resolved = LaneAddresses::unresolved();
        if let AccessSpace::Space(space) = space {
            let access = WarpAccess { space, block: None, request };
            self.resolve_in_space(access, addresses, active, &mut resolved, context)?;
            return Ok(resolved);
        }
        if space == AccessSpace::Cluster {
            let access = WarpAccess { space: Space::Shared, block: None, request };
            self.resolve_in_cluster(access, addresses, active, &mut resolved, context)?;
            return Ok(resolved);
        }
        // Generic addresses: usually all in one state space.
        for (space, here) in groups(active, |lane| space_of(addresses[lane])) {
            let within = addresses.map(|address| from_generic(space, address));
            let access = WarpAccess { space, block: None, request };
            if space == Space::Shared && context.config.cluster > 1 {
                self.resolve_in_cluster(access, &within, here, &mut resolved, context)?;
            } else {
                self.resolve_in_space(access, &within, here, &mut resolved, context)?;
            }
        }
        Ok(resolved)
    }

    /// Resolves an access to shared memory with addresses that may belong to other blocks of the
    /// cluster.
    fn resolve_in_cluster(
        &self,
        access: WarpAccess<'_>,
        addresses: &Lanes,
        active: u32,
        resolved: &mut LaneAddresses,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let places = addresses.map(|address| block_of_cluster(address as u32));
        for (block, here) in groups(active, |lane| places[lane].0) {
            let first = here.trailing_zeros() as usize;
            let block = block.filter(|rank| *rank != context.rank());
            if let Some(rank) = block {
                context.check_block_of_cluster(rank, access.request.access).map_err(|kind| Failure::at(first, kind))?;
            }
            let within = places.map(|(_, address)| u64::from(address));
            self.resolve_in_space(WarpAccess { block, ..access }, &within, here, resolved, context)?;
        }
        Ok(())
    }

    fn resolve_in_space(
        &self,
        access: WarpAccess<'_>,
        addresses: &Lanes,
        active: u32,
        resolved: &mut LaneAddresses,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let WarpAccess { space, request, .. } = access;
        let Request { pc, bytes, .. } = request;
        self.resolve_lanes(access, addresses, active, resolved, context)?;
        self.record_lanes(request, active, resolved, context)?;
        match space {
            Space::Global if active != 0 => {
                let pattern = global_pattern(addresses, active, bytes);
                context.counts[pc].add_access(pattern.sectors, pattern.min_sectors);
            }
            Space::Shared if active != 0 => {
                let pattern = shared_pattern(addresses, active, bytes);
                context.counts[pc].add_access(pattern.wavefronts, pattern.min_wavefronts);
            }
            _ => {}
        }
        Ok(())
    }

    /// Records each lane's access in the race detector, and reports it to the observer.
    #[inline]
    pub(super) fn record_lanes(
        &self,
        request: Request<'_>,
        active: u32,
        resolved: &LaneAddresses,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let Request { pc, bytes, access, stored, .. } = request;
        if context.races.is_some() {
            // An atomic operation's lanes, in the order in which it processes them.
            let reversed = access == Access::Atomic && context.reverses_lanes;
            let recorded_alone = context.record_warp(self, active, resolved, request);
            for lane in lanes_in(recorded_alone, reversed) {
                let (memory, _) = resolved.at(lane);
                // The detector orders the lanes' stores by lane. None has reached memory yet.
                let byte_by = |lane: usize, offset: usize| {
                    let index = offset.checked_sub(resolved.at(lane).1).filter(|index| *index < bytes)?;
                    let element = bytes / stored.len();
                    let value = self.registers[stored[index / element] as usize][lane];
                    Some(value.to_le_bytes()[index % element])
                };
                let byte_before = |region: &Region, offset: usize| {
                    let before = lanes_of(active & ((1 << lane) - 1)).filter(|other| resolved.at(*other).0 == memory);
                    let stored = before.filter_map(|other| byte_by(other, offset)).last();
                    stored.unwrap_or_else(|| region.load(offset, 1) as u8)
                };
                let same_value = |region: &Region, mut range: Range<usize>, after_others: bool| match after_others {
                    _ if stored.is_empty() => false,
                    true => range.all(|offset| byte_by(lane, offset) == Some(byte_before(region, offset))),
                    false => {
                        range.clone().all(|offset| byte_by(lane, offset) == Some(region.load(offset, 1) as u8))
                            && region.is_initialised(range.start, range.len())
                    }
                };
                context.record(self, lane, resolved.at(lane), request, None, same_value)?;
            }
        }
        if context.observer.is_some() {
            for lane in lanes_of(active) {
                context.observe_access(self.number, lane, pc, access, resolved.at(lane), bytes);
            }
        }
        Ok(())
    }

    /// Resolves the 16-byte rows at the addresses of some lanes, for `ldmatrix`.
    pub(super) fn shared_rows(
        &self,
        pc: usize,
        addresses: &Lanes,
        lanes: u32,
        context: &mut Context<'_>,
    ) -> Result<LaneAddresses, Failure> {
        let mut resolved = LaneAddresses::unresolved();
        let request = Request::plain(pc, 16, Access::Read);
        let access = WarpAccess { space: Space::Shared, block: None, request };
        self.resolve_in_space(access, addresses, lanes, &mut resolved, context)?;
        Ok(resolved)
    }

    pub(super) fn resolve_lanes(
        &self,
        WarpAccess { space, block, request }: WarpAccess<'_>,
        addresses: &Lanes,
        active: u32,
        resolved: &mut LaneAddresses,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let Request { bytes, access, .. } = request;
        if active == ALL
            && block.is_none()
            && let Some(run) = self.resolve_strided(space, bytes, access, addresses, context)
        {
            *resolved = run;
            return Ok(());
        }
        for lane in lanes_of(active) {
            let address = addresses[lane];
            let found = AccessError::check_aligned(space, address, alignment(bytes))
                .and_then(|()| context.resolve(self, space, lane, address, bytes))
                .map(|(memory, offset)| (in_block(memory, block), offset))
                .and_then(|found| self.check(found, address, bytes, access, context).map(|()| found));
            match found {
                Ok(found) => resolved.set(lane, found),
                Err(error) => return Err(Failure::at(lane, FaultKind::Access { access, error })),
            }
        }
        Ok(())
    }

    /// The addresses of all lanes, if the lanes access one address or consecutive ones without an
    /// error.
    #[inline]
    fn resolve_strided(
        &self,
        space: Space,
        bytes: usize,
        access: Access,
        addresses: &Lanes,
        context: &mut Context<'_>,
    ) -> Option<LaneAddresses> {
        let aligned = alignment(bytes);
        let stride =
            stride(addresses).filter(|stride| *stride == 0 || *stride == bytes as u64 && aligned == bytes)? as usize;
        // Each lane has its own local memory.
        if space == Space::Local {
            return None;
        }
        let (address, length) = (addresses[0], stride * (LANES - 1) + bytes);
        AccessError::check_aligned(space, address, aligned).ok()?;
        let (memory, offset) = context.resolve(self, space, 0, address, length).ok()?;
        self.check((memory, offset), address, length, access, context).ok()?;
        Some(LaneAddresses::Strided { memory, offset, stride })
    }

    /// Checks that bytes read are initialized and that parameters and constants are not written.
    #[inline]
    pub(super) fn check(
        &self,
        (memory, offset): LaneAddress,
        address: u64,
        bytes: usize,
        access: Access,
        context: &Context<'_>,
    ) -> Result<(), AccessError> {
        if access != Access::Read && matches!(memory, Memory::Parameters | Memory::Constants) {
            let space = if memory == Memory::Constants { Space::Const } else { Space::Param };
            return Err(AccessError::ReadOnly { address, bytes, space });
        }
        if access == Access::Write
            || context.reads_uninitialised
            || context.region(memory, self).is_initialised(offset, bytes)
        {
            return Ok(());
        }
        Err(context.uninitialised(self, (memory, offset), address, bytes))
    }
}

/// The alignment of an access of this many bytes. Three elements have the alignment of a vector of
/// four.
#[inline]
fn alignment(bytes: usize) -> usize {
    bytes.next_power_of_two()
}

/// Maps a memory to the same memory in block `block` of the cluster, if given.
fn in_block(memory: Memory, block: Option<u32>) -> Memory {
    match (memory, block) {
        (Memory::Shared, Some(rank)) => Memory::OtherShared { rank, is_dynamic: false },
        (Memory::DynamicShared, Some(rank)) => Memory::OtherShared { rank, is_dynamic: true },
        _ => memory,
    }
}

/// The region that holds a memory's bytes. `residents` holds the other blocks of the cluster.
#[inline]
pub(super) fn region<'r>(
    memory: Memory,
    launch: &'r Launch<'_>,
    state: &'r BlockState,
    residents: &'r Residents,
    warp: &'r Warp,
) -> &'r Region {
    match memory {
        Memory::OtherShared { rank, is_dynamic: false } => &residents.list[rank as usize].state.shared,
        Memory::OtherShared { rank, is_dynamic: true } => &residents.list[rank as usize].state.dynamic_shared,
        Memory::Global(index) => &launch.view.allocations()[index].region,
        Memory::Shared => &state.shared,
        Memory::DynamicShared => &state.dynamic_shared,
        Memory::Local => &warp.local,
        Memory::Parameters => &launch.parameters,
        Memory::Constants => launch.constants,
    }
}

impl Context<'_> {
    /// The region that holds a memory's bytes.
    #[inline]
    pub(super) fn region<'r>(&'r self, memory: Memory, warp: &'r Warp) -> &'r Region {
        region(memory, self.launch, &self.state, &self.residents, warp)
    }

    /// Checks that block `rank` of the cluster exists, has started and has not ended.
    fn check_block_of_cluster(&self, rank: u32, access: Access) -> Result<(), FaultKind> {
        let blocks = u32::from(self.config.cluster);
        let Some(Resident { state, .. }) = self.residents.list.get(rank as usize).filter(|_| rank < blocks) else {
            return Err(FaultKind::NoSuchBlock { access, rank, blocks });
        };
        if self.state.cluster_barriers == 0 {
            return Err(FaultKind::BlockNotStarted { access, rank });
        }
        if state.ended { Err(FaultKind::BlockEnded { access, rank }) } else { Ok(()) }
    }

    /// Resolves a lane's address in a state space.
    ///
    /// # Errors
    /// If the bytes are not all in one allocation or variable.
    #[inline]
    pub(super) fn resolve(
        &mut self,
        warp: &Warp,
        space: Space,
        lane: usize,
        address: u64,
        bytes: usize,
    ) -> Result<LaneAddress, AccessError> {
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
                let bytes_per_lane = warp.local.bytes() / LANES;
                Ok((Memory::Local, lane * bytes_per_lane + (address - first_address(Space::Local)) as usize))
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
    fn uninitialised(&self, warp: &Warp, (memory, offset): LaneAddress, address: u64, bytes: usize) -> AccessError {
        let first = self.region(memory, warp).first_uninitialised(offset, bytes).unwrap_or(offset) - offset;
        let extent = match memory {
            Memory::Global(index) => self.launch.view.allocations()[index].extent.clone(),
            Memory::DynamicShared | Memory::OtherShared { is_dynamic: true, .. } => self.launch.dynamic_shared.clone(),
            Memory::Shared | Memory::OtherShared { .. } | Memory::Local | Memory::Parameters | Memory::Constants => {
                let ranges = match memory {
                    Memory::Shared | Memory::OtherShared { .. } => &self.kernel.shared,
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
        AccessError::Uninitialised { address, bytes, first: address + first as u64 - extent.start, place: extent }
    }

    /// The error for reading uninitialized bytes of shared or global memory, if any of these bytes
    /// are.
    #[cold]
    pub(super) fn first_uninitialised(
        &self,
        warp: &Warp,
        (memory, offset): LaneAddress,
        bytes: usize,
    ) -> Option<AccessError> {
        let first = self.region(memory, warp).first_uninitialised(offset, bytes)? - offset;
        let (place, address) = self.extent_at(memory, offset);
        Some(AccessError::Uninitialised { address, bytes, first: address + first as u64 - place.start, place })
    }

    /// The allocation or variable that contains an offset of shared or global memory, and the
    /// address within the state space.
    pub(super) fn extent_at(&self, memory: Memory, offset: usize) -> (Extent, u64) {
        let extent = match memory {
            Memory::Global(index) => &self.launch.view.allocations()[index].extent,
            Memory::DynamicShared | Memory::OtherShared { is_dynamic: true, .. } => &self.launch.dynamic_shared,
            _ => {
                let address = first_address(Space::Shared) + offset as u64;
                let found = self.kernel.shared.find(address, 1);
                return (found.expect("the access has been resolved to a variable").clone(), address);
            }
        };
        (extent.clone(), extent.start + offset as u64)
    }
}
