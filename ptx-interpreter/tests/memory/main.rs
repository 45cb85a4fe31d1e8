//! Memory: its spaces, its allocations, and the races in it.

mod access_patterns;
mod addresses;
mod allocations;
mod happens_before;
mod races;
mod regions;
mod updates;
