//! Asynchronous copies of boxes of tensors (`cp.async.bulk.tensor`).
//!
//! They behave like bulk copies. The interpreter copies at once. Until the copy has been waited
//! for, every access to its destination is a race, and so is every write to its source.

use super::context::Context;
use super::fault::{Access, Failure, FaultKind};
use super::lane_addresses::LaneAddress;
use super::lanes::{lanes_in, lanes_of};
use super::mbarrier::block_of;
use super::pending_copies::Piece;
use super::resolve::Request;
use super::warp::Warp;
use crate::memory::{
    AccessError, CHUNK, Chunk, TENSOR_MAP_BYTES, TensorMap, TensorMapError, block_of_cluster, in_block_of_cluster,
};
use crate::program::instruction::{
    AccessSpace, EffectiveAddress, MemoryOrdering, TensorCopy, TensorCopyKind, TensorReduction,
};
use crate::semantics::LANES;
use crate::syntax::Space;

/// Alignment in bytes of a tensor map, and of the box in shared memory (PTX ISA 5.5.8 and 9.7.9.27, Tensor copies).
const MAP_ALIGNMENT: usize = 64;
const BOX_ALIGNMENT: usize = 128;

/// An atomic update of a reduction.
const UPDATE: MemoryOrdering = MemoryOrdering { volatile: false, ..MemoryOrdering::VOLATILE };

/// A box of a tensor that a lane copies, and its place in shared memory.
struct TensorBox {
    pc: usize,
    lane: usize,
    map: TensorMap,
    /// The coordinates of its first element.
    at: Vec<i32>,
    space: AccessSpace,
    address: EffectiveAddress,
}

impl Warp {
    /// Copies a box for each active lane.
    pub(super) fn copy_tensor(
        &mut self,
        pc: usize,
        copy: &TensorCopy,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        for lane in lanes_in(active, context.reverses_lanes) {
            let map = self.tensor_map(pc, lane, copy, context)?;
            let at = copy.coordinates.iter().map(|at| self.registers[*at as usize][lane] as i32).collect();
            let tensor_box = TensorBox { pc, lane, map, at, space: copy.shared.0, address: copy.shared.1 };
            match &copy.kind {
                TensorCopyKind::Load { barrier, blocks } => {
                    let blocks = blocks.map(|blocks| self.registers[blocks as usize][lane] as u16);
                    self.load_box(&tensor_box, barrier, blocks, context)?;
                }
                TensorCopyKind::Store => self.store_box(&tensor_box, None, context)?,
                TensorCopyKind::Reduce(reduction) => self.store_box(&tensor_box, Some(*reduction), context)?,
            }
        }
        Ok(())
    }

    /// The tensor map of a lane's copy.
    fn tensor_map(
        &self,
        pc: usize,
        lane: usize,
        copy: &TensorCopy,
        context: &mut Context<'_>,
    ) -> Result<TensorMap, Failure> {
        const PART: usize = 16;
        let address = self.registers[copy.map as usize][lane];
        let space = crate::memory::space_of(address);
        let misaligned = |error| Failure::at(lane, FaultKind::Access { access: Access::Read, error });
        AccessError::check_aligned(space, address, MAP_ALIGNMENT).map_err(misaligned)?;
        let mut bytes = [0; TENSOR_MAP_BYTES];
        for (part, bytes) in bytes.chunks_mut(PART).enumerate() {
            let addresses = [address.wrapping_add((PART * part) as u64); LANES];
            let request = Request::plain(pc, PART, Access::Read);
            let places = self.resolve_addresses(request, AccessSpace::Generic, &addresses, 1 << lane, context)?;
            let (memory, offset) = places.at(lane);
            context.region(memory, self).read(offset, bytes);
        }
        let failure = |error| Failure::at(lane, FaultKind::TensorMap { error });
        let map = TensorMap::from_bytes(&bytes).ok_or(failure(TensorMapError::NoMap { address }))?;
        let instruction = copy.coordinates.len();
        if map.rank() != instruction {
            return Err(failure(TensorMapError::Rank { map: map.rank(), instruction }));
        }
        Ok(map)
    }

    /// The lane's address of the box in shared memory, which must be aligned.
    fn box_address(&self, lane: usize, address: &EffectiveAddress, access: Access) -> Result<u64, Failure> {
        let address = self.addresses(address)[lane];
        let aligned = AccessError::check_aligned(Space::Shared, address, BOX_ALIGNMENT);
        aligned.map_err(|error| Failure::at(lane, FaultKind::Access { access, error }))?;
        Ok(address)
    }

    fn load_box(
        &mut self,
        TensorBox { pc, lane, map, at, space, address }: &TensorBox,
        barrier: &EffectiveAddress,
        blocks: Option<u16>,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let (pc, lane) = (*pc, *lane);
        let start = self.box_address(lane, address, Access::Write)?;
        let barrier = self.addresses(barrier)[lane];
        // For each block that receives the box, the addresses of the box and the mbarrier. The
        // offsets are the same in all blocks.
        let targets: Vec<[u64; 2]> = match blocks {
            None => vec![[start, barrier]],
            Some(blocks) => {
                let in_block =
                    |address: u64, rank| u64::from(in_block_of_cluster(block_of_cluster(address as u32).1, rank));
                let ranks = lanes_of(blocks.into()).map(|rank| rank as u32);
                ranks.map(|rank| [start, barrier].map(|address| in_block(address, rank))).collect()
            }
        };
        let mut barriers = Vec::new();
        for [_, barrier] in &targets {
            let place = self.mbarriers_at(pc, &[*barrier; LANES], 1 << lane, context)?.at(lane);
            barriers.push(place);
        }
        let bytes = map.box_bytes() as u32;
        for chunk in map.chunks(at) {
            let (data, unwritten) = self.read_chunk(pc, lane, map, &chunk, context)?;
            for ([start, _], barrier) in targets.iter().zip(&barriers) {
                let address = map.swizzle().permute(start + chunk.shared);
                let to = self.place(Request::plain(pc, CHUNK, Access::Write), lane, *space, address, context)?;
                if block_of(to.0) != block_of(barrier.0) {
                    return Err(Failure::at(lane, FaultKind::StoreAsyncBlocks));
                }
                context.region(to.0, self).write_part(to.1, &data, unwritten);
                self.note_async_store(pc, lane, to, CHUNK, *barrier, context);
            }
        }
        context.note_change();
        for barrier in barriers {
            self.complete_bytes(lane, barrier, bytes, context)?;
        }
        Ok(())
    }

    /// The bytes of a chunk, with a load's fill value for the bytes out of bounds, and the mask of
    /// bytes that were never written.
    fn read_chunk(
        &self,
        pc: usize,
        lane: usize,
        map: &TensorMap,
        chunk: &Chunk,
        context: &mut Context<'_>,
    ) -> Result<([u8; CHUNK], u16), Failure> {
        let (element, fill) = (map.element(), map.fill().to_le_bytes());
        let (mut data, mut unwritten) = ([0; CHUNK], 0);
        data.chunks_mut(element.bytes()).for_each(|bytes| bytes.copy_from_slice(&fill[..bytes.len()]));
        for (start, bytes) in pieces(chunk, CHUNK) {
            let address = chunk.global + start as u64;
            let request = Request::plain(pc, bytes, Access::Read);
            let (memory, offset) = context.reading_uninitialised(context.copies_uninitialised(), |context| {
                self.place(request, lane, AccessSpace::Space(Space::Global), address, context)
            })?;
            let region = context.region(memory, self);
            region.read(offset, &mut data[start..start + bytes]);
            unwritten |= region.unwritten(offset, bytes) << start;
        }
        element.convert(&mut data[chunk.inside.clone()]);
        Ok((data, unwritten))
    }

    fn store_box(
        &mut self,
        TensorBox { pc, lane, map, at, space, address }: &TensorBox,
        reduction: Option<TensorReduction>,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let (pc, lane) = (*pc, *lane);
        let start = self.box_address(lane, address, Access::Read)?;
        let update = match reduction {
            None => None,
            Some(reduction) => Some(reduction.update(map.element()).ok_or_else(|| {
                let error = TensorMapError::Reduction { operation: reduction.name(), element: map.element() };
                Failure::at(lane, FaultKind::TensorMap { error })
            })?),
        };
        for chunk in map.chunks(at).filter(|chunk| !chunk.inside.is_empty()) {
            let address = map.swizzle().permute(start + chunk.shared);
            // A sum of unwritten bytes is an error. A copy of them is one only where it is used.
            let may_read = update.is_none() && context.copies_uninitialised();
            let from = context.reading_uninitialised(may_read, |context| {
                self.place(Request::plain(pc, CHUNK, Access::Read), lane, *space, address, context)
            })?;
            let mut data = [0; CHUNK];
            let source = context.region(from.0, self);
            source.read(from.1, &mut data);
            let unwritten = source.unwritten(from.1, CHUNK);
            self.begin_bulk_read(pc, lane, from, context);
            let most = if update.is_some() { map.element().bytes() } else { CHUNK };
            for (start, bytes) in pieces(&chunk, most) {
                let address = chunk.global + start as u64;
                let space = AccessSpace::Space(Space::Global);
                let mut value = [0; 8];
                match update {
                    None => {
                        let to = self.place(Request::plain(pc, bytes, Access::Write), lane, space, address, context)?;
                        let piece = Piece::new(&data[start..start + bytes], unwritten >> start);
                        context.region(to.0, self).write_part(to.1, piece.data(), piece.unwritten);
                        self.begin_bulk_write(pc, lane, to, piece, context);
                    }
                    Some(update) => {
                        let request = Request { ordering: UPDATE, ..Request::plain(pc, bytes, Access::Atomic) };
                        let (memory, offset) = self.place(request, lane, space, address, context)?;
                        value[..bytes].copy_from_slice(&data[start..start + bytes]);
                        let value = u64::from_le_bytes(value);
                        context.region(memory, self).update(offset, bytes, |old| update(old, value, 0));
                    }
                }
            }
        }
        context.note_change();
        Ok(())
    }

    /// The memory and offset that a lane accesses at an address.
    fn place(
        &self,
        request: Request<'_>,
        lane: usize,
        space: AccessSpace,
        address: u64,
        context: &mut Context<'_>,
    ) -> Result<LaneAddress, Failure> {
        let places = self.resolve_addresses(request, space, &[address; LANES], 1 << lane, context)?;
        Ok(places.at(lane))
    }
}

/// The in-bounds pieces of a chunk, each at a multiple of its size in global memory. Yields their
/// start in the chunk and their sizes, at most `most` bytes.
fn pieces(chunk: &Chunk, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let (global, mut start, end) = (chunk.global, chunk.inside.start, chunk.inside.end);
    std::iter::from_fn(move || {
        let left = end - start;
        let alignment = 1 << (global + start as u64).trailing_zeros().min(usize::BITS - 1);
        let bytes = most.min(alignment).min(1 << left.checked_ilog2()?);
        let piece = (start, bytes);
        start += bytes;
        Some(piece)
    })
}
