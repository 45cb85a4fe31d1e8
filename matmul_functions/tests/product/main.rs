//! matmul_transpose_rayon is correct, bit-identical on any number of threads, and `verify` finds wrong results.

mod is_right;
mod nan_and_infinity;
mod reference;
mod same_bits;
