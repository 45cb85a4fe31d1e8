//! The table of known forms, and how a form is found in it.

use super::{Operation, arithmetic, carry, compare, convert, half, integer, logic, special};
use std::collections::HashMap;
use std::sync::LazyLock;

/// An instruction's name that no form has: an unknown opcode, or modifiers that don't go together or not in this order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no form of {opcode} is known as {name}; correct its modifiers and their order, or add it to the semantics")]
pub struct UnknownForm {
    /// The opcode.
    pub opcode: String,
    /// The whole name.
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
        assert!(previous.is_none(), "{name} is in the tables twice");
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

/// What the instruction of this opcode and these modifiers computes.
///
/// The modifiers stand in the order in which the PTX ISA writes them. `setp` is found too, as by [`comparison`]; what
/// needs the carry flag is not, see [`carry`](super::carry()).
///
/// # Errors
/// [`UnknownForm`] for every other name.
pub fn operation(opcode: &str, modifiers: &[impl AsRef<str>]) -> Result<Operation, UnknownForm> {
    let name = full_name(opcode, modifiers);
    TABLE.operations.get(&name).copied().ok_or_else(|| UnknownForm { opcode: opcode.to_owned(), name })
}

/// What a `setp` compares: modifiers are the comparison, `ftz` if it is there, and the type, such as `["lt", "u32"]`.
///
/// The predicate that it combines with and the second destination are up to the caller.
///
/// # Errors
/// [`UnknownForm`] for a comparison that the type doesn't have.
pub fn comparison(modifiers: &[impl AsRef<str>]) -> Result<Operation, UnknownForm> {
    operation("setp", modifiers)
}

/// The full name of every form: of [`operation`], [`comparison`] and [`carry`](super::carry()).
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
