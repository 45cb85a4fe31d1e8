//! For tests that need a GPU.

/// Whether a test that needs a GPU can run: `if !gpu::require_gpu() { return; }`.
///
/// Where there is none, it prints that the test is skipped, and why.
///
/// # Panics
/// If there is none and the environment has `GPU_TESTS=require`.
#[must_use]
#[track_caller]
pub fn require_gpu() -> bool {
    let Err(reason) = cuda_driver::availability() else { return true };
    // The test harness names a test's thread after the test.
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    assert!(
        std::env::var_os("GPU_TESTS").is_none_or(|value| value != "require"),
        "{test} needs a GPU, which GPU_TESTS=require asks for: {reason}"
    );
    println!("{test} is skipped: {reason}");
    false
}
