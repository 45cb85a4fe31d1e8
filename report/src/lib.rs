//! hw1.pdf: the homework's report, which measures and writes itself.
//!
//! [`measure`] measures on this machine what [`Figures`] holds; [`statements`] says in words what follows from the figures;
//! [`document`] makes of both the JSON value that the one template reads; [`typeset`] sets it with Typst, in this process and
//! without a network, as PDF or HTML; [`archive`] packs the homework.

pub mod archive;
mod charts;
mod diagrams;
pub mod document;
pub mod excerpts;
pub mod figures;
pub mod machine;
pub mod measure;
pub mod peers;
pub mod recorded;
pub mod statements;
pub mod tables;
pub mod timed;
mod times;
#[cfg(feature = "typeset")]
pub mod typeset;
mod words;

pub use figures::Figures;
pub use times::{NoTimes, Times};
