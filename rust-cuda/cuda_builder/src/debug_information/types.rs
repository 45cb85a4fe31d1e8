//! The types of variables.

use std::collections::HashMap;
use std::fmt::Write;

use super::dies::{Die, Dies};

/// The types of variables, numbered in order of first use.
#[derive(Debug)]
pub(super) struct Types<'d> {
    dies: &'d Dies,
    numbers: HashMap<usize, Option<usize>>,
    /// The line of each type; empty while it is being created.
    lines: Vec<String>,
}

/// Nesting depth beyond which a type's parts are not described.
const MAX_DEPTH: usize = 8;

impl<'d> Types<'d> {
    pub(super) fn new(dies: &'d Dies) -> Self {
        Self { dies, numbers: HashMap::new(), lines: Vec::new() }
    }

    /// The number of the type at an offset; None for a type of size 0.
    pub(super) fn number(&mut self, offset: usize) -> Option<usize> {
        self.number_within(offset, 0)
    }

    fn number_within(&mut self, offset: usize, depth: usize) -> Option<usize> {
        if let Some(known) = self.numbers.get(&offset) {
            return *known;
        }
        let dies = self.dies;
        let die = dies.at(offset)?;
        let bytes = self.bytes(die).filter(|bytes| *bytes > 0);
        let number = bytes.map(|_| {
            self.lines.push(String::new());
            self.lines.len() - 1
        });
        self.numbers.insert(offset, number);
        let (number, bytes) = (number?, bytes?);
        let mut parts = String::new();
        let kind = match (die.tag, die.encoding) {
            (gimli::DW_TAG_base_type, Some(gimli::DW_ATE_float)) => "float",
            (gimli::DW_TAG_base_type, Some(gimli::DW_ATE_signed)) => "signed",
            (gimli::DW_TAG_base_type, Some(gimli::DW_ATE_boolean)) => "bool",
            (gimli::DW_TAG_base_type, Some(gimli::DW_ATE_unsigned | gimli::DW_ATE_unsigned_char)) => "unsigned",
            (gimli::DW_TAG_pointer_type, _) => "pointer",
            (gimli::DW_TAG_enumeration_type, _) => "unsigned",
            (gimli::DW_TAG_structure_type, _) if depth < MAX_DEPTH => {
                for child in &die.children {
                    let member = &dies.entries[*child];
                    let Some(offset) = member.member_offset.filter(|_| member.tag == gimli::DW_TAG_member) else {
                        continue;
                    };
                    let Some(part) = member.r#type.and_then(|of| self.number_within(of, depth + 1)) else { continue };
                    let _ = write!(parts, "\t{offset}:{part}:{}", dies.name(member).unwrap_or("?"));
                }
                // Enumerations with data have variants instead of members.
                if parts.is_empty() { "other" } else { "struct" }
            }
            (gimli::DW_TAG_array_type, _) if depth < MAX_DEPTH => {
                match die.r#type.and_then(|of| self.number_within(of, depth + 1)) {
                    Some(element) => {
                        let _ = write!(parts, "\t{element}\t{}", self.elements(die).unwrap_or(0));
                        "array"
                    }
                    None => "other",
                }
            }
            _ => "other",
        };
        let name = match dies.name(die) {
            Some(name) => name.to_owned(),
            None => self.array_name(die).unwrap_or_else(|| "?".to_owned()),
        };
        self.lines[number] = format!("type\t{number}\t{bytes}\t{kind}\t{name}{parts}");
        Some(number)
    }

    /// Size in bytes.
    fn bytes(&self, die: &Die) -> Option<u64> {
        match die.tag {
            gimli::DW_TAG_pointer_type => Some(die.bytes.unwrap_or(8)),
            gimli::DW_TAG_array_type => {
                self.elements(die)?.checked_mul(die.r#type.and_then(|of| self.bytes(self.dies.at(of)?))?)
            }
            _ => die.bytes,
        }
    }

    fn elements(&self, array: &Die) -> Option<u64> {
        let mut children = array.children.iter().map(|child| &self.dies.entries[*child]);
        children.find(|child| child.tag == gimli::DW_TAG_subrange_type)?.count
    }

    /// The name `[f32; 8]` for an array, which has no name in DWARF.
    fn array_name(&self, die: &Die) -> Option<String> {
        let of = self.dies.at(die.r#type.filter(|_| die.tag == gimli::DW_TAG_array_type)?)?;
        let of = self.dies.name(of).map(str::to_owned).or_else(|| self.array_name(of))?;
        Some(format!("[{of}; {}]", self.elements(die)?))
    }

    /// The comments that describe the types.
    pub(super) fn lines(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}
