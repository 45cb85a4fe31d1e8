//! Emits PTX for a checked kernel.

mod access;
mod arithmetic;
mod calls;
mod control;
mod conversion;
mod expressions;
mod methods;
mod names;
mod operations;
mod speech;
mod value;
mod warp;

use cuda_launch::message::BUFFER;
use cuda_launch::trap::{Piece, TrapReason};
use std::collections::HashMap;
use std::fmt::{Display, Write};
use std::rc::Rc;

use crate::Compiled;
use crate::check;
use crate::limits::{MAX_ARRAY_BYTES, MAX_LINES};
use crate::refusal::{Checked, Place};
use crate::source::Program;
use crate::tree::Body;
use crate::types::{Float, Integer, Type};

use names::Names;
use value::{Length, Memory, Space, Value};

/// Maximum number of expressions, counted once for each time they are inlined.
const MAX_STEPS: usize = 400_000;

/// A label, as an index into `is_used`.
type Label = usize;

/// A function being inlined, or the kernel itself.
struct Activation {
    body: Rc<Body>,
    values: Vec<Value>,
    /// The labels and results of its loops, by number.
    targets: HashMap<usize, Target>,
    frame: usize,
}

#[derive(Clone)]
struct Target {
    r#break: Label,
    r#continue: Label,
    result: Value,
}

/// The target of `return` and its result; None ends the kernel.
type Return = Option<(Label, Value)>;

struct Emitter<'a> {
    program: &'a Program,
    lines: Vec<String>,
    /// The declarations of the entry's parameters.
    parameters: Vec<String>,
    /// Number of lines in front of `lines`, from the line with the kernel's name.
    before: usize,
    /// Number of registers so far: predicates, 32 bits, 64 bits.
    registers: [usize; 3],
    is_used: Vec<bool>,
    /// Whether the next instruction is unreachable.
    is_dead: bool,
    place: Place,
    said: Option<Place>,
    traps: Vec<(Label, TrapReason, Place, usize)>,
    bodies: HashMap<(usize, String), Rc<Body>>,
    activations: Vec<Activation>,
    current: usize,
    returns: Vec<Return>,
    /// The functions that are being inlined.
    calls: Vec<usize>,
    shared: Vec<u64>,
    has_dynamic: bool,
    local_bytes: u64,
    steps: usize,
    /// Whether an array of two indices is used as an element's index.
    is_index: bool,
    /// Whether a function in the compiler's built-in source is being inlined.
    is_own: bool,
    /// The comments that declare messages.
    messages: Vec<String>,
    names: Names,
}

/// Compiles a kernel.
pub(crate) fn emit(program: &Program, number: usize) -> Checked<Compiled> {
    let function = &program.functions[number];
    let body = Rc::new(check::check(program, function, &[])?);
    let parameters: usize = body.types.iter().map(|of| if is_memory(of) { 2 } else { 1 }).sum();
    let mut emitter = Emitter {
        program,
        lines: Vec::new(),
        parameters: Vec::new(),
        before: parameters + 7,
        registers: [1; 3],
        is_used: Vec::new(),
        is_dead: false,
        place: body.place,
        said: None,
        traps: Vec::new(),
        bodies: HashMap::new(),
        activations: Vec::new(),
        current: 0,
        returns: vec![None],
        calls: vec![number],
        shared: Vec::new(),
        has_dynamic: false,
        local_bytes: 0,
        steps: 0,
        is_index: false,
        is_own: false,
        messages: Vec::new(),
        names: Names::default(),
    };
    emitter.kernel(&body)?;
    emitter.text(&body)
}

fn is_memory(of: &Type) -> bool {
    matches!(of, Type::Global(_) | Type::GlobalMut(_))
}

impl Emitter<'_> {
    fn kernel(&mut self, body: &Rc<Body>) -> Checked<()> {
        self.activate(body.clone(), 0);
        let mut values = Vec::new();
        for of in &body.types {
            values.push(match of {
                Type::Global(element) | Type::GlobalMut(element) => {
                    let is_constant = matches!(of, Type::Global(_));
                    let align = if is_constant { element.bytes().unwrap_or(1) } else { 1 };
                    let parameter = self.parameter(&format!(".u64 .ptr .align {align}"), "");
                    let address = self.put(&Type::USIZE, "ld.param.b64", format_args!("[{parameter}]"));
                    let base = self.put(&Type::USIZE, "cvta.to.global.u64", address);
                    let length = self.parameter(".u64", "");
                    let length = Length::Register(self.put(&Type::USIZE, "ld.param.b64", format_args!("[{length}]")));
                    Value::Memory(Rc::new(Memory { base, length, columns: 0, space: Space::Global { is_constant } }))
                }
                Type::Array(parts) => {
                    let (element, bytes) = (&parts[0], parts[0].bytes().unwrap_or(4));
                    let all = Self::bytes_of(of).unwrap_or(bytes);
                    let parameter = self.parameter(&format!(".align {bytes} .b8"), &format!("[{all}]"));
                    let array = self.new_array(of, body.place)?;
                    for offset in (0..all).step_by(bytes as usize) {
                        let load = format!("ld.param.{}", bits_of(element));
                        let register = self.put(element, load, format_args!("[{parameter}+{offset}]"));
                        if let Value::Array(base, start) = &array {
                            let place = (base.clone(), start + offset);
                            self.store_element(place, Value::Scalar(register), element, body.place)?;
                        }
                    }
                    array
                }
                Type::Bool => {
                    let parameter = self.parameter(".u8", "");
                    let byte = self.put(&Type::U32, "ld.param.b8", format_args!("[{parameter}]"));
                    Value::Scalar(self.put(of, "setp.ne.b32", format_args!("{byte}, 0")))
                }
                _ => {
                    let parameter = self.parameter(&format!(".u{}", of.bytes().unwrap_or(4) * 8), "");
                    let load = format!("ld.param.{}", bits_of(of));
                    Value::Scalar(self.put(of, load, format_args!("[{parameter}]")))
                }
            });
        }
        for ((pattern, of), value) in body.parameters.iter().zip(&body.types).zip(values) {
            self.bind(pattern, value, of, false)?;
        }
        self.expression(&body.expr)?;
        self.at(body.place);
        self.emit("ret;".to_owned());
        for (label, reason, place, frame) in std::mem::take(&mut self.traps) {
            self.place_label(label);
            self.activations[0].frame = frame;
            self.current = 0;
            self.at(place);
            self.emit(format!("trap; exit; {}", reason.comment()));
            self.is_dead = true;
        }
        Ok(())
    }

    /// The name of a new parameter of the entry. `of` is the type, and `after` follows the name.
    fn parameter(&mut self, of: &str, after: &str) -> String {
        let name = format!("{}_param_{}", self.activations[0].body.name, self.parameters.len());
        self.parameters.push(format!("\t.param {of} {name}{after}"));
        name
    }

    fn text(self, body: &Body) -> Checked<Compiled> {
        let mut text = String::from("// PTX of the page's compiler, which does not optimise.\n\n");
        text += ".version 7.0\n.target sm_75\n.address_size 64\n";
        if !self.messages.is_empty() {
            let _ = writeln!(text, "\n.visible .global .align 8 .u64 {BUFFER};\n{}", self.messages.join("\n"));
        }
        for (index, file) in self.program.files.iter().enumerate() {
            let escaped: String =
                file.chars().map(|each| if each == '"' || each == '\\' { '_' } else { each }).collect();
            let _ = writeln!(text, ".file\t{} \"{escaped}\"", index + 1);
        }
        if self.has_dynamic {
            text += ".extern .shared .align 16 .b8 __dynamic_shared[];\n";
        }
        for (index, bytes) in self.shared.iter().enumerate() {
            if *bytes > MAX_ARRAY_BYTES {
                return body.place.refused("a shared array is too large");
            }
            let _ = writeln!(text, ".shared .align 16 .b8 __shared_{index:04}[{bytes}];");
        }
        let mut entry = format!(".visible .entry {}(\n", body.name);
        if !self.parameters.is_empty() {
            entry += &self.parameters.join(",\n");
            entry.push('\n');
        }
        entry += ")\n{\n";
        match self.local_bytes {
            0 => entry += "\t// no local memory\n",
            bytes if bytes > MAX_ARRAY_BYTES => return body.place.refused("the thread's arrays are too large"),
            bytes => {
                let _ = writeln!(entry, "\t.local .align 8 .b8 \t__local[{bytes}];");
            }
        }
        let [predicates, words, wides] = self.registers;
        let _ = write!(
            entry,
            "\t.reg .pred \t%p<{predicates}>;\n\t.reg .b32 \t%r<{words}>;\n\t.reg .b64 \t%rd<{wides}>;\n"
        );
        for line in &self.lines {
            entry += line;
            entry.push('\n');
        }
        entry += "}\n";
        let names = self.names.text(&body.name, &entry, self.program);
        Ok(Compiled { ptx: text + &entry, names })
    }

    /// Begins a function or the kernel, with uninitialized variables.
    fn activate(&mut self, body: Rc<Body>, frame: usize) -> usize {
        let values = vec![Value::Nothing; body.locals.len()];
        self.activations.push(Activation { body, values, targets: HashMap::new(), frame });
        self.activations.len() - 1
    }

    /// Sets the source location of the next instructions. Instructions from the built-in source get
    /// the call's location.
    fn at(&mut self, place: Place) {
        if !self.is_own {
            self.place = place;
        }
    }

    fn emit(&mut self, instruction: String) {
        if self.is_dead {
            return;
        }
        if self.said != Some(self.place) {
            let Place { file, line, column } = self.place;
            self.lines.push(format!("\t.loc\t{} {line} {column}", file + 1));
            self.said = Some(self.place);
        }
        self.names.instruction_at(self.before + self.lines.len(), self.activations[self.current].frame);
        self.lines.push(format!("\t{instruction}"));
    }

    /// The line of the next instruction, relative to the line with the kernel's name.
    fn line(&self) -> usize {
        self.before + self.lines.len()
    }

    fn label(&mut self) -> Label {
        self.is_used.push(false);
        self.is_used.len() - 1
    }

    fn place_label(&mut self, label: Label) {
        if self.is_dead && !self.is_used[label] {
            return;
        }
        self.is_dead = false;
        self.lines.push(format!("$L__BB0_{label}:"));
        // The last location does not apply to jumps that arrive here.
        self.said = None;
    }

    fn jump(&mut self, label: Label) {
        if !self.is_dead {
            self.emit(format!("bra.uni \t$L__BB0_{label};"));
            self.is_used[label] = true;
            self.is_dead = true;
        }
    }

    fn jump_if(&mut self, predicate: &str, value: bool, label: Label) {
        if !self.is_dead {
            let not = if value { "" } else { "!" };
            self.emit(format!("@{not}{predicate} bra \t$L__BB0_{label};"));
            self.is_used[label] = true;
        }
    }

    /// Panics with a message if a predicate has this value.
    fn panic_if(&mut self, predicate: &str, value: bool, message: &str) {
        self.trap_if(predicate, value, TrapReason::Panic(vec![Piece::Text(message.to_owned())]));
    }

    fn trap_if(&mut self, predicate: &str, value: bool, reason: TrapReason) {
        let label = self.label();
        self.jump_if(predicate, value, label);
        self.traps.push((label, reason, self.place, self.activations[self.current].frame));
    }

    /// A new register for a value of this type.
    fn fresh(&mut self, of: &Type) -> String {
        let (class, name) = match of {
            Type::Bool => (0, "%p"),
            _ if width_of(of) == 64 => (2, "%rd"),
            _ => (1, "%r"),
        };
        self.registers[class] += 1;
        format!("{name}{}", self.registers[class] - 1)
    }

    /// Emits an instruction that computes a value of this type from these operands into a new
    /// register.
    fn put(&mut self, of: &Type, instruction: impl Display, operands: impl Display) -> String {
        let result = self.fresh(of);
        self.emit(format!("{instruction} \t{result}, {operands};"));
        result
    }

    fn wide(&mut self) -> String {
        self.fresh(&Type::USIZE)
    }

    /// Counts an expression. Too many of them would take too long.
    fn count(&mut self, place: Place) -> Checked<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS || self.lines.len() > MAX_LINES {
            return place.refused("the kernel becomes too large: its functions are inlined");
        }
        Ok(())
    }
}

/// The register size in bits for a number.
fn width_of(of: &Type) -> u32 {
    match of {
        Type::Integer(of) if of.bits() == 64 => 64,
        Type::Float(Float::F64) => 64,
        _ => 32,
    }
}

/// The untyped PTX type for a number in memory: `b32`.
fn bits_of(of: &Type) -> &'static str {
    match of {
        Type::Integer(Integer::U8) => "u8",
        Type::Integer(Integer::I8) => "s8",
        Type::Integer(Integer::U16) => "u16",
        Type::Integer(Integer::I16) => "s16",
        _ if width_of(of) == 64 => "b64",
        _ => "b32",
    }
}

/// The typed PTX type for a number in a register: `s32`.
fn kind_of(of: &Type) -> &'static str {
    match of {
        Type::Float(Float::F32) => "f32",
        Type::Float(Float::F64) => "f64",
        Type::Integer(of) => match (of.is_signed(), of.bits() == 64) {
            (true, true) => "s64",
            (true, false) => "s32",
            (false, true) => "u64",
            (false, false) => "u32",
        },
        _ => "b32",
    }
}
