//! max_cpu and max_rayon are right, on any number of threads; and the check finds what is not.

mod is_right;
mod threads;
mod verify;
