//! Random straight-line PTX programs, and their results.
//!
//! A seed determines a [`Program`]. Each thread reads random bits, including boundary values,
//! executes a few hundred instructions, and stores every register that it has written. Results come
//! from three sources: the interpreter, [`Program::expected`], which shares no code with the
//! interpreter, and a GPU. All three agree to the bit.
//!
//! # Coverage
//!
//! The programs use every form of [`ptx_interpreter::semantics::forms`] that the [`Target`]
//! supports, except the conversions below. Some are guarded. The forms are shuffled and
//! distributed, so [`Program::for_all_forms`] consecutive programs cover all of them. In between
//! are carry chains, `setp` with boolean operations and a second predicate, `selp`, predicate
//! logic, packed and unpacked registers, shuffles, votes, matches and reductions of whole warps,
//! and special registers.
//!
//! # Exclusions
//!
//! Programs avoid results that PTX or its documentation leaves unspecified, because a GPU may
//! differ there:
//! - approximations (`.approx`, `.full`): only their error is bounded;
//! - division by zero and min ÷ −1: a divisor is made odd, and one of the operands has a clear sign
//!   bit;
//! - payloads and signs of NaN: a NaN is made canonical before any other instruction reads it. The
//!   exception is f32 arithmetic with an explicit rounding: the ISA defines its NaN as 0x7fffffff;
//! - the fusion of `mul` and `add` without a rounding modifier, which a compiler may do: the
//!   instructions that make NaN canonical separate the two;
//! - the sign of a zero after `.sat` or `.relu`: it is cleared;
//! - the bits of tf32 beyond its precision: they are cleared;
//! - a shuffle distance above 31: the interpreter rejects it, and a GPU uses its low five bits;
//! - a start of `fns` beyond bit 31: it is reduced;
//! - a field's position or length above 255: it is reduced. PTX ISA 9.7.1 restricts both to a byte,
//!   and on a GPU `bfi.b64` uses more bits;
//! - carry flags written by one family of instructions and read by another: a chain only adds or
//!   only subtracts, at one width.
//!
//! Programs also avoid forms that ptxas 12.9 and 13.5 and driver 580 translate differently from the
//! PTX ISA. No known compiler emits them:
//! - a guarded `set` with different types for result and comparison (`@%p set.lt.f32.s32`): the
//!   comparison is guarded but the conversion of its result is not, so a lane that skips the
//!   instruction still converts its register;
//! - a guarded `testp`: it is executed without its guard;
//! - `cvt.rm.ftz.f16.f32` and `cvt.rp.ftz.f16.f32`: subnormal numbers are not flushed.

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

pub use program::Program;
use program::{INPUTS, Width};
pub use target::Target;

impl Program {
    /// Generates the program for a seed.
    pub fn new(seed: u64, target: Target) -> Self {
        generate::program(seed, target)
    }

    /// Number of consecutive programs, starting at a multiple of this number, that cover every form
    /// of the target.
    pub fn for_all_forms(target: Target) -> u64 {
        generate::programs_per_round(target)
    }

    /// The program as a PTX module.
    pub fn ptx(&self) -> String {
        text::module(self)
    }

    /// The input words: for each thread, the registers that it loads, two words each.
    pub fn input(&self) -> Vec<u32> {
        split(&self.input_words())
    }

    /// The output words, if they are zero before the launch: for each thread, its live registers,
    /// two words each.
    pub fn expected(&self) -> Vec<u32> {
        let input = self.input_words();
        let warps = input.chunks(32 * INPUTS.len());
        split(&warps.flat_map(|warp| evaluate::warp(self, warp)).collect::<Vec<u64>>())
    }

    /// The first instruction with an unexpected result, the thread, and both values.
    pub fn difference(&self, output: &[u32]) -> Option<String> {
        let (found, expected) = (join(output), join(&self.expected()));
        if found.len() != expected.len() {
            return Some(format!("the output has {} words, not {}", found.len(), expected.len()));
        }
        let live = self.live.len();
        // The register written first is closest to the cause.
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

/// Whether a register of the type holds two values.
pub(crate) fn is_packed(scalar_type: ScalarType) -> bool {
    matches!(scalar_type, ScalarType::F16x2 | ScalarType::Bf16x2)
}

/// Types for the random values in a register of this width.
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
