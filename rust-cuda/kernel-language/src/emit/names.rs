//! Debug names of functions and variables, in the format that `cuda_builder` writes beside PTX.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::value::{Length, Value};
use crate::refusal::Place;
use crate::source::Program;
use crate::types::{Float, Type};

/// An inlined call.
struct Frame {
    caller: usize,
    place: Place,
    function: String,
}

struct Variable {
    frame: usize,
    from: usize,
    /// The line after the last one; None while the variable is in scope.
    to: Option<usize>,
    r#type: usize,
    name: String,
    value: String,
}

/// Collects debug names. Lines are relative to the line with the kernel's name.
#[derive(Default)]
pub(super) struct Names {
    types: Vec<String>,
    frames: Vec<Frame>,
    /// The lines from which on instructions belong to another frame.
    lines: Vec<(usize, usize)>,
    variables: Vec<Variable>,
    /// The variables in scope.
    open: Vec<usize>,
}

impl Names {
    pub(super) fn instruction_at(&mut self, line: usize, frame: usize) {
        if self.lines.last().is_none_or(|(_, last)| *last != frame) {
            self.lines.push((line, frame));
        }
    }

    /// A new frame for a call.
    pub(super) fn call(&mut self, caller: usize, function: &str, place: Place) -> usize {
        self.frames.push(Frame { caller, place, function: function.to_owned() });
        self.frames.len()
    }

    pub(super) fn declare(&mut self, name: &str, of: &Type, value: &Value, frame: usize, from: usize) {
        let words = |scalar: &str| match scalar.split_at_checked(2) {
            Some(("0f", bits)) => u32::from_str_radix(bits, 16).map_or(String::new(), |bits| bits.to_string()),
            Some(("0d", bits)) => u64::from_str_radix(bits, 16).map_or(String::new(), |bits| bits.to_string()),
            _ => scalar.to_owned(),
        };
        let value = match value {
            Value::Scalar(scalar) if *of == Type::Bool && !scalar.starts_with('%') => {
                if scalar == "0" { "0" } else { "1" }.to_owned()
            }
            Value::Scalar(scalar) => words(scalar),
            Value::Memory(memory) => match &memory.length {
                Length::Register(length) => format!("8:{}|{length}", memory.base),
                Length::Number(length) => format!("8:{}|{length}", memory.base),
            },
            _ => return,
        };
        let Some(r#type) = (!name.is_empty()).then(|| self.number_of(of)).flatten() else { return };
        self.variables.push(Variable { frame, from, to: None, r#type, name: name.to_owned(), value });
        self.open.push(self.variables.len() - 1);
    }

    /// The number of variables in scope, for [`close`](Self::close).
    pub(super) fn open(&self) -> usize {
        self.open.len()
    }

    /// Ends the scope of the variables declared since then.
    pub(super) fn close(&mut self, open: usize, line: usize) {
        for number in self.open.drain(open..) {
            self.variables[number].to = Some(line);
        }
    }

    fn add(&mut self, description: String) -> usize {
        if let Some(number) = self.types.iter().position(|known| *known == description) {
            return number;
        }
        self.types.push(description);
        self.types.len() - 1
    }

    /// The number of a type in the list.
    fn number_of(&mut self, of: &Type) -> Option<usize> {
        let name = of.to_string();
        Some(match of {
            Type::Bool => self.add(format!("1\tbool\t{name}")),
            Type::Integer(integer) => {
                let kind = if integer.is_signed() { "signed" } else { "unsigned" };
                self.add(format!("{}\t{kind}\t{name}", integer.bits() / 8))
            }
            Type::Float(float) => self.add(format!("{}\tfloat\t{name}", if *float == Float::F32 { 4 } else { 8 })),
            Type::Global(element) => {
                let parts = (self.pointer("?".to_owned()), self.length());
                let slice = self.add(format!("16\tstruct\t&[{element}]\t0:{}:data_ptr\t8:{}:length", parts.0, parts.1));
                self.add(format!("16\tstruct\t{name}\t0:{slice}:elements"))
            }
            Type::GlobalMut(element) | Type::Dynamic(element) => self.view(&name, element),
            Type::Shared(parts) => self.array(&name, &parts[0]),
            Type::Shared2d(parts) => self.array(&name, &parts[0]),
            _ => return None,
        })
    }

    fn pointer(&mut self, name: String) -> usize {
        self.add(format!("8\tpointer\t{name}"))
    }

    fn length(&mut self) -> usize {
        self.add("8\tunsigned\tusize".to_owned())
    }

    fn view(&mut self, name: &str, element: &Type) -> usize {
        let parts = (self.pointer(format!("*mut {element}")), self.length());
        let _ = self.number_of(element);
        self.add(format!("16\tstruct\t{name}\t0:{}:pointer\t8:{}:length", parts.0, parts.1))
    }

    fn array(&mut self, name: &str, element: &Type) -> usize {
        let inner = self.view(&format!("DynamicShared<{element}>"), element);
        self.add(format!("16\tstruct\t{name}\t0:{inner}:__0"))
    }

    /// The file for a kernel's text.
    pub(super) fn text(&self, kernel: &str, entry: &str, program: &Program) -> String {
        let mut text = String::from("debug information, format 2\n");
        for (number, description) in self.types.iter().enumerate() {
            let _ = writeln!(text, "type\t{number}\t{description}");
        }
        let _ = writeln!(text, "function\t{kernel}\t{}", hex::encode(Sha256::digest(entry)));
        for (index, frame) in self.frames.iter().enumerate() {
            let Place { file, line, column } = frame.place;
            let file = &program.files[file];
            let (caller, function) = (frame.caller, &frame.function);
            let _ = writeln!(text, "frame\t{}\t{caller}\t{line}:{column}\t{file}\t{function}", index + 1);
        }
        if !self.lines.is_empty() {
            text += "lines";
            for (line, frame) in &self.lines {
                let _ = write!(text, "\t{line}:{frame}");
            }
            text.push('\n');
        }
        let end = entry.lines().count();
        for Variable { frame, from, to, r#type, name, value } in &self.variables {
            let to = to.unwrap_or(end).max(*from);
            let _ = writeln!(text, "variable\t{frame}\t{from}-{to}\t{type}\t{name}\t{from}-{to} {value}");
        }
        text
    }
}
