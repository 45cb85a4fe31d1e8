//! The kinds of reports.

use serde::Serialize;

/// The report that a document belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Template {
    /// hw1.pdf.
    Homework1,
    /// hw2.pdf.
    Assignment2,
    /// hw3.pdf.
    Assignment3,
    /// A blank form ([`crate::form`]).
    Form,
}
