//! The target architectures of programs, and their instructions.

use crate::reference::Form;

/// The target architecture of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// Turing, without newer features such as bf16, tf32 and `.relu`.
    Sm75,
    /// Hopper.
    Sm90,
}

impl Target {
    /// All targets.
    pub const ALL: [Self; 2] = [Self::Sm75, Self::Sm90];

    /// Its compute capability.
    pub fn compute_capability(self) -> (u32, u32) {
        match self {
            Self::Sm75 => (7, 5),
            Self::Sm90 => (9, 0),
        }
    }

    /// The lowest PTX version with all of the target's instructions.
    pub(crate) fn version(self) -> &'static str {
        match self {
            // bmsk and szext need 7.6.
            Self::Sm75 => "7.6",
            // .satfinite for all types needs 8.1.
            Self::Sm90 => "8.1",
        }
    }

    pub(crate) fn has(self, form: &Form<'_>) -> bool {
        minimum(form) <= self.compute_capability()
    }
}

/// The lowest compute capability for which `ptxas` accepts a form.
fn minimum(form: &Form<'_>) -> (u32, u32) {
    let has = |name: &str| form.has(name);
    let pairs_of_integers = has("u16x2") || has("s16x2");
    let extreme = matches!(form.opcode, "min" | "max");
    match () {
        () if has("satfinite") && has("tf32") && !has("rna") => (10, 0),
        () if ["e4m3x2", "e5m2x2"].iter().any(|name| has(name)) => (8, 9),
        () if pairs_of_integers || extreme && has("relu") => (9, 0),
        () if has("xorsign") => (8, 6),
        () if ["bf16", "bf16x2", "tf32", "NaN", "relu", "satfinite"].iter().any(|name| has(name)) => (8, 0),
        () if extreme && (has("f16") || has("f16x2")) => (8, 0),
        () if form.opcode == "cvt" && has("f16x2") => (8, 0),
        () => (7, 5),
    }
}
