//! Decodes asynchronous tensor copies.

use super::addresses::{CLUSTER, address_in};
use super::operands::{Widths, source};
use crate::program::error::Problem;
use crate::program::instruction::{AccessSpace, Action, Register, TensorCopy, TensorCopyKind, TensorReduction};
use crate::program::modifiers::ModifierCursor;
use crate::program::symbols::Symbols;
use crate::syntax::{Operand, ScalarType, Space, Texel};

/// Decodes `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor` and
/// `cp.async.bulk.prefetch.tensor`.
pub(super) fn decode(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    let reduces = modifiers.take("reduce");
    modifiers.expect_any(&["async"], "`.async`")?;
    modifiers.expect_any(&["bulk"], "`.bulk`")?;
    let prefetches = !reduces && modifiers.take("prefetch");
    modifiers.expect_any(&["tensor"], "`.tensor`")?;
    match prefetches {
        true => prefetch(symbols, modifiers, operands),
        false => copy(symbols, reduces, modifiers, operands),
    }
}

/// The two copies, after `.tensor`.
fn copy(
    symbols: &mut Symbols<'_>,
    reduces: bool,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    let rank = rank(modifiers)?;
    let to = modifiers.expect_any(&[CLUSTER, "shared::cta", "global"], "the state space of the target")?;
    let from = if to == "global" { "shared::cta" } else { "global" };
    modifiers.expect_any(&[from], "the state space of the source")?;
    let loads = to != "global";
    if loads && reduces {
        return Err(Problem::Unsupported("a reduction in shared memory"));
    }
    let reduction = if reduces { Some(reduction(modifiers)?) } else { None };
    mode(modifiers)?;
    let completion = if loads { "mbarrier::complete_tx::bytes" } else { "bulk_group" };
    modifiers.expect_any(&[completion], "how the copy is waited for")?;
    let is_multicast = to == CLUSTER && modifiers.take("multicast::cluster");
    let has_hint = modifiers.take("L2::cache_hint");
    modifiers.end()?;
    let expected = 2 + usize::from(loads) + usize::from(is_multicast) + usize::from(has_hint);
    if operands.len() != expected {
        let expected =
            "a tensor map with coordinates, an address, and the mbarrier, the blocks and the hint of the modifiers";
        return Err(Problem::OperandCount { expected, found: operands.len() });
    }
    let space = if to == CLUSTER { AccessSpace::Cluster } else { AccessSpace::Space(Space::Shared) };
    let (in_tensor, in_shared) = if loads { (1, 0) } else { (0, 1) };
    let (map, coordinates) = place(symbols, &operands[in_tensor], in_tensor + 1, rank)?;
    let shared = address_in(symbols, &operands[in_shared], in_shared + 1, space)?;
    let kind = match reduction {
        Some(reduction) => TensorCopyKind::Reduce(reduction),
        None if loads => {
            let barrier = address_in(symbols, &operands[2], 3, AccessSpace::Cluster)?;
            let blocks = match is_multicast {
                true => Some(source(symbols, &operands[3], 4, ScalarType::U16, Widths::Exact)?),
                false => None,
            };
            TensorCopyKind::Load { barrier, blocks }
        }
        None => TensorCopyKind::Store,
    };
    Ok(Action::TensorCopy(TensorCopy { map, coordinates, shared: (space, shared), kind }))
}

/// The prefetch, after `.tensor`: a hint without effect.
fn prefetch(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    let rank = rank(modifiers)?;
    modifiers.expect_any(&["L2"], "`.L2`")?;
    modifiers.expect_any(&["global"], "`.global`")?;
    mode(modifiers)?;
    let has_hint = modifiers.take("L2::cache_hint");
    modifiers.end()?;
    if operands.len() != 1 + usize::from(has_hint) {
        return Err(Problem::OperandCount { expected: "a tensor map with coordinates", found: operands.len() });
    }
    place(symbols, &operands[0], 1, rank)?;
    Ok(Action::Nothing)
}

fn rank(modifiers: &mut ModifierCursor<'_>) -> Result<usize, Problem> {
    const NAMES: [&str; 5] = ["1d", "2d", "3d", "4d", "5d"];
    let name = modifiers.expect_any(&NAMES, "the dimensions")?;
    Ok(NAMES.iter().position(|other| *other == name).map_or(0, |index| index + 1))
}

/// Decodes the optional `.tile`.
fn mode(modifiers: &mut ModifierCursor<'_>) -> Result<(), Problem> {
    modifiers.take("tile");
    match modifiers.take_beginning(&["im2col", "tile::"]) {
        Some(_) => Err(Problem::Unsupported("a copy of a tensor in another mode than `.tile`")),
        None => Ok(()),
    }
}

fn reduction(modifiers: &mut ModifierCursor<'_>) -> Result<TensorReduction, Problem> {
    let names = TensorReduction::ALL.map(TensorReduction::name);
    let name = modifiers.expect_any(&names, "the operation")?;
    let found = TensorReduction::ALL.into_iter().find(|reduction| reduction.name() == name);
    found.ok_or(Problem::Missing("the operation"))
}

/// Decodes `[map, {x, y}]`: the register with the generic address of the map, and the coordinates.
fn place(
    symbols: &mut Symbols<'_>,
    operand: &Operand,
    number: usize,
    rank: usize,
) -> Result<(Register, Vec<Register>), Problem> {
    let expected = "a tensor map's address in a register of 64 bits, and a coordinate for each dimension";
    let Operand::Texel(Texel { object, coordinates }) = operand else {
        return Err(Problem::Operand { number, expected });
    };
    if coordinates.len() != rank {
        return Err(Problem::Operand { number, expected });
    }
    let map = source(symbols, &Operand::Name(object.clone()), number, ScalarType::B64, Widths::Exact)?;
    let coordinates = coordinates.iter().map(|at| source(symbols, at, number, ScalarType::S32, Widths::Exact));
    Ok((map, coordinates.collect::<Result<_, _>>()?))
}
