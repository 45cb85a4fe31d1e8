//! Decodes asynchronous copies and stores, except tensor copies.

use super::addresses::{CLUSTER, address_in};
use super::mbarrier;
use super::operands::{Widths, count, parts, predicate, source};
use crate::program::error::Problem;
use crate::program::instruction::{AccessSpace, Action, BulkCopy, CopyAsync, Register, StoreAsync};
use crate::program::modifiers::ModifierCursor;
use crate::program::symbols::Symbols;
use crate::syntax::{Immediate, Operand, ScalarType, Space};

/// The number of groups of copies that may still be in flight after a wait.
pub(super) fn groups(operands: &[Operand]) -> Result<u32, Problem> {
    let [groups] = count(operands, "1")?;
    match groups {
        Operand::Immediate(Immediate::Integer(groups)) => u32::try_from(*groups).ok(),
        _ => None,
    }
    .ok_or(Problem::Operand { number: 1, expected: "a number of groups" })
}

/// Decodes `cp.async.ca.shared.global`, the commit and wait of its groups, its arrival at an
/// mbarrier, and `cp.async.bulk`.
pub(super) fn copy_async(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    modifiers.expect_any(&["async"], "`.async`")?;
    if modifiers.take("bulk") {
        return bulk(symbols, modifiers, operands);
    }
    if modifiers.take("mbarrier") {
        return Ok(Action::Mbarrier(mbarrier::arrive_with_copies(symbols, modifiers, operands)?));
    }
    if modifiers.take("commit_group") {
        modifiers.end()?;
        count::<0>(operands, "0")?;
        return Ok(Action::CopyAsyncCommit);
    }
    if modifiers.take("wait_all") {
        modifiers.end()?;
        count::<0>(operands, "0")?;
        return Ok(Action::CopyAsyncWait(None));
    }
    if modifiers.take("wait_group") {
        modifiers.end()?;
        return Ok(Action::CopyAsyncWait(Some(groups(operands)?)));
    }
    let cache = modifiers.expect_any(&["ca", "cg"], "`.ca` or `.cg`")?;
    modifiers.expect_any(&["shared", "shared::cta"], "`.shared`")?;
    modifiers.expect_any(&["global"], "`.global`")?;
    while modifiers.take_beginning(&["L2::"]).is_some() {}
    modifiers.end()?;
    let (to, from, size, rest) = match operands {
        [to, from, size, rest @ ..] if rest.len() <= 1 => (to, from, size, rest),
        _ => return Err(Problem::OperandCount { expected: "3 or 4", found: operands.len() }),
    };
    let bytes = match size {
        Operand::Immediate(Immediate::Integer(4 | 8)) if cache == "cg" => None,
        Operand::Immediate(Immediate::Integer(bytes @ (4 | 8 | 16))) => Some(*bytes as usize),
        _ => None,
    };
    let bytes = bytes.ok_or(Problem::Operand { number: 3, expected: "4, 8 or 16 bytes (16 with .cg)" })?;
    let to = address_in(symbols, to, 1, AccessSpace::Space(Space::Shared))?;
    let from = address_in(symbols, from, 2, AccessSpace::Space(Space::Global))?;
    let (mut read, mut ignore) = (None, None);
    if let [last] = rest {
        match predicate(symbols, last, 4) {
            Ok(predicate) => ignore = Some(predicate),
            Err(_) => read = Some(source(symbols, last, 4, ScalarType::U32, Widths::Exact)?),
        }
    }
    Ok(Action::CopyAsync(CopyAsync { to, from, bytes, read, ignore }))
}

/// Decodes `cp.async.bulk` and the commit and wait of its groups, after `.bulk`.
fn bulk(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    if modifiers.take("commit_group") {
        modifiers.end()?;
        count::<0>(operands, "0")?;
        return Ok(Action::BulkCommit);
    }
    if modifiers.take("wait_group") {
        let reads_only = modifiers.take("read");
        modifiers.end()?;
        return Ok(Action::BulkWait { groups: groups(operands)?, reads_only });
    }
    let spaces = [CLUSTER, "shared::cta", "global"];
    let [to, from] = [(); 2].map(|()| modifiers.expect_any(&spaces, "`.shared::cluster`, `.shared::cta` or `.global`"));
    let (to, from) = (to?, from?);
    let has_barrier = match (to, from) {
        (CLUSTER | "shared::cta", "global") | (CLUSTER, "shared::cta") => true,
        ("global", "shared::cta") => false,
        _ => return Err(Problem::Unsupported("a bulk copy between these state spaces")),
    };
    let completion = if has_barrier { "mbarrier::complete_tx::bytes" } else { "bulk_group" };
    modifiers.expect_any(&[completion], "how the copy is waited for")?;
    let has_hint = modifiers.take("L2::cache_hint");
    modifiers.end()?;
    let expected = 3 + usize::from(has_barrier);
    let found = operands.len();
    let (operands, hint) = operands.split_at(expected.min(found));
    if operands.len() != expected || hint.len() != usize::from(has_hint) {
        let expected = "two addresses, a size, and the mbarrier and the hint of the modifiers";
        return Err(Problem::OperandCount { expected, found });
    }
    let space = |name| match name {
        CLUSTER => AccessSpace::Cluster,
        "global" => AccessSpace::Space(Space::Global),
        _ => AccessSpace::Space(Space::Shared),
    };
    let (to, from) = (space(to), space(from));
    Ok(Action::BulkCopy(BulkCopy {
        to: (to, address_in(symbols, &operands[0], 1, to)?),
        from: (from, address_in(symbols, &operands[1], 2, from)?),
        bytes: source(symbols, &operands[2], 3, ScalarType::U32, Widths::Exact)?,
        barrier: operands.get(3).map(|address| address_in(symbols, address, 4, AccessSpace::Cluster)).transpose()?,
    }))
}

/// `st.async{.weak}.shared::cluster.mbarrier::complete_tx::bytes{.vec}.type [a], b, [mbarrier]`, after its name.
pub(super) fn store_async(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<StoreAsync, Problem> {
    modifiers.take("weak");
    modifiers.expect_any(&["shared::cluster"], "`.shared::cluster`")?;
    modifiers.expect_any(&["mbarrier::complete_tx::bytes"], "`.mbarrier::complete_tx::bytes`")?;
    let vector = match modifiers.take_any(&["v2", "v4"]) {
        Some("v2") => 2,
        Some(_) => 4,
        None => 1,
    };
    let scalar_type = modifiers.expect_type()?;
    modifiers.end()?;
    let is_word = matches!(scalar_type.bytes(), 4 | 8) && scalar_type != ScalarType::Pred;
    if !is_word || vector * scalar_type.bytes() > 16 {
        return Err(Problem::Unsupported("an asynchronous store of this type"));
    }
    let [to, values, barrier] = count(operands, "3")?;
    let address = address_in(symbols, to, 1, AccessSpace::Cluster)?;
    let values = parts(values, vector)?.iter();
    let sources: Result<Vec<Register>, Problem> =
        values.map(|value| source(symbols, value, 2, scalar_type, Widths::Exact)).collect();
    let barrier = address_in(symbols, barrier, 3, AccessSpace::Cluster)?;
    Ok(StoreAsync { address, bytes: scalar_type.bytes(), sources: sources?, barrier })
}
