//! What names mean: scopes within scopes.

use std::collections::HashMap;

use super::error::Problem;
use super::instruction::{Predicate, Register};
use crate::syntax::Space;

/// The number of a label, whose place is known when all instructions are.
pub(crate) type Label = usize;

/// What a name means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Named {
    Register {
        register: Register,
        bits: usize,
    },
    Predicate(Predicate),
    Variable {
        space: Space,
        address: u64,
    },
    Label(Label),
    /// The names of the labels of a branch table.
    BranchTable(Vec<String>),
}

/// The scopes around a statement, the innermost last.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    scopes: Vec<HashMap<String, Named>>,
    /// Up to here scopes belong to callers, whose names are not seen.
    hidden: usize,
}

impl Scopes {
    pub(crate) fn enter(&mut self) {
        self.scopes.push(HashMap::new());
    }

    pub(crate) fn leave(&mut self) {
        self.scopes.pop();
    }

    /// How many scopes are around a statement, those of callers included.
    pub(crate) fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Hides all names, for the body of a function that is called; returns what `show` wants.
    pub(crate) fn hide(&mut self) -> usize {
        std::mem::replace(&mut self.hidden, self.scopes.len())
    }

    pub(crate) fn show(&mut self, hidden: usize) {
        self.hidden = hidden;
    }

    pub(crate) fn declare(&mut self, name: &str, named: Named) -> Result<(), Problem> {
        let Some(scope) = self.scopes.last_mut() else { return Ok(()) };
        match scope.insert(name.to_owned(), named) {
            None => Ok(()),
            Some(_) => Err(Problem::DeclaredTwice(name.to_owned())),
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Named> {
        self.scopes[self.hidden..].iter().rev().find_map(|scope| scope.get(name))
    }
}
