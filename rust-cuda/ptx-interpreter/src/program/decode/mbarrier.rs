//! Decoding of mbarriers, and of the stores that complete their phases.

use super::memory::{CLUSTER, SCOPES, groups, resolved};
use super::operands::{Widths, count, destination, predicate, source};
use crate::program::error::Problem;
use crate::program::instruction::{
    AccessSpace, Action, Arrival, BulkCopy, EffectiveAddress, Mbarrier, MbarrierOperation, PhaseOperand, Register,
    StoreAsync,
};
use crate::program::modifiers::ModifierCursor;
use crate::program::symbols::Symbols;
use crate::semantics::Class;
use crate::syntax::{Operand, ScalarType, Space};

/// `mbarrier.init`, `.inval`, `.expect_tx`, `.arrive`, `.arrive_drop`, `.test_wait` and `.try_wait`.
pub(super) fn decode(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<(Action, Class), Problem> {
    const NAMES: [&str; 7] = ["init", "inval", "expect_tx", "arrive", "arrive_drop", "test_wait", "try_wait"];
    let name = modifiers.expect_any(&NAMES, "the operation on an mbarrier")?;
    let arrives = matches!(name, "arrive" | "arrive_drop");
    let expects = arrives && modifiers.take("expect_tx");
    let of_parity = matches!(name, "test_wait" | "try_wait") && modifiers.take("parity");
    let semantics: &[&str] = match name {
        "init" | "inval" => &[],
        "expect_tx" => &["relaxed"],
        _ if arrives => &["release"],
        _ => &["acquire"],
    };
    let spaces: &[&str] = &["shared", "shared::cta", CLUSTER];
    let [semantics, scope, space] = modifiers.take_one_of_each([semantics, &SCOPES[..2], spaces]);
    if let (None, Some(scope)) = (semantics, scope) {
        return Err(Problem::Modifier(scope.to_owned()));
    }
    let space = match space.ok_or(Problem::Missing("`.shared`"))? {
        CLUSTER if arrives || name == "expect_tx" => AccessSpace::Cluster,
        CLUSTER => return Err(Problem::Modifier(CLUSTER.to_owned())),
        _ => AccessSpace::Space(Space::Shared),
    };
    modifiers.expect_any(&["b64"], "`.b64`")?;
    modifiers.end()?;
    let (address, operation) = match name {
        "init" => {
            let [address, arrivals] = count(operands, "2")?;
            let address = place(symbols, address, 1, space)?;
            (address, MbarrierOperation::Init { arrivals: word(symbols, arrivals, 2)? })
        }
        "inval" => {
            let [address] = count(operands, "1")?;
            (place(symbols, address, 1, space)?, MbarrierOperation::Invalidate)
        }
        "expect_tx" => {
            let [address, bytes] = count(operands, "2")?;
            let address = place(symbols, address, 1, space)?;
            (address, MbarrierOperation::Expect { bytes: word(symbols, bytes, 2)? })
        }
        _ if arrives => {
            let (state, address, amount) = match operands {
                [state, address] if !expects => (state, address, None),
                [state, address, amount] => (state, address, Some(amount)),
                _ if expects => return Err(Problem::OperandCount { expected: "3", found: operands.len() }),
                _ => return Err(Problem::OperandCount { expected: "2 or 3", found: operands.len() }),
            };
            let state = match state {
                Operand::Name(name) if name == "_" => None,
                _ if space == AccessSpace::Cluster => {
                    return Err(Problem::Operand {
                        number: 1,
                        expected: "`_`: an mbarrier of the cluster returns no state",
                    });
                }
                state => Some(destination(symbols, state, 1, 64, Widths::Exact)?),
            };
            let address = place(symbols, address, 2, space)?;
            let amount = amount.map(|amount| word(symbols, amount, 3)).transpose()?;
            let (count, bytes) = if expects { (None, amount) } else { (amount, None) };
            (address, MbarrierOperation::Arrive(Arrival { count, bytes, drops: name == "arrive_drop", state }))
        }
        _ => {
            // How long `try_wait` may suspend the thread is a hint.
            let operands = if name == "try_wait" && operands.len() == 4 { &operands[..3] } else { operands };
            let [complete, address, phase] = count(operands, "3")?;
            let complete = predicate(symbols, complete, 1)?;
            let address = place(symbols, address, 2, space)?;
            let phase = match of_parity {
                true => PhaseOperand::Parity(word(symbols, phase, 3)?),
                false => PhaseOperand::State(source(symbols, phase, 3, ScalarType::B64, Widths::Exact)?),
            };
            (address, MbarrierOperation::Wait { complete, phase })
        }
    };
    Ok((Action::Mbarrier(Mbarrier { space, address, operation }), Class::Barrier))
}

/// `cp.async.mbarrier.arrive{.noinc}.shared.b64 [mbarrier]`, after `.mbarrier`.
pub(super) fn arrive_with_copies(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Mbarrier, Problem> {
    modifiers.expect_any(&["arrive"], "`.arrive`")?;
    let expected = modifiers.take("noinc");
    modifiers.expect_any(&["shared", "shared::cta"], "`.shared`")?;
    modifiers.expect_any(&["b64"], "`.b64`")?;
    modifiers.end()?;
    let [address] = count(operands, "1")?;
    let space = AccessSpace::Space(Space::Shared);
    let address = place(symbols, address, 1, space)?;
    Ok(Mbarrier { space, address, operation: MbarrierOperation::ArriveWithCopies { expected } })
}

fn word(symbols: &mut Symbols<'_>, operand: &Operand, number: usize) -> Result<Register, Problem> {
    source(symbols, operand, number, ScalarType::U32, Widths::Exact)
}

fn place(
    symbols: &mut Symbols<'_>,
    operand: &Operand,
    number: usize,
    space: AccessSpace,
) -> Result<EffectiveAddress, Problem> {
    Ok(resolved(symbols, operand, number, space)?.0)
}

/// `cp.async.bulk` and the commit and the wait of its groups, after `.bulk`.
pub(super) fn bulk(
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
        to: (to, place(symbols, &operands[0], 1, to)?),
        from: (from, place(symbols, &operands[1], 2, from)?),
        bytes: word(symbols, &operands[2], 3)?,
        barrier: operands.get(3).map(|address| place(symbols, address, 4, AccessSpace::Cluster)).transpose()?,
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
    let (address, _) = resolved(symbols, to, 1, AccessSpace::Cluster)?;
    let values = super::memory::parts(values, vector)?.iter();
    let sources: Result<Vec<Register>, Problem> =
        values.map(|value| source(symbols, value, 2, scalar_type, Widths::Exact)).collect();
    let (barrier, _) = resolved(symbols, barrier, 3, AccessSpace::Cluster)?;
    Ok(StoreAsync { address, bytes: scalar_type.bytes(), sources: sources?, barrier })
}
