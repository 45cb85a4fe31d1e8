//! The registers and predicates that instructions read and write.

use super::instruction::{
    Action, Arrival, BarrierReductionKind, Combine, EffectiveAddress, Mbarrier, MbarrierOperation, PhaseOperand,
    Predicate, PredicateSource, Register, TensorCopyKind, VoteMode, Wgmma, WgmmaFactor, WgmmaProduct, Wmma, WmmaAccess,
    WmmaProduct,
};

impl Action {
    /// Whether its only effects are results in registers and predicates.
    pub(crate) fn only_computes(&self) -> bool {
        matches!(
            self,
            Self::Compute { .. }
                | Self::MapAddress { .. }
                | Self::Compare { .. }
                | Self::Select { .. }
                | Self::Move { .. }
                | Self::Logic { .. }
                | Self::Pack { .. }
                | Self::Unpack { .. }
                | Self::IsSpace { .. }
        )
    }

    /// Visits the predicates that the instruction makes a decision from, except its guard.
    pub(crate) fn visit_predicates(&self, visit: &mut impl FnMut(Predicate)) {
        match self {
            Self::Vote(vote) => match vote.source {
                PredicateSource::Predicate(predicate) => visit(predicate),
                PredicateSource::Constant(_) => {}
            },
            Self::Wgmma(Wgmma::Product(WgmmaProduct { adds: PredicateSource::Predicate(predicate), .. })) => {
                visit(*predicate);
            }
            Self::Barrier(barrier) => barrier.reduction.iter().for_each(|reduction| visit(reduction.source)),
            Self::CopyAsync(copy) => copy.ignore.into_iter().for_each(visit),
            Self::Compare { combine: Some(Combine { other, .. }), .. } => visit(*other),
            _ => {}
        }
    }

    /// Visits the predicates that the instruction writes.
    pub(crate) fn visit_predicate_destinations(&self, visit: &mut impl FnMut(Predicate)) {
        let predicate = match self {
            Self::Compare { destinations, .. } => return destinations.iter().flatten().copied().for_each(visit),
            Self::Logic { destination, .. } | Self::IsSpace { destination, .. } => Some(*destination),
            Self::Match { predicate, .. } | Self::Elect { is_leader: predicate, .. } => *predicate,
            Self::Vote(vote) => match vote.mode {
                VoteMode::All(predicate) | VoteMode::Any(predicate) | VoteMode::Uniform(predicate) => Some(predicate),
                VoteMode::Ballot(_) => None,
            },
            Self::Barrier(barrier) => match barrier.reduction.map(|reduction| reduction.kind) {
                Some(BarrierReductionKind::And(predicate) | BarrierReductionKind::Or(predicate)) => Some(predicate),
                _ => None,
            },
            Self::Mbarrier(Mbarrier { operation: MbarrierOperation::Wait { complete, .. }, .. }) => Some(*complete),
            _ => None,
        };
        predicate.into_iter().for_each(visit);
    }

    /// Whether the instruction accesses memory at addresses in registers.
    pub(crate) fn accesses_memory(&self) -> bool {
        matches!(
            self,
            Self::Load(_)
                | Self::Store(_)
                | Self::Atomic(_)
                | Self::CopyAsync(_)
                | Self::Mbarrier(_)
                | Self::BulkCopy(_)
                | Self::TensorCopy(_)
                | Self::StoreAsync(_)
                | Self::LoadMatrix(_)
                | Self::Wgmma(Wgmma::Product(_))
                | Self::Wmma(Wmma::Load(_) | Wmma::Store(_))
                | Self::Image(_)
        )
    }

    /// Visits the registers that the instruction computes with, except the ones that it only
    /// copies.
    pub(crate) fn visit_sources(&self, visit: &mut impl FnMut(Register)) {
        let address = |address: &EffectiveAddress, visit: &mut dyn FnMut(Register)| {
            if let Some(base) = address.base {
                visit(base);
            }
        };
        match self {
            Self::Compute { sources, .. } | Self::Carry { sources, .. } | Self::Compare { sources, .. } => {
                sources.iter().copied().for_each(visit);
            }
            Self::MapAddress { address, rank, .. } => [*address, *rank].into_iter().for_each(visit),
            Self::IsSpace { address: register, .. }
            | Self::BranchTable { index: register, .. }
            | Self::BranchToFunction { address: register, .. }
            | Self::WarpBarrier { members: register }
            | Self::Elect { members: register, .. } => visit(*register),
            Self::Atomic(atomic) => {
                address(&atomic.address, visit);
                atomic.operands.iter().copied().for_each(visit);
            }
            Self::CopyAsync(copy) => {
                address(&copy.from, visit);
                address(&copy.to, visit);
                copy.read.into_iter().for_each(visit);
            }
            Self::Mbarrier(Mbarrier { address: place, operation, .. }) => {
                address(place, visit);
                match *operation {
                    MbarrierOperation::Init { arrivals: source }
                    | MbarrierOperation::Expect { bytes: source }
                    | MbarrierOperation::Wait { phase: PhaseOperand::Parity(source), .. }
                    | MbarrierOperation::Wait { phase: PhaseOperand::State(source), .. } => visit(source),
                    MbarrierOperation::Arrive(Arrival { count, bytes, .. }) => {
                        count.into_iter().chain(bytes).for_each(visit);
                    }
                    MbarrierOperation::Invalidate | MbarrierOperation::ArriveWithCopies { .. } => {}
                }
            }
            Self::BulkCopy(copy) => {
                address(&copy.to.1, visit);
                address(&copy.from.1, visit);
                copy.barrier.iter().for_each(|barrier| address(barrier, visit));
                visit(copy.bytes);
            }
            Self::TensorCopy(copy) => {
                address(&copy.shared.1, visit);
                if let TensorCopyKind::Load { barrier, blocks } = &copy.kind {
                    address(barrier, visit);
                    blocks.iter().copied().for_each(&mut *visit);
                }
                copy.coordinates.iter().chain([&copy.map]).copied().for_each(visit);
            }
            Self::StoreAsync(store) => {
                address(&store.address, visit);
                address(&store.barrier, visit);
            }
            Self::Barrier(barrier) => {
                visit(barrier.number);
                barrier.count.into_iter().for_each(visit);
            }
            Self::Shuffle(shuffle) => [shuffle.lane, shuffle.clamp, shuffle.members].into_iter().for_each(visit),
            Self::Vote(vote) => visit(vote.members),
            Self::Match { source, members, .. } | Self::Reduce { source, members, .. } => {
                visit(*source);
                visit(*members);
            }
            Self::Matrix(matrix) => {
                [&matrix.a, &matrix.b, &matrix.c].into_iter().flatten().copied().for_each(visit);
            }
            Self::LoadMatrix(load) => address(&load.address, visit),
            Self::Image(access) => access.operands().into_iter().for_each(visit),
            Self::Wmma(Wmma::Load(access) | Wmma::Store(access)) => {
                address(&access.address, visit);
                access.stride.into_iter().for_each(visit);
            }
            // A predicate tells whether D is added.
            Self::Wgmma(Wgmma::Product(product)) => {
                match &product.a {
                    WgmmaFactor::Registers(registers) => registers.iter().copied().for_each(&mut *visit),
                    WgmmaFactor::Descriptor(register) => visit(*register),
                }
                visit(product.b);
            }
            Self::Wmma(Wmma::Product(WmmaProduct { a, b, c, .. })) => {
                [a, b, c].iter().flat_map(|fragment| &fragment.registers).copied().for_each(visit);
            }
            Self::Move { .. }
            | Self::Select { .. }
            | Self::Pack { .. }
            | Self::Unpack { .. }
            | Self::Load(_)
            | Self::Store(_)
            | Self::Logic { .. }
            | Self::CopyAsyncCommit
            | Self::CopyAsyncWait(_)
            | Self::BulkCommit
            | Self::BulkWait { .. }
            | Self::Fence(_)
            | Self::Branch { .. }
            | Self::Exit
            | Self::Trap(_)
            | Self::ActiveMask { .. }
            | Self::ReadClock { .. }
            | Self::Print(_)
            | Self::FailAssertion(_)
            | Self::Heap(_)
            | Self::Call(_)
            | Self::Return { .. }
            | Self::ClusterArrive
            | Self::ClusterWait
            | Self::Wgmma(Wgmma::Commit | Wgmma::Wait { .. })
            | Self::Nothing => {}
        }
    }

    /// Visits the registers that the instruction writes.
    pub(crate) fn visit_destinations(&self, visit: &mut impl FnMut(Register)) {
        match self {
            Self::Compute { destination, .. }
            | Self::Carry { destination, .. }
            | Self::MapAddress { destination, .. }
            | Self::Move { destination, .. }
            | Self::Select { destination, .. }
            | Self::Pack { destination, .. }
            | Self::Match { destination, .. }
            | Self::Reduce { destination, .. }
            | Self::ActiveMask { destination }
            | Self::ReadClock { destination, .. } => visit(*destination),
            Self::Unpack { destinations, .. } => destinations.iter().flatten().copied().for_each(visit),
            Self::Load(load) => load.destinations.iter().flatten().copied().for_each(visit),
            Self::Atomic(atomic) => atomic.destination.into_iter().for_each(visit),
            Self::Elect { leader, .. } => leader.iter().copied().for_each(visit),
            Self::Shuffle(shuffle) => visit(shuffle.destination),
            Self::Mbarrier(mbarrier) => {
                if let MbarrierOperation::Arrive(Arrival { state: Some(register), .. }) = mbarrier.operation {
                    visit(register);
                }
            }
            Self::Matrix(matrix) => matrix.d.iter().copied().for_each(visit),
            Self::Wgmma(Wgmma::Product(product)) => product.d.iter().copied().for_each(visit),
            Self::LoadMatrix(load) => load.destinations.iter().copied().for_each(visit),
            Self::Image(access) => access.destinations().into_iter().for_each(visit),
            Self::Wmma(Wmma::Load(WmmaAccess { fragment, .. }) | Wmma::Product(WmmaProduct { d: fragment, .. })) => {
                fragment.registers.iter().copied().for_each(visit);
            }
            Self::Vote(vote) => {
                if let VoteMode::Ballot(register) = vote.mode {
                    visit(register);
                }
            }
            Self::Barrier(barrier) => {
                if let Some(BarrierReductionKind::Count(register)) = barrier.reduction.map(|reduction| reduction.kind) {
                    visit(register);
                }
            }
            Self::Compare { .. }
            | Self::Logic { .. }
            | Self::IsSpace { .. }
            | Self::Store(_)
            | Self::Wmma(Wmma::Store(_))
            | Self::Wgmma(Wgmma::Commit | Wgmma::Wait { .. })
            | Self::CopyAsync(_)
            | Self::CopyAsyncCommit
            | Self::CopyAsyncWait(_)
            | Self::BulkCopy(_)
            | Self::TensorCopy(_)
            | Self::BulkCommit
            | Self::BulkWait { .. }
            | Self::StoreAsync(_)
            | Self::Fence(_)
            | Self::Branch { .. }
            | Self::BranchTable { .. }
            | Self::BranchToFunction { .. }
            | Self::Exit
            | Self::Trap(_)
            | Self::ClusterArrive
            | Self::ClusterWait
            | Self::WarpBarrier { .. }
            | Self::Print(_)
            | Self::FailAssertion(_)
            | Self::Heap(_)
            | Self::Call(_)
            | Self::Return { .. }
            | Self::Nothing => {}
        }
    }
}
