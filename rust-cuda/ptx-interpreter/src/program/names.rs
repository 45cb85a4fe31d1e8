//! Name resolution: nested scopes.

use std::collections::HashMap;

use super::error::Problem;
use super::instruction::{Predicate, Register};
use crate::syntax::Space;

/// Number of a label. Its instruction is known only once all instructions are decoded.
pub(crate) type Label = usize;

/// The entity that a name refers to.
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
        /// Size in bytes of an array's elements. `None` if it is not an array.
        indexed_bytes: Option<usize>,
    },
    Label(Label),
    /// A branch table, given by the names of its labels.
    BranchTable(Vec<String>),
    /// The functions that a call through a pointer may reach, given by name.
    CallTargets(Vec<String>),
    /// Functions with return values and parameters of these sizes in bytes.
    CallPrototype(Signature),
}

/// Sizes in bytes of a function's return values and of its parameters.
pub(crate) type Signature = [Vec<Option<usize>>; 2];

/// The scopes that enclose a statement, innermost last.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    scopes: Vec<HashMap<String, Named>>,
    /// Number of outer scopes that belong to callers. Their names are not visible.
    hidden: usize,
}

impl Scopes {
    pub(crate) fn enter(&mut self) {
        self.scopes.push(HashMap::new());
    }

    pub(crate) fn leave(&mut self) {
        self.scopes.pop();
    }

    /// Number of enclosing scopes, including the callers' scopes.
    pub(crate) fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Hides all names, for the body of a called function. Returns the argument for `show`, which
    /// undoes it.
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
