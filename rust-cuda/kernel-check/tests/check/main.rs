//! The program on small kernels: its output, its files and its exit codes.

mod bad_input;
mod documents;
mod faults;
mod suite;
mod support;
