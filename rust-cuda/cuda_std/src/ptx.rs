//! Compiled kernels as data.

use std::fmt;

/// All kernels of a crate as PTX for one architecture.
///
/// A crate has it for several, oldest first; a GPU runs the last one that is not newer than itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PtxVariant {
    compute_capability: (u32, u32),
    text: &'static str,
}

impl PtxVariant {
    /// PTX that the GPUs of `compute_capability`, major and minor, and all later ones run.
    ///
    /// # Safety
    /// `text` is what the compiler made of the kernels that are launched with it, or code that is as safe to run: its
    /// entries access no memory but their launch's buffers, within their lengths, and what they declare themselves. A launch
    /// compares an entry's [signature](crate::signature) with the kernel's, which finds a text that is out of date but not one that
    /// does harm.
    #[allow(unsafe_code)]
    pub const unsafe fn new(compute_capability: (u32, u32), text: &'static str) -> Self {
        Self { compute_capability, text }
    }

    /// The lowest compute capability that runs it, such as (7, 5) for sm_75.
    pub const fn compute_capability(&self) -> (u32, u32) {
        self.compute_capability
    }

    /// The PTX.
    pub const fn text(&self) -> &'static str {
        self.text
    }

    /// The one for the newest architecture; None of none.
    pub fn newest(variants: &'static [Self]) -> Option<&'static Self> {
        variants.iter().max_by_key(|variant| variant.compute_capability)
    }
}

impl fmt::Debug for PtxVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.compute_capability;
        write!(f, "PtxVariant(sm_{major}{minor}, {} bytes)", self.text.len())
    }
}
