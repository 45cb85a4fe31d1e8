//! The properties of a launch.

use super::Options;
use crate::LaunchConfig;

/// The properties of a launch that all blocks share.
#[derive(Clone)]
pub(super) struct Launch {
    pub(super) kernel: &'static str,
    /// The file and line of the kernel.
    pub(super) place: (&'static str, u32),
    pub(super) config: LaunchConfig,
    pub(super) options: Options,
    /// Whether lines that kernels print are shown: not again in the other orders of a search.
    pub(super) prints: bool,
}
