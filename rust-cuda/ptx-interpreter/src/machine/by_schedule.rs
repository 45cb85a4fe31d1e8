//! Runs a launch under a schedule.

use super::context::Context;
use super::fault::Fault;
use super::launch::Launch;
use super::residents::{Resident, Residents};
use super::turns::Turn;
use crate::semantics::LANES;

impl Residents {
    fn index_of(&self, block: u32) -> usize {
        let index = self.list.iter().position(|resident| resident.state.number == block);
        index.expect("a block is resident until all its warps have ended")
    }

    /// The first warp that can run, among the warps that have yielded or among the others.
    fn first_ready(&mut self, context_of: &Launch<'_>, has_given_way: bool) -> Option<Turn> {
        let changes = self.changes;
        let Self { list, turns, .. } = self;
        let queue = if has_given_way { &turns.behind } else { &turns.ahead };
        queue.iter().copied().find(|turn| {
            let resident = list.iter_mut().find(|resident| resident.state.number == turn.block);
            resident.is_some_and(|resident| {
                let warp = &mut resident.block.warps[turn.warp as usize];
                !warp.spins(changes) && warp.next_path(context_of.kernel, context_of.options.strict).is_some()
            })
        })
    }
}

impl Launch<'_> {
    /// Runs all blocks in the order of the launch's schedule: always the first warp that can run.
    /// Starts further blocks, as many as memory holds, when the warps of earlier blocks wait, have
    /// ended or have yielded. Clusters start one at a time.
    ///
    /// # Errors
    /// The first fault of a thread.
    pub(super) fn run_by_schedule(&self, context: &mut Context<'_>) -> Result<(), Box<Fault>> {
        loop {
            let (number, fault) = match self.next_turn(context) {
                Ok(None) => return Ok(()),
                Ok(Some(turn)) => {
                    let index = context.residents.index_of(turn.block);
                    context.residents.current = index;
                    context.residents.turns.running = Some(turn);
                    let ran = context.with_resident(index, |block, context| {
                        context.block = self.block_index(context.state.number.into());
                        block.run_alone(turn.warp as usize, context)
                    });
                    if context.abandoned {
                        return Ok(());
                    }
                    let Err(fault) = ran else {
                        self.end_turn(turn, index, context);
                        continue;
                    };
                    (turn.block, fault)
                }
                Err((index, fault)) => (context.residents.list[index].state.number, fault),
            };
            context.note_end_of_block(fault)?;
            self.abandon(number, context);
        }
    }

    /// Ends a block at fault, or its whole cluster.
    fn abandon(&self, number: u32, context: &mut Context<'_>) {
        if self.config.cluster > 1 {
            context.abandon_cluster();
        } else {
            let index = context.residents.index_of(number);
            context.with_resident(index, |block, context| block.abandon(context));
        }
        let Residents { list, turns, .. } = &mut context.residents;
        turns.running = None;
        context.gave_way = false;
        let ended =
            |turn: &Turn| list.iter().any(|resident| resident.state.number == turn.block && resident.state.ended);
        turns.ahead.retain(|turn| !ended(turn));
        turns.behind.retain(|turn| !ended(turn));
        if self.config.cluster == 1 || list.iter().all(|resident| resident.state.ended) {
            list.retain(|resident| !resident.state.ended);
        }
    }

    /// The warp that runs next. `None` if all have ended.
    ///
    /// # Errors
    /// The fault that explains why no thread can continue, with the index of its block among the
    /// resident ones.
    fn next_turn(&self, context: &mut Context<'_>) -> Result<Option<Turn>, (usize, Box<Fault>)> {
        if let Some(turn) = context.residents.turns.running {
            return Ok(Some(turn));
        }
        loop {
            if let Some(turn) = context.residents.first_ready(self, false) {
                return Ok(Some(turn));
            }
            if self.start_next(context) {
                continue;
            }
            if let Some(turn) = context.residents.first_ready(self, true) {
                return Ok(Some(turn));
            }
            let mut blocks = context.residents.in_order_of_causes().into_iter();
            let stuck = |index| self.stuck_fault(index, context).map(|fault| (index, fault));
            let Some(stuck) = blocks.find_map(stuck) else { return Ok(None) };
            return Err(stuck);
        }
    }

    /// Starts the next block or cluster. Returns false if there is none, or if memory does not hold
    /// it.
    fn start_next(&self, context: &mut Context<'_>) -> bool {
        let size = u64::from(self.config.cluster);
        let count = self.config.grid.count() / size;
        let order = self.options.schedule.start;
        let Residents { list, turns, .. } = &mut context.residents;
        let limit = if size > 1 { size } else { self.max_residents };
        if turns.started == count || list.len() as u64 + size > limit {
            context.unstarted = (None, (count - turns.started) * size);
            return false;
        }
        let first = list.len();
        let number = order.nth(turns.started, count, 0) * size;
        turns.started += 1;
        let warps = self.config.block.count().div_ceil(LANES as u64);
        for rank in 0..size as usize {
            context.residents.list.push(Resident::new(self));
            context.with_resident(first + rank, |block, context| block.start(number + rank as u64, context));
        }
        for position in 0..size * warps {
            let (rank, nth) = (order.nth(position / warps, size, 1), position % warps);
            let block = (number + rank) as u32;
            let warp = order.nth(nth, warps, 2 + number + rank) as u32;
            context.residents.turns.ahead.push_back(Turn { block, warp });
        }
        true
    }

    /// Ends the turn of a warp that has ended, waits or yields.
    fn end_turn(&self, turn: Turn, index: usize, context: &mut Context<'_>) {
        let gave_way = std::mem::take(&mut context.gave_way);
        let Residents { list, turns, .. } = &mut context.residents;
        turns.running = None;
        let has_ended = list[index].block.warps[turn.warp as usize].live() == 0;
        if has_ended || gave_way {
            turns.remove(turn);
        }
        if gave_way && !has_ended {
            turns.behind.push_back(turn);
        }
        if self.config.cluster == 1 {
            if list[index].state.ended {
                list.swap_remove(index);
            }
            return;
        }
        if list.iter().all(|resident| resident.state.ended) {
            list.clear();
            return;
        }
        if self.all_arrived_at_cluster(context) {
            context.pass_cluster_barrier();
        }
    }
}
