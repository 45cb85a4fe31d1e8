//! matmul_transpose_rayon is right, with the same bits on any number of threads; and the check finds what is not.

mod is_right;
mod nan_and_infinity;
mod reference;
mod same_bits;
