//! Writes the files that `cuda_std::compiled_kernels!` includes.

use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::files::{read_text, replace_file};
use crate::groups::with_kernels;
use crate::outcome::debug_file;
use crate::{Arch, BuilderError, CudaBuilder, compiling_kernels};

/// If it is `off`, programs do not contain the paths of the files with debug names, which are in the
/// build folder: for programs that run on other machines.
const DEBUG_PATHS_VARIABLE: &str = "CUDA_BUILDER_DEBUG_PATHS";

/// A group of kernels: its name, and the prefixes of its kernels' names.
pub type Group<'a> = (&'a str, &'a [&'a str]);

/// Provides PTX to the crate that calls this in its build script.
/// `cuda_std::compiled_kernels!("NAME")` in its library then expands to an array of the PTX
/// variants from `builders`, one per architecture.
///
/// A failure fails the build. Does nothing while the kernels themselves are compiled.
pub fn provide(name: &str, builders: impl IntoIterator<Item = CudaBuilder>) {
    provide_groups(name, builders, &[]);
}

/// Like [`provide`], and `cuda_std::compiled_kernels!("NAME.GROUP")` contains the PTX of a subset
/// of the kernels, for programs that launch no others.
pub fn provide_groups(name: &str, builders: impl IntoIterator<Item = CudaBuilder>, groups: &[Group<'_>]) {
    if compiling_kernels() {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    if let Err(error) = provide_in(&out, name, builders, groups) {
        error.fail_build();
    }
}

fn provide_in(
    out: &Path,
    name: &str,
    builders: impl IntoIterator<Item = CudaBuilder>,
    groups: &[Group<'_>],
) -> Result<(), BuilderError> {
    let mut archs = Vec::new();
    for builder in builders {
        let arch = builder.target_arch();
        let path = out.join(format!("{name}.{arch}.ptx"));
        builder.copy_to(&path).build()?;
        if !groups.is_empty() {
            let text = read_text(&path)?;
            for (group, starts) in groups {
                let is_in_group = |kernel: &str| starts.iter().any(|start| kernel.starts_with(start));
                replace_file(&out.join(format!("{name}.{group}.{arch}.ptx")), &with_kernels(&text, is_in_group))?;
            }
        }
        archs.push(arch);
    }
    archs.sort();
    println!("cargo::rerun-if-env-changed={DEBUG_PATHS_VARIABLE}");
    let has_debug_paths = env::var_os(DEBUG_PATHS_VARIABLE).is_none_or(|value| value != "off");
    let whole = [name.to_owned()].into_iter();
    for included in whole.chain(groups.iter().map(|(group, _)| format!("{name}.{group}"))) {
        replace_file(&out.join(format!("{included}.rs")), &variants(&included, name, &archs, has_debug_paths))?;
    }
    Ok(())
}

/// The Rust array of variants, in a file beside the variants. The debug names are those for all
/// kernels.
fn variants(included: &str, name: &str, archs: &[Arch], has_debug_paths: bool) -> String {
    let mut text = String::from("[\n");
    for arch in archs {
        let (major, minor) = arch.compute_capability();
        let _ = write!(
            text,
            "    ::cuda_std::PtxVariant::new(({major}, {minor}), include_str!(\"{included}.{arch}.ptx\"))"
        );
        if has_debug_paths {
            let debug = debug_file(Path::new(&format!("{name}.{arch}.ptx")));
            let _ = write!(text, "\n        .with_debug_file(concat!(env!(\"OUT_DIR\"), \"/{}\"))", debug.display());
        }
        text += ",\n";
    }
    text + "]\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_an_array_of_the_architectures() {
        let expected = "\
[
    ::cuda_std::PtxVariant::new((7, 5), include_str!(\"kernels.sums.sm_75.ptx\"))
        .with_debug_file(concat!(env!(\"OUT_DIR\"), \"/kernels.sm_75.debug\")),
]
";
        assert_eq!(variants("kernels.sums", "kernels", &[Arch::Sm75], true), expected);
        let without = "[\n    ::cuda_std::PtxVariant::new((7, 5), include_str!(\"kernels.sums.sm_75.ptx\")),\n]\n";
        assert_eq!(variants("kernels.sums", "kernels", &[Arch::Sm75], false), without);
    }
}
