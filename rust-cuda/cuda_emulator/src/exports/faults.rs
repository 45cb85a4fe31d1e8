//! Functions for tests on the emulator. They do not exist in CUDA.

use std::ffi::{c_char, c_int};

use crate::abi::Out;
use crate::driver::driver;
use crate::driver::pending::{self, Until};
use crate::journal;

/// Runs pending work, then writes the errors of the launches since the last call to `text`, which
/// has room for `bytes` bytes, as lines. `count` receives the number of those launches, at most
/// 100. Before `cuInit` there are none.
// SAFETY: no CUDA function has this name, and callers pass pointers that are null or valid.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaEmulatorTakeFaults(count: Out<c_int>, text: Out<c_char>, bytes: c_int) -> c_int {
    super::returned("cudaEmulatorTakeFaults", || {
        let _is_initialised = pending::wait(Until::Everything);
        let failed = driver().map(|driver| driver.journal.take_failed()).unwrap_or_default();
        count.set(failed.len() as c_int)?;
        text.set_text(bytes, &journal::lines(&failed))
    })
}
