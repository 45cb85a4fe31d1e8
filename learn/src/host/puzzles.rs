//! The puzzles: their kernels, right and wrong, with the cases that check them.

use super::cases::{self, for_each_puzzle, kernel};
pub use super::cases::{Argument, Case, Contents, Kernel};
use crate::{bugs, puzzles};

/// A puzzle's kernel with one mistake.
#[derive(Clone, Copy, Debug)]
pub struct Bug {
    /// The wrong kernel.
    pub kernel: Kernel,
    /// Class of the error: "out of bounds", "race", "uninitialized read", "barrier divergence", "missing lanes", or
    /// "wrong result" for a mistake that only the result shows: its mark is at the mistake.
    pub kind: &'static str,
}

/// A puzzle: a kernel to complete, its wrong versions, and their inputs.
#[derive(Clone, Copy, Debug)]
pub struct Puzzle {
    /// The kernel, which names the puzzle.
    pub kernel: Kernel,
    /// The kernel with mistakes.
    pub bugs: &'static [Bug],
    /// Sizes of the input: the one that the page shows, then those at the edges.
    pub sizes: &'static [usize],
    /// The input of a size, with its launch and the expected result.
    pub case: fn(usize) -> Case,
}

macro_rules! puzzles {
    ($($puzzle:ident $parameters:tt, $sizes:expr, [$($bug:ident: $kind:literal),*];)*) => {
        /// The twenty puzzles.
        pub const PUZZLES: [Puzzle; 20] = [$(
            Puzzle {
                kernel: kernel!(puzzles::$puzzle $parameters),
                bugs: &[$(Bug { kernel: kernel!(bugs::$bug $parameters), kind: $kind }),*],
                sizes: &$sizes,
                case: cases::$puzzle,
            }
        ),*];
    };
}

for_each_puzzle!(puzzles);
