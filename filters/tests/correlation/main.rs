//! The correlations are right, and the same as SciPy's.

mod edges;
mod is_right;
mod pictures;
mod scipy;
mod verify;
