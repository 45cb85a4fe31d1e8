//! Instructions whose names are resolved, ready to run.

use std::sync::Arc;

use crate::semantics::{CarryOperation, Class, Lanes};
use crate::syntax::{Location, Space};

/// The number of a register in a warp's register file. Constants and special registers have numbers too.
pub(crate) type Register = u32;

/// The number of a predicate register.
pub(crate) type Predicate = u32;

/// An instruction.
#[derive(Debug)]
pub(crate) struct Instruction {
    /// The predicate on which it depends, and whether it is negated.
    pub(crate) guard: Option<(Predicate, bool)>,
    pub(crate) action: Action,
}

/// What is known of an instruction beside what it does.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    /// The line of the PTX, from 1.
    pub(crate) line: u32,
    /// Its text.
    pub(crate) text: Arc<str>,
    /// Where in the source it comes from.
    pub(crate) location: Option<Location>,
    /// What kind of work it is.
    pub(crate) class: Class,
}

/// The new value of an atomic operation, of the old one and two operands.
pub(crate) type Update = fn(u64, u64, u64) -> u64;

/// A branch's destination.
pub(crate) type Target = usize;

/// What an instruction does.
#[derive(Debug)]
pub(crate) enum Action {
    /// Computes a value in each lane.
    Compute {
        compute: fn(&mut Lanes, [&Lanes; 4]),
        destination: Register,
        sources: [Register; 4],
        extend: Extend,
    },
    /// Computes a value and reads or writes the carry flag.
    Carry {
        operation: CarryOperation,
        destination: Register,
        sources: [Register; 4],
    },
    /// Computes a predicate, combines it with another, and writes it and its complement.
    Compare {
        compute: fn([&Lanes; 4]) -> u32,
        sources: [Register; 4],
        combine: Option<(Logic, Predicate, bool)>,
        destinations: [Option<Predicate>; 2],
    },
    /// `selp`
    Select {
        destination: Register,
        sources: [Register; 2],
        predicate: Predicate,
    },
    /// A register to another.
    Move {
        destination: Register,
        source: Register,
    },
    /// Logic on predicates.
    Logic {
        logic: Logic,
        destination: Predicate,
        sources: [PredicateSource; 2],
    },
    /// Several registers, the first lowest, to one; each has so many bits.
    Pack {
        destination: Register,
        parts: Vec<Register>,
        bits: u32,
    },
    /// One register to several, the first lowest.
    Unpack {
        destinations: Vec<Option<Register>>,
        source: Register,
        bits: u32,
    },
    /// `isspacep`
    IsSpace {
        space: Space,
        destination: Predicate,
        address: Register,
    },
    Load(Load),
    Store(Store),
    Atomic(Atomic),
    CopyAsync(CopyAsync),
    /// Ends a group of asynchronous copies.
    CopyAsyncCommit,
    /// Waits until at most so many groups are under way; if None, until no copy is.
    CopyAsyncWait(Option<u32>),
    /// A memory fence.
    Fence(FenceScope),
    Branch {
        target: Target,
        meet: Option<Target>,
    },
    BranchTable {
        index: Register,
        targets: Vec<Target>,
        meet: Option<Target>,
    },
    /// The end of the thread. With a guard, those that stay go on.
    Exit,
    /// `trap`
    Trap,
    Barrier(Barrier),
    /// `bar.warp.sync`
    WarpBarrier {
        members: Register,
    },
    Shuffle(Shuffle),
    Vote(Vote),
    /// `match.any.sync` and `match.all.sync`
    Match {
        all: bool,
        destination: Register,
        predicate: Option<Predicate>,
        source: Register,
        members: Register,
    },
    /// `redux.sync`
    Reduce {
        combine: fn(u64, u64) -> u64,
        destination: Register,
        source: Register,
        members: Register,
    },
    /// `activemask`
    ActiveMask {
        destination: Register,
    },
    /// `mma.sync`
    Matrix(Matrix),
    /// `ldmatrix`
    LoadMatrix(LoadMatrix),
    /// Nothing that has an effect here, such as `prefetch` and `nanosleep`.
    Nothing,
}

/// What fills the destination's upper bits where it is wider than the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extend {
    Zero,
    /// The sign of a value of `from` bits, in a register of `to` bits.
    Sign {
        from: u32,
        to: u32,
    },
}

/// A boolean operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
    /// The first alone.
    First,
    /// The complement of the first.
    NotFirst,
}

impl Logic {
    pub(crate) fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::First => a,
            Self::NotFirst => !a,
        }
    }
}

/// A predicate or a constant, for all lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PredicateSource {
    Predicate(Predicate),
    Constant(bool),
}

/// An address: a register, or nothing, plus so many bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) base: Option<Register>,
    pub(crate) offset: i64,
    /// Whether the register has 32 bits, in which the address wraps around.
    pub(crate) narrow: bool,
}

/// Where an access goes: to a state space, or wherever the address points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AccessSpace {
    Space(Space),
    Generic,
}

/// How an access takes part in the order of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Ordering {
    /// Meant to meet accesses of other threads: relaxed, volatile or stronger.
    pub(crate) strong: bool,
    pub(crate) acquire: bool,
    pub(crate) release: bool,
}

#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) space: AccessSpace,
    pub(crate) address: Address,
    /// The bytes of one element.
    pub(crate) bytes: usize,
    pub(crate) extend: Extend,
    pub(crate) destinations: Vec<Option<Register>>,
    pub(crate) ordering: Ordering,
}

#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) space: AccessSpace,
    pub(crate) address: Address,
    pub(crate) bytes: usize,
    pub(crate) sources: Vec<Register>,
    pub(crate) ordering: Ordering,
}

#[derive(Debug)]
pub(crate) struct Atomic {
    pub(crate) space: AccessSpace,
    pub(crate) address: Address,
    pub(crate) bytes: usize,
    /// The new value, of the old and two operands.
    pub(crate) update: Update,
    /// The same for global memory, where `add.f32` flushes subnormal numbers.
    pub(crate) update_global: Update,
    pub(crate) destination: Option<Register>,
    pub(crate) operands: [Register; 2],
    pub(crate) ordering: Ordering,
}

#[derive(Debug)]
pub(crate) struct CopyAsync {
    pub(crate) to: Address,
    pub(crate) from: Address,
    pub(crate) bytes: usize,
    /// How many bytes are read; the others become zero.
    pub(crate) read: Option<Register>,
    /// Reads nothing where it is true.
    pub(crate) ignore: Option<Predicate>,
}

/// How far a fence reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FenceScope {
    Block,
    Gpu,
}

#[derive(Debug)]
pub(crate) struct Barrier {
    /// The barrier's number.
    pub(crate) number: Register,
    /// How many threads it waits for; all of the block if None.
    pub(crate) count: Option<Register>,
    /// Whether the thread waits, or only tells that it came.
    pub(crate) waits: bool,
    pub(crate) reduction: Option<BarrierReduction>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierReduction {
    pub(crate) kind: BarrierReductionKind,
    pub(crate) source: Predicate,
    pub(crate) negated: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum BarrierReductionKind {
    And(Predicate),
    Or(Predicate),
    Count(Register),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Debug)]
pub(crate) struct Shuffle {
    pub(crate) mode: ShuffleMode,
    pub(crate) destination: Register,
    pub(crate) in_range: Option<Predicate>,
    pub(crate) source: Register,
    pub(crate) lane: Register,
    /// Clamp and segment mask, as PTX packs them.
    pub(crate) clamp: Register,
    pub(crate) members: Register,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum VoteMode {
    All(Predicate),
    Any(Predicate),
    Uniform(Predicate),
    Ballot(Register),
}

#[derive(Debug)]
pub(crate) struct Vote {
    pub(crate) mode: VoteMode,
    pub(crate) source: PredicateSource,
    pub(crate) negated: bool,
    pub(crate) members: Register,
}

/// The types of a matrix product's factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatrixElement {
    F16,
    Bf16,
    Tf32,
}

/// D = A·B + C of a warp: M = 16, N = 8, accumulated in f32 (or f16, for f16 factors).
#[derive(Debug)]
pub(crate) struct Matrix {
    pub(crate) element: MatrixElement,
    /// K: 4 or 8 for tf32, 8 or 16 for the others.
    pub(crate) depth: usize,
    /// Whether C and D are f16, two in a register.
    pub(crate) half_accumulator: bool,
    pub(crate) d: Vec<Register>,
    pub(crate) a: Vec<Register>,
    pub(crate) b: Vec<Register>,
    pub(crate) c: Vec<Register>,
}

#[derive(Debug)]
pub(crate) struct LoadMatrix {
    pub(crate) address: Address,
    pub(crate) transposed: bool,
    pub(crate) destinations: Vec<Register>,
}
