//! Decodes comparisons and logic on predicates.

use super::operands::{EXPLICIT_CLUSTER, Widths, count, negatable_predicate, predicate, predicate_pair, source};
use crate::program::error::Problem;
use crate::program::instruction::{Action, Combine, Logic, PredicateSource};
use crate::program::modifiers::ModifierCursor;
use crate::program::registers::Special;
use crate::program::symbols::Symbols;
use crate::semantics::{self, Class, Compute};
use crate::syntax::{Immediate, Operand, ScalarType};

/// `setp.CmpOp{.BoolOp}{.ftz}.type p{|q}, a, b{, {!}c}`
pub(super) fn comparison(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<(Action, Class), Problem> {
    let (mut names, mut logic) = (Vec::new(), None);
    while let Some(name) = modifiers.take_beginning(&[""]) {
        match name {
            // The boolean operation follows the comparison.
            "and" | "or" | "xor" if names.len() == 1 && logic.is_none() => {
                logic = Some(match name {
                    "and" => Logic::And,
                    "or" => Logic::Or,
                    _ => Logic::Xor,
                });
            }
            _ => names.push(name.to_owned()),
        }
    }
    let operation = semantics::operation("setp", &names)?;
    let Compute::Predicate(compute) = operation.compute else {
        return Err(Problem::Unsupported("this comparison"));
    };
    let (operands, combine) = match (logic, operands) {
        (Some(logic), [rest @ .., combined]) => {
            let (other, negated) = negatable_predicate(symbols, combined, 4)?;
            (rest, Some(Combine { logic, other, negated }))
        }
        (_, operands) => (operands, None),
    };
    let [to, a, b] = count(operands, "3, or 4 with a boolean operation")?;
    let destinations = predicate_pair(symbols, to, 1)?;
    if matches!((operation.sources, to), ([ScalarType::F16 | ScalarType::Bf16, ..], Operand::Pair(..))) {
        return Err(Problem::Operand { number: 1, expected: "one predicate, because the operands are halves" });
    }
    if compute.compares_halves() && !matches!(to, Operand::Pair(..)) {
        return Err(Problem::Operand { number: 1, expected: "two predicates, one for each half" });
    }
    let a = source(symbols, a, 2, operation.sources[0], Widths::Exact)?;
    let b = source(symbols, b, 3, operation.sources[1], Widths::Exact)?;
    Ok((Action::Compare { compute, sources: [a, b, 0, 0], combine, destinations }, Class::Compare))
}

/// `and.pred`, `or.pred`, `xor.pred` and `not.pred`.
pub(super) fn logic(
    symbols: &mut Symbols<'_>,
    opcode: &str,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<(Action, Class), Problem> {
    modifiers.expect_type()?;
    modifiers.end()?;
    let (logic, to, sources) = match opcode {
        "not" => {
            let [to, a] = count(operands, "2")?;
            (Logic::NotFirst, to, [a, a])
        }
        _ => {
            let [to, a, b] = count(operands, "3")?;
            let logic = match opcode {
                "and" => Logic::And,
                "or" => Logic::Or,
                _ => Logic::Xor,
            };
            (logic, to, [a, b])
        }
    };
    let destination = predicate(symbols, to, 1)?;
    let sources = [predicate_source(symbols, sources[0], 2)?, predicate_source(symbols, sources[1], 3)?];
    Ok((Action::Logic { logic, destination, sources }, Class::Compare))
}

/// `mov.pred`
pub(super) fn mov(symbols: &mut Symbols<'_>, to: &Operand, from: &Operand) -> Result<Action, Problem> {
    if let Operand::Name(name) = from
        && name == EXPLICIT_CLUSTER
        && symbols.find(name).is_none()
    {
        let Compute::Predicate(compute) = semantics::operation("setp", &["ne", "u32"])?.compute else {
            return Err(Problem::SpecialRegister(name.clone()));
        };
        let sources = [symbols.special(Special::IsExplicitCluster), symbols.constant(0, 32), 0, 0];
        let destinations = [Some(predicate(symbols, to, 1)?), None];
        return Ok(Action::Compare { compute, sources, combine: None, destinations });
    }
    let source = predicate_source(symbols, from, 2)?;
    Ok(Action::Logic { logic: Logic::First, destination: predicate(symbols, to, 1)?, sources: [source, source] })
}

/// A predicate register, or an integer with zero meaning false.
pub(super) fn predicate_source(
    symbols: &mut Symbols<'_>,
    operand: &Operand,
    number: usize,
) -> Result<PredicateSource, Problem> {
    match operand {
        Operand::Immediate(Immediate::Integer(value)) => Ok(PredicateSource::Constant(*value != 0)),
        _ => predicate(symbols, operand, number).map(PredicateSource::Predicate),
    }
}
