//! Compiled kernels as data.

/// All kernels of a crate as PTX for one architecture.
///
/// A crate has it for several, oldest first; a GPU runs the last one that is not newer than itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ptx {
    /// The compute capability that it needs at least, major and minor.
    pub compute_capability: (u32, u32),
    /// The PTX.
    pub text: &'static str,
}
