//! A kernel that has been decoded.

use std::sync::Arc;

use super::instruction::{DecodedInstruction, Description};
use super::ranges::Ranges;
use super::registers::{Initial, NamedRegister};

/// A decoded kernel.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: Arc<str>,
    /// The parameters, in the `.param` space.
    pub(crate) parameters: Ranges,
    pub(crate) instructions: Vec<DecodedInstruction>,
    /// Line, text, source location and class of each instruction.
    pub(crate) descriptions: Vec<Description>,
    /// Each register's initial value.
    pub(crate) registers: Vec<Initial>,
    pub(crate) predicates: usize,
    /// The registers and predicates with a name, in the order of their declaration.
    pub(crate) register_names: Vec<NamedRegister>,
    /// Static shared memory.
    pub(crate) shared: Ranges,
    /// Local memory of one thread.
    pub(crate) local: Ranges,
    pub(crate) max_threads: Option<[u32; 3]>,
    pub(crate) required_threads: Option<[u32; 3]>,
    pub(crate) required_cluster: Option<[u32; 3]>,
}
