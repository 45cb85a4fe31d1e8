//! The build script of every kernel crate.

use std::env;
use std::path::{Path, PathBuf};

use cuda_builder::{Arch, CudaBuilder};

/// Puts the PTX of the crate `name` for each architecture into `OUT_DIR`, from which the crate includes it: the
/// committed file if it is up to date, else a newly built one.
pub(crate) fn provide(name: &str, archs: &[Arch], builder: fn(&Path, Arch) -> CudaBuilder) {
    if cuda_builder::compiling_kernels() {
        return;
    }
    let kernels = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    for &arch in archs {
        let builder = builder(&kernels, arch).copy_to(out.join(format!("{name}.{arch}.ptx")));
        if let Err(error) = builder.build() {
            error.fail_build();
        }
    }
}
