//! The program on small kernels: what it prints and writes, and its exit codes.

mod bad_input;
mod documents;
mod faults;
mod suite;
mod support;
