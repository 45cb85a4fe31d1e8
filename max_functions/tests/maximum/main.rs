//! max_cpu and max_rayon are correct on any number of threads, and `verify` finds wrong results.

mod is_right;
mod threads;
mod verify;
