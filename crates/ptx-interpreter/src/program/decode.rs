//! Decoding of instructions: from opcode, modifiers and operands to an action.
//!
//! Each opcode consumes its modifiers one after the other; a modifier that is left over is an error, never ignored.

mod control;
mod matrix;
mod memory;
mod operands;
mod predicates;
mod warp;

use super::builder::Builder;
use super::error::Problem;
use super::instruction::{Action, DecodedInstruction, Extend, Register};
use super::modifiers::ModifierCursor;
use crate::semantics::{self, Class, Compute};
use crate::syntax::{self, ScalarType};

pub(super) use control::call;
pub(super) use operands::guard;

/// Decodes an instruction, and returns its class.
pub(super) fn decode(
    builder: &mut Builder<'_>,
    instruction: &syntax::Instruction,
) -> Result<(DecodedInstruction, Class), Problem> {
    let guard = match &instruction.guard {
        Some(guard) => Some(operands::guard(builder, guard)?),
        None => None,
    };
    if !matches!(instruction.opcode.as_str(), "mov" | "cvt") {
        operands::check_no_special(builder, &instruction.operands)?;
    }
    let (action, class) = action(builder, instruction)?;
    Ok((DecodedInstruction { guard, action }, class))
}

fn action(builder: &mut Builder<'_>, instruction: &syntax::Instruction) -> Result<(Action, Class), Problem> {
    let modifiers = &mut ModifierCursor::new(&instruction.modifiers);
    let operands = &instruction.operands[..];
    let is_predicate = instruction.modifiers.last().is_some_and(|last| last == "pred");
    match instruction.opcode.as_str() {
        "bra" | "brx" | "ret" | "exit" | "trap" | "brkpt" | "nanosleep" => {
            control::decode(builder, &instruction.opcode, modifiers, operands)
        }
        "ld" | "ldu" | "st" | "atom" | "red" | "prefetch" | "prefetchu" | "membar" | "fence" | "cp" => {
            memory::decode(builder, &instruction.opcode, modifiers, operands)
        }
        "bar" | "barrier" | "shfl" | "vote" | "match" | "redux" | "activemask" => {
            warp::decode(builder, &instruction.opcode, modifiers, operands)
        }
        "mma" | "ldmatrix" => matrix::decode(builder, &instruction.opcode, modifiers, operands),
        "mov" | "cvta" | "isspacep" | "selp" => {
            operands::decode_move(builder, &instruction.opcode, modifiers, operands)
        }
        "setp" => predicates::comparison(builder, modifiers, operands),
        "and" | "or" | "xor" | "not" if is_predicate => {
            predicates::logic(builder, &instruction.opcode, modifiers, operands)
        }
        _ => compute(builder, instruction),
    }
}

/// Decodes an instruction without side effects.
fn compute(builder: &mut Builder<'_>, instruction: &syntax::Instruction) -> Result<(Action, Class), Problem> {
    let (opcode, modifiers, operands) = (&instruction.opcode, &instruction.modifiers, &instruction.operands[..]);
    if let Ok(operation) = semantics::carry(opcode, modifiers) {
        let types = [operation.element; 3];

        let (destination, sources) =
            values(builder, operands, operation.element, &types[..operation.sources.min(3)], Widths::Exact)?;
        return Ok((Action::Carry { operation, destination, sources }, Class::Integer));
    }
    let operation = semantics::operation(opcode, modifiers)?;
    let class = operation.class;
    let compute = match operation.compute {
        Compute::Value(compute) => compute,
        Compute::Predicate(compute) => {
            let [destination, rest @ ..] = operands else {
                return Err(Problem::OperandCount { expected: "at least 1", found: 0 });
            };
            let destinations = [Some(operands::predicate(builder, destination, 1)?), None];
            let sources = sources(builder, rest, operation.sources, Widths::Exact)?;
            return Ok((Action::Compare { compute, sources, combine: None, destinations }, class));
        }
    };
    // Only conversions take registers that are wider than their types (PTX ISA 9.4.1).
    let widths = if opcode == "cvt" { Widths::OrWider } else { Widths::Exact };
    let (destination, sources) = values(builder, operands, operation.destination, operation.sources, widths)?;
    let extend = extension(builder, operation.destination, destination);
    Ok((Action::Compute { compute, destination, sources, extend }, class))
}

/// The register widths that an operand of a type accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Widths {
    /// The width of the type.
    Exact,
    /// The width of the type or more.
    OrWider,
}

/// How a value of the type is extended to the register's width.
fn extension(builder: &Builder<'_>, scalar_type: ScalarType, register: Register) -> Extend {
    let (from, to) = (scalar_type.bytes() as u32 * 8, builder.register_bits(register) as u32);
    if scalar_type.is_signed() && from < to { Extend::Sign { from, to } } else { Extend::Zero }
}

type Values = (Register, [Register; 4]);

fn values(
    builder: &mut Builder<'_>,
    operands: &[syntax::Operand],
    destination: ScalarType,
    source_types: &[ScalarType],
    widths: Widths,
) -> Result<Values, Problem> {
    let Some((first, rest)) = operands.split_first() else {
        return Err(Problem::OperandCount { expected: "at least 1", found: 0 });
    };
    let destination = operands::destination(builder, first, 1, destination.bytes() * 8, widths)?;
    Ok((destination, sources(builder, rest, source_types, widths)?))
}

fn sources(
    builder: &mut Builder<'_>,
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
        registers[index] = operands::source(builder, operand, index + 2, *scalar_type, widths)?;
    }
    Ok(registers)
}
