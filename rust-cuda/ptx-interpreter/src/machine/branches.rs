//! Branches, and thread exit.

use super::context::Context;
use super::fault::{Failure, FaultKind};
use super::lanes::lanes_of;
use super::warp::{Next, Warp};
use crate::program::instruction::{Register, Target};
use crate::semantics::LANES;

impl Warp {
    /// Makes the active lanes jump to a target. The other lanes of the path continue.
    #[inline]
    pub(super) fn branch(
        &mut self,
        index: usize,
        active: u32,
        target: Target,
        reconvergence: Option<Target>,
        context: &mut Context<'_>,
    ) -> Next {
        let path = self.divergence.paths[index];
        if active == path.mask {
            self.divergence.paths[index].pc = target;
        } else {
            context.count_divergence(path.pc);
            let mut paths = [(active, target), (path.mask & !active, path.pc + 1)];
            if context.reverses_lanes {
                paths.reverse();
            }
            self.divergence.diverge(index, &paths, reconvergence);
        }
        Next::Jumped
    }

    /// Makes each active lane jump to the table's target for its index.
    pub(super) fn branch_by_table(
        &mut self,
        index: usize,
        active: u32,
        register: Register,
        targets: &[Target],
        reconvergence: Option<Target>,
        context: &mut Context<'_>,
    ) -> Result<Next, Failure> {
        let target = |entry: u64| {
            let target = usize::try_from(entry).ok().and_then(|entry| targets.get(entry));
            target.copied().ok_or(FaultKind::BranchTable { index: entry, length: targets.len() })
        };
        self.branch_by_value(index, active, register, target, reconvergence, context)
    }

    /// Makes each active lane jump to the inlined body of the function at its address. `functions`
    /// lists the addresses and bodies.
    pub(super) fn branch_to_function(
        &mut self,
        index: usize,
        active: u32,
        register: Register,
        functions: &[(u64, Target)],
        reconvergence: Option<Target>,
        context: &mut Context<'_>,
    ) -> Result<Next, Failure> {
        let target = |address: u64| {
            let target = functions.iter().find(|(function, _)| *function == address);
            target.map(|(_, start)| *start).ok_or(FaultKind::NoFunction { address })
        };
        self.branch_by_value(index, active, register, target, reconvergence, context)
    }

    /// Jumps to each active lane's target, computed from its value of a register.
    fn branch_by_value(
        &mut self,
        index: usize,
        active: u32,
        register: Register,
        target: impl Fn(u64) -> Result<usize, FaultKind>,
        reconvergence: Option<usize>,
        context: &mut Context<'_>,
    ) -> Result<Next, Failure> {
        let mut targets = [0; LANES];
        for lane in lanes_of(active) {
            let value = self.registers[register as usize][lane];
            targets[lane] = target(value).map_err(|kind| Failure::at(lane, kind))?;
        }
        self.jump(index, active, &targets, reconvergence, context);
        Ok(Next::Jumped)
    }

    /// Jumps to each active lane's target. The other lanes continue.
    pub(super) fn jump(
        &mut self,
        index: usize,
        active: u32,
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

    /// Makes the active lanes exit the kernel.
    pub(super) fn exit(&mut self, index: usize, active: u32, context: &mut Context<'_>) -> Result<Next, Failure> {
        self.exited |= active;
        self.discard_copies(active, context);
        self.leave_barriers(active, context);
        self.divergence.paths[index].pc += 1;
        self.divergence.exit(index, active);
        self.complete_collectives(active, context)?;
        Ok(Next::Stop)
    }
}
