//! PTX text of a program.

use std::fmt::Write;

use ptx_interpreter::syntax::ScalarType;

use crate::program::{Action, INPUTS, Live, Logic, Predicate, Program, Register, Source, Step, Width};

fn register(Register { width, number }: Register) -> String {
    let class = match width {
        Width::Bits16 => "rs",
        Width::Bits32 => "r",
        Width::Bits64 => "rd",
    };
    format!("%{class}{number}")
}

fn predicate(number: Predicate) -> String {
    format!("%p{number}")
}

fn negatable(number: Predicate, negated: bool) -> String {
    format!("{}{}", if negated { "!" } else { "" }, predicate(number))
}

fn source(source: Source, scalar_type: ScalarType) -> String {
    match (source, scalar_type) {
        (Source::Register(source), _) => register(source),
        (Source::Immediate(bits), ScalarType::F32) => format!("0f{bits:08X}"),
        (Source::Immediate(bits), ScalarType::F64) => format!("0d{bits:016X}"),
        (Source::Immediate(bits), scalar_type) if scalar_type.is_signed() => {
            let unused = 64 - 8 * scalar_type.bytes();
            format!("{}", (bits << unused) as i64 >> unused)
        }
        (Source::Immediate(bits), _) => format!("0x{bits:X}"),
    }
}

fn bits_type(width: Width) -> ScalarType {
    match width {
        Width::Bits16 => ScalarType::B16,
        Width::Bits32 => ScalarType::B32,
        Width::Bits64 => ScalarType::B64,
    }
}

fn group(registers: &[Register]) -> String {
    format!("{{{}}}", registers.iter().map(|part| register(*part)).collect::<Vec<_>>().join(", "))
}

const ALL_LANES: &str = "0xffffffff";

/// An instruction, without its semicolon.
pub(crate) fn instruction(step: &Step) -> String {
    let guard = match step.guard {
        Some((guard, negated)) => format!("@{} ", negatable(guard, negated)),
        None => String::new(),
    };
    guard + &action(&step.action)
}

fn action(action: &Action) -> String {
    match action {
        Action::Value { form, destination, sources, from, .. } => {
            let sources = sources.iter().zip(*from).map(|(one, scalar_type)| source(*one, *scalar_type));
            format!("{form} {}, {}", register(*destination), sources.collect::<Vec<_>>().join(", "))
        }
        Action::Test { form, destination, source } => {
            format!("{form} {}, {}", predicate(*destination), register(*source))
        }
        Action::Compare { form, destinations: (first, second), sources: [a, b], scalar_type, combine } => {
            let (mut name, mut combined) = (form.clone(), String::new());
            if let Some((logic, with, negated)) = combine {
                // The boolean operation's name follows the comparison's.
                let at = form[5..].find('.').map_or(form.len(), |dot| 5 + dot);
                name.insert_str(at, &format!(".{}", logic_name(*logic)));
                combined = format!(", {}", negatable(*with, *negated));
            }
            let second = second.map(|second| format!("|{}", predicate(second))).unwrap_or_default();
            let [a, b] = [a, b].map(|one| source(*one, *scalar_type));
            format!("{name} {}{second}, {a}, {b}{combined}", predicate(*first))
        }
        Action::Carry { form, destination, sources } => {
            let sources: Vec<String> = sources.iter().map(|one| register(*one)).collect();
            format!("{form} {}, {}", register(*destination), sources.join(", "))
        }
        Action::Select { destination, sources: [a, b], predicate: by } => {
            let [a, b] = [a, b].map(|one| source(*one, bits_type(destination.width)));
            let bits = destination.width.bits();
            format!("selp.b{bits} {}, {a}, {b}, {}", register(*destination), predicate(*by))
        }
        Action::Logic { logic: None, destination, sources: [a, _] } => {
            format!("not.pred {}, {}", predicate(*destination), predicate(*a))
        }
        Action::Logic { logic: Some(logic), destination, sources: [a, b] } => {
            format!("{}.pred {}, {}, {}", logic_name(*logic), predicate(*destination), predicate(*a), predicate(*b))
        }
        Action::Move { destination, source: from } => {
            let (bits, from) = (destination.width.bits(), source(*from, bits_type(destination.width)));
            format!("mov.b{bits} {}, {from}", register(*destination))
        }
        Action::Pack { destination, parts } => {
            format!("mov.b{} {}, {}", destination.width.bits(), register(*destination), group(parts))
        }
        Action::Unpack { destinations, source } => {
            format!("mov.b{} {}, {}", source.width.bits(), group(destinations), register(*source))
        }
        Action::Shuffle { mode, destination, in_range, source: from, lane, clamp } => {
            let (to, lane) = (register(*destination), source(*lane, ScalarType::B32));
            let (in_range, from) = (predicate(*in_range), register(*from));
            format!("shfl.sync.{mode}.b32 {to}|{in_range}, {from}, {lane}, {clamp:#x}, {ALL_LANES}")
        }
        Action::Vote { mode, destination, source, negated } => {
            let (to, from) = (predicate(*destination), negatable(*source, *negated));
            format!("vote.sync.{mode}.pred {to}, {from}, {ALL_LANES}")
        }
        Action::Ballot { destination, source, negated } => {
            let (to, from) = (register(*destination), negatable(*source, *negated));
            format!("vote.sync.ballot.b32 {to}, {from}, {ALL_LANES}")
        }
        Action::Match { destination, all: None, source } => {
            let (to, from) = (register(*destination), register(*source));
            format!("match.any.sync.b{} {to}, {from}, {ALL_LANES}", source.width.bits())
        }
        Action::Match { destination, all: Some(all), source } => {
            let (to, from) = (register(*destination), register(*source));
            format!("match.all.sync.b{} {to}|{}, {from}, {ALL_LANES}", source.width.bits(), predicate(*all))
        }
        Action::Reduce { operation, destination, source } => {
            format!("redux.sync.{operation} {}, {}, {ALL_LANES}", register(*destination), register(*source))
        }
        Action::Special { name, destination } => format!("mov.u32 {}, {name}", register(*destination)),
    }
}

fn logic_name(logic: Logic) -> &'static str {
    match logic {
        Logic::And => "and",
        Logic::Or => "or",
        Logic::Xor => "xor",
    }
}

/// The whole module. Thread t loads its n inputs from the 8-byte words n·t … n·t + n − 1. It stores
/// its m live registers to the words m·t … m·t + m − 1.
pub(crate) fn module(program: &Program) -> String {
    let (major, minor) = program.target.compute_capability();
    let [halves, words, doubles] = program.registers;
    let kernel = Program::KERNEL;
    let mut text = format!(
        "// Random program {} for sm_{major}{minor}.\n.version {}\n.target sm_{major}{minor}\n.address_size 64\n\n\
         .visible .global .align 1 .b8 {kernel}__signature[6] = {{40, 114, 117, 119, 117, 41}};\n\n\
         .visible .entry {kernel}(\n\t.param .u64 input,\n\t.param .u64 input_length,\n\t.param .u64 output,\n\
         \t.param .u64 output_length\n)\n{{\n\t.reg .pred %p<{}>;\n\t.reg .b16 %rs<{halves}>;\n\
         \t.reg .b32 %r<{words}>, %index, %stored;\n\t.reg .b64 %rd<{doubles}>, %in, %out, %offset;\n\n\
         \tmov.u32 %index, %tid.x;\n",
        program.seed,
        program.target.version(),
        program.predicates,
    );
    for (address, parameter, words) in [("in", "input", INPUTS.len()), ("out", "output", program.live.len())] {
        let _ = write!(
            text,
            "\tld.param.u64 %{address}, [{parameter}];\n\tcvta.to.global.u64 %{address}, %{address};\n\
             \tmul.wide.u32 %offset, %index, {};\n\tadd.u64 %{address}, %{address}, %offset;\n",
            8 * words
        );
    }
    for (slot, input) in program.inputs().enumerate() {
        let _ = writeln!(text, "\tld.global.b{} {}, [%in+{}];", input.width.bits(), register(input), 8 * slot);
    }
    for step in &program.steps {
        let _ = writeln!(text, "\t{};", instruction(step));
    }
    for (slot, live) in program.live.iter().enumerate() {
        let offset = 8 * slot;
        let _ = match live {
            Live::Register(live) => {
                writeln!(text, "\tst.global.b{} [%out+{offset}], {};", live.width.bits(), register(*live))
            }
            Live::Predicate(live) => {
                let live = predicate(*live);
                writeln!(text, "\tselp.u32 %stored, 1, 0, {live};\n\tst.global.b32 [%out+{offset}], %stored;")
            }
        };
    }
    text + "\tret;\n}\n"
}
