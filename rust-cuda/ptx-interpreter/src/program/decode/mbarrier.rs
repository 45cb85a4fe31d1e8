//! Decodes mbarrier instructions.

use super::addresses::{CLUSTER, SCOPES, address_in};
use super::operands::{Widths, count, destination, predicate, source};
use crate::program::error::Problem;
use crate::program::instruction::{
    AccessSpace, Action, Arrival, EffectiveAddress, Mbarrier, MbarrierOperation, PhaseOperand, Register,
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
    let amount = if arrives && modifiers.take("expect_tx") { Amount::Bytes } else { Amount::Arrivals };
    let of_parity = matches!(name, "test_wait" | "try_wait") && modifiers.take("parity");
    let space = state_space(name, modifiers)?;
    modifiers.expect_any(&["b64"], "`.b64`")?;
    modifiers.end()?;
    let (address, operation) = match name {
        "init" => {
            let [address, arrivals] = count(operands, "2")?;
            let address = address_in(symbols, address, 1, space)?;
            (address, MbarrierOperation::Init { arrivals: word(symbols, arrivals, 2)? })
        }
        "inval" => {
            let [address] = count(operands, "1")?;
            (address_in(symbols, address, 1, space)?, MbarrierOperation::Invalidate)
        }
        "expect_tx" => {
            let [address, bytes] = count(operands, "2")?;
            let address = address_in(symbols, address, 1, space)?;
            (address, MbarrierOperation::Expect { bytes: word(symbols, bytes, 2)? })
        }
        "arrive" | "arrive_drop" => {
            let drops = name == "arrive_drop";
            let (address, arrival) = arrival(symbols, operands, space, amount)?;
            (address, MbarrierOperation::Arrive(Arrival { drops, ..arrival }))
        }
        _ => {
            // The maximum suspension time of `try_wait` is only a hint.
            let operands = if name == "try_wait" && operands.len() == 4 { &operands[..3] } else { operands };
            let [complete, address, phase] = count(operands, "3")?;
            let complete = predicate(symbols, complete, 1)?;
            let address = address_in(symbols, address, 2, space)?;
            let phase = match of_parity {
                true => PhaseOperand::Parity(word(symbols, phase, 3)?),
                false => PhaseOperand::State(source(symbols, phase, 3, ScalarType::B64, Widths::Exact)?),
            };
            (address, MbarrierOperation::Wait { complete, phase })
        }
    };
    Ok((Action::Mbarrier(Mbarrier { space, address, operation }), Class::Barrier))
}

/// The quantity given by the last operand of an arrival.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Amount {
    Arrivals,
    /// Bytes that the phase expects, after `.expect_tx`.
    Bytes,
}

/// The state space of an mbarrier operation, after its semantics and scope.
fn state_space(name: &str, modifiers: &mut ModifierCursor<'_>) -> Result<AccessSpace, Problem> {
    let semantics: &[&str] = match name {
        "init" | "inval" => &[],
        "expect_tx" => &["relaxed"],
        "arrive" | "arrive_drop" => &["release"],
        _ => &["acquire"],
    };
    let spaces: &[&str] = &["shared", "shared::cta", CLUSTER];
    let [semantics, scope, space] = modifiers.take_one_of_each([semantics, &SCOPES[..2], spaces]);
    if let (None, Some(scope)) = (semantics, scope) {
        return Err(Problem::Modifier(scope.to_owned()));
    }
    match space.ok_or(Problem::Missing("`.shared`"))? {
        CLUSTER if matches!(name, "expect_tx" | "arrive" | "arrive_drop") => Ok(AccessSpace::Cluster),
        CLUSTER => Err(Problem::Modifier(CLUSTER.to_owned())),
        _ => Ok(AccessSpace::Space(Space::Shared)),
    }
}

/// The mbarrier and the operands of an arrival.
fn arrival(
    symbols: &mut Symbols<'_>,
    operands: &[Operand],
    space: AccessSpace,
    amount: Amount,
) -> Result<(EffectiveAddress, Arrival), Problem> {
    let (state, address, number) = match (operands, amount) {
        ([state, address], Amount::Arrivals) => (state, address, None),
        ([state, address, number], _) => (state, address, Some(number)),
        (_, Amount::Bytes) => return Err(Problem::OperandCount { expected: "3", found: operands.len() }),
        (_, Amount::Arrivals) => return Err(Problem::OperandCount { expected: "2 or 3", found: operands.len() }),
    };
    let state = match state {
        Operand::Name(name) if name == "_" => None,
        _ if space == AccessSpace::Cluster => {
            return Err(Problem::Operand { number: 1, expected: "`_`: an mbarrier of the cluster returns no state" });
        }
        state => Some(destination(symbols, state, 1, 64, Widths::Exact)?),
    };
    let address = address_in(symbols, address, 2, space)?;
    let number = number.map(|number| word(symbols, number, 3)).transpose()?;
    let (count, bytes) = if amount == Amount::Bytes { (None, number) } else { (number, None) };
    Ok((address, Arrival { count, bytes, drops: false, state }))
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
    let address = address_in(symbols, address, 1, space)?;
    Ok(Mbarrier { space, address, operation: MbarrierOperation::ArriveWithCopies { expected } })
}

fn word(symbols: &mut Symbols<'_>, operand: &Operand, number: usize) -> Result<Register, Problem> {
    source(symbols, operand, number, ScalarType::U32, Widths::Exact)
}
