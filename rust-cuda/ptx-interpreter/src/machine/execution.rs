//! Execution of a warp's instructions.

use super::context::Context;
use super::divergence::{Path, PathState};
use super::fault::{Failure, Fault, FaultKind};
use super::lanes::{lanes_of, write, write_bits};
use super::spin::Spin;
use super::warp::{Next, Warp};
use crate::limits::MULTIPROCESSORS;
use crate::memory::{first_address, in_block_of_cluster};
use crate::program::instruction::{Action, DecodedInstruction, Register};
use crate::program::{Initial, Kernel, Special, truncate};
use crate::semantics::LANES;
use crate::syntax::Space;

/// Initial content of registers: a recognisable pattern, NaN as an f32 and as an f64.
const UNINITIALISED: u64 = 0x7ff4_dead_7fa4_dead;

/// The content of a register of `bits` bits before it is written, which [`StoppedWarp::register`] shows.
///
/// [`StoppedWarp::register`]: super::StoppedWarp::register
pub fn uninitialised_register(bits: usize) -> u64 {
    truncate(UNINITIALISED, bits)
}

/// Length of a time slice: instructions that a path executes before another one runs.
const TIME_SLICE: u32 = 4096;

/// Expired time slices of a warp after which lanes at a reconvergence point no longer wait for the running path.
const MAX_SLICES_WAITING: u32 = 16;

/// Instructions of a warp after which others run as if its time slice had expired: paths that diverge and reconverge within a
/// slice never use one up.
const MAX_WITHOUT_EXPIRY: u64 = 1 << 16;

impl Warp {
    /// Resets the warp for another block.
    pub(super) fn start(&mut self, context: &Context<'_>) {
        for (register, initial) in self.registers.iter_mut().zip(&context.kernel.registers) {
            match initial {
                Initial::Uninitialised(bits) => *register = [truncate(UNINITIALISED, *bits); LANES],
                Initial::Constant(value) => *register = [*value; LANES],
                Initial::Special(special) => {
                    let first = self.number * LANES as u32;
                    for (lane, value) in register.iter_mut().enumerate() {
                        *value = special_value(*special, context, first + lane as u32);
                    }
                }
            }
        }
        self.predicates.fill(0);
        self.carry = 0;
        self.exited = 0;
        (self.slices, self.slice_used, self.last_of_turn) = (0, 0, None);
        (self.idle_slices, self.changes_at_slice, self.spin, self.is_counted) = (0, 0, Spin::No, false);
        (self.arrived, self.cluster_arrived, self.cluster_passed) = ([0; 16], 0, 0);
        let options = &context.launch.options;
        if options.separate_lanes {
            let (order, lanes) = (options.schedule.start, u64::from(self.existing.count_ones()));
            self.divergence.start_separately((0..lanes).map(|nth| order.nth(nth, lanes, 1) as u32));
        } else {
            self.divergence.start(self.existing);
        }
        for copies in [&mut self.copies, &mut self.bulk_reads, &mut self.bulk_writes] {
            copies.clear();
        }
        self.products.clear();
        self.uninitialised.clear();
        self.activations.iter_mut().for_each(Vec::clear);
        if self.local.bytes() > 0 {
            self.local.poison();
        }
    }

    /// Runs ready paths until none is left, a time slice or the warp's turn ends, or the observer stops it. Returns whether any ran.
    ///
    /// # Errors
    /// The fault of a thread.
    pub(super) fn run(&mut self, context: &mut Context<'_>) -> Result<bool, Box<Fault>> {
        if self.spins(context.residents.changes) {
            return Ok(false);
        }
        if !self.is_tested() {
            self.spin = Spin::No;
        }
        let progress = self.run_paths(context)?;
        if context.stopped_before.is_none() {
            self.last_of_turn = None;
        }
        Ok(progress)
    }

    fn run_paths(&mut self, context: &mut Context<'_>) -> Result<bool, Box<Fault>> {
        let (mut progress, started) = (false, context.state.executed);
        // A path may end, or another one take its index, at each step.
        while let Some(index) = self.next_path(context.kernel, context.launch.options.strict) {
            progress = true;
            let is_tested = self.is_tested();
            if is_tested {
                self.note_poll(index, context);
                context.slice_used = TIME_SLICE - 1;
            }
            self.run_path(index, context)?;
            if context.stopped_before.is_some() {
                return Ok(true);
            }
            if std::mem::take(&mut context.turn_ended) {
                context.gave_way = true;
                return Ok(true);
            }
            if context.slice_expired && is_tested {
                self.divergence.paths[index..].rotate_left(1);
                if self.is_still_tested(context) {
                    continue;
                }
                context.gave_way = true;
                return Ok(true);
            }
            if context.slice_expired {
                self.slices += 1;
                if self.slices.is_multiple_of(MAX_SLICES_WAITING) {
                    self.divergence.stop_waiting_for(index);
                }
                // Round-robin: the path may wait for another path, or for another warp.
                self.divergence.paths[index..].rotate_left(1);
            }
            if context.slice_expired || !is_tested && context.state.executed - started >= MAX_WITHOUT_EXPIRY {
                self.note_slice(context);
                context.gave_way = true;
                return Ok(true);
            }
        }
        Ok(progress)
    }

    /// A path that can run. If there is none, and lanes wait at a warp-level operation for lanes that wait at a reconvergence point, the
    /// latter resume, as GPUs do not wait there for lanes at a barrier of the warp, nor at the kernel's end for any. A lane that exits then
    /// is no longer waited for. The same holds for lanes at a barrier of the block or the cluster, unless it is `strict`.
    pub(super) fn next_path(&mut self, kernel: &Kernel, strict: bool) -> Option<usize> {
        let ready = |warp: &Self| warp.divergence.paths.iter().position(|path| path.state == PathState::Ready);
        let found = ready(self);
        let is_at_operation = |path: &Path| matches!(path.state, PathState::AtWarpOperation(_));
        if found.is_none() && self.divergence.paths.iter().any(is_at_operation) {
            let ends = |pc: usize| {
                let end = kernel.instructions.get(pc);
                end.is_some_and(|end| end.guard.is_none() && matches!(end.action, Action::Exit))
            };
            let is_at_barrier = |path: &Path| {
                is_at_operation(path) && matches!(kernel.instructions[path.pc].action, Action::WarpBarrier { .. })
            };
            let resumed = self.divergence.resume_at(ends)
                || (0..self.divergence.paths.len())
                    .any(|path| is_at_barrier(&self.divergence.paths[path]) && self.divergence.stop_waiting_for(path));
            if resumed {
                return ready(self);
            }
        }
        let is_at_barrier = |path: &Path| matches!(path.state, PathState::AtBarrier(_) | PathState::AtClusterBarrier);
        if found.is_none() && !strict {
            let mut paths = 0..self.divergence.paths.len();
            if paths.any(|path| is_at_barrier(&self.divergence.paths[path]) && self.divergence.stop_waiting_for(path)) {
                return ready(self);
            }
        }
        found
    }

    fn run_path(&mut self, index: usize, context: &mut Context<'_>) -> Result<(), Box<Fault>> {
        let kernel = context.kernel;
        context.slice_expired = false;
        let used = std::mem::take(&mut context.slice_used).max(std::mem::take(&mut self.slice_used));
        for used in used..TIME_SLICE {
            let path = self.divergence.paths[index];
            if self.divergence.reconvergence_pc(index) == path.pc {
                self.divergence.arrive(index);
                return Ok(());
            }
            let instruction = &kernel.instructions[path.pc];
            if !self.uninitialised.is_empty() {
                self.check_guard(path.pc, (instruction, path.mask), context)?;
            }
            let active = self.active_lanes(instruction, path.mask);
            if context.is_watched {
                if self.gives_way(instruction, active, context) {
                    self.divergence.paths[index..].rotate_left(1);
                    (context.turn_ended, self.slice_used) = (true, used);
                    return Ok(());
                }
                let interleaved = context.launch.options.interleaved && context.residents.turns.switches.is_none();
                if interleaved && self.last_of_turn.is_some_and(|last| kernel.begins_line(path.pc, last)) {
                    (context.turn_ended, self.slice_used) = (true, used);
                    return Ok(());
                }
                if context.stops_before(self.number, path.pc, (active, path.mask)) {
                    context.slice_used = used;
                    return Ok(());
                }
                self.last_of_turn = Some(path.pc);
            }
            self.is_counted = false;
            context.count(path.pc, active);
            // A warp-level operation counts the lanes that arrive, so a lane whose guard is false passes it.
            if active == 0 {
                self.divergence.paths[index].pc += 1;
                continue;
            }
            let mut executed = self.execute(index, instruction, active, context);
            if let Err(failure) = executed {
                executed = self.go_on((index, path.pc), (instruction, active), failure, context)?;
            }
            match executed {
                Ok(Next::Advance) | Err(_) => self.divergence.paths[index].pc += 1,
                Ok(Next::Jumped) => {}
                Ok(Next::Stop) => return Ok(()),
            }
            if std::mem::take(&mut context.suspends) {
                break;
            }
        }
        context.slice_expired = true;
        Ok(())
    }

    /// The lanes of a path that execute an instruction: those whose guard is true.
    #[inline]
    pub(super) fn active_lanes(&self, instruction: &DecodedInstruction, path: u32) -> u32 {
        match instruction.guard {
            None => path,
            Some((predicate, negated)) => {
                let bits = self.predicates[predicate as usize];
                path & if negated { !bits } else { bits }
            }
        }
    }

    /// Whether the warp gives way to all others before an instruction, by the schedule, which counts it if it synchronises.
    fn gives_way(&mut self, instruction: &DecodedInstruction, active: u32, context: &mut Context<'_>) -> bool {
        let Some(switches) = &mut context.residents.turns.switches else { return false };
        if active == 0 || !instruction.action.synchronises() || std::mem::replace(&mut self.is_counted, true) {
            return false;
        }
        switches.gives_way()
    }

    #[inline]
    pub(super) fn execute(
        &mut self,
        index: usize,
        instruction: &DecodedInstruction,
        active: u32,
        context: &mut Context<'_>,
    ) -> Result<Next, Failure> {
        let pc = self.divergence.paths[index].pc;
        if !self.uninitialised.is_empty() {
            self.propagate_uninitialised(instruction, active, context.launch.options.uninitialised)?;
        }
        if self.products.has_results() {
            self.check_results(instruction, active, context)?;
        }
        match &instruction.action {
            Action::Compute { compute, destination, sources, extend, flow: _ } => {
                let mut values = [0; LANES];
                compute.compute(&mut values, sources.map(|source| &self.registers[source as usize]));
                extend.extend(&mut values);
                self.write(*destination, &values, active);
            }
            Action::MapAddress { destination, address, rank } => {
                let [addresses, ranks] = [address, rank].map(|register| &self.registers[*register as usize]);
                let own = context.rank();
                let values = std::array::from_fn(|lane| {
                    let (address, rank) = (addresses[lane], ranks[lane] as u32);
                    match address >> 32 {
                        0 => in_block_of_cluster(address as u32, rank).into(),
                        // A generic address has the window of shared memory above these bits.
                        _ if rank == own => address,
                        window => window << 32 | u64::from(in_block_of_cluster(address as u32, rank)),
                    }
                });
                self.write(*destination, &values, active);
            }
            Action::Compare { compute, sources, combine, destinations } => {
                let sources = sources.map(|source| &self.registers[source as usize]);
                let holds = compute.compute(sources);
                let second = destinations[1].map_or(0, |_| compute.second(holds, sources));
                let combined = |holds: u32| match combine {
                    None => holds,
                    Some((logic, predicate, negated)) => {
                        let other = self.predicates[*predicate as usize];
                        logic.apply(holds, if *negated { !other } else { other })
                    }
                };
                let values = [combined(holds), combined(second)];
                for (destination, value) in destinations.iter().zip(values) {
                    if let Some(destination) = destination {
                        self.write_predicate(*destination, value, active);
                    }
                }
            }
            Action::Move { destination, source } => {
                let values = self.registers[*source as usize];
                self.write(*destination, &values, active);
            }
            Action::Select { destination, sources: [a, b], predicate } => {
                let mut values = self.registers[*b as usize];
                write(&mut values, &self.registers[*a as usize], self.predicates[*predicate as usize]);
                self.write(*destination, &values, active);
            }
            Action::Logic { logic, destination, sources } => {
                let value = logic.apply(self.predicate(sources[0]), self.predicate(sources[1]));
                self.write_predicate(*destination, value, active);
            }
            Action::Load(load) => self.load(pc, load, active, context)?,
            Action::Store(store) => self.store(pc, store, active, context)?,
            Action::Image(access) => self.access_image(pc, access, active, context)?,
            Action::Branch { target, reconvergence } => {
                let path = self.divergence.paths[index];
                if active == path.mask {
                    self.divergence.paths[index].pc = *target;
                } else {
                    context.count_divergence(path.pc);
                    let mut paths = [(active, *target), (path.mask & !active, path.pc + 1)];
                    if context.reverses_lanes {
                        paths.reverse();
                    }
                    self.divergence.diverge(index, &paths, *reconvergence);
                }
                return Ok(Next::Jumped);
            }
            Action::BranchTable { index: register, targets, reconvergence } => {
                let target = |entry: u64| {
                    let target = usize::try_from(entry).ok().and_then(|entry| targets.get(entry));
                    target.copied().ok_or(FaultKind::BranchTable { index: entry, length: targets.len() })
                };
                self.branch_by_value((index, active), *register, target, *reconvergence, context)?;
                return Ok(Next::Jumped);
            }
            Action::BranchToFunction { address: register, functions, reconvergence } => {
                let target = |address: u64| {
                    let target = functions.iter().find(|(function, _)| *function == address);
                    target.map(|(_, start)| *start).ok_or(FaultKind::NoFunction { address })
                };
                self.branch_by_value((index, active), *register, target, *reconvergence, context)?;
                return Ok(Next::Jumped);
            }
            Action::Call(call) => {
                self.call(index, call, active, context)?;
                return Ok(Next::Jumped);
            }
            Action::Return { reconvergence, .. } => {
                self.return_to_callers(index, *reconvergence, context);
                return Ok(Next::Jumped);
            }
            Action::Exit => {
                self.exited |= active;
                self.discard_copies(active, context);
                self.leave_barriers(active, context);
                self.divergence.paths[index].pc += 1;
                self.divergence.exit(index, active);
                self.complete_collectives(active, context)?;
                return Ok(Next::Stop);
            }
            Action::Trap(reason) => return Err(self.trap(pc, reason.as_deref(), active, context).into()),
            Action::Barrier(barrier) => return self.barrier(index, barrier, active, context),
            Action::ClusterArrive => self.cluster_arrive(active, context)?,
            Action::ClusterWait => return self.cluster_wait(index, active, context),
            Action::Carry { compute, destination, sources } => {
                let mut values = [0; LANES];
                let sources = sources.map(|source| &self.registers[source as usize]);
                let carry = compute.compute(&mut values, self.carry, sources);
                write_bits(&mut self.carry, carry, active);
                self.write(*destination, &values, active);
            }
            Action::Pack { destination, parts, bits } => {
                let mut values = [0; LANES];
                for (position, part) in parts.iter().enumerate() {
                    for (value, part) in values.iter_mut().zip(&self.registers[*part as usize]) {
                        *value |= truncate(*part, *bits as usize) << (position as u32 * bits);
                    }
                }
                self.write(*destination, &values, active);
            }
            Action::Unpack { destinations, source, bits } => {
                let source = self.registers[*source as usize];
                for (position, destination) in destinations.iter().enumerate() {
                    if let Some(destination) = destination {
                        let values = source.map(|value| truncate(value >> (position as u32 * bits), *bits as usize));
                        self.write(*destination, &values, active);
                    }
                }
            }
            Action::IsSpace { space, destination, address } => {
                let addresses = &self.registers[*address as usize];
                let holds = (0..LANES).fold(0, |bits, lane| {
                    bits | u32::from(crate::memory::is_in_space(*space, addresses[lane])) << lane
                });
                self.write_predicate(*destination, holds, active);
            }
            Action::ActiveMask { destination } => self.write(*destination, &[u64::from(active); LANES], active),
            Action::ReadClock { destination, clock } => {
                self.spin = Spin::No;
                let count = truncate(context.state.executed >> clock.shift, clock.bits);
                self.write(*destination, &[count; LANES], active);
            }
            Action::Print(print) => self.print(print, active, context)?,
            Action::FailAssertion(assertion) => return Err(self.failed_assertion(assertion, active, context)),
            Action::Heap(call) => self.call_heap(call, active, context)?,
            Action::Atomic(atomic) => self.atomic(pc, atomic, active, context)?,
            Action::Mbarrier(mbarrier) => self.mbarrier(pc, mbarrier, active, context)?,
            Action::StoreAsync(store) => self.store_async(pc, store, active, context)?,
            Action::CopyAsync(copy) => self.copy_async(pc, copy, active, context)?,
            Action::CopyAsyncCommit => self.copies.commit(active),
            Action::CopyAsyncWait(groups) => self.wait_for_copies(pc, *groups, active, context)?,
            Action::BulkCopy(copy) => self.copy_bulk(pc, copy, active, context)?,
            Action::TensorCopy(copy) => self.copy_tensor(pc, copy, active, context)?,
            Action::BulkCommit => self.commit_bulk_copies(active),
            Action::BulkWait { groups, reads_only } => {
                self.wait_for_bulk_copies((*groups, *reads_only), active, context);
            }
            Action::Fence(fence) => context.fence(*fence, self, active),
            Action::WarpBarrier { .. }
            | Action::Shuffle(_)
            | Action::Vote(_)
            | Action::Match { .. }
            | Action::Reduce { .. }
            | Action::Elect { .. }
            | Action::Matrix(_)
            | Action::LoadMatrix(_)
            | Action::Wmma(_)
            | Action::Wgmma(_) => return self.collective(index, instruction, active, context),
            Action::Nothing => {}
        }
        Ok(Next::Advance)
    }

    /// Jumps to each active lane's target, which follows from its value of a register.
    fn branch_by_value(
        &mut self,
        (index, active): (usize, u32),
        register: Register,
        target: impl Fn(u64) -> Result<usize, FaultKind>,
        reconvergence: Option<usize>,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let mut targets = [0; LANES];
        for lane in lanes_of(active) {
            let value = self.registers[register as usize][lane];
            targets[lane] = target(value).map_err(|kind| Failure::at(lane, kind))?;
        }
        self.jump((index, active), &targets, reconvergence, context);
        Ok(())
    }

    /// Jumps to each active lane's target; the other lanes go on.
    pub(super) fn jump(
        &mut self,
        (index, active): (usize, u32),
        targets: &[usize; LANES],
        reconvergence: Option<usize>,
        context: &mut Context<'_>,
    ) {
        let path = self.divergence.paths[index];
        let mut paths: Vec<(u32, usize)> = vec![(path.mask & !active, path.pc + 1)];
        for lane in lanes_of(active) {
            match paths.iter_mut().find(|(_, pc)| *pc == targets[lane]) {
                Some((mask, _)) => *mask |= 1 << lane,
                None => paths.push((1 << lane, targets[lane])),
            }
        }
        paths.retain(|(mask, _)| *mask != 0);
        match paths[..] {
            [(_, pc)] => self.divergence.paths[index].pc = pc,
            _ => {
                context.count_divergence(path.pc);
                if context.reverses_lanes {
                    paths.reverse();
                }
                self.divergence.diverge(index, &paths, reconvergence);
            }
        }
    }
}

/// The unit of `%total_smem_size`, in bytes (PTX ISA 10, for sm_80 and later).
const SHARED_UNIT: u64 = 128;

/// The value of a special register for thread `thread` of the block.
fn special_value(special: Special, context: &Context<'_>, thread: u32) -> u64 {
    let component = |size: cuda_launch::Dim3, axis: usize| u64::from([size.x, size.y, size.z][axis]);
    match special {
        Special::ThreadIndex(axis) => component(context.thread_index(thread), axis),
        Special::BlockSize(axis) => component(context.config.block, axis),
        Special::BlockIndex(axis) => component(context.block, axis),
        Special::GridSize(axis) => component(context.config.grid, axis),
        Special::Lane => u64::from(thread % LANES as u32),
        Special::Warp => u64::from(thread / LANES as u32),
        Special::Warps => context.config.block.count().div_ceil(LANES as u64),
        Special::LaneMask(comparison) => u64::from(comparison.mask(thread % LANES as u32)),
        Special::ClusterRank => u64::from(context.rank()),
        Special::ClusterSize => u64::from(context.config.cluster),
        Special::ClusterIndex(axis) => {
            let index = component(context.block, axis);
            if axis == 0 { index / u64::from(context.config.cluster) } else { index }
        }
        Special::Clusters(axis) => {
            let size = component(context.config.grid, axis);
            if axis == 0 { size / u64::from(context.config.cluster) } else { size }
        }
        Special::IndexInCluster(axis) => {
            if axis == 0 {
                context.rank().into()
            } else {
                0
            }
        }
        Special::ClusterShape(axis) => {
            if axis == 0 {
                context.config.cluster.into()
            } else {
                1
            }
        }
        Special::IsExplicitCluster => {
            u64::from(context.config.cluster > 1 || context.kernel.required_cluster.is_some())
        }
        Special::Multiprocessor => u64::from(context.state.number % MULTIPROCESSORS),
        Special::Multiprocessors => MULTIPROCESSORS.into(),
        Special::GridNumber => 1,
        Special::SharedBytes { with_reserved } => {
            let bytes = context.kernel.shared.packed_bytes() as u64 + u64::from(context.config.dynamic_shared_bytes);
            let reserved = if with_reserved { first_address(Space::Shared) } else { 0 };
            bytes.next_multiple_of(SHARED_UNIT) + reserved
        }
        Special::ReservedSharedBytes => first_address(Space::Shared),
        Special::DynamicSharedBytes => u64::from(context.config.dynamic_shared_bytes),
        Special::GridWorkspace { upper } => {
            let address = context.launch.workspace.unwrap_or(0);
            if upper { address >> 32 } else { address & u64::from(u32::MAX) }
        }
        Special::Zero => 0,
    }
}
