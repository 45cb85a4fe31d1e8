//! The report's tests, in one binary, since linking Typst is slow.

mod archive;
mod assignment2;
mod distributed;
mod figures;
mod pdf;
mod program;
mod sentences;
mod statements_follow_the_tables;
