//! Decodes instructions: turns opcode, modifiers and operands into an action.
//!
//! Each opcode consumes its modifiers one after the other. A remaining modifier is an error and
//! never ignored.

mod addresses;
mod control;
mod copies;
mod image;
mod matrix;
mod mbarrier;
mod memory;
mod moves;
mod operands;
mod predicates;
mod tensor;
mod warp;
mod wgmma;
mod wmma;

use super::error::Problem;
use super::instruction::{Action, DecodedInstruction, Extend, Flow, Register};
use super::modifiers::ModifierCursor;
use super::symbols::Symbols;
use crate::semantics::{self, Class, Compute};
use crate::syntax::{self, ScalarType};
use operands::Widths;

pub(super) use control::{Call, address_of_function, call};
pub(super) use operands::guard;

/// Decodes an instruction and returns its class.
pub(super) fn decode(
    symbols: &mut Symbols<'_>,
    instruction: &syntax::Instruction,
) -> Result<(DecodedInstruction, Class), Problem> {
    let guard = match &instruction.guard {
        Some(guard) => Some(operands::guard(symbols, guard)?),
        None => None,
    };
    let special = match instruction.opcode.as_str() {
        "mov" | "cvt" => Ok(()),
        _ => operands::check_no_special(symbols, &instruction.operands),
    };
    let decoded = action(symbols, instruction).map_err(|problem| match is_missing(instruction) {
        true => Problem::Unsupported("this instruction of PTX"),
        false => problem,
    });
    // Report an unknown instruction before its operands.
    if !matches!(decoded, Err(Problem::UnknownForm(_) | Problem::Unsupported(_))) {
        special?;
    }
    let (action, class) = decoded?;
    Ok((DecodedInstruction { guard, action }, class))
}

/// PTX instructions that the interpreter does not support at all (PTX ISA 9.7).
const MISSING: [&str; 30] = [
    "applypriority",
    "clusterlaunchcontrol",
    "createpolicy",
    "discard",
    "getctarank",
    "istypep",
    "movmatrix",
    "multimem",
    "pmevent",
    "stackrestore",
    "stacksave",
    "stmatrix",
    "sured",
    "tcgen05",
    "tensormap",
    "vabsdiff",
    "vabsdiff2",
    "vabsdiff4",
    "vadd",
    "vadd2",
    "vadd4",
    "vavrg2",
    "vavrg4",
    "vmad",
    "vset",
    "vshl",
    "vshr",
    "vsub",
    "vsub2",
    "vsub4",
];

/// Whether an instruction is valid PTX but not supported by the interpreter.
fn is_missing(instruction: &syntax::Instruction) -> bool {
    let has = |modifier: &str| instruction.modifiers.iter().any(|other| other == modifier);
    match instruction.opcode.as_str() {
        // Sparse matrices and single bits; im2col.
        "wgmma" => has("sp") || has("b1"),
        "cp" => has("im2col"),
        "mma" => has("sp"),
        opcode => MISSING.contains(&opcode),
    }
}

fn action(symbols: &mut Symbols<'_>, instruction: &syntax::Instruction) -> Result<(Action, Class), Problem> {
    let modifiers = &mut ModifierCursor::new(&instruction.modifiers);
    let sync_first = sync_first(instruction);
    if let Some(in_order) = &sync_first {
        *modifiers = ModifierCursor::new(in_order);
    }
    let operands = &instruction.operands[..];
    let is_predicate = instruction.modifiers.last().is_some_and(|last| last == "pred");
    match instruction.opcode.as_str() {
        "trap" => control::trap(symbols, instruction.reason.as_deref(), operands),
        "bra" | "brx" | "ret" | "exit" | "brkpt" | "nanosleep" | "griddepcontrol" | "setmaxnreg" => {
            control::decode(symbols, &instruction.opcode, modifiers, operands)
        }
        "cp" if instruction.modifiers.iter().any(|modifier| modifier == "tensor") => {
            Ok((tensor::decode(symbols, modifiers, operands)?, Class::Memory))
        }
        "ld" | "ldu" | "st" | "atom" | "red" | "prefetch" | "prefetchu" | "membar" | "fence" | "cp" => {
            memory::decode(symbols, &instruction.opcode, modifiers, operands)
        }
        "bar" | "barrier" | "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => {
            warp::decode(symbols, &instruction.opcode, modifiers, operands)
        }
        "tex" | "tld4" | "suld" | "sust" | "txq" | "suq" => {
            image::decode(symbols, &instruction.opcode, modifiers, operands)
        }
        "mbarrier" => mbarrier::decode(symbols, modifiers, operands),
        "wgmma" => wgmma::decode(symbols, modifiers, operands),
        "wmma" => wmma::decode(symbols, modifiers, operands),
        "mma" | "ldmatrix" => matrix::decode(symbols, &instruction.opcode, modifiers, operands),
        "mov" | "cvta" | "mapa" | "isspacep" | "selp" => {
            moves::decode(symbols, &instruction.opcode, modifiers, operands)
        }
        "setp" => predicates::comparison(symbols, modifiers, operands),
        "and" | "or" | "xor" | "not" if is_predicate => {
            predicates::logic(symbols, &instruction.opcode, modifiers, operands)
        }
        _ => compute(symbols, instruction),
    }
}

/// The modifiers of a warp-level instruction with `.sync` moved before the others, where the PTX
/// ISA has it. NVIDIA's assembler accepts it anywhere, and CUB writes `vote.ballot.sync`. `None` if
/// it is already there.
fn sync_first(instruction: &syntax::Instruction) -> Option<Vec<String>> {
    if !matches!(instruction.opcode.as_str(), "shfl" | "vote" | "redux") {
        return None;
    }
    let at = instruction.modifiers.iter().position(|modifier| modifier == "sync").filter(|at| *at != 0)?;
    let mut modifiers = instruction.modifiers.clone();
    modifiers[..=at].rotate_right(1);
    Some(modifiers)
}

/// Decodes an instruction without side effects.
fn compute(symbols: &mut Symbols<'_>, instruction: &syntax::Instruction) -> Result<(Action, Class), Problem> {
    let (opcode, modifiers, operands) = (&instruction.opcode, &instruction.modifiers, &instruction.operands[..]);
    let operation = semantics::operation(opcode, modifiers)?;
    let class = operation.class;
    let compute = match operation.compute {
        Compute::Value(compute) => compute,
        Compute::Carry(compute) => {
            let (destination, sources) =
                values(symbols, operands, operation.destination, operation.sources, Widths::Exact)?;
            return Ok((Action::Carry { compute, destination, sources }, class));
        }
        Compute::Predicate(compute) => {
            let [destination, rest @ ..] = operands else {
                return Err(Problem::OperandCount { expected: "at least 1", found: 0 });
            };
            let destinations = [Some(operands::predicate(symbols, destination, 1)?), None];
            let sources = sources(symbols, rest, operation.sources, Widths::Exact)?;
            return Ok((Action::Compare { compute, sources, combine: None, destinations }, class));
        }
    };
    // Only conversions accept registers wider than their types (PTX ISA 9.4.1).
    let of_pairs = modifiers.iter().any(|modifier| matches!(modifier.as_str(), "e4m3x2" | "e5m2x2"));
    let widths = if opcode == "cvt" && !of_pairs { Widths::OrWider } else { Widths::Exact };
    let (destination, sources) = values(symbols, operands, operation.destination, operation.sources, widths)?;
    let extend = operands::extension(symbols, operation.destination, destination);
    let bits = match extend {
        Extend::Sign { to, .. } => to,
        Extend::Zero => operation.destination.bytes() as u32 * 8,
    };
    Ok((Action::Compute { compute, destination, sources, extend, flow: flow(instruction, &operation, bits) }, class))
}

/// How an instruction's result of this many bits depends on its sources.
fn flow(instruction: &syntax::Instruction, operation: &semantics::Operation, bits: u32) -> Flow {
    let is_of_integers = operation.sources.iter().chain([&operation.destination]).all(|scalar| scalar.is_integer());
    let has = |modifier: &str| instruction.modifiers.iter().any(|other| other == modifier);
    match instruction.opcode.as_str() {
        "and" => Flow::And,
        "or" => Flow::Or,
        "xor" | "not" => Flow::Bits,
        "shl" | "shr" | "bfe" | "brev" => Flow::Moves(1),
        "cvt" if is_of_integers && !has("sat") => Flow::Moves(1),
        "prmt" | "bfi" | "shf" => Flow::Moves(2),
        "add" | "sub" | "mul" | "mad" | "neg" if is_of_integers && !has("sat") && !has("hi") => Flow::Upwards(bits),
        _ => Flow::All(bits),
    }
}

type Values = (Register, [Register; 4]);

fn values(
    symbols: &mut Symbols<'_>,
    operands: &[syntax::Operand],
    destination: ScalarType,
    source_types: &[ScalarType],
    widths: Widths,
) -> Result<Values, Problem> {
    let Some((first, rest)) = operands.split_first() else {
        return Err(Problem::OperandCount { expected: "at least 1", found: 0 });
    };
    let destination = operands::destination(symbols, first, 1, destination.bytes() * 8, widths)?;
    Ok((destination, sources(symbols, rest, source_types, widths)?))
}

fn sources(
    symbols: &mut Symbols<'_>,
    operands: &[syntax::Operand],
    types: &[ScalarType],
    widths: Widths,
) -> Result<[Register; 4], Problem> {
    if operands.len() != types.len() {
        let expected = ["0 sources", "1 source", "2 sources", "3 sources", "4 sources"][types.len().min(4)];
        return Err(Problem::OperandCount { expected, found: operands.len() });
    }
    let mut registers = [0; 4];
    for (index, (operand, scalar_type)) in operands.iter().zip(types).enumerate() {
        registers[index] = operands::source(symbols, operand, index + 2, *scalar_type, widths)?;
    }
    Ok(registers)
}
