//! Decoded instructions: names resolved to register numbers and addresses.

use std::sync::Arc;

use cuda_launch::trap::Bounded;

use super::image::ImageAccess;
use crate::memory::races::{Fence, Scope};
use crate::semantics::{self, Carry, Class, Value};
use crate::syntax::{Location, Space};

/// Index of a register in a warp's register file. Constants and special registers also have
/// indices.
pub(crate) type Register = u32;

/// Index of a predicate register.
pub(crate) type Predicate = u32;

/// An instruction ready to be executed.
#[derive(Debug)]
pub(crate) struct DecodedInstruction {
    /// The predicate that guards it, and whether the predicate is negated.
    pub(crate) guard: Option<(Predicate, bool)>,
    pub(crate) action: Action,
}

/// Information about an instruction for messages and counts.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    /// Line of the PTX, from 1.
    pub(crate) line: u32,
    /// Text of the instruction.
    pub(crate) text: Arc<str>,
    /// Location in the source from which it was compiled.
    pub(crate) location: Option<Location>,
    /// The kind of work that the instruction does.
    pub(crate) class: Class,
}

/// Which bits of its sources each bit of a result depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// `and`: the same bit of each source, unless it is clear in the other.
    And,
    /// `or`: the same bit of each source, unless it is set in the other.
    Or,
    /// `xor` and `not`: the same bit of each source.
    Bits,
    /// Shifts, extractions and conversions of integers. Each bit is a constant or a bit of one of
    /// the first sources; the field is the number of these sources. The other sources determine
    /// which bit.
    Moves(usize),
    /// Sums and products of integers with this many bits: the same bit of each source, and the
    /// lower ones.
    Upwards(u32),
    /// All bits. The field is the number of bits of the result.
    All(u32),
}

/// The update function of an atomic operation: the new value from the old one and two operands.
pub(crate) type Update = fn(u64, u64, u64) -> u64;

/// Index of the instruction that a branch jumps to.
pub(crate) type Target = usize;

/// The reason for a `trap`, with registers that hold the values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reason {
    Panic(Vec<ReasonPiece>),
    OutOfBounds(Bounded),
    /// Start, end and length.
    Slice([Register; 3]),
    /// Start, end and length of a buffer.
    Range([Register; 3]),
}

/// A piece of a panic message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ReasonPiece {
    Text(String),
    Value(Register),
}

/// The action of an instruction.
#[derive(Debug)]
pub(crate) enum Action {
    /// Computes a value in each lane.
    Compute {
        compute: Value,
        destination: Register,
        sources: [Register; 4],
        extend: Extend,
        flow: Flow,
    },
    /// `mapa`: computes the address in the shared memory of another block of the cluster.
    MapAddress {
        destination: Register,
        address: Register,
        rank: Register,
    },
    /// Computes a value and reads or writes the carry flag.
    Carry {
        compute: Carry,
        destination: Register,
        sources: [Register; 4],
    },
    /// Computes a predicate, combines it with another, and writes it and its complement.
    Compare {
        compute: semantics::Predicate,
        sources: [Register; 4],
        combine: Option<Combine>,
        destinations: [Option<Predicate>; 2],
    },
    /// `selp`
    Select {
        destination: Register,
        sources: [Register; 2],
        predicate: Predicate,
    },
    /// Copies a register to another.
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
    /// Packs several registers of `bits` bits each into one, the first into the lowest bits.
    Pack {
        destination: Register,
        parts: Vec<Register>,
        bits: u32,
    },
    /// Unpacks one register into several of `bits` bits each, the lowest bits into the first.
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
    Mbarrier(Mbarrier),
    /// `st.async`
    StoreAsync(StoreAsync),
    /// Commits a group of asynchronous copies.
    CopyAsyncCommit,
    /// Waits until at most this many groups of copies are in flight. `None` waits for all copies.
    CopyAsyncWait(Option<u32>),
    /// `cp.async.bulk`
    BulkCopy(BulkCopy),
    /// `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`
    TensorCopy(TensorCopy),
    /// `cp.async.bulk.commit_group`
    BulkCommit,
    /// `cp.async.bulk.wait_group`: waits until only the last groups are in flight. With `.read`,
    /// older groups may still write.
    BulkWait {
        groups: u32,
        reads_only: bool,
    },
    /// A memory fence.
    Fence(Fence),
    Branch {
        target: Target,
        reconvergence: Option<Target>,
    },
    BranchTable {
        index: Register,
        targets: Vec<Target>,
        reconvergence: Option<Target>,
    },
    /// A call through a pointer: jumps to the inlined body of the function with this address.
    BranchToFunction {
        address: Register,
        functions: Vec<(u64, Target)>,
        reconvergence: Option<Target>,
    },
    /// A call to a function that may call itself.
    Call(Box<Call>),
    /// The end of such a function: each thread continues after its call.
    Return {
        /// The instructions after the calls of the function.
        sites: Vec<Target>,
        /// The function's index.
        function: usize,
        reconvergence: Option<Target>,
    },
    /// Ends the threads with a true guard.
    Exit,
    /// `trap`, with the reason stated in the PTX.
    Trap(Option<Box<Reason>>),
    Barrier(Barrier),
    /// `barrier.cluster.arrive`
    ClusterArrive,
    /// `barrier.cluster.wait`
    ClusterWait,
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
    /// `elect.sync`: the lowest member is the leader.
    Elect {
        leader: Option<Register>,
        is_leader: Option<Predicate>,
        members: Register,
    },
    /// `activemask`
    ActiveMask {
        destination: Register,
    },
    /// Reads a counter, such as `%clock64`.
    ReadClock {
        destination: Register,
        clock: Clock,
    },
    /// A call to `vprintf`, which the GPU's driver provides.
    Print(Print),
    /// A call to `__assertfail`, which the GPU's driver provides. Ends the launch.
    FailAssertion(FailAssertion),
    /// A call to `malloc` or `free`, which the GPU's driver provides.
    Heap(HeapCall),
    /// `mma.sync`
    Matrix(Matrix),
    /// `ldmatrix`
    LoadMatrix(LoadMatrix),
    /// `wmma`
    Wmma(Wmma),
    /// `wgmma`
    Wgmma(Wgmma),
    /// An access through a texture or surface object.
    Image(ImageAccess),
    /// No effect in this interpreter, such as `prefetch` and `nanosleep`.
    Nothing,
}

impl Action {
    /// Whether threads synchronize through it: an atomic operation, a strong access or a fence.
    pub(crate) fn synchronises(&self) -> bool {
        match self {
            Self::Load(load) => load.ordering.strong,
            Self::Store(store) => store.ordering.strong,
            Self::Atomic(_) | Self::Fence(_) | Self::Mbarrier(_) => true,
            Self::StoreAsync(_) | Self::BulkCopy(_) | Self::TensorCopy(_) => true,
            _ => false,
        }
    }
}

/// Another predicate to combine with the result of a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Combine {
    pub(crate) logic: Logic,
    pub(crate) other: Predicate,
    /// Whether to use the complement of the other predicate.
    pub(crate) negated: bool,
}

/// The bits of a 64-bit counter that a special register reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) bits: usize,
    pub(crate) shift: u32,
}

/// A call to a function that may call itself.
#[derive(Debug)]
pub(crate) struct Call {
    /// The function's index.
    pub(crate) function: usize,
    pub(crate) start: Target,
    /// The index of the calling function. `None` for the kernel itself.
    pub(crate) caller: Option<usize>,
    /// Each argument's address in local memory, its offset in the frame, and its size.
    pub(crate) arguments: Vec<(EffectiveAddress, u64, usize)>,
    /// The same for each result.
    pub(crate) results: Vec<(EffectiveAddress, u64, usize)>,
    pub(crate) reconvergence: Option<Target>,
}

/// Addresses in local memory of the call's parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Print {
    /// The count of arguments, 32 bits. `None` if the call discards the result.
    pub(crate) result: Option<EffectiveAddress>,
    /// A generic pointer to the zero-terminated format string.
    pub(crate) format: EffectiveAddress,
    /// A generic pointer to the arguments, each at a multiple of its size.
    pub(crate) arguments: EffectiveAddress,
}

/// Addresses in local memory of the call's parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailAssertion {
    /// A generic pointer to the condition's text, or 0.
    pub(crate) message: EffectiveAddress,
    /// A generic pointer to the file's name, or 0.
    pub(crate) file: EffectiveAddress,
    /// The line, 32 bits.
    pub(crate) line: EffectiveAddress,
}

/// Addresses in local memory of the call's parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HeapCall {
    /// `malloc`
    Allocate {
        /// The pointer, 64 bits: a generic address, or 0.
        result: Option<EffectiveAddress>,
        /// The size, 64 bits.
        bytes: EffectiveAddress,
    },
    /// `free` of a generic pointer.
    Free(EffectiveAddress),
}

/// The extension of a value to a wider destination register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extend {
    Zero,
    /// Sign extension from `from` bits to `to` bits.
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
    /// The first operand.
    First,
    /// The complement of the first operand.
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

/// A predicate register, or a constant for all lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PredicateSource {
    Predicate(Predicate),
    Constant(bool),
}

/// An address: an optional base register plus an offset in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EffectiveAddress {
    pub(crate) base: Option<Register>,
    pub(crate) offset: i64,
    /// Whether the base register has 32 bits, so the address wraps around at 2³².
    pub(crate) narrow: bool,
}

/// The memory of an access: a state space, or the one that a generic address selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AccessSpace {
    Space(Space),
    Generic,
    /// Shared memory of a block of the cluster, by an address from `mapa` or of the current block.
    Cluster,
}

/// The memory ordering of an access. The default is weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct MemoryOrdering {
    /// May synchronize with accesses of other threads: volatile, relaxed or stronger.
    pub(crate) strong: bool,
    pub(crate) volatile: bool,
    /// The scope of a strong access.
    pub(crate) scope: Scope,
    pub(crate) acquire: bool,
    pub(crate) release: bool,
    /// Reads through the cache for memory that the kernel does not write.
    pub(crate) read_only: bool,
}

impl MemoryOrdering {
    /// The ordering of a volatile access, which has the strength of a relaxed one.
    pub(crate) const VOLATILE: Self =
        Self { strong: true, volatile: true, scope: Scope::Device, acquire: false, release: false, read_only: false };
}

#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) space: AccessSpace,
    pub(crate) address: EffectiveAddress,
    /// Size of one element in bytes.
    pub(crate) bytes: usize,
    pub(crate) extend: Extend,
    pub(crate) destinations: Vec<Option<Register>>,
    pub(crate) ordering: MemoryOrdering,
}

#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) space: AccessSpace,
    pub(crate) address: EffectiveAddress,
    pub(crate) bytes: usize,
    pub(crate) sources: Vec<Register>,
    pub(crate) ordering: MemoryOrdering,
}

#[derive(Debug)]
pub(crate) struct Atomic {
    pub(crate) space: AccessSpace,
    pub(crate) address: EffectiveAddress,
    pub(crate) bytes: usize,
    /// The update function for shared memory.
    pub(crate) update: Update,
    /// The update function for global memory, where `add.f32` flushes subnormal numbers.
    pub(crate) update_global: Update,
    pub(crate) destination: Option<Register>,
    pub(crate) operands: [Register; 2],
    pub(crate) ordering: MemoryOrdering,
    /// Whether it adds, increments or decrements.
    pub(crate) counts: bool,
}

#[derive(Debug)]
pub(crate) struct CopyAsync {
    pub(crate) to: EffectiveAddress,
    pub(crate) from: EffectiveAddress,
    pub(crate) bytes: usize,
    /// Number of bytes to read; the rest of the target becomes zero. `None` for all bytes.
    pub(crate) read: Option<Register>,
    /// Lanes with a true predicate read nothing and write zeros.
    pub(crate) ignore: Option<Predicate>,
}

/// Size of an mbarrier in bytes.
pub(crate) const MBARRIER_BYTES: usize = 8;

/// An operation on an mbarrier in the block's shared memory, or in the cluster's.
#[derive(Debug)]
pub(crate) struct Mbarrier {
    pub(crate) space: AccessSpace,
    pub(crate) address: EffectiveAddress,
    pub(crate) operation: MbarrierOperation,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum MbarrierOperation {
    /// `mbarrier.init`
    Init { arrivals: Register },
    /// `mbarrier.inval`
    Invalidate,
    /// `mbarrier.expect_tx`
    Expect { bytes: Register },
    /// `mbarrier.arrive` and `mbarrier.arrive_drop`, with or without `.expect_tx`
    Arrive(Arrival),
    /// `cp.async.mbarrier.arrive`: each lane's copies so far arrive when they are complete. The
    /// phase expects their arrival in addition or, with `.noinc`, as one of those already expected.
    ArriveWithCopies { expected: bool },
    /// `mbarrier.test_wait` and `mbarrier.try_wait`
    Wait { complete: Predicate, phase: PhaseOperand },
}

/// Arrivals of each lane at an mbarrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Number of arrivals. `None` for 1.
    pub(crate) count: Option<Register>,
    /// Bytes that the phase additionally expects.
    pub(crate) bytes: Option<Register>,
    /// Whether later phases no longer expect these arrivals.
    pub(crate) drops: bool,
    /// Receives the state of the phase.
    pub(crate) state: Option<Register>,
}

/// Which phase of an mbarrier a thread waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PhaseOperand {
    Parity(Register),
    /// The phase of the arrival that returned this state.
    State(Register),
}

/// A copy of a multiple of 16 bytes between global and shared memory.
#[derive(Debug)]
pub(crate) struct BulkCopy {
    pub(crate) to: (AccessSpace, EffectiveAddress),
    pub(crate) from: (AccessSpace, EffectiveAddress),
    pub(crate) bytes: Register,
    /// The mbarrier next to the target with the phase that the copy completes. `None` if the copy
    /// belongs to the thread's group of bulk copies.
    pub(crate) barrier: Option<EffectiveAddress>,
}

/// A copy of a box of a tensor between global and shared memory.
#[derive(Debug)]
pub(crate) struct TensorCopy {
    /// The generic address of the tensor map.
    pub(crate) map: Register,
    /// The coordinates at which the box begins.
    pub(crate) coordinates: Vec<Register>,
    pub(crate) shared: (AccessSpace, EffectiveAddress),
    pub(crate) kind: TensorCopyKind,
}

#[derive(Debug)]
pub(crate) enum TensorCopyKind {
    /// To shared memory.
    Load {
        /// The mbarrier next to the target with the phase that the copy completes.
        barrier: EffectiveAddress,
        /// The blocks of the cluster that receive the box, as bits. `None` for the target's block
        /// only.
        blocks: Option<Register>,
    },
    /// To global memory, as part of the thread's group of bulk copies.
    Store,
    /// Like `Store`, but combines each element with the one in global memory.
    Reduce(TensorReduction),
}

/// How to combine elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TensorReduction {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
}

/// A store to the shared memory of a block of the cluster. It completes its bytes of an mbarrier's
/// phase there.
#[derive(Debug)]
pub(crate) struct StoreAsync {
    pub(crate) address: EffectiveAddress,
    /// Size of one element in bytes.
    pub(crate) bytes: usize,
    pub(crate) sources: Vec<Register>,
    pub(crate) barrier: EffectiveAddress,
}

#[derive(Debug)]
pub(crate) struct Barrier {
    /// The barrier's number.
    pub(crate) number: Register,
    /// Number of threads that it waits for. `None` for all threads of the block.
    pub(crate) count: Option<Register>,
    /// Whether the thread waits (`sync`, `red`) or only arrives (`arrive`).
    pub(crate) waits: bool,
    /// Whether all lanes of a warp must execute the same instruction.
    pub(crate) aligned: bool,
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
    /// Clamp value and segment mask, packed as in operand c of `shfl`.
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

/// D = A·B + C by a warp, with A 16 × `depth`, B `depth` × 8, and C and D 16 × 8 of f32 (or of f16, for f16 factors).
#[derive(Debug)]
pub(crate) struct Matrix {
    /// Element types of A and of B, which differ only for 8 bits: tf32, f16, bf16, e4m3 or e5m2.
    pub(crate) elements: [FragmentElement; 2],
    /// K: 4 or 8 for tf32, 8 or 16 for f16 and bf16, 32 for 8 bits.
    pub(crate) depth: usize,
    /// Whether C and D are f16, two per register.
    pub(crate) half_accumulator: bool,
    pub(crate) d: Vec<Register>,
    pub(crate) a: Vec<Register>,
    pub(crate) b: Vec<Register>,
    pub(crate) c: Vec<Register>,
}

#[derive(Debug)]
pub(crate) struct LoadMatrix {
    pub(crate) address: EffectiveAddress,
    pub(crate) transposed: bool,
    pub(crate) destinations: Vec<Register>,
}

/// A warp's operation on whole matrices.
#[derive(Debug)]
pub(crate) enum Wmma {
    Load(WmmaAccess),
    Store(WmmaAccess),
    Product(WmmaProduct),
}

/// A load or a store of a matrix.
#[derive(Debug)]
pub(crate) struct WmmaAccess {
    pub(crate) fragment: Fragment,
    pub(crate) space: AccessSpace,
    pub(crate) address: EffectiveAddress,
    /// Distance in elements between the starts of consecutive rows, or columns. `None` for their
    /// length.
    pub(crate) stride: Option<Register>,
    /// Whether the elements of a column are adjacent in memory.
    pub(crate) by_columns: bool,
}

/// D = A·B + C.
#[derive(Debug)]
pub(crate) struct WmmaProduct {
    pub(crate) d: Fragment,
    pub(crate) a: Fragment,
    pub(crate) b: Fragment,
    pub(crate) c: Fragment,
    /// Whether integer sums saturate.
    pub(crate) saturates: bool,
}

/// A warpgroup's operation on matrices.
#[derive(Debug)]
pub(crate) enum Wgmma {
    /// `wgmma.mma_async`
    Product(WgmmaProduct),
    /// `wgmma.commit_group`
    Commit,
    /// `wgmma.wait_group`: waits until only the last groups are unfinished.
    Wait { groups: u32 },
}

/// D = A·B + D, or A·B, with A 64 × `depth`, B `depth` × `columns`.
#[derive(Debug)]
pub(crate) struct WgmmaProduct {
    /// Element types of A and of B.
    pub(crate) elements: [FragmentElement; 2],
    /// Element type of D.
    pub(crate) sum: FragmentElement,
    pub(crate) columns: usize,
    pub(crate) depth: usize,
    pub(crate) d: Vec<Register>,
    pub(crate) a: WgmmaFactor,
    /// The descriptor of B in shared memory.
    pub(crate) b: Register,
    /// Whether D is added.
    pub(crate) adds: PredicateSource,
    /// Whether A and B are negated.
    pub(crate) negates: [bool; 2],
    /// Whether elements of a column of A, or of a row of B, are adjacent in shared memory.
    pub(crate) transposes: [bool; 2],
    /// Whether integer sums saturate.
    pub(crate) saturates: bool,
}

/// The location of A.
#[derive(Debug)]
pub(crate) enum WgmmaFactor {
    Registers(Vec<Register>),
    /// In shared memory, by a descriptor.
    Descriptor(Register),
}

/// A matrix in the registers of a warp.
#[derive(Debug)]
pub(crate) struct Fragment {
    pub(crate) element: FragmentElement,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) layout: FragmentLayout,
    pub(crate) registers: Vec<Register>,
}

/// The elements of a matrix that each lane holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FragmentLayout {
    /// Layout of `wmma`, chosen by the interpreter.
    Own,
    /// Layouts of the first factor of `mma`, of the second one, and of the sums (PTX ISA 9.7.15.5,
    /// "Matrix Fragments for mma").
    A,
    B,
    Sum,
}

impl Fragment {
    /// Number of elements per lane.
    pub(crate) fn slots(&self) -> usize {
        self.registers.len() * self.element.per_register()
    }

    /// Row and column of a lane's element.
    pub(crate) fn position(&self, lane: usize, slot: usize) -> (usize, usize) {
        let (group, thread) = (lane / 4, lane % 4);
        let (register, part) = (slot / self.element.per_register(), slot % self.element.per_register());
        // Along the dimension that is summed over, four lanes hold the elements of their registers
        // one after the other.
        let along = |register: usize| (register * 4 + thread) * self.element.per_register() + part;
        match self.layout {
            FragmentLayout::Own => {
                let element = (lane * self.slots() + slot) % (self.rows * self.columns);
                (element / self.columns, element % self.columns)
            }
            FragmentLayout::A if self.rows == 8 => (group, along(register)),
            FragmentLayout::A => (register % 2 * 8 + group, along(register / 2)),
            FragmentLayout::B => (along(register), group),
            FragmentLayout::Sum => (register / 2 * 8 + group, thread * 2 + register % 2),
        }
    }
}

/// The type of a matrix's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FragmentElement {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    S8,
    U8,
    S32,
    E4m3,
    E5m2,
}

impl FragmentElement {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::S8 | Self::U8 | Self::E4m3 | Self::E5m2 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 | Self::F32 | Self::S32 => 4,
            Self::F64 => 8,
        }
    }

    /// Number of elements in a register.
    pub(crate) fn per_register(self) -> usize {
        (4 / self.bytes()).max(1)
    }
}
