//! Decodes moves: `mov`, `cvta`, `isspacep` and `selp`.

use super::addresses::space_named;
use super::operands::{Widths, check_width, clock, count, destination, negatable_predicate, predicate, source};
use super::predicates;
use crate::program::error::Problem;
use crate::program::instruction::{Action, Extend, Flow, Register};
use crate::program::modifiers::ModifierCursor;
use crate::program::symbols::Symbols;
use crate::semantics::{self, Class, Compute};
use crate::syntax::{Element, Operand, ScalarType, Space};

/// Decodes `mov`, `cvta`, `isspacep` and `selp`.
pub(super) fn decode(
    symbols: &mut Symbols<'_>,
    opcode: &str,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<(Action, Class), Problem> {
    match opcode {
        "mov" => {
            let scalar_type = modifiers.expect_type()?;
            modifiers.end()?;
            Ok((mov(symbols, scalar_type, count(operands, "2")?)?, Class::Move))
        }
        "cvta" => Ok((convert_address(symbols, modifiers, operands)?, Class::Move)),
        "mapa" => Ok((map_address(symbols, modifiers, operands)?, Class::Move)),
        "isspacep" => {
            let space = expect_space(modifiers)?;
            modifiers.end()?;
            let [to, from] = count(operands, "2")?;
            let destination = predicate(symbols, to, 1)?;
            let address = source(symbols, from, 2, ScalarType::B64, Widths::Exact)?;
            Ok((Action::IsSpace { space, destination, address }, Class::Compare))
        }
        _ => Ok((select(symbols, modifiers, operands)?, Class::Compare)),
    }
}

/// Decodes `cvta{.to}.space.u64 d, a`: adds or subtracts the base of the state space's generic
/// addresses.
fn convert_address(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    let to = modifiers.take("to");
    let space = expect_space(modifiers)?;
    let scalar_type = modifiers.expect_type()?;
    modifiers.end()?;
    if scalar_type != ScalarType::U64 {
        return Err(Problem::Unsupported("an address of 32 bits"));
    }
    let [to_operand, from] = count(operands, "2")?;
    let destination = destination(symbols, to_operand, 1, 64, Widths::Exact)?;
    let source = match to {
        true => source(symbols, from, 2, scalar_type, Widths::Exact)?,
        false => source_address(symbols, from, scalar_type, space)?,
    };
    let base = crate::memory::to_generic(space, 0);
    let distance = symbols.constant(if to { base.wrapping_neg() } else { base }, 64);
    let sources = [source, distance, 0, 0];
    let Compute::Value(compute) = semantics::operation("add", &["u64"])?.compute else {
        return Err(Problem::Unsupported("an address"));
    };
    Ok(Action::Compute { compute, destination, sources, extend: Extend::Zero, flow: Flow::Upwards(64) })
}

/// `mapa{.shared::cluster}.type d, a, b`. Without a state space, the addresses are generic.
fn map_address(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    let in_space = modifiers.take("shared::cluster");
    let scalar_type = modifiers.expect_type()?;
    modifiers.end()?;
    if !(scalar_type == ScalarType::U64 || in_space && scalar_type == ScalarType::U32) {
        return Err(Problem::Unsupported("an address of this type"));
    }
    let [to, address, rank] = count(operands, "3")?;
    let destination = destination(symbols, to, 1, scalar_type.bytes() * 8, Widths::Exact)?;
    let address = match in_space {
        true => source_address(symbols, address, scalar_type, Space::Shared)?,
        false => source(symbols, address, 2, scalar_type, Widths::Exact)?,
    };
    let rank = source(symbols, rank, 3, ScalarType::U32, Widths::Exact)?;
    Ok(Action::MapAddress { destination, address, rank })
}

/// `selp.type d, a, b, c`
fn select(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    let scalar_type = modifiers.expect_type()?;
    modifiers.end()?;
    let [to, a, b, condition] = count(operands, "4")?;
    let destination = destination(symbols, to, 1, scalar_type.bytes() * 8, Widths::Exact)?;
    let mut sources =
        [source(symbols, a, 2, scalar_type, Widths::Exact)?, source(symbols, b, 3, scalar_type, Widths::Exact)?];
    let (predicate, negated) = negatable_predicate(symbols, condition, 4)?;
    if negated {
        sources.reverse();
    }
    Ok(Action::Select { destination, sources, predicate })
}

fn expect_space(modifiers: &mut ModifierCursor<'_>) -> Result<Space, Problem> {
    let names = ["global", "shared", "shared::cta", "local", "const", "param", "param::entry"];
    let name = modifiers.expect_any(&names, "the state space")?;
    Ok(space_named(name).unwrap_or(Space::Global))
}

fn mov(symbols: &mut Symbols<'_>, scalar_type: ScalarType, [to, from]: &[Operand; 2]) -> Result<Action, Problem> {
    if scalar_type == ScalarType::Pred {
        return predicates::mov(symbols, to, from);
    }
    let bits = scalar_type.bytes() * 8;
    if scalar_type == ScalarType::B128 {
        return Err(Problem::Unsupported("a register of 128 bits"));
    }
    if let Operand::Vector(parts) = to {
        let part_bits = vector_bits(parts.len(), bits)?;
        let source = source(symbols, from, 2, scalar_type, Widths::Exact)?;
        let destinations = parts.iter().map(|part| match part {
            Operand::Name(name) if name == "_" => Ok(None),
            part => destination(symbols, part, 1, part_bits, Widths::Exact).map(Some),
        });
        let destinations = destinations.collect::<Result<_, _>>()?;
        return Ok(Action::Unpack { destinations, source, bits: part_bits as u32 });
    }
    let destination = destination(symbols, to, 1, bits, Widths::Exact)?;
    if let Operand::Vector(parts) = from {
        let part_bits = vector_bits(parts.len(), bits)?;
        let part_type = [(8, ScalarType::B8), (16, ScalarType::B16), (32, ScalarType::B32)]
            .iter()
            .find_map(|(bits, part)| (*bits == part_bits).then_some(*part))
            .unwrap_or(ScalarType::B32);
        let parts = parts.iter().map(|part| source(symbols, part, 2, part_type, Widths::Exact));
        return Ok(Action::Pack { destination, parts: parts.collect::<Result<_, _>>()?, bits: part_bits as u32 });
    }
    if let Operand::Name(name) = from
        && symbols.find(name).is_none()
        && let Some(clock) = clock(name)
    {
        check_width(name, clock.bits, bits, Widths::Exact)?;
        return Ok(Action::ReadClock { destination, clock });
    }
    let source = match from {
        Operand::Element(element) => {
            let (register, space) = element_address(symbols, element, None)?;
            check_width(&element.array, bits, min_address_bits(space), Widths::OrWider)?;
            symbols.truncated(register, bits)
        }
        Operand::Offset(name, offset) => short_address(symbols, name, *offset, bits)?,
        Operand::Name(name) if symbols.variable_address(name)?.is_some() => short_address(symbols, name, 0, bits)?,
        Operand::Name(name) if let Some(address) = symbols.function_address(name) => {
            check_width(name, bits, 64, Widths::Exact)?;
            symbols.constant(address, 64)
        }
        _ => source(symbols, from, 2, scalar_type, Widths::Exact)?,
    };
    Ok(Action::Move { destination, source })
}

/// A register with an address within a state space: the address of a variable or an array element,
/// or the source operand itself.
fn source_address(
    symbols: &mut Symbols<'_>,
    operand: &Operand,
    scalar_type: ScalarType,
    space: Space,
) -> Result<Register, Problem> {
    match operand {
        Operand::Name(name) if symbols.variable_address(name)?.is_some() => variable(symbols, name, 0, Some(space)),
        Operand::Element(element) => Ok(element_address(symbols, element, Some(space))?.0),
        _ => source(symbols, operand, 2, scalar_type, Widths::Exact),
    }
}

/// A register with the address of a variable within its state space.
fn variable(symbols: &mut Symbols<'_>, name: &str, offset: i64, space: Option<Space>) -> Result<Register, Problem> {
    let (found, address) = symbols.variable_address(name)?.ok_or_else(|| Problem::Undeclared(name.to_owned()))?;
    if space.is_some_and(|space| space != found) {
        return Err(Problem::Operand { number: 2, expected: "a variable of this state space" });
    }
    symbols.address_in_register(address, offset)
}

/// A register with the address of an array element within its state space, and that space.
fn element_address(
    symbols: &mut Symbols<'_>,
    element: &Element,
    space: Option<Space>,
) -> Result<(Register, Space), Problem> {
    let (address, found) = symbols.element_address(element)?;
    if space.is_some_and(|space| space != found) {
        return Err(Problem::Operand { number: 2, expected: "a variable of this state space" });
    }
    Ok((symbols.effective_in_register(address)?, found))
}

/// Minimum number of bits of an address in this state space.
fn min_address_bits(space: Space) -> usize {
    if space == Space::Global { 64 } else { 32 }
}

/// Like `variable`, for a destination of `bits` bits. Addresses of global memory need 64 bits;
/// addresses of other spaces fit in 32.
fn short_address(symbols: &mut Symbols<'_>, name: &str, offset: i64, bits: usize) -> Result<Register, Problem> {
    let min_bits = symbols.variable_address(name)?.map_or(32, |(space, _)| min_address_bits(space));
    check_width(name, bits, min_bits, Widths::OrWider)?;
    let register = variable(symbols, name, offset, None)?;
    Ok(symbols.truncated(register, bits))
}

fn vector_bits(parts: usize, bits: usize) -> Result<usize, Problem> {
    match parts {
        2 | 4 if bits / parts >= 8 => Ok(bits / parts),
        _ => Err(Problem::Operand { number: 1, expected: "a vector of 2 or 4 parts" }),
    }
}
