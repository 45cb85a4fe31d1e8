//! Steps through a kernel's launch in the PTX interpreter, by lines of its Rust source.
//!
//! A [`LaunchFile`] describes the launch. A [`Session`] runs it and stops at breakpoints, after steps and at faults;
//! there a [`Front`] looks at lanes, registers and memory and says how to go on. The interpreter executes a launch in
//! the same order each time, so a step back runs it again, from the nearest snapshot up to an earlier instruction.

mod accesses;
mod condition;
pub mod dap;
mod debug_information;
mod launch;
mod launch_file;
mod lines;
mod presentation;
mod query;
pub mod record;
mod replay;
mod session;
mod sources;
pub mod terminal;
mod timeline;
mod values;
mod variables;
mod writers;

pub use accesses::LastAccesses;
pub use condition::{Condition, ConditionError};
pub use debug_information::{DebugInformation, Frame, Variable};
pub use launch::{Argument, ElementType, Launch};
pub use launch_file::{LaunchFile, LaunchFileError};
pub use lines::Lines;
pub use query::{Query, QueryError};
pub use session::{Breakpoints, End, Front, Resume, Session, Stop, StopReason, Stopped};
pub use timeline::SnapshotPolicy;
pub use values::{Matrix, Register, Value};
pub use variables::{CallFrame, Named};
pub use writers::Writer;
