//! Decoding of operands, and of the instructions that move them: `mov`, `cvta`, `isspacep` and `selp`.

use super::Widths;
use crate::program::builder::Builder;
use crate::program::error::Problem;
use crate::program::instruction::{Action, EffectiveAddress, Extend, Predicate, Register};
use crate::program::modifiers::ModifierCursor;
use crate::program::names::Named;
use crate::program::{LaneComparison, Special, immediate_bits};
use crate::semantics::{Class, LANES, Lanes};
use crate::syntax::{self, AddressBase, Guard, Operand, ScalarType, Space};

/// The predicate of a guard, and whether it is negated.
pub(in crate::program) fn guard(builder: &Builder<'_>, guard: &Guard) -> Result<(Predicate, bool), Problem> {
    Ok((named_predicate(builder, &guard.register, 0)?, guard.negated))
}

/// An operand that is a predicate register.
pub(super) fn predicate(builder: &Builder<'_>, operand: &Operand, number: usize) -> Result<Predicate, Problem> {
    match operand {
        Operand::Name(name) => named_predicate(builder, name, number),
        _ => Err(Problem::Operand { number, expected: "a predicate" }),
    }
}

/// A predicate register, and whether it is negated by `!`.
pub(super) fn negatable_predicate(
    builder: &Builder<'_>,
    operand: &Operand,
    number: usize,
) -> Result<(Predicate, bool), Problem> {
    match operand {
        Operand::Not(name) => Ok((named_predicate(builder, name, number)?, true)),
        _ => Ok((predicate(builder, operand, number)?, false)),
    }
}

pub(super) fn named_predicate(builder: &Builder<'_>, name: &str, number: usize) -> Result<Predicate, Problem> {
    match builder.scopes.find(name) {
        Some(Named::Predicate(predicate)) => Ok(*predicate),
        Some(_) => Err(Problem::Operand { number, expected: "a predicate" }),
        None => Err(Problem::Undeclared(name.to_owned())),
    }
}

/// One or two destination predicates, `p` or `p|q`; None for `_`.
pub(super) fn predicate_pair(
    builder: &Builder<'_>,
    operand: &Operand,
    number: usize,
) -> Result<[Option<Predicate>; 2], Problem> {
    let one = |name: &String| match name.as_str() {
        "_" => Ok(None),
        name => named_predicate(builder, name, number).map(Some),
    };
    match operand {
        Operand::Pair(first, second) => Ok([one(first)?, one(second)?]),
        Operand::Name(name) => Ok([one(name)?, None]),
        _ => Err(Problem::Operand { number, expected: "a predicate" }),
    }
}

/// A destination register.
pub(super) fn destination(
    builder: &Builder<'_>,
    operand: &Operand,
    number: usize,
    bits: usize,
    widths: Widths,
) -> Result<Register, Problem> {
    let expected = "a register";
    let Operand::Name(name) = operand else { return Err(Problem::Operand { number, expected }) };
    match builder.scopes.find(name) {
        Some(Named::Register { register, bits: found }) => {
            check_width(name, *found, bits, widths)?;
            Ok(*register)
        }
        Some(_) => Err(Problem::Operand { number, expected }),
        None if name.starts_with('%') && special(name).is_some() => Err(Problem::Operand { number, expected }),
        None => Err(Problem::Undeclared(name.clone())),
    }
}

/// A source operand: a register, a special register or an immediate.
pub(super) fn source(
    builder: &mut Builder<'_>,
    operand: &Operand,
    number: usize,
    scalar_type: ScalarType,
    widths: Widths,
) -> Result<Register, Problem> {
    let bits = scalar_type.bytes() * 8;
    match operand {
        Operand::Immediate(value) => Ok(builder.constant(immediate_bits(*value, scalar_type), 64)),
        Operand::Name(name) => match builder.scopes.find(name) {
            Some(Named::Register { register, bits: found }) => {
                check_width(name, *found, bits, widths)?;
                Ok(*register)
            }
            Some(_) => Err(Problem::Operand { number, expected: "a register or a number" }),
            None => special_register(builder, name, bits, widths),
        },
        _ => Err(Problem::Operand { number, expected: "a register or a number" }),
    }
}

fn check_width(name: &str, found: usize, expected: usize, widths: Widths) -> Result<(), Problem> {
    // An 8-bit value is in a register of 16 bits or more, the smallest registers of PTX.
    match found == expected || (widths == Widths::OrWider && found > expected) {
        true => Ok(()),
        false => Err(Problem::Width { register: name.to_owned(), found, expected }),
    }
}

/// The register with the value of a special register.
fn special_register(builder: &mut Builder<'_>, name: &str, bits: usize, widths: Widths) -> Result<Register, Problem> {
    match special(name) {
        Some(special) => {
            check_width(name, 32, bits, widths)?;
            Ok(builder.special(special))
        }
        None if name == "WARP_SZ" => Ok(builder.constant(LANES as u64, 32)),
        None if name.starts_with('%') && UNSUPPORTED_SPECIAL.iter().any(|start| name.starts_with(start)) => {
            Err(Problem::SpecialRegister(name.to_owned()))
        }
        None => Err(Problem::Undeclared(name.to_owned())),
    }
}

/// Rejects special registers, which only `mov` and `cvt` accept, as in NVIDIA's assembler.
pub(super) fn check_no_special(builder: &Builder<'_>, operands: &[Operand]) -> Result<(), Problem> {
    let is_special = |operand: &Operand| match operand {
        Operand::Name(name) => name.starts_with('%') && builder.scopes.find(name).is_none() && special(name).is_some(),
        _ => false,
    };
    match operands.iter().position(is_special) {
        None => Ok(()),
        Some(index) => Err(Problem::Operand {
            number: index + 1,
            expected: "an operand other than a special register, which only mov and cvt accept",
        }),
    }
}

/// Prefixes of special registers that have no meaning without a GPU.
const UNSUPPORTED_SPECIAL: [&str; 9] =
    ["%clock", "%globaltimer", "%smid", "%nsmid", "%gridid", "%pm", "%envreg", "%cluster", "%is_explicit_cluster"];

fn special(name: &str) -> Option<Special> {
    const LANE_MASKS: [(&str, LaneComparison); 5] = [
        ("%lanemask_eq", LaneComparison::Equal),
        ("%lanemask_lt", LaneComparison::Less),
        ("%lanemask_le", LaneComparison::LessOrEqual),
        ("%lanemask_gt", LaneComparison::Greater),
        ("%lanemask_ge", LaneComparison::GreaterOrEqual),
    ];
    if let Some((_, mask)) = LANE_MASKS.iter().find(|(mask, _)| *mask == name) {
        return Some(Special::LaneMask(*mask));
    }
    let (register, dimension) = name.split_once('.').map_or((name, None), |(register, axis)| (register, Some(axis)));
    let dimension = match dimension {
        None => None,
        Some(axis) => Some(["x", "y", "z", "w"].iter().position(|name| *name == axis)?),
    };
    Some(match (register, dimension) {
        ("%tid" | "%ctaid", Some(3)) => Special::Zero,
        ("%tid", Some(axis)) => Special::ThreadIndex(axis),
        ("%ctaid", Some(axis)) => Special::BlockIndex(axis),
        ("%ntid", Some(axis)) if axis < 3 => Special::BlockSize(axis),
        ("%nctaid", Some(axis)) if axis < 3 => Special::GridSize(axis),
        ("%laneid", None) => Special::Lane,
        ("%warpid", None) => Special::Warp,
        ("%nwarpid", None) => Special::Warps,
        ("%dynamic_smem_size", None) => Special::DynamicSharedBytes,
        // The driver sets them to the address at which CUDA's cooperative groups find the grid barrier.
        ("%envreg1", None) => Special::GridWorkspace { upper: true },
        ("%envreg2", None) => Special::GridWorkspace { upper: false },
        _ => return None,
    })
}

/// `[register + offset]` or `[variable + offset]`, and the state space if it names a variable.
pub(super) fn address(
    builder: &mut Builder<'_>,
    operand: &Operand,
    number: usize,
) -> Result<(EffectiveAddress, Option<Space>), Problem> {
    let Operand::Address(syntax::Address { base, offset }) = operand else {
        return Err(Problem::Operand { number, expected: "an address" });
    };
    let name = match base {
        AddressBase::Immediate(value) => {
            let offset = (*value as i64).wrapping_add(*offset);
            return Ok((EffectiveAddress { base: None, offset, narrow: false }, None));
        }
        AddressBase::Name(name) => name,
    };
    if let Some((space, address)) = builder.variable_address(name)? {
        let offset = (address as i64).wrapping_add(*offset);
        return Ok((EffectiveAddress { base: None, offset, narrow: false }, Some(space)));
    }
    match builder.scopes.find(name) {
        Some(Named::Register { register, bits: bits @ (32 | 64) }) => {
            Ok((EffectiveAddress { base: Some(*register), offset: *offset, narrow: *bits == 32 }, None))
        }
        Some(_) => Err(Problem::Operand { number, expected: "an address in a register of 32 or 64 bits" }),
        None => Err(Problem::Undeclared(name.clone())),
    }
}

/// The operands as an array of `N`.
///
/// # Errors
/// `OperandCount` if their number differs.
pub(super) fn count<'a, const N: usize>(
    operands: &'a [Operand],
    expected: &'static str,
) -> Result<&'a [Operand; N], Problem> {
    operands.try_into().map_err(|_| Problem::OperandCount { expected, found: operands.len() })
}

/// `mov`, `cvta`, `isspacep` and `selp`.
pub(super) fn decode_move(
    builder: &mut Builder<'_>,
    opcode: &str,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<(Action, Class), Problem> {
    match opcode {
        "mov" => {
            let scalar_type = modifiers.expect_type()?;
            modifiers.end()?;
            Ok((mov(builder, scalar_type, count(operands, "2")?)?, Class::Move))
        }
        "cvta" => {
            let to = modifiers.take("to");
            let space = expect_space(modifiers)?;
            let scalar_type = modifiers.expect_type()?;
            modifiers.end()?;
            if scalar_type != ScalarType::U64 {
                return Err(Problem::Unsupported("an address of 32 bits"));
            }
            let [to_operand, from_operand] = count(operands, "2")?;
            let destination = destination(builder, to_operand, 1, 64, Widths::Exact)?;
            let source = match from_operand {
                Operand::Name(name) if !to && builder.variable_address(name)?.is_some() => {
                    variable(builder, name, 0, Some(space))?
                }
                _ => source(builder, from_operand, 2, scalar_type, Widths::Exact)?,
            };
            let base = crate::memory::to_generic(space, 0);
            let distance = builder.constant(if to { base.wrapping_neg() } else { base }, 64);
            let sources = [source, distance, 0, 0];
            Ok((Action::Compute { compute: add_addresses, destination, sources, extend: Extend::Zero }, Class::Move))
        }
        "isspacep" => {
            let space = expect_space(modifiers)?;
            modifiers.end()?;
            let [to, from] = count(operands, "2")?;
            let destination = predicate(builder, to, 1)?;
            let address = source(builder, from, 2, ScalarType::B64, Widths::Exact)?;
            Ok((Action::IsSpace { space, destination, address }, Class::Compare))
        }
        _ => {
            let scalar_type = modifiers.expect_type()?;
            modifiers.end()?;
            let [to, a, b, condition] = count(operands, "4")?;
            let destination = destination(builder, to, 1, scalar_type.bytes() * 8, Widths::Exact)?;
            let sources = [
                source(builder, a, 2, scalar_type, Widths::Exact)?,
                source(builder, b, 3, scalar_type, Widths::Exact)?,
            ];
            let predicate = predicate(builder, condition, 4)?;
            Ok((Action::Select { destination, sources, predicate }, Class::Compare))
        }
    }
}

fn add_addresses(result: &mut Lanes, [a, b, ..]: [&Lanes; 4]) {
    for lane in 0..LANES {
        result[lane] = a[lane].wrapping_add(b[lane]);
    }
}

fn expect_space(modifiers: &mut ModifierCursor<'_>) -> Result<Space, Problem> {
    let names = ["global", "shared", "shared::cta", "local", "const", "param", "param::entry"];
    let name = modifiers.expect_any(&names, "the state space")?;
    Ok(space_named(name).unwrap_or(Space::Global))
}

/// The state space of this name.
pub(super) fn space_named(name: &str) -> Option<Space> {
    Some(match name {
        "global" => Space::Global,
        "shared" | "shared::cta" => Space::Shared,
        "local" => Space::Local,
        "const" => Space::Const,
        "param" | "param::entry" | "param::func" => Space::Param,
        _ => return None,
    })
}

fn mov(builder: &mut Builder<'_>, scalar_type: ScalarType, [to, from]: &[Operand; 2]) -> Result<Action, Problem> {
    if scalar_type == ScalarType::Pred {
        return super::predicates::mov(builder, to, from);
    }
    let bits = scalar_type.bytes() * 8;
    if scalar_type == ScalarType::B128 {
        return Err(Problem::Unsupported("a register of 128 bits"));
    }
    if let Operand::Vector(parts) = to {
        let part_bits = vector_bits(parts.len(), bits)?;
        let source = source(builder, from, 2, scalar_type, Widths::Exact)?;
        let destinations = parts.iter().map(|part| match part {
            Operand::Name(name) if name == "_" => Ok(None),
            part => destination(builder, part, 1, part_bits, Widths::Exact).map(Some),
        });
        let destinations = destinations.collect::<Result<_, _>>()?;
        return Ok(Action::Unpack { destinations, source, bits: part_bits as u32 });
    }
    let destination = destination(builder, to, 1, bits, Widths::Exact)?;
    if let Operand::Vector(parts) = from {
        let part_bits = vector_bits(parts.len(), bits)?;
        let part_type = [(8, ScalarType::B8), (16, ScalarType::B16), (32, ScalarType::B32)]
            .iter()
            .find_map(|(bits, part)| (*bits == part_bits).then_some(*part))
            .unwrap_or(ScalarType::B32);
        let parts = parts.iter().map(|part| source(builder, part, 2, part_type, Widths::Exact));
        return Ok(Action::Pack { destination, parts: parts.collect::<Result<_, _>>()?, bits: part_bits as u32 });
    }
    let source = match from {
        Operand::Offset(name, offset) => short_address(builder, name, *offset, bits)?,
        Operand::Name(name) if builder.variable_address(name)?.is_some() => short_address(builder, name, 0, bits)?,
        _ => source(builder, from, 2, scalar_type, Widths::Exact)?,
    };
    Ok(Action::Move { destination, source })
}

/// A constant register with the address of a variable within its state space.
fn variable(builder: &mut Builder<'_>, name: &str, offset: i64, space: Option<Space>) -> Result<Register, Problem> {
    let (found, address) = builder.variable_address(name)?.ok_or_else(|| Problem::Undeclared(name.to_owned()))?;
    if space.is_some_and(|space| space != found) {
        return Err(Problem::Operand { number: 2, expected: "a variable of this state space" });
    }
    Ok(builder.constant(address.wrapping_add_signed(offset), 64))
}

/// As `variable`, for a destination of `bits` bits. Addresses of global memory need 64, those of other spaces fit in
/// 32.
fn short_address(builder: &mut Builder<'_>, name: &str, offset: i64, bits: usize) -> Result<Register, Problem> {
    let min_bits = match builder.variable_address(name)? {
        Some((Space::Global, _)) => 64,
        _ => 32,
    };
    check_width(name, bits, min_bits, Widths::OrWider)?;
    let register = variable(builder, name, offset, None)?;
    Ok(builder.truncated(register, bits))
}

fn vector_bits(parts: usize, bits: usize) -> Result<usize, Problem> {
    match parts {
        2 | 4 if bits / parts >= 8 => Ok(bits / parts),
        _ => Err(Problem::Operand { number: 1, expected: "a vector of 2 or 4 parts" }),
    }
}
