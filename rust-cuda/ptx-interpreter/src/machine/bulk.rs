//! Bulk copies between global and shared memory (`cp.async.bulk`).

use super::context::Context;
use super::fault::{Access, Failure, FaultKind};
use super::lane_addresses::LaneAddress;
use super::lanes::lanes_in;
use super::mbarrier::block_of;
use super::pending_copies::{PIECE, PendingCopy, Piece};
use super::resolve::Request;
use super::warp::Warp;
use crate::program::instruction::{AccessSpace, BulkCopy, EffectiveAddress};

impl Warp {
    /// Copies each active lane's bytes. The interpreter copies at once. Until the copy has been
    /// waited for, every access to its destination is a race, and so is every write to its source.
    pub(super) fn copy_bulk(
        &mut self,
        pc: usize,
        copy: &BulkCopy,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let barriers = copy.barrier.as_ref().map(|address| self.mbarriers(pc, address, active, context)).transpose()?;
        for lane in lanes_in(active, context.reverses_lanes) {
            let bytes = self.registers[copy.bytes as usize][lane] as u32;
            if !bytes.is_multiple_of(PIECE as u32) {
                return Err(Failure::at(lane, FaultKind::BulkSize { bytes }));
            }
            for start in (0..i64::from(bytes)).step_by(PIECE) {
                let mut piece = |(space, address): (AccessSpace, EffectiveAddress), access| {
                    let address = EffectiveAddress { offset: address.offset + start, ..address };
                    let request = Request::plain(pc, PIECE, access);
                    let places = context.reading_uninitialised(context.copies_uninitialised(), |context| {
                        self.resolve_and_record(request, space, &address, 1 << lane, context)
                    });
                    places.map(|places| places.at(lane))
                };
                let from = piece(copy.from, Access::Read)?;
                let to = piece(copy.to, Access::Write)?;
                if barriers.as_ref().is_some_and(|barriers| block_of(to.0) != block_of(barriers.at(lane).0)) {
                    return Err(Failure::at(lane, FaultKind::StoreAsyncBlocks));
                }
                let mut data = [0; PIECE];
                let source = context.region(from.0, self);
                source.read(from.1, &mut data);
                let unwritten = source.unwritten(from.1, PIECE);
                context.region(to.0, self).write_part(to.1, &data, unwritten);
                context.note_change();
                if let Some(barriers) = &barriers {
                    self.note_async_store(pc, lane, to, PIECE, barriers.at(lane), context);
                } else {
                    self.begin_bulk_write(pc, lane, to, Piece::new(&data, unwritten), context);
                    self.begin_bulk_read(pc, lane, from, context);
                }
            }
            if let Some(barriers) = &barriers {
                self.complete_bytes(lane, barriers.at(lane), bytes, context)?;
            }
        }
        Ok(())
    }

    /// Registers a write by a bulk copy of a lane's group. The write is in flight until the group
    /// is complete.
    pub(super) fn begin_bulk_write(
        &mut self,
        pc: usize,
        lane: usize,
        to: LaneAddress,
        piece: Piece,
        context: &mut Context<'_>,
    ) {
        // Races with copies in flight are detected per word.
        if piece.bytes.is_multiple_of(4) {
            let begun = self.bulk_writes.begin(lane, to, piece, None);
            context.note_flight(self, &begun, Some(pc));
        }
    }

    /// Registers a read by a bulk copy of a lane's group. The copy may read the piece again until
    /// the group has read everything.
    pub(super) fn begin_bulk_read(&mut self, pc: usize, lane: usize, from: LaneAddress, context: &mut Context<'_>) {
        let read = self.bulk_reads.begin_read(lane, from, PIECE);
        context.note_flight(self, &read, Some(pc));
    }

    /// Commits the active lanes' bulk copies so far to a group.
    pub(super) fn commit_bulk_copies(&mut self, active: u32) {
        self.bulk_reads.commit(active);
        self.bulk_writes.commit(active);
    }

    /// Makes the active lanes wait until only the last `groups` groups of their bulk copies are in
    /// flight. With `reads_only`, older copies may still write.
    pub(super) fn wait_for_bulk_copies(
        &mut self,
        groups: u32,
        reads_only: bool,
        active: u32,
        context: &mut Context<'_>,
    ) {
        let mut done = self.bulk_reads.finish(Some(groups), active);
        if !reads_only {
            done.append(&mut self.bulk_writes.finish(Some(groups), active));
        }
        done.iter().for_each(|copy| context.note_flight(self, copy, None));
    }

    /// Discards the copies of exiting lanes, which do not wait for them.
    pub(super) fn discard_copies(&mut self, lanes: u32, context: &mut Context<'_>) {
        let lists = [&mut self.copies, &mut self.bulk_reads, &mut self.bulk_writes, &mut self.products.reads];
        let discarded: Vec<PendingCopy> = lists.into_iter().flat_map(|list| list.discard(lanes)).collect();
        discarded.iter().for_each(|copy| context.note_flight(self, copy, None));
    }
}
