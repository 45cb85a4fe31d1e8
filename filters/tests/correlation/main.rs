//! The correlations are right and agree with SciPy's.

mod edges;
mod is_right;
mod pictures;
mod scipy;
mod verify;
