//! All instruction forms, of every family.

use super::table::{Table, UnknownForm};
use super::{Operation, arithmetic, carry, compare, convert, half, integer, logic, packed, permute, special};
use std::sync::LazyLock;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::default();
    integer::forms(&mut table);
    packed::forms(&mut table);
    carry::forms(&mut table);
    logic::forms(&mut table);
    permute::forms(&mut table);
    compare::forms(&mut table);
    arithmetic::forms(&mut table);
    special::forms(&mut table);
    half::forms(&mut table);
    convert::forms(&mut table);
    table
});

/// The semantics of an instruction, its modifiers in the order of the PTX ISA.
///
/// The modifiers of `setp` are the comparison operator, optionally `ftz`, and the type: the caller handles the predicate
/// that the result is combined with, and the second destination.
///
/// # Errors
/// [`UnknownForm`] for every other name.
pub fn operation(opcode: &str, modifiers: &[impl AsRef<str>]) -> Result<Operation, UnknownForm> {
    TABLE.find(opcode, modifiers)
}

/// The full names of all forms of [`operation`].
pub fn forms() -> impl Iterator<Item = &'static str> {
    TABLE.names()
}
