//! The debugger as a library and as a program.

mod captured;
mod launch_files;
mod order;
mod protocol;
mod record;
mod session;
mod support;
mod terminal;
mod walks;
