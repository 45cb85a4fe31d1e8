//! hw1.pdf: the homework's report, generated from measurements.
//!
//! [`measure`] measures the [`Figures`] on this machine; [`statements`] derives sentences from
//! them; [`document`] combines both into the template's JSON input. [`typeset`] builds the package
//! in report/typeset, which makes a PDF file and an HTML page from it with Typst. [`archive`] packs
//! the homework, and [`notes`] reads the author's explanation. [`form`] is a report's blank form,
//! for students. [`distributed`] is the report on assignment 3, hw3.pdf, and [`assignment2`] the
//! report on assignment 2, hw2.pdf.

pub mod archive;
pub mod assignment2;
mod charts;
pub mod distributed;
pub mod document;
pub mod excerpts;
pub mod figures;
pub mod form;
pub mod machine;
pub mod measure;
pub mod notes;
pub mod peers;
mod questions;
pub mod recorded;
pub mod statements;
pub mod tables;
mod template;
pub mod timed;
mod times;
pub mod typeset;
mod words;

pub use figures::Figures;
pub use template::Template;
pub use times::{InvalidTimes, Times};
