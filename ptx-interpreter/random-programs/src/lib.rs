//! Random straight-line PTX programs, and what they compute.
//!
//! A [`Program`] comes of a seed. Each of its threads reads random bits, with the values at which things change among
//! them, executes some hundred instructions, and stores every register that it has written. The result is known three
//! ways: from the interpreter, from [`Program::expected`], which shares no code with the interpreter, and from a GPU. All
//! agree to the bit.
//!
//! # What occurs
//!
//! Every form of [`ptx_interpreter::semantics::forms`] that the [`Target`] has, some of them guarded: programs are dealt
//! the forms like cards, so that [`Program::for_all_forms`] programs in a row have all of them. Among them stand chains
//! of carries, `setp` with boolean operations and a second predicate, `selp`, logic on predicates, packed and unpacked
//! registers, shuffles, votes, matches and reductions of whole warps, and special registers.
//!
//! # What does not occur
//!
//! What PTX or its documentation leaves open, so that a GPU may rightly differ:
//! - approximations (`.approx`, `.full`): only their error is bounded;
//! - division by zero and min ÷ −1: a divisor is made odd, and one of the operands has no sign bit;
//! - payloads and signs of NaN: a NaN becomes the canonical one before anything reads it. The exception is f32 arithmetic with
//!   an explicit rounding, whose NaN the ISA says is 0x7fffffff;
//! - the fusion of `mul` and `add` without a rounding modifier, which a compiler may do: the same step comes between them;
//! - the sign of a zero that `.sat` or `.relu` leaves: it is cleared;
//! - the bits of tf32 beyond its precision: they are cleared;
//! - a distance of a shuffle beyond 31, of which the interpreter complains and a GPU takes the low five bits;
//! - a start of `fns` beyond bit 31: it is reduced;
//! - carry flags of one instruction read by another family's: a chain adds or subtracts throughout, at one width.

mod evaluate;
mod generate;
mod program;
pub mod reference;
mod target;
mod text;

use ptx_interpreter::syntax::ScalarType;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use program::{Live, Register, Step, Width};
pub use target::Target;

/// The registers that each thread reads at first.
const INPUTS: [Width; 18] = {
    use Width::{Bits16 as H, Bits32 as W, Bits64 as D};
    [H, H, H, H, W, W, W, W, W, W, W, W, D, D, D, D, D, D]
};

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    seed: u64,
    target: Target,
    steps: Vec<Step>,
    live: Vec<Live>,
    /// The registers of each width, the scratch ones included.
    registers: [usize; 3],
    predicates: usize,
    /// The forms that it was dealt.
    forms: Vec<String>,
}

impl Program {
    /// The name of the entry. Its parameters are an address and a number of 32-bit words, for the input and the output.
    pub const KERNEL: &'static str = "random_program";

    /// The threads, in one block: two warps.
    pub const THREADS: u32 = 64;

    /// The program of this seed.
    pub fn new(seed: u64, target: Target) -> Self {
        generate::program(seed, target)
    }

    /// How many programs in a row, from a multiple of this number on, have every form of the target.
    pub fn for_all_forms(target: Target) -> u64 {
        generate::programs_in_a_round(target)
    }

    /// What it is made for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The forms of the interpreter's tables that it was dealt.
    pub fn forms(&self) -> &[String] {
        &self.forms
    }

    /// The module.
    pub fn ptx(&self) -> String {
        text::module(self)
    }

    /// The input's words: for each thread the registers that it reads, each in two words.
    pub fn input(&self) -> Vec<u32> {
        split(&self.input_words())
    }

    /// The output's words, where all are zero before: for each thread its live registers, each in two words.
    pub fn expected(&self) -> Vec<u32> {
        let input = self.input_words();
        let warps = input.chunks(32 * INPUTS.len());
        split(&warps.flat_map(|warp| evaluate::warp(self, warp)).collect::<Vec<u64>>())
    }

    /// The first instruction whose result differs from the expected one, with the thread and both values.
    pub fn difference(&self, output: &[u32]) -> Option<String> {
        let (found, expected) = (join(output), join(&self.expected()));
        if found.len() != expected.len() {
            return Some(format!("the output has {} words, not {}", found.len(), expected.len()));
        }
        let live = self.live.len();
        // The register that was written first is nearest to the cause.
        let order = (0..live).flat_map(|slot| (0..Self::THREADS as usize).map(move |thread| thread * live + slot));
        let at = order.into_iter().find(|at| found[*at] != expected[*at])?;
        let (thread, slot) = (at / live, at % live);
        let register = self.live[slot];
        let writer = self.steps.iter().rev().find(|step| generate::writes(&step.action, register));
        let writer = writer.map_or("a load".to_owned(), text::instruction);
        let (major, minor) = self.target.compute_capability();
        Some(format!(
            "program {} for sm_{major}{minor}, thread {thread}, {register:?}, last written by `{writer}`: {:#x}, expected {:#x}",
            self.seed, found[at], expected[at]
        ))
    }

    /// The registers that hold a thread's input.
    fn inputs(&self) -> impl Iterator<Item = Register> + use<> {
        let mut next = [Register::SCRATCH; 3];
        INPUTS.into_iter().map(move |width| {
            let number = &mut next[width as usize];
            *number += 1;
            Register { width, number: *number - 1 }
        })
    }

    fn input_words(&self) -> Vec<u64> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed ^ 0x1b_5e7d);
        let types = Width::ALL.map(types_of);
        let edges = types.map(|types| types.iter().map(|one| reference::edges(*one)).collect::<Vec<_>>());
        let mut value = |width: Width| {
            let kind = random.random_range(0..types[width as usize].len());
            match random.random_ratio(1, 3) {
                true => *edges[width as usize][kind].choose(&mut random).expect("every type has edges"),
                false => reference::random(types[width as usize][kind], &mut random),
            }
        };
        (0..Self::THREADS).flat_map(|_| INPUTS).map(|width| value(width) & width.mask()).collect()
    }
}

/// What a register of this width may be meant to hold.
fn types_of(width: Width) -> &'static [ScalarType] {
    match width {
        Width::Bits16 => &[ScalarType::U16, ScalarType::F16, ScalarType::Bf16],
        Width::Bits32 => &[ScalarType::U32, ScalarType::F32, ScalarType::F32, ScalarType::F16x2, ScalarType::Bf16x2],
        Width::Bits64 => &[ScalarType::U64, ScalarType::F64],
    }
}

fn split(words: &[u64]) -> Vec<u32> {
    words.iter().flat_map(|word| [*word as u32, (word >> 32) as u32]).collect()
}

fn join(words: &[u32]) -> Vec<u64> {
    words.chunks(2).map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32).collect()
}
