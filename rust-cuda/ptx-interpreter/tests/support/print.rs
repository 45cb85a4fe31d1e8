//! Prints a syntax tree as PTX in LLVM's style, to test that the tree loses nothing of the text.

use std::fmt::Write;

use ptx_interpreter::syntax::{
    AddressBase, Element, Function, Immediate, Initializer, Instruction, Linkage, Module, Operand, ScalarType, Space,
    Statement, Variable,
};

/// The module's text. The tree does not record the position of `.file` lines, so they come last, as
/// in LLVM's output.
pub fn module(module: &Module) -> String {
    let (major, minor) = module.version;
    let mut text = format!(".version {major}.{minor}\n.target {}\n", module.target);
    writeln!(text, ".address_size {}", module.address_size).unwrap();
    for variable in &module.variables {
        writeln!(text, "{};", variable_text(variable)).unwrap();
    }
    for function in &module.functions {
        text.push_str(&function_text(function));
    }
    for file in &module.files {
        let name = file.name.replace('\\', "\\\\").replace('"', "\\\"");
        writeln!(text, ".file {} \"{name}\"", file.number).unwrap();
    }
    text
}

fn function_text(function: &Function) -> String {
    let mut text = linkage(function.linkage).to_owned();
    text.push_str(if function.is_entry { ".entry " } else { ".func " });
    if !function.returns.is_empty() {
        write!(text, "({})", list(&function.returns, variable_text)).unwrap();
    }
    writeln!(text, "{}({})", function.name, list(&function.parameters, variable_text)).unwrap();
    let performance = function.performance;
    let shapes = [
        (".reqnctapercluster", performance.required_cluster),
        (".maxntid", performance.max_threads),
        (".reqntid", performance.required_threads),
    ];
    for (directive, threads) in shapes {
        if let Some([x, y, z]) = threads {
            writeln!(text, "{directive} {x}, {y}, {z}").unwrap();
        }
    }
    let numbers = [
        (".maxclusterrank", performance.max_cluster_rank),
        (".minnctapersm", performance.min_blocks),
        (".maxnreg", performance.max_registers),
    ];
    for (directive, number) in numbers {
        if let Some(number) = number {
            writeln!(text, "{directive} {number}").unwrap();
        }
    }
    match &function.body {
        Some(statements) => block(statements, &mut text),
        None => text.push_str(";\n"),
    }
    text
}

fn block(statements: &[Statement], text: &mut String) {
    text.push_str("{\n");
    for statement in statements {
        match statement {
            Statement::Registers { element, vector, names, .. } => {
                writeln!(text, ".reg {}{} {};", vector_text(*vector), type_text(*element), ranges(names)).unwrap();
            }
            Statement::Variable(variable) => writeln!(text, "{};", variable_text(variable)).unwrap(),
            Statement::Label { name, .. } => writeln!(text, "{name}:").unwrap(),
            Statement::BranchTargets { name, targets, .. } => {
                writeln!(text, "{name}: .branchtargets {};", targets.join(", ")).unwrap();
            }
            Statement::CallTargets { name, functions, .. } => {
                writeln!(text, "{name}: .calltargets {};", functions.join(", ")).unwrap();
            }
            Statement::CallPrototype { name, returns, parameters, .. } => {
                let [returns, parameters] = [returns, parameters].map(|variables| list(variables, variable_text));
                writeln!(text, "{name}: .callprototype ({returns}) _ ({parameters});").unwrap();
            }
            Statement::Location(place) => {
                write!(text, ".loc {} {} {}", place.file, place.line, place.column).unwrap();
                if let Some([file, line, column]) = place.inlined_at {
                    write!(text, ", function_name $L, inlined_at {file} {line} {column}").unwrap();
                }
                text.push('\n');
            }
            Statement::Instruction(instruction) => writeln!(text, "{};", instruction_text(instruction)).unwrap(),
            Statement::Block(statements) => block(statements, text),
        }
    }
    text.push_str("}\n");
}

/// The instruction, printed from its parts instead of its text.
pub fn instruction_text(instruction: &Instruction) -> String {
    let mut text = String::new();
    if let Some(guard) = &instruction.guard {
        write!(text, "@{}{} ", if guard.negated { "!" } else { "" }, guard.register).unwrap();
    }
    text.push_str(&instruction.opcode);
    for modifier in &instruction.modifiers {
        write!(text, ".{modifier}").unwrap();
    }
    write!(text, " {}", list(&instruction.operands, operand)).unwrap();
    text
}

fn operand(operand_: &Operand) -> String {
    match operand_ {
        Operand::Name(name) => name.clone(),
        Operand::Not(name) => format!("!{name}"),
        Operand::Pair(first, second) => format!("{first}|{second}"),
        Operand::Immediate(number) => immediate(*number),
        Operand::Offset(name, offset) => format!("{name}+{offset}"),
        Operand::Element(Element { array, register: None, index }) => format!("{array}[{index}]"),
        Operand::Element(Element { array, register: Some(register), index }) => format!("{array}[{register}+{index}]"),
        Operand::Address(address) => {
            let base = match &address.base {
                AddressBase::Name(name) => name.clone(),
                AddressBase::Immediate(number) => number.to_string(),
            };
            if address.offset == 0 { format!("[{base}]") } else { format!("[{base}+{}]", address.offset) }
        }
        Operand::Texel(texel) => format!("[{}, {{{}}}]", texel.object, list(&texel.coordinates, operand)),
        Operand::Vector(operands) => format!("{{{}}}", list(operands, operand)),
        Operand::Group(operands) => format!("({})", list(operands, operand)),
    }
}

fn immediate(number: Immediate) -> String {
    match number {
        Immediate::Integer(value) => value.to_string(),
        Immediate::F32(bits) => format!("0f{bits:08X}"),
        Immediate::F64(bits) => format!("0d{bits:016X}"),
    }
}

/// A variable's declaration. Several dimensions are printed as one because the tree's initial
/// values are flat.
fn variable_text(variable: &Variable) -> String {
    let space = match variable.space {
        Space::Const => ".const",
        Space::Global => ".global",
        Space::Local => ".local",
        Space::Param => ".param",
        Space::Shared => ".shared",
    };
    let mut text = format!("{}{space} ", linkage(variable.linkage));
    if variable.is_managed {
        text.push_str(".attribute(.managed) ");
    }
    let pointer = if variable.is_pointer { " .ptr" } else { "" };
    // LLVM writes no alignment for scalar parameters.
    if variable.space != Space::Param || variable.count != Some(1) {
        write!(text, ".align {} ", variable.align).unwrap();
    }
    let (vector, element) = (vector_text(variable.vector), type_text(variable.element));
    write!(text, "{vector}{element}{pointer} {}", variable.name).unwrap();
    match variable.count {
        None => text.push_str("[]"),
        Some(1) if !variable.is_array => {}
        Some(count) => write!(text, "[{count}]").unwrap(),
    }
    match &variable.initial[..] {
        [] => {}
        [value] if !variable.is_array && variable.vector == 1 => write!(text, " = {}", initial(value)).unwrap(),
        values if variable.vector == 1 => write!(text, " = {{{}}}", list(values, initial)).unwrap(),
        values => {
            let rows: Vec<&[Initializer]> = values.chunks(variable.vector).collect();
            write!(text, " = {{{}}}", list(&rows, |row| format!("{{{}}}", list(row, initial)))).unwrap();
        }
    }
    text
}

fn initial(value: &Initializer) -> String {
    match value {
        Initializer::Value(number) => immediate(*number),
        Initializer::Address { name, offset, generic } => {
            let base = if *generic { format!("generic({name})") } else { name.clone() };
            if *offset == 0 { base } else { format!("{base}+{offset}") }
        }
    }
}

/// Register names, with `%r0`, `%r1`, … folded into `%r<…>`.
fn ranges(names: &[String]) -> String {
    let stem = names.first().and_then(|name| name.strip_suffix('0')).unwrap_or("");
    let is_range = !stem.is_empty() && names.iter().enumerate().all(|(index, name)| *name == format!("{stem}{index}"));
    if is_range { format!("{stem}<{}>", names.len()) } else { names.join(", ") }
}

fn vector_text(vector: usize) -> String {
    if vector == 1 { String::new() } else { format!(".v{vector} ") }
}

fn type_text(element: ScalarType) -> String {
    format!(".{}", format!("{element:?}").to_lowercase())
}

fn linkage(linkage: Linkage) -> &'static str {
    match linkage {
        Linkage::Internal => "",
        Linkage::Visible => ".visible ",
        Linkage::Extern => ".extern ",
        Linkage::Weak => ".weak ",
        Linkage::Common => ".common ",
    }
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}
