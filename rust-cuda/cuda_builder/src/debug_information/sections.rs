//! Converts debug information sections from LLVM's text to bytes.

use std::collections::HashMap;

/// Debug information sections as bytes. Positions in the code are PTX line numbers.
#[derive(Debug, Default)]
pub(super) struct Sections {
    pub(super) info: Vec<u8>,
    pub(super) abbreviations: Vec<u8>,
    pub(super) locations: Vec<u8>,
}

const INFO: &str = ".debug_info";
const ABBREVIATIONS: &str = ".debug_abbrev";
const LOCATIONS: &str = ".debug_loc";

/// A reference to a label: its offset, its size in bytes, and the expression.
struct Reference<'t> {
    offset: usize,
    bytes: usize,
    expression: &'t str,
}

/// A section that is being read.
#[derive(Default)]
struct Section<'t> {
    bytes: Vec<u8>,
    references: Vec<Reference<'t>>,
}

impl Sections {
    /// Reads `.section .debug_info`, `.debug_abbrev` and `.debug_loc` from the compiler's text.
    /// `positions` contains the labels in the code that is kept.
    ///
    /// None if a line is not recognized.
    pub(super) fn read(text: &str, positions: &HashMap<&str, u32>) -> Option<Self> {
        let mut sections: HashMap<&str, Section<'_>> = HashMap::new();
        let mut labels: HashMap<&str, u64> = positions.iter().map(|(label, line)| (*label, u64::from(*line))).collect();
        let mut current = None;
        for line in text.lines() {
            let code = line.split("//").next().unwrap_or_default().trim();
            if let Some(name) = code.strip_prefix(".section") {
                let name = name.trim().trim_end_matches(['{', '}', ' ', '\t']);
                labels.insert(name, 0);
                current = [INFO, ABBREVIATIONS, LOCATIONS].into_iter().find(|needed| *needed == name);
                current.map(|name| sections.entry(name).or_default());
            } else if code == "}" {
                current = None;
            } else if let (None, Some(label)) = (current, code.strip_suffix(':')) {
                // A label in a function that was removed because no kernel reaches it: before every
                // line.
                labels.entry(label).or_insert(0);
            } else if let Some(section) = current.and_then(|name| sections.get_mut(name)) {
                if let Some(label) = code.strip_suffix(':') {
                    labels.insert(label, section.bytes.len() as u64);
                } else if !code.is_empty() && code != "{" {
                    section.push(code)?;
                }
            }
        }
        let mut bytes_of = |name: &str| -> Option<Vec<u8>> {
            let Section { mut bytes, references } = sections.remove(name).unwrap_or_default();
            for Reference { offset, bytes: size, expression } in references {
                let value = value_of(expression, &labels)?.to_le_bytes();
                bytes[offset..offset + size].copy_from_slice(&value[..size]);
            }
            Some(bytes)
        };
        Some(Self { info: bytes_of(INFO)?, abbreviations: bytes_of(ABBREVIATIONS)?, locations: bytes_of(LOCATIONS)? })
    }
}

impl<'t> Section<'t> {
    /// Appends the values of a line such as `.b8 3, 4` or `.b64 $L__tmp9`.
    fn push(&mut self, code: &'t str) -> Option<()> {
        let (directive, values) = code.split_once([' ', '\t'])?;
        let bytes = match directive {
            ".b8" => 1,
            ".b16" => 2,
            ".b32" => 4,
            ".b64" => 8,
            _ => return None,
        };
        for expression in values.split(',').map(str::trim) {
            let offset = self.bytes.len();
            let number = expression.parse::<i128>().ok();
            self.bytes.extend_from_slice(&number.unwrap_or(0).to_le_bytes()[..bytes]);
            if number.is_none() {
                self.references.push(Reference { offset, bytes, expression });
            }
        }
        Some(())
    }
}

/// The value of `label`, `label+8` or `label-label`. Other names, such as variables in memory or
/// labels in `.debug_line`, have the value 0.
fn value_of(expression: &str, labels: &HashMap<&str, u64>) -> Option<u64> {
    let is_label = |text: &str| text.starts_with("$L__");
    let term = |text: &str| text.parse().ok().or_else(|| labels.get(text).copied().or((!is_label(text)).then_some(0)));
    match expression.split_once(['+', '-']) {
        None => term(expression),
        Some((left, right)) if expression.contains('+') => Some(term(left)?.wrapping_add(term(right)?)),
        Some((left, right)) => Some(term(left)?.wrapping_sub(term(right)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_in_code_are_lines_and_those_in_sections_are_offsets() {
        let text = "\
$L__tmp1:
\t.section\t.debug_loc
\t{
.b8 1, 255
$L__debug_loc0:                         // a label
.b64 $L__tmp1
.b64 $L__tmp1+3
\t}
\t.section\t.debug_abbrev
\t{
.b8 17                                  // DW_TAG_compile_unit
\t}
\t.section\t.debug_info
\t{
.b32 .debug_abbrev
.b32 $L__debug_loc0
.b16 $L__end-$L__debug_loc0
.b8 -1
$L__end:
\t}
\t.section\t.debug_aranges
\t{
.b84,255
\t}
\t.section\t.debug_macinfo\t{\t}
";
        let sections = Sections::read(text, &HashMap::from([("$L__tmp1", 7)])).unwrap();
        assert_eq!(sections.locations, [1, 255, 7, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(sections.abbreviations, [17]);
        assert_eq!(sections.info, [0, 0, 0, 0, 2, 0, 0, 0, 9, 0, 255]);
        assert!(Sections::read("\t.section\t.debug_info\n\t{\n.b32 $L__unknown\n\t}\n", &HashMap::new()).is_none());
    }
}
