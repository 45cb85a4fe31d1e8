//! The steps are right; and the check finds what is not.

mod are_right;
mod verify;
