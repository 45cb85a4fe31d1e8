//! The steps are correct, and `verify` finds wrong results.

mod are_right;
mod verify;
