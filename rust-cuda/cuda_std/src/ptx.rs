//! Compiled kernels as data.

use std::fmt;

/// All kernels of a crate as PTX for one architecture.
///
/// A crate has variants for several architectures, oldest first; a GPU runs the last one that is not newer than itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PtxVariant {
    compute_capability: (u32, u32),
    text: &'static str,
    debug_file: Option<&'static str>,
}

impl PtxVariant {
    /// PTX that the GPUs of `compute_capability`, major and minor, and all later ones run.
    ///
    /// # Safety
    /// `text` is the compiler's output for the kernels that are launched with it, or code that is as safe to run: its
    /// entries access only the buffers of their launch, within their lengths, and the memory that `text` declares. A
    /// launch compares an entry's [signature](crate::signature) with the kernel's. This detects a text that is out of
    /// date, not one that violates this contract.
    #[allow(unsafe_code)]
    pub const unsafe fn new(compute_capability: (u32, u32), text: &'static str) -> Self {
        Self { compute_capability, text, debug_file: None }
    }

    /// The same PTX, with the path of the file that `cuda_builder` wrote for debuggers of its kernels.
    pub const fn with_debug_file(self, path: &'static str) -> Self {
        Self { debug_file: Some(path), ..self }
    }

    /// The lowest compute capability that runs this PTX, such as (7, 5) for sm_75.
    pub const fn compute_capability(&self) -> (u32, u32) {
        self.compute_capability
    }

    /// The PTX source.
    pub const fn text(&self) -> &'static str {
        self.text
    }

    /// The file with the names of the kernels' functions and variables, on the machine that compiled the program. It may
    /// be missing there, or belong to other PTX: it has digests of the functions that it describes.
    pub const fn debug_file(&self) -> Option<&'static str> {
        self.debug_file
    }

    /// Why there is no PTX of the current kernels, in words; None if there is. The build script found that the committed
    /// PTX is stale, and no toolchain to build it.
    pub fn staleness(&self) -> Option<&'static str> {
        self.text.strip_prefix("// stale: ").map(str::trim_end)
    }

    /// The variant for the newest architecture; None if `variants` is empty.
    pub fn newest(variants: &'static [Self]) -> Option<&'static Self> {
        variants.iter().max_by_key(|variant| variant.compute_capability)
    }
}

/// Includes the PTX that the crate's build script provided: `cuda_std::compiled_kernels!("name")` is an array of
/// [`PtxVariant`]s, oldest architecture first. `"name"` is the name that the build script passed to
/// `cuda_builder::provide`, or `"name.group"` for a group of the kernels; the architectures are those of its builders.
#[macro_export]
macro_rules! compiled_kernels {
    ($name:literal) => {{
        // SAFETY: the build script compiled the texts from the kernels of the crate that is being built, whose accesses
        // are checked against the lengths of their buffers.
        #[allow(unsafe_code)]
        let variants = unsafe { include!(concat!(env!("OUT_DIR"), "/", $name, ".rs")) };
        variants
    }};
}

impl fmt::Debug for PtxVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.compute_capability;
        write!(f, "PtxVariant(sm_{major}{minor}, {} bytes)", self.text.len())
    }
}
