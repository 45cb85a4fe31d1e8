//! Steps through a kernel's launch in the PTX interpreter, by lines of its Rust source.
//!
//! A [`LaunchFile`](kernel_launch::LaunchFile) describes the launch. A [`Session`] runs it and
//! stops at breakpoints, after steps and at faults. At each stop a [`Front`] inspects lanes,
//! registers and memory, and chooses how to continue. The interpreter executes a launch in the same
//! order each time. A step back therefore re-executes it, from the nearest snapshot up to an
//! earlier instruction.

mod accesses;
mod breakpoints;
mod condition;
#[cfg(feature = "fronts")]
pub mod dap;
mod expression;
mod front;
mod goal;
mod lines;
mod names;
mod part;
mod presentation;
mod query;
pub mod record;
mod register_kind;
mod replay;
mod run;
mod session;
#[cfg(feature = "fronts")]
mod sources;
mod stopped;
#[cfg(feature = "fronts")]
pub mod terminal;
mod timeline;
mod values;
mod variables;
mod writers;

pub use accesses::LastAccesses;
pub use breakpoints::{Breakpoint, BreakpointError, Breakpoints};
pub use condition::{Condition, ConditionError};
pub use front::{End, Front, Resume};
pub use lines::{LineError, Lines};
pub use query::{Query, QueryError};
pub use session::Session;
#[cfg(feature = "fronts")]
pub use sources::{NoSourceRoot, parse_source_root};
pub use stopped::{Stop, StopReason, Stopped};
pub use timeline::SnapshotPolicy;
pub use values::{Matrix, Register, Value};
pub use variables::{CallFrame, Named};
pub use writers::Writer;
