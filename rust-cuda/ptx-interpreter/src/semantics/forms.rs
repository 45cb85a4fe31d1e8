//! All instruction forms, of every family.

use super::compiled::{Compiled, Vectors};
use super::operation::Operation;
use super::table::{Form, Table, UnknownForm};
use super::{arithmetic, carry, compare, compiled, convert, integer, logic, packed, permute, special};
use std::collections::HashSet;
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
    convert::forms(&mut table);
    compiled::loops(&mut table);
    table
});

static VECTORS: LazyLock<Option<Vectors>> = LazyLock::new(Vectors::of_host);

/// The semantics of an instruction, with its modifiers in the PTX ISA's order.
///
/// The modifiers of `setp` are the comparison operator, optionally `ftz`, and the type. The caller
/// handles the predicate to combine the result with, and the second destination.
///
/// # Errors
/// [`UnknownForm`] for every other name.
pub fn operation(opcode: &str, modifiers: &[impl AsRef<str>]) -> Result<Operation, UnknownForm> {
    let Form { definition, compiled } = TABLE.find(opcode, modifiers)?;
    Ok(Operation::new(definition, VECTORS.zip(*compiled)))
}

/// Like [`operation`], but never uses a compiled loop.
///
/// # Errors
/// See [`operation`].
pub fn definition(opcode: &str, modifiers: &[impl AsRef<str>]) -> Result<Operation, UnknownForm> {
    TABLE.find(opcode, modifiers).map(|form| Operation::new(&form.definition, None))
}

/// The full names of all forms of [`operation`], sorted.
pub fn forms() -> impl Iterator<Item = &'static str> {
    let mut names: Vec<&str> = TABLE.names().collect();
    names.sort_unstable();
    names.into_iter()
}

/// The number of compiled loops.
pub fn loop_count() -> usize {
    let loops: HashSet<usize> = TABLE
        .loops()
        .map(|compiled| match compiled {
            Compiled::Value(function) => function as usize,
            Compiled::Predicate { holds, .. } => holds as usize,
        })
        .collect();
    loops.len()
}
