//! A table of instruction forms, by full name.

use super::Operation;
use std::collections::HashMap;

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

    /// The form of an opcode with its modifiers in order.
    pub(super) fn find(&self, opcode: &str, modifiers: &[impl AsRef<str>]) -> Result<Operation, UnknownForm> {
        let name = full_name(opcode, modifiers);
        self.operations.get(&name).copied().ok_or_else(|| UnknownForm { opcode: opcode.to_owned(), name })
    }

    /// The full names, in the order in which the forms were added.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

pub(super) fn full_name(opcode: &str, modifiers: &[impl AsRef<str>]) -> String {
    let mut name = opcode.to_owned();
    for modifier in modifiers {
        name.push('.');
        name.push_str(modifier.as_ref());
    }
    name
}
