//! The report's tests, in one program, since linking Typst takes its time.

mod archive;
mod figures;
mod pdf;
mod program;
mod sentences;
mod statements_follow_the_tables;
