//! A straight-line program as data, from which both its PTX and its expected results are produced.

use ptx_interpreter::syntax::ScalarType;

use crate::target::Target;

/// Widths of the registers that each thread loads first.
pub(crate) const INPUTS: [Width; 18] = {
    use Width::{Bits16 as H, Bits32 as W, Bits64 as D};
    [H, H, H, H, W, W, W, W, W, W, W, W, D, D, D, D, D, D]
};

/// A random program for one block of [`THREADS`](Self::THREADS) threads.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) seed: u64,
    pub(crate) target: Target,
    pub(crate) steps: Vec<Step>,
    pub(crate) live: Vec<Live>,
    /// Number of registers of each width, including scratch registers.
    pub(crate) registers: [usize; 3],
    pub(crate) predicates: usize,
    /// The forms distributed to this program.
    pub(crate) forms: Vec<String>,
}

impl Program {
    /// Name of the entry. Its parameters are the address and length, in 32-bit words, of the input
    /// and of the output.
    pub const KERNEL: &'static str = "random_program";

    /// Number of threads, in one block: two warps.
    pub const THREADS: u32 = 64;

    /// The architecture of the program.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The forms of the interpreter's tables in this program.
    pub fn forms(&self) -> &[String] {
        &self.forms
    }

    /// The registers that hold a thread's input.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Register> + use<> {
        let mut next = [Register::SCRATCH; 3];
        INPUTS.into_iter().map(move |width| {
            let number = &mut next[width as usize];
            *number += 1;
            Register { width, number: *number - 1 }
        })
    }
}

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

/// A register. The first [`SCRATCH`](Self::SCRATCH) registers of each width hold intermediate
/// values that are not stored.
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

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Register(Register),
    /// The bits of an immediate.
    Immediate(u64),
}

/// A boolean operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

/// An instruction with its guard predicate and the guard's negation.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) guard: Option<(Predicate, bool)>,
    pub(crate) action: Action,
}

/// An instruction without its guard.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// A form of the semantics' tables with a value as its result.
    Value {
        form: String,
        destination: Register,
        to: ScalarType,
        sources: Vec<Source>,
        from: &'static [ScalarType],
    },
    /// A form other than `setp` with a predicate as its result.
    Test {
        form: String,
        destination: Predicate,
        source: Register,
    },
    /// `setp` with its predicate, optionally a second one for the complement, and optionally a
    /// third one to combine with.
    Compare {
        form: String,
        destinations: (Predicate, Option<Predicate>),
        sources: [Source; 2],
        scalar_type: ScalarType,
        combine: Option<(Logic, Predicate, bool)>,
    },
    /// An instruction that reads or writes the carry flag.
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
    /// Predicate logic; `None` is `not.pred` of the first source.
    Logic {
        logic: Option<Logic>,
        destination: Predicate,
        sources: [Predicate; 2],
    },
    Move {
        destination: Register,
        source: Source,
    },
    /// Packs registers of the same width into one, the first in the lowest bits.
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
    /// `vote.sync.all`, `.any` and `.uni`
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

/// A register or predicate that is stored at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Live {
    Register(Register),
    Predicate(Predicate),
}
