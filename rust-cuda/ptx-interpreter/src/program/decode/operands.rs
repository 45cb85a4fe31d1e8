//! Decoding of operands.

use crate::program::error::Problem;
use crate::program::immediate::immediate_bits;
use crate::program::instruction::{EffectiveAddress, Extend, Predicate, Register};
use crate::program::names::Named;
use crate::program::registers::{LaneComparison, Special};
use crate::program::symbols::Symbols;
use crate::semantics::LANES;
use crate::syntax::{self, AddressBase, Guard, Operand, ScalarType, Space};

/// The predicate of a guard, and whether it is negated.
pub(in crate::program) fn guard(symbols: &Symbols<'_>, guard: &Guard) -> Result<(Predicate, bool), Problem> {
    Ok((named_predicate(symbols, &guard.register, 0)?, guard.negated))
}

/// An operand that is a predicate register.
pub(super) fn predicate(symbols: &Symbols<'_>, operand: &Operand, number: usize) -> Result<Predicate, Problem> {
    match operand {
        Operand::Name(name) => named_predicate(symbols, name, number),
        _ => Err(Problem::Operand { number, expected: "a predicate" }),
    }
}

/// A predicate register, and whether it is negated by `!`.
pub(super) fn negatable_predicate(
    symbols: &Symbols<'_>,
    operand: &Operand,
    number: usize,
) -> Result<(Predicate, bool), Problem> {
    match operand {
        Operand::Not(name) => Ok((named_predicate(symbols, name, number)?, true)),
        _ => Ok((predicate(symbols, operand, number)?, false)),
    }
}

pub(super) fn named_predicate(symbols: &Symbols<'_>, name: &str, number: usize) -> Result<Predicate, Problem> {
    match symbols.find(name) {
        Some(Named::Predicate(predicate)) => Ok(*predicate),
        Some(_) => Err(Problem::Operand { number, expected: "a predicate" }),
        None => Err(Problem::Undeclared(name.to_owned())),
    }
}

/// One or two destination predicates, `p` or `p|q`; None for `_`.
pub(super) fn predicate_pair(
    symbols: &Symbols<'_>,
    operand: &Operand,
    number: usize,
) -> Result<[Option<Predicate>; 2], Problem> {
    let one = |name: &String| match name.as_str() {
        "_" => Ok(None),
        name => named_predicate(symbols, name, number).map(Some),
    };
    match operand {
        Operand::Pair(first, second) => Ok([one(first)?, one(second)?]),
        Operand::Name(name) => Ok([one(name)?, None]),
        _ => Err(Problem::Operand { number, expected: "a predicate" }),
    }
}

/// A destination register.
pub(super) fn destination(
    symbols: &Symbols<'_>,
    operand: &Operand,
    number: usize,
    bits: usize,
    widths: Widths,
) -> Result<Register, Problem> {
    let expected = "a register";
    let Operand::Name(name) = operand else { return Err(Problem::Operand { number, expected }) };
    match symbols.find(name) {
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
    symbols: &mut Symbols<'_>,
    operand: &Operand,
    number: usize,
    scalar_type: ScalarType,
    widths: Widths,
) -> Result<Register, Problem> {
    let bits = scalar_type.bytes() * 8;
    match operand {
        Operand::Immediate(value) => Ok(symbols.constant(immediate_bits(*value, scalar_type), 64)),
        Operand::Name(name) => match symbols.find(name) {
            Some(Named::Register { register, bits: found }) => {
                check_width(name, *found, bits, widths)?;
                Ok(*register)
            }
            Some(_) => Err(Problem::Operand { number, expected: "a register or a number" }),
            None => special_register(symbols, name, bits, widths),
        },
        _ => Err(Problem::Operand { number, expected: "a register or a number" }),
    }
}

pub(super) fn check_width(name: &str, found: usize, expected: usize, widths: Widths) -> Result<(), Problem> {
    // An 8-bit value is in a register of 16 bits or more, the smallest registers of PTX.
    match found == expected || (widths == Widths::OrWider && found > expected) {
        true => Ok(()),
        false => Err(Problem::Width { register: name.to_owned(), found, expected }),
    }
}

/// The register with the value of a special register.
fn special_register(symbols: &mut Symbols<'_>, name: &str, bits: usize, widths: Widths) -> Result<Register, Problem> {
    match special(name) {
        Some(special) => {
            check_width(name, 32, bits, widths)?;
            Ok(symbols.special(special))
        }
        None if name == "WARP_SZ" => Ok(symbols.constant(LANES as u64, 32)),
        None if name.starts_with('%') && UNSUPPORTED_SPECIAL.iter().any(|start| name.starts_with(start)) => {
            Err(Problem::SpecialRegister(name.to_owned()))
        }
        None => Err(Problem::Undeclared(name.to_owned())),
    }
}

/// Rejects special registers, which only `mov` and `cvt` accept, as in NVIDIA's assembler.
pub(super) fn check_no_special(symbols: &Symbols<'_>, operands: &[Operand]) -> Result<(), Problem> {
    let is_special = |operand: &Operand| match operand {
        Operand::Name(name) => name.starts_with('%') && symbols.find(name).is_none() && special(name).is_some(),
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
        ("%cluster_ctarank", None) => Special::ClusterRank,
        ("%cluster_nctarank", None) => Special::ClusterSize,
        ("%dynamic_smem_size", None) => Special::DynamicSharedBytes,
        // The driver sets them to the address at which CUDA's cooperative groups find the grid barrier.
        ("%envreg1", None) => Special::GridWorkspace { upper: true },
        ("%envreg2", None) => Special::GridWorkspace { upper: false },
        _ => return None,
    })
}

/// `[register + offset]` or `[variable + offset]`, and the state space if it names a variable.
pub(super) fn address(
    symbols: &mut Symbols<'_>,
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
    if let Some((space, address)) = symbols.variable_address(name)? {
        return Ok((symbols.effective(address, *offset), Some(space)));
    }
    match symbols.find(name) {
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

/// The register widths that an operand of a type accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Widths {
    /// The width of the type.
    Exact,
    /// The width of the type or more.
    OrWider,
}

/// How a value of the type is extended to the register's width.
pub(super) fn extension(symbols: &Symbols<'_>, scalar_type: ScalarType, register: Register) -> Extend {
    let (from, to) = (scalar_type.bytes() as u32 * 8, symbols.register_bits(register) as u32);
    if scalar_type.is_signed() && from < to { Extend::Sign { from, to } } else { Extend::Zero }
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
