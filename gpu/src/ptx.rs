//! Compiled kernels, and which of them a device takes.

/// Kernels compiled for the GPUs of one compute capability and those above it.
///
/// The text is trusted like the program's own code: it is what the compiler made of the kernels that are launched with
/// it. A launch compares the number of parameters, which finds a text that is out of date in the most common way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PtxVariant {
    /// The lowest compute capability that runs it, such as (7, 5) for sm_75.
    pub compute_capability: (u32, u32),
    /// The PTX.
    pub text: &'static str,
}

/// The PTX of the workspace's own kernels, for [`Device::open`](crate::Device::open).
pub static KERNELS: &[PtxVariant] = &[variant(&kernels_gpu::PTX[0]), variant(&kernels_gpu::PTX[1])];

const fn variant(ptx: &kernels_gpu::Ptx) -> PtxVariant {
    PtxVariant { compute_capability: ptx.compute_capability, text: ptx.text }
}

impl PtxVariant {
    /// The one for the newest architecture; None of none.
    pub fn newest(variants: &'static [Self]) -> Option<&'static Self> {
        variants.iter().max_by_key(|variant| variant.compute_capability)
    }
}

impl std::fmt::Debug for PtxVariant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (major, minor) = self.compute_capability;
        write!(f, "PtxVariant(sm_{major}{minor}, {} bytes)", self.text.len())
    }
}

/// The variant that suits a device of this compute capability best: the highest that is not above it.
pub(crate) fn choose(variants: &'static [PtxVariant], device: (u32, u32)) -> Option<&'static PtxVariant> {
    variants.iter().filter(|variant| variant.compute_capability <= device).max_by_key(|v| v.compute_capability)
}

/// The number of parameters of the entry `kernel` in `text`, if it has that entry.
pub(crate) fn parameter_count(text: &str, kernel: &str) -> Option<usize> {
    let is_entry = |rest: &&str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || "_$".contains(next));
    let mut entries = text.split(".entry").skip(1).map(str::trim_start);
    let rest = entries.find_map(|entry| entry.strip_prefix(kernel).filter(is_entry))?;
    let parameters = rest.trim_start().strip_prefix('(').and_then(|list| list.split(')').next());
    Some(parameters.map_or(0, |list| list.matches(".param").count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn variant(major: u32, minor: u32) -> PtxVariant {
        PtxVariant { compute_capability: (major, minor), text: "" }
    }

    static VARIANTS: &[PtxVariant] = &[variant(9, 0), variant(7, 5), variant(8, 6), variant(10, 0)];

    #[test]
    fn the_highest_that_is_not_above_the_device_is_chosen() {
        let chosen = |device| choose(VARIANTS, device).map(|variant| variant.compute_capability);
        assert_eq!(chosen((7, 0)), None);
        assert_eq!(chosen((7, 5)), Some((7, 5)));
        assert_eq!(chosen((8, 0)), Some((7, 5)));
        assert_eq!(chosen((8, 9)), Some((8, 6)));
        assert_eq!(chosen((9, 0)), Some((9, 0)));
        assert_eq!(chosen((12, 1)), Some((10, 0)));
        assert_eq!(choose(&[], (12, 1)), None);
    }

    #[test]
    fn parameters_are_counted() {
        let text = ".visible .entry scale_all()\n{ ret; }\n.visible .entry scale(\n\t.param .u64 .ptr .align 1 scale_param_0,\n\
                    \t.param .u64 scale_param_1,\n\t.param .f32 scale_param_2\n)\n{ ld.param.u64 %rd1, [scale_param_0]; }";
        assert_eq!(parameter_count(text, "scale"), Some(3));
        assert_eq!(parameter_count(text, "scale_all"), Some(0));
        assert_eq!(parameter_count(text, "scal"), None);
    }
}
