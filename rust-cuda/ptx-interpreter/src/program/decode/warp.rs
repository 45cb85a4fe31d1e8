//! Decodes barriers and warp-level operations.

use super::operands::{Widths, count, destination, named_predicate, negatable_predicate, predicate, source};
use super::predicates::predicate_source;
use crate::program::error::Problem;
use crate::program::instruction::{
    Action, Barrier, BarrierReduction, BarrierReductionKind, Shuffle, ShuffleMode, Vote, VoteMode,
};
use crate::program::modifiers::ModifierCursor;
use crate::program::symbols::Symbols;
use crate::semantics::Class;
use crate::syntax::{Operand, ScalarType};

const SYNC: &str = "sync";
const MISSING_SYNC: &str = "`.sync`, which sm_70 and later need,";

pub(super) fn decode(
    symbols: &mut Symbols<'_>,
    opcode: &str,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<(Action, Class), Problem> {
    match opcode {
        "bar" if modifiers.take("warp") => {
            modifiers.expect_any(&["sync"], "`.sync`")?;
            modifiers.end()?;
            let [members] = count(operands, "1")?;
            Ok((Action::WarpBarrier { members: members_of(symbols, members, 1)? }, Class::Barrier))
        }
        "barrier" if modifiers.take("cluster") => {
            let action = match modifiers.expect_any(&["arrive", "wait"], "`.arrive` or `.wait`")? {
                "arrive" => {
                    modifiers.take("release");
                    Action::ClusterArrive
                }
                _ => {
                    modifiers.take("acquire");
                    Action::ClusterWait
                }
            };
            modifiers.take("aligned");
            modifiers.end()?;
            count::<0>(operands, "0")?;
            Ok((action, Class::Barrier))
        }
        "bar" | "barrier" => {
            Ok((Action::Barrier(barrier(symbols, opcode == "bar", modifiers, operands)?), Class::Barrier))
        }
        "activemask" => {
            let scalar_type = modifiers.expect_type()?;
            modifiers.end()?;
            let [to] = count(operands, "1")?;
            let destination = destination(symbols, to, 1, scalar_type.bytes() * 8, Widths::Exact)?;
            Ok((Action::ActiveMask { destination }, Class::Warp))
        }
        "elect" => {
            modifiers.expect_any(&[SYNC], "`.sync`")?;
            modifiers.end()?;
            let [to, members] = count(operands, "2")?;
            let Operand::Pair(leader, predicate) = to else {
                return Err(Problem::Operand { number: 1, expected: "a register and a predicate, `d|p`" });
            };
            let leader = match leader.as_str() {
                "_" => None,
                _ => Some(destination(symbols, &Operand::Name(leader.clone()), 1, 32, Widths::Exact)?),
            };
            let is_leader = match predicate.as_str() {
                "_" => None,
                name => Some(named_predicate(symbols, name, 1)?),
            };
            Ok((Action::Elect { leader, is_leader, members: members_of(symbols, members, 2)? }, Class::Warp))
        }
        "match" => Ok((match_lanes(symbols, modifiers, operands)?, Class::Warp)),
        _ => {
            modifiers.expect_any(&[SYNC], MISSING_SYNC)?;
            let action = match opcode {
                "shfl" => shuffle(symbols, modifiers, operands)?,
                "vote" => vote(symbols, modifiers, operands)?,
                _ => reduce(symbols, modifiers, operands)?,
            };
            Ok((action, Class::Warp))
        }
    }
}

fn members_of(symbols: &mut Symbols<'_>, operand: &Operand, number: usize) -> Result<u32, Problem> {
    source(symbols, operand, number, ScalarType::B32, Widths::Exact)
}

/// `bar{.cta}.{sync, arrive, red.op.type}`, and `barrier` with or without `.aligned`.
fn barrier(
    symbols: &mut Symbols<'_>,
    is_bar: bool,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Barrier, Problem> {
    modifiers.take("cta");
    let kind = modifiers.expect_any(&["sync", "arrive", "red"], "`.sync`, `.arrive` or `.red`")?;
    let operation = match kind {
        "red" => Some(modifiers.expect_any(&["popc", "and", "or"], "the reduction")?),
        _ => None,
    };
    let aligned = modifiers.take("aligned") || is_bar;
    if let Some(operation) = operation {
        let expected = if operation == "popc" { ScalarType::U32 } else { ScalarType::Pred };
        if modifiers.expect_type()? != expected {
            return Err(Problem::Missing("the reduction's type"));
        }
    }
    modifiers.end()?;
    let (to, operands, reduced) = match (operation, operands) {
        (None, operands) => (None, operands, None),
        (Some(_), [to, operands @ .., reduced]) => (Some(to), operands, Some(reduced)),
        (Some(_), operands) => return Err(Problem::OperandCount { expected: "3 or 4", found: operands.len() }),
    };
    let (number, threads) = match operands {
        [number] if kind != "arrive" => (number, None),
        [number, threads] => (number, Some(threads)),
        _ => {
            return Err(Problem::OperandCount {
                expected: "the barrier and, optionally, the number of threads",
                found: operands.len(),
            });
        }
    };
    let number = source(symbols, number, 1, ScalarType::U32, Widths::Exact)?;
    let count = match threads {
        Some(threads) => Some(source(symbols, threads, 2, ScalarType::U32, Widths::Exact)?),
        None => None,
    };
    let reduction = match (operation, to, reduced) {
        (Some(operation), Some(to), Some(reduced)) => {
            let (source, negated) = negatable_predicate(symbols, reduced, 3)?;
            let kind = match operation {
                "and" => BarrierReductionKind::And(predicate(symbols, to, 1)?),
                "or" => BarrierReductionKind::Or(predicate(symbols, to, 1)?),
                _ => BarrierReductionKind::Count(destination(symbols, to, 1, 32, Widths::Exact)?),
            };
            Some(BarrierReduction { kind, source, negated })
        }
        _ => None,
    };
    Ok(Barrier { number, count, waits: kind != "arrive", aligned, reduction })
}

/// `shfl.sync.mode.b32 d{|p}, a, b, c, membermask`
fn shuffle(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    let mode = match modifiers.expect_any(&["up", "down", "bfly", "idx"], "the mode")? {
        "up" => ShuffleMode::Up,
        "down" => ShuffleMode::Down,
        "bfly" => ShuffleMode::Butterfly,
        _ => ShuffleMode::Index,
    };
    modifiers.expect_any(&["b32"], "`.b32`")?;
    modifiers.end()?;
    let [to, a, lane, clamp, members] = count(operands, "5")?;
    let (to, in_range) = value_and_predicate(symbols, to)?;
    let destination = destination(symbols, &to, 1, 32, Widths::Exact)?;
    let mut operand = |operand, number| source(symbols, operand, number, ScalarType::B32, Widths::Exact);
    let (source, lane, clamp, members) = (operand(a, 2)?, operand(lane, 3)?, operand(clamp, 4)?, operand(members, 5)?);
    Ok(Action::Shuffle(Shuffle { mode, destination, in_range, source, lane, clamp, members }))
}

/// The register and the predicate of `d|p`.
fn value_and_predicate(symbols: &Symbols<'_>, operand: &Operand) -> Result<(Operand, Option<u32>), Problem> {
    match operand {
        Operand::Pair(value, name) if name != "_" => {
            Ok((Operand::Name(value.clone()), Some(named_predicate(symbols, name, 1)?)))
        }
        Operand::Pair(value, _) => Ok((Operand::Name(value.clone()), None)),
        operand => Ok((operand.clone(), None)),
    }
}

/// `vote.sync.{all, any, uni}.pred d, {!}a, membermask` and `vote.sync.ballot.b32`
fn vote(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    let kind = modifiers.expect_any(&["all", "any", "uni", "ballot"], "the mode")?;
    modifiers.expect_any(if kind == "ballot" { &["b32"] } else { &["pred"] }, "the type")?;
    modifiers.end()?;
    let [to, from, members] = count(operands, "3")?;
    let mode = match kind {
        "all" => VoteMode::All(predicate(symbols, to, 1)?),
        "any" => VoteMode::Any(predicate(symbols, to, 1)?),
        "uni" => VoteMode::Uniform(predicate(symbols, to, 1)?),
        _ => VoteMode::Ballot(destination(symbols, to, 1, 32, Widths::Exact)?),
    };
    let (source, negated) = match from {
        Operand::Not(_) => {
            let (predicate, negated) = negatable_predicate(symbols, from, 2)?;
            (crate::program::instruction::PredicateSource::Predicate(predicate), negated)
        }
        from => (predicate_source(symbols, from, 2)?, false),
    };
    let members = members_of(symbols, members, 3)?;
    Ok(Action::Vote(Vote { mode, source, negated, members }))
}

/// Decodes `match.{any, all}.sync.type d{|p}, a, membermask`. Here, `.sync` comes second.
fn match_lanes(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    let all = modifiers.expect_any(&["any", "all"], "`.any` or `.all`")? == "all";
    modifiers.expect_any(&[SYNC], MISSING_SYNC)?;
    let scalar_type = modifiers.expect_type()?;
    modifiers.end()?;
    if !matches!(scalar_type, ScalarType::B32 | ScalarType::B64) {
        return Err(Problem::Unsupported("a match of this type"));
    }
    let [to, from, members] = count(operands, "3")?;
    let (to, predicate) = value_and_predicate(symbols, to)?;
    if predicate.is_some() && !all {
        return Err(Problem::Operand { number: 1, expected: "a register" });
    }
    let destination = destination(symbols, &to, 1, 32, Widths::Exact)?;
    let source = source(symbols, from, 2, scalar_type, Widths::Exact)?;
    let members = members_of(symbols, members, 3)?;
    Ok(Action::Match { all, destination, predicate, source, members })
}

/// `redux.sync.op.type d, a, membermask`
fn reduce(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    let names = ["add", "min", "max", "and", "or", "xor"];
    let name = modifiers.expect_any(&names, "the operation")?;
    let scalar_type = modifiers.expect_type()?;
    modifiers.end()?;
    let combine: fn(u64, u64) -> u64 = match (name, scalar_type) {
        ("add", ScalarType::U32 | ScalarType::S32) => |a, b| u64::from((a as u32).wrapping_add(b as u32)),
        ("min", ScalarType::U32) => |a, b| a.min(b),
        ("max", ScalarType::U32) => |a, b| a.max(b),
        ("min", ScalarType::S32) => |a, b| u64::from((a as i32).min(b as i32) as u32),
        ("max", ScalarType::S32) => |a, b| u64::from((a as i32).max(b as i32) as u32),
        ("and", ScalarType::B32) => |a, b| a & b,
        ("or", ScalarType::B32) => |a, b| a | b,
        ("xor", ScalarType::B32) => |a, b| a ^ b,
        _ => return Err(Problem::Unsupported("this operation on this type")),
    };
    let [to, from, members] = count(operands, "3")?;
    let destination = destination(symbols, to, 1, 32, Widths::Exact)?;
    let source = source(symbols, from, 2, scalar_type, Widths::Exact)?;
    let members = members_of(symbols, members, 3)?;
    Ok(Action::Reduce { combine, destination, source, members })
}
