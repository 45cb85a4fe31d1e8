//! The shape of a launch, CUDA's limits on it, the schedules of its threads, and the kinds of
//! memory access that errors name. These types are shared by all devices and depend on none. Host
//! code uses them through `cuda_std`.

// The check is here because every program compiles this crate first.
#[cfg(all(windows, target_arch = "aarch64"))]
compile_error!(
    "the simulator does not run as a Windows program for ARM: take the x86-64 toolchain, whose programs Windows 11 runs too: \
     rustup set default-host x86_64-pc-windows-msvc"
);

mod access;
mod counts;
#[cfg(all(windows, target_env = "gnu"))]
mod fused;
mod launch_config;
mod mbarrier;
pub mod message;
mod overflow;
mod schedule;
mod split_mix;
pub mod trap;
pub mod words;

pub use access::Access;
pub use counts::{counted, having, waiting};
pub use launch_config::{Dim3, LaunchConfig, LimitError};
pub use mbarrier::{Mbarrier, MbarrierError};
pub use overflow::Overflow;
pub use schedule::{Schedule, ScheduleError, Search, StartOrder, Switches};
pub use split_mix::SplitMix;
