//! Decodes operands.

use crate::program::error::Problem;
use crate::program::immediate::immediate_bits;
use crate::program::instruction::{Clock, Extend, Predicate, Register};
use crate::program::names::Named;
use crate::program::registers::{LaneComparison, Special};
use crate::program::symbols::Symbols;
use crate::semantics::LANES;
use crate::syntax::{Guard, Operand, ScalarType};

/// The predicate of a guard, and whether it is negated.
pub(in crate::program) fn guard(symbols: &Symbols<'_>, guard: &Guard) -> Result<(Predicate, bool), Problem> {
    Ok((named_predicate(symbols, &guard.register, 0)?, guard.negated))
}

/// Decodes an operand that must be a predicate register.
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
        None if name == EXPLICIT_CLUSTER => Err(Problem::SpecialRegister(name.to_owned())),
        None => Err(Problem::Undeclared(name.to_owned())),
    }
}

/// The special register that is a predicate. Only `mov` reads it here.
pub(super) const EXPLICIT_CLUSTER: &str = "%is_explicit_cluster";

/// One or two destination predicates, `p` or `p|q`. `None` for `_`.
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
        None if name.starts_with('%') && (special(name).is_some() || clock(name).is_some()) => {
            Err(Problem::Operand { number, expected })
        }
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
    // An 8-bit value is held in a register of at least 16 bits, the smallest registers of PTX.
    match found == expected || (widths == Widths::OrWider && found > expected) {
        true => Ok(()),
        false => Err(Problem::Width { register: name.to_owned(), found, expected }),
    }
}

/// The register that holds the value of a special register.
fn special_register(symbols: &mut Symbols<'_>, name: &str, bits: usize, widths: Widths) -> Result<Register, Problem> {
    if let Some(clock) = clock(name) {
        check_width(name, clock.bits, bits, widths)?;
        return Ok(symbols.clock_before(clock));
    }
    match special(name) {
        Some((special, found)) => {
            let found = if special == Special::GridNumber && bits == 32 { 32 } else { found };
            check_width(name, found, bits, widths)?;
            Ok(symbols.special(special))
        }
        None if name == "WARP_SZ" => Ok(symbols.constant(LANES as u64, 32)),
        None if name.starts_with('%') && SPECIAL.iter().any(|start| name.starts_with(start)) => {
            Err(Problem::SpecialRegister(name.to_owned()))
        }
        None => Err(Problem::Undeclared(name.to_owned())),
    }
}

/// The counter that a special register reads. All of them count the instructions issued by the
/// block: time is not modeled.
pub(super) fn clock(name: &str) -> Option<Clock> {
    Some(match name {
        "%clock" | "%globaltimer_lo" => Clock { bits: 32, shift: 0 },
        "%clock_hi" | "%globaltimer_hi" => Clock { bits: 32, shift: 32 },
        "%clock64" | "%globaltimer" => Clock { bits: 64, shift: 0 },
        _ => return None,
    })
}

/// Rejects special registers. Like NVIDIA's assembler, only `mov` and `cvt` accept them.
pub(super) fn check_no_special(symbols: &Symbols<'_>, operands: &[Operand]) -> Result<(), Problem> {
    let is_special = |operand: &Operand| match operand {
        Operand::Name(name) => {
            name.starts_with('%') && symbols.find(name).is_none() && (special(name).is_some() || clock(name).is_some())
        }
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

/// Prefixes reserved for special registers. Other names with these prefixes are not in the ISA.
const SPECIAL: [&str; 8] =
    ["%clock", "%globaltimer", "%reserved_smem", "%pm", "%envreg", "%cluster", "%nclusterid", "%is_explicit_cluster"];

/// The special register with this name, and its width in bits. `%gridid` also has 32.
pub(super) fn special(name: &str) -> Option<(Special, usize)> {
    const LANE_MASKS: [(&str, LaneComparison); 5] = [
        ("%lanemask_eq", LaneComparison::Equal),
        ("%lanemask_lt", LaneComparison::Less),
        ("%lanemask_le", LaneComparison::LessOrEqual),
        ("%lanemask_gt", LaneComparison::Greater),
        ("%lanemask_ge", LaneComparison::GreaterOrEqual),
    ];
    if let Some((_, mask)) = LANE_MASKS.iter().find(|(mask, _)| *mask == name) {
        return Some((Special::LaneMask(*mask), 32));
    }
    let (register, dimension) = name.split_once('.').map_or((name, None), |(register, axis)| (register, Some(axis)));
    let dimension = match dimension {
        None => None,
        Some(axis) => Some(["x", "y", "z", "w"].iter().position(|name| *name == axis)?),
    };
    // The performance monitor counters always read 0.
    let is_numbered = |name: &str, count: u32| numbered(register, name).is_some_and(|number| number < count);
    if dimension.is_none()
        && let Some(name) = register.strip_suffix("_64")
        && numbered(name, "%pm").is_some_and(|number| number < 8)
    {
        return Some((Special::Zero, 64));
    }
    let special = match (register, dimension) {
        (
            "%tid" | "%ntid" | "%ctaid" | "%nctaid" | "%clusterid" | "%nclusterid" | "%cluster_ctaid"
            | "%cluster_nctaid",
            Some(3),
        ) => Special::Zero,
        ("%tid", Some(axis)) => Special::ThreadIndex(axis),
        ("%ctaid", Some(axis)) => Special::BlockIndex(axis),
        ("%ntid", Some(axis)) => Special::BlockSize(axis),
        ("%nctaid", Some(axis)) => Special::GridSize(axis),
        ("%laneid", None) => Special::Lane,
        ("%warpid", None) => Special::Warp,
        ("%nwarpid", None) => Special::Warps,
        ("%cluster_ctarank", None) => Special::ClusterRank,
        ("%cluster_nctarank", None) => Special::ClusterSize,
        ("%dynamic_smem_size", None) => Special::DynamicSharedBytes,
        // The driver sets these to the address where CUDA's cooperative groups find the grid
        // barrier.
        ("%envreg1", None) => Special::GridWorkspace { upper: true },
        ("%envreg2", None) => Special::GridWorkspace { upper: false },
        ("%clusterid", Some(axis)) => Special::ClusterIndex(axis),
        ("%nclusterid", Some(axis)) => Special::Clusters(axis),
        ("%cluster_ctaid", Some(axis)) => Special::IndexInCluster(axis),
        ("%cluster_nctaid", Some(axis)) => Special::ClusterShape(axis),
        ("%smid", None) => Special::Multiprocessor,
        ("%nsmid", None) => Special::Multiprocessors,
        ("%gridid", None) => return Some((Special::GridNumber, 64)),
        ("%total_smem_size", None) => Special::SharedBytes { with_reserved: false },
        ("%aggr_smem_size", None) => Special::SharedBytes { with_reserved: true },
        ("%reserved_smem_offset_begin" | "%reserved_smem_offset_0" | "%reserved_smem_offset_1", None) => Special::Zero,
        ("%reserved_smem_offset_end" | "%reserved_smem_offset_cap", None) => Special::ReservedSharedBytes,
        // No launch here belongs to a graph started by the device.
        ("%current_graph_exec", None) => return Some((Special::Zero, 64)),
        (_, None) if is_numbered("%pm", 8) || is_numbered("%envreg", 32) => Special::Zero,
        _ => return None,
    };
    Some((special, 32))
}

/// The number after a name, such as 3 in `%pm3`.
fn numbered(register: &str, name: &str) -> Option<u32> {
    let digits = register.strip_prefix(name)?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    digits.parse().ok().filter(|_| is_number)
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

/// How to extend a value of the type to the register's width.
pub(super) fn extension(symbols: &Symbols<'_>, scalar_type: ScalarType, register: Register) -> Extend {
    let (from, to) = (scalar_type.bytes() as u32 * 8, symbols.register_bits(register) as u32);
    if scalar_type.is_signed() && from < to { Extend::Sign { from, to } } else { Extend::Zero }
}

/// The operands in braces, which must match the vector's length, or a single one without braces.
pub(super) fn parts(operand: &Operand, vector: usize) -> Result<&[Operand], Problem> {
    let expected = "a vector with the number of registers of the modifier";
    match (operand, vector) {
        // Some compilers write a single register in braces.
        (Operand::Vector(parts), 1 | 2 | 4) if parts.len() == vector => Ok(parts),
        (Operand::Vector(_), _) => Err(Problem::Operand { number: 1, expected }),
        (operand, 1) => Ok(std::slice::from_ref(operand)),
        _ => Err(Problem::Operand { number: 1, expected }),
    }
}
