//! Hand-written kernels run as specified by the PTX ISA.

mod atomics;
mod barriers;
mod bounds;
mod clusters;
mod control;
mod copies;
mod counts;
mod definedness;
mod driver_calls;
mod gpu_rules;
mod grid;
mod half;
mod heap;
mod lines;
mod matrix;
mod mbarriers;
mod memory;
mod modules;
mod moves;
mod observer;
mod padding;
mod races;
mod recursion;
mod rejects;
mod schedules;
mod scopes;
mod several_faults;
mod snapshots;
#[path = "../support/mod.rs"]
mod support;
mod tensors;
mod warps;
mod wgmma;
mod wmma;
