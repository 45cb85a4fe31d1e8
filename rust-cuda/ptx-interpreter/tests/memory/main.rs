//! Memory: spaces, allocations and races.

mod access_patterns;
mod addresses;
mod allocations;
mod happens_before;
mod races;
mod regions;
mod silent_stores;
mod updates;
mod warp_accesses;
