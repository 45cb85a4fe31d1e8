//! The window by its labels, as a screen reader finds them: no display is needed, nor anything that draws.

mod data;
mod form;
mod harness;
mod runs;
mod training;
