//! Printing from a kernel.

/// Prints a line from a kernel in the simulator; does nothing on a GPU.
///
/// A GPU prints through CUDA's `vprintf`, which takes C's formats and not Rust's. The macro is therefore for debugging
/// in the simulator; in compiled kernels it costs nothing.
#[macro_export]
macro_rules! println {
    ($($argument:tt)*) => {{
        #[cfg(not(target_arch = "nvptx64"))]
        $crate::host_std::println!($($argument)*);
        #[cfg(target_arch = "nvptx64")]
        if false {
            let _ = ::core::format_args!($($argument)*);
        }
    }};
}
