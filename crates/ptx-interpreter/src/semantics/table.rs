//! The table of instruction forms, by full name.

use super::{Operation, arithmetic, carry, compare, convert, half, integer, logic, special};
use std::collections::HashMap;
use std::sync::LazyLock;

/// An instruction name without a form: an unknown opcode, or modifiers in an invalid combination or order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{opcode} has no form {name}; correct its modifiers and their order, or add the form to the semantics")]
pub struct UnknownForm {
    /// The opcode.
    pub opcode: String,
    /// The full name, with modifiers.
    pub name: String,
}

/// Forms by their full name, such as "add.rn.ftz.f32".
#[derive(Default)]
pub(super) struct Table {
    names: Vec<String>,
    operations: HashMap<String, Operation>,
}

impl Table {
    /// Adds a form. Each name is added once.
    pub(super) fn add(&mut self, name: impl Into<String>, operation: Operation) {
        let name = name.into();
        let previous = self.operations.insert(name.clone(), operation);
        assert!(previous.is_none(), "{name} is in the table twice");
        self.names.push(name);
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::default();
    integer::forms(&mut table);
    logic::forms(&mut table);
    compare::forms(&mut table);
    arithmetic::forms(&mut table);
    special::forms(&mut table);
    half::forms(&mut table);
    convert::forms(&mut table);
    table
});

/// The semantics of an instruction.
///
/// The modifiers are in the order of the PTX ISA. `setp` is included, as in [`comparison`]; instructions with the carry
/// flag are not, see [`carry`](super::carry()).
///
/// # Errors
/// [`UnknownForm`] for every other name.
pub fn operation(opcode: &str, modifiers: &[impl AsRef<str>]) -> Result<Operation, UnknownForm> {
    let name = full_name(opcode, modifiers);
    TABLE.operations.get(&name).copied().ok_or_else(|| UnknownForm { opcode: opcode.to_owned(), name })
}

/// The comparison of a `setp`. Its modifiers are the comparison operator, optionally `ftz`, and the type, such as
/// `["lt", "u32"]`.
///
/// The caller handles the predicate that the result is combined with, and the second destination.
///
/// # Errors
/// [`UnknownForm`] for a comparison that the type doesn't have.
pub fn comparison(modifiers: &[impl AsRef<str>]) -> Result<Operation, UnknownForm> {
    operation("setp", modifiers)
}

/// The full names of all forms of [`operation`], [`comparison`] and [`carry`](super::carry()).
pub fn forms() -> impl Iterator<Item = String> {
    TABLE.names.iter().cloned().chain(carry::names())
}

pub(super) fn full_name(opcode: &str, modifiers: &[impl AsRef<str>]) -> String {
    let mut name = opcode.to_owned();
    for modifier in modifiers {
        name.push('.');
        name.push_str(modifier.as_ref());
    }
    name
}
