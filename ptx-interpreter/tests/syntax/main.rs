//! PTX is read without loss, and mistakes in it are named.

mod bodies;
mod mistakes;
mod modules;
mod nothing_lost;
mod robust;
#[path = "../support/mod.rs"]
mod support;
