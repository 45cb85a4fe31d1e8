//! A table of instruction forms, by full name.

use super::compiled::Compiled;
use super::definition::Definition;
use std::collections::HashMap;

/// An instruction name that is not a form: an unknown opcode, or modifiers in an invalid
/// combination or order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub struct UnknownForm {
    /// The opcode.
    pub opcode: String,
    /// The full name, with modifiers.
    pub name: String,
    /// Whether the opcode has other forms.
    pub has_others: bool,
}

impl UnknownForm {
    fn message(&self) -> String {
        let Self { opcode, name, has_others } = self;
        match has_others {
            true => format!("{opcode} has no form {name}: check its modifiers and their order"),
            false => format!("{opcode} is not a known instruction"),
        }
    }
}

/// Forms by their full name, such as "add.rn.ftz.f32".
#[derive(Default)]
pub(super) struct Table {
    forms: HashMap<String, Form>,
}

/// A form: its definition and, if compilers emit it frequently, a loop over the lanes with the same
/// results.
pub(super) struct Form {
    pub(super) definition: Definition,
    pub(super) compiled: Option<Compiled>,
}

impl Table {
    /// Adds a form. Each name is added once.
    pub(super) fn add(&mut self, name: impl Into<String>, definition: Definition) {
        let name = name.into();
        assert!(!self.forms.contains_key(&name), "{name} is in the table twice");
        self.forms.insert(name, Form { definition, compiled: None });
    }

    /// Adds a loop for forms. Their names are separated by spaces.
    pub(super) fn compile(&mut self, names: impl AsRef<str>, compiled: Compiled) {
        for name in names.as_ref().split_whitespace() {
            let form = self.forms.get_mut(name);
            let form = form.unwrap_or_else(|| panic!("{name} has no definition"));
            assert!(form.compiled.is_none(), "{name} has two loops");
            form.compiled = Some(compiled);
        }
    }

    /// The form of an opcode with its modifiers in order.
    pub(super) fn find(&self, opcode: &str, modifiers: &[impl AsRef<str>]) -> Result<&Form, UnknownForm> {
        let name = full_name(opcode, modifiers);
        self.forms.get(&name).ok_or_else(|| {
            let is_of_opcode = |form: &String| form.split('.').next() == Some(opcode);
            UnknownForm { opcode: opcode.to_owned(), has_others: self.forms.keys().any(is_of_opcode), name }
        })
    }

    /// The full names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.forms.keys().map(String::as_str)
    }

    /// The loops of all forms that have one.
    pub(super) fn loops(&self) -> impl Iterator<Item = Compiled> {
        self.forms.values().filter_map(|form| form.compiled)
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
