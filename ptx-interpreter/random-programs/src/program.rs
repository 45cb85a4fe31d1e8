//! A straight-line program as data: what is written as PTX, and what is evaluated.

use ptx_interpreter::syntax::ScalarType;

/// The width of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Width {
    Bits16,
    Bits32,
    Bits64,
}

impl Width {
    pub(crate) const ALL: [Self; 3] = [Self::Bits16, Self::Bits32, Self::Bits64];

    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::Bits16 => 16,
            Self::Bits32 => 32,
            Self::Bits64 => 64,
        }
    }

    pub(crate) fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The narrowest register that holds the type.
    pub(crate) fn of(scalar_type: ScalarType) -> Self {
        match scalar_type.bytes() {
            1 | 2 => Self::Bits16,
            4 => Self::Bits32,
            _ => Self::Bits64,
        }
    }
}

/// A register. The first [`SCRATCH`](Self::SCRATCH) of each width hold intermediate values that PTX leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Register {
    pub(crate) width: Width,
    pub(crate) number: usize,
}

impl Register {
    pub(crate) const SCRATCH: usize = 3;

    pub(crate) fn scratch(width: Width, number: usize) -> Self {
        Self { width, number }
    }
}

/// The number of a predicate register.
pub(crate) type Predicate = usize;

/// What an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Register(Register),
    /// A number, by its bits.
    Immediate(u64),
}

/// A boolean operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

/// An instruction, and the predicate on which it depends, with whether it is negated.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) guard: Option<(Predicate, bool)>,
    pub(crate) action: Action,
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// A form of the semantics' tables that gives a value.
    Value {
        form: String,
        destination: Register,
        to: ScalarType,
        sources: Vec<Source>,
        from: &'static [ScalarType],
    },
    /// A form that gives a predicate, other than `setp`.
    Test {
        form: String,
        destination: Predicate,
        source: Register,
    },
    /// `setp`: the predicate, and perhaps a second one with the complement; perhaps combined with a third.
    Compare {
        form: String,
        destinations: (Predicate, Option<Predicate>),
        sources: [Source; 2],
        scalar_type: ScalarType,
        combine: Option<(Logic, Predicate, bool)>,
    },
    /// An instruction with the carry flag.
    Carry {
        form: String,
        destination: Register,
        sources: Vec<Register>,
    },
    /// `selp`
    Select {
        destination: Register,
        sources: [Source; 2],
        predicate: Predicate,
    },
    /// Logic on predicates; None is `not.pred` of the first.
    Logic {
        logic: Option<Logic>,
        destination: Predicate,
        sources: [Predicate; 2],
    },
    Move {
        destination: Register,
        source: Source,
    },
    /// Several registers of the same width to one, the first lowest.
    Pack {
        destination: Register,
        parts: Vec<Register>,
    },
    Unpack {
        destinations: Vec<Register>,
        source: Register,
    },
    /// `shfl.sync`
    Shuffle {
        mode: &'static str,
        destination: Register,
        in_range: Predicate,
        source: Register,
        lane: Source,
        clamp: u32,
    },
    /// `vote.sync.all` and the like.
    Vote {
        mode: &'static str,
        destination: Predicate,
        source: Predicate,
        negated: bool,
    },
    /// `vote.sync.ballot`
    Ballot {
        destination: Register,
        source: Predicate,
        negated: bool,
    },
    /// `match.any.sync`, or `match.all.sync` if there is a predicate.
    Match {
        destination: Register,
        all: Option<Predicate>,
        source: Register,
    },
    /// `redux.sync`
    Reduce {
        operation: &'static str,
        destination: Register,
        source: Register,
    },
    /// A special register that differs from lane to lane.
    Special {
        name: &'static str,
        destination: Register,
    },
}

/// What is stored at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Live {
    Register(Register),
    Predicate(Predicate),
}
