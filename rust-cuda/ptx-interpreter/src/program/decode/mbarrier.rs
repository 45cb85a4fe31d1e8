//! Decoding of mbarriers, and of the stores that complete their phases.

use super::memory::{SCOPES, resolved};
use super::operands::{Widths, count, predicate, source};
use crate::program::error::Problem;
use crate::program::instruction::{
    AccessSpace, Action, EffectiveAddress, Mbarrier, MbarrierOperation, Register, StoreAsync,
};
use crate::program::modifiers::ModifierCursor;
use crate::program::symbols::Symbols;
use crate::semantics::Class;
use crate::syntax::{Operand, ScalarType, Space};

/// `mbarrier.init`, `mbarrier.arrive.expect_tx` and `mbarrier.try_wait.parity`.
pub(super) fn decode(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<(Action, Class), Problem> {
    let name = modifiers.expect_any(&["init", "arrive", "try_wait"], "`.init`, `.arrive` or `.try_wait`")?;
    match name {
        "arrive" => drop(modifiers.expect_any(&["expect_tx"], "`.expect_tx`")?),
        "try_wait" => drop(modifiers.expect_any(&["parity"], "`.parity`")?),
        _ => {}
    }
    let semantics: &[&str] = match name {
        "arrive" => &["release"],
        "try_wait" => &["acquire"],
        _ => &[],
    };
    let spaces: &[&str] = &["shared", "shared::cta"];
    let [semantics, scope, space] = modifiers.take_one_of_each([semantics, &SCOPES[..2], spaces]);
    if let (None, Some(scope)) = (semantics, scope) {
        return Err(Problem::Modifier(scope.to_owned()));
    }
    space.ok_or(Problem::Missing("`.shared`"))?;
    modifiers.expect_any(&["b64"], "`.b64`")?;
    modifiers.end()?;
    let (address, operation) = match name {
        "init" => {
            let [address, arrivals] = count(operands, "2")?;
            (barrier(symbols, address, 1)?, MbarrierOperation::Init { arrivals: word(symbols, arrivals, 2)? })
        }
        "arrive" => {
            let [state, address, bytes] = count(operands, "3")?;
            if !matches!(state, Operand::Name(name) if name == "_") {
                return Err(Problem::Operand { number: 1, expected: "`_`: the state is not supported" });
            }
            (barrier(symbols, address, 2)?, MbarrierOperation::ArriveExpecting { bytes: word(symbols, bytes, 3)? })
        }
        _ => {
            let [complete, address, parity] = count(operands, "3")?;
            let complete = predicate(symbols, complete, 1)?;
            let address = barrier(symbols, address, 2)?;
            (address, MbarrierOperation::TryWait { complete, parity: word(symbols, parity, 3)? })
        }
    };
    Ok((Action::Mbarrier(Mbarrier { address, operation }), Class::Barrier))
}

fn word(symbols: &mut Symbols<'_>, operand: &Operand, number: usize) -> Result<Register, Problem> {
    source(symbols, operand, number, ScalarType::U32, Widths::Exact)
}

fn barrier(symbols: &mut Symbols<'_>, operand: &Operand, number: usize) -> Result<EffectiveAddress, Problem> {
    Ok(resolved(symbols, operand, number, AccessSpace::Space(Space::Shared))?.0)
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
