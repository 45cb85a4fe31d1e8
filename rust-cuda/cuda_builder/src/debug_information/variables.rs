//! The variables in a function's frames, and the locations of their values.

use super::dies::{Die, Dies, Location};
use super::expression::text_of;
use super::frames::Function;
use super::types::Types;

/// A variable of a frame.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) frame: usize,
    pub(super) name: String,
    pub(super) r#type: usize,
    /// The lines in which it is in scope: the first, and the one after the last.
    pub(super) scope: (u32, u32),
    /// Lines in which its value is known, and the text of the value.
    pub(super) values: Vec<(u32, u32, String)>,
}

/// The variables in all frames of a function, in order of declaration.
pub(super) fn of_function(dies: &Dies, function: &Function, types: &mut Types<'_>) -> Vec<Variable> {
    let mut found = Vec::new();
    for (number, frame) in function.frames.iter().enumerate() {
        let scope = dies.entries[frame.entry].lines.unwrap_or_default();
        add(dies, frame.entry, (number, scope), types, &mut found);
    }
    found
}

fn add(
    dies: &Dies,
    parent: usize,
    (frame, scope): (usize, (u32, u32)),
    types: &mut Types<'_>,
    found: &mut Vec<Variable>,
) {
    for child in &dies.entries[parent].children {
        let die = &dies.entries[*child];
        match die.tag {
            gimli::DW_TAG_lexical_block => add(dies, *child, (frame, die.lines.unwrap_or(scope)), types, found),
            gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                let (Some(name), Some(r#type)) = (dies.name(die), dies.type_of(die)) else { continue };
                if let Some(r#type) = types.number(r#type) {
                    let values = values(die, scope);
                    found.push(Variable { frame, name: name.to_owned(), r#type, scope, values });
                }
            }
            _ => {}
        }
    }
}

/// The known values of a variable, sorted by line.
fn values(die: &Die, scope: (u32, u32)) -> Vec<(u32, u32, String)> {
    let mut values = match &die.location {
        Location::Nowhere => Vec::new(),
        Location::Constant(value) => vec![(scope.0, scope.1, value.to_string())],
        Location::Everywhere(expression) => {
            text_of(expression).map(|text| (scope.0, scope.1, text)).into_iter().collect()
        }
        Location::Lines(lines) => {
            let known = lines.iter().filter(|(from, to, _)| from < to);
            known.filter_map(|(from, to, expression)| Some((*from, *to, text_of(expression)?))).collect()
        }
    };
    values.sort_by_key(|(from, ..)| *from);
    values.dedup_by(|next, last| {
        let continues = last.1 == next.0 && last.2 == next.2;
        if continues {
            last.1 = next.1;
        }
        continues
    });
    values
}
