//! Branches, calls and exits.

use cuda_launch::trap::{Piece, TrapReason};

use super::operands::{Widths, count, source};
use crate::program::error::Problem;
use crate::program::instruction::{Action, Reason, ReasonPiece, Register};
use crate::program::modifiers::ModifierCursor;
use crate::program::names::Named;
use crate::program::symbols::Symbols;
use crate::semantics::Class;
use crate::syntax::{Immediate, Instruction, Operand, ScalarType};

pub(super) fn decode(
    symbols: &mut Symbols<'_>,
    opcode: &str,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<(Action, Class), Problem> {
    let action = match opcode {
        "bra" => {
            modifiers.take("uni");
            let [to] = count(operands, "1")?;
            Action::Branch { target: label(symbols, to, 1)?, reconvergence: None }
        }
        "brx" => {
            modifiers.expect_any(&["idx"], "`.idx`")?;
            modifiers.take("uni");
            let [index, table] = count(operands, "2")?;
            let index = source(symbols, index, 1, ScalarType::U32, Widths::Exact)?;
            let targets = branch_table(symbols, table)?;
            symbols.charge_expansion(targets.len())?;
            Action::BranchTable { index, targets, reconvergence: None }
        }
        "ret" => {
            modifiers.take("uni");
            count::<0>(operands, "0")?;
            match symbols.return_label() {
                Some(target) => Action::Branch { target, reconvergence: None },
                None => Action::Exit,
            }
        }
        "exit" | "brkpt" => {
            count::<0>(operands, "0")?;
            if opcode == "exit" { Action::Exit } else { Action::Trap(None) }
        }
        "griddepcontrol" => {
            // A launch begins only after the previous one has ended.
            modifiers.expect_any(&["wait", "launch_dependents"], "`.wait` or `.launch_dependents`")?;
            count::<0>(operands, "0")?;
            Action::Nothing
        }
        "setmaxnreg" => {
            // A thread has as many registers as it needs.
            modifiers.expect_any(&["inc", "dec"], "`.inc` or `.dec`")?;
            modifiers.expect_any(&["sync"], "`.sync`")?;
            modifiers.expect_any(&["aligned"], "`.aligned`")?;
            modifiers.expect_any(&["u32"], "`.u32`")?;
            let [registers] = count(operands, "1")?;
            match registers {
                Operand::Immediate(Immediate::Integer(24..=256)) => {}
                _ => return Err(Problem::Operand { number: 1, expected: "a number of registers from 24 to 256" }),
            }
            Action::Nothing
        }
        _ => {
            // nanosleep has no effect: time is not modeled.
            let scalar_type = modifiers.expect_type()?;
            let [duration] = count(operands, "1")?;
            source(symbols, duration, 1, scalar_type, Widths::Exact)?;
            Action::Nothing
        }
    };
    modifiers.end()?;
    Ok((action, Class::Control))
}

/// Decodes a `trap`. Ignores a reason that names a register unknown to the function.
pub(super) fn trap(
    symbols: &mut Symbols<'_>,
    reason: Option<&TrapReason>,
    operands: &[Operand],
) -> Result<(Action, Class), Problem> {
    count::<0>(operands, "0")?;
    let reason = reason.and_then(|reason| resolved(symbols, reason)).map(Box::new);
    Ok((Action::Trap(reason), Class::Control))
}

fn resolved(symbols: &mut Symbols<'_>, reason: &TrapReason) -> Option<Reason> {
    let mut register = |value: &str| match symbols.find(value) {
        Some(Named::Register { register, .. }) => Some(*register),
        _ => Some(symbols.constant(value.parse().ok()?, 64)),
    };
    Some(match reason {
        TrapReason::OutOfBounds(memory) => Reason::OutOfBounds(*memory),
        TrapReason::Slice([start, end, length]) => Reason::Slice([register(start)?, register(end)?, register(length)?]),
        TrapReason::Range([start, end, length]) => Reason::Range([register(start)?, register(end)?, register(length)?]),
        TrapReason::Panic(pieces) => {
            let resolved = pieces.iter().map(|piece| match piece {
                Piece::Text(text) => Some(ReasonPiece::Text(text.clone())),
                Piece::Value(value) => register(value).map(ReasonPiece::Value),
            });
            Reason::Panic(resolved.collect::<Option<_>>()?)
        }
    })
}

fn label(symbols: &Symbols<'_>, operand: &Operand, number: usize) -> Result<usize, Problem> {
    match operand {
        Operand::Name(name) => named_label(symbols, name, number),
        _ => Err(Problem::Operand { number, expected: "a label" }),
    }
}

fn named_label(symbols: &Symbols<'_>, name: &str, number: usize) -> Result<usize, Problem> {
    match symbols.find(name) {
        Some(Named::Label(label)) => Ok(*label),
        Some(_) => Err(Problem::Operand { number, expected: "a label" }),
        None => Err(Problem::Undeclared(name.to_owned())),
    }
}

fn branch_table(symbols: &Symbols<'_>, operand: &Operand) -> Result<Vec<usize>, Problem> {
    let expected = "a table of branch targets";
    let Operand::Name(name) = operand else { return Err(Problem::Operand { number: 2, expected }) };
    match symbols.find(name) {
        Some(Named::BranchTable(names)) => names.iter().map(|name| named_label(symbols, name, 2)).collect(),
        Some(_) => Err(Problem::Operand { number: 2, expected }),
        None => Err(Problem::Undeclared(name.clone())),
    }
}

/// The callee of a call, and the names of its return and parameter variables.
pub(in crate::program) struct Call<'a> {
    /// A function, or a register that holds a function's address.
    pub(in crate::program) function: &'a str,
    /// For a call through a pointer, the name of its `.calltargets` or `.callprototype`.
    pub(in crate::program) targets: Option<&'a str>,
    pub(in crate::program) returns: Vec<&'a str>,
    pub(in crate::program) parameters: Vec<&'a str>,
}

/// `call{.uni} {(returned),} function{, (parameters)}{, targets};`
pub(in crate::program) fn call(instruction: &Instruction) -> Result<Call<'_>, Problem> {
    let mut modifiers = ModifierCursor::new(&instruction.modifiers);
    modifiers.take("uni");
    modifiers.end()?;
    let (returns, rest) = match &instruction.operands[..] {
        [Operand::Group(returns), rest @ ..] => (names(returns)?, rest),
        rest => (vec![], rest),
    };
    let (function, parameters, targets) = match rest {
        [Operand::Name(function)] => (function, None, None),
        [Operand::Name(function), Operand::Group(parameters)] => (function, Some(parameters), None),
        [Operand::Name(function), Operand::Name(targets)] => (function, None, Some(targets.as_str())),
        [Operand::Name(function), Operand::Group(parameters), Operand::Name(targets)] => {
            (function, Some(parameters), Some(targets.as_str()))
        }
        _ => {
            let expected = "(returned), function, (parameters), targets, of which all but the function may be missing";
            return Err(Problem::OperandCount { expected, found: instruction.operands.len() });
        }
    };
    let parameters = parameters.map_or(Ok(vec![]), |parameters| names(parameters))?;
    Ok(Call { function, targets, returns, parameters })
}

/// The register with the address of the function for a call through a pointer.
pub(in crate::program) fn address_of_function(
    symbols: &mut Symbols<'_>,
    pointer: &Operand,
) -> Result<Register, Problem> {
    source(symbols, pointer, 1, ScalarType::B64, Widths::Exact)
}

fn names(operands: &[Operand]) -> Result<Vec<&str>, Problem> {
    let names = operands.iter().map(|operand| match operand {
        Operand::Name(name) => Ok(name.as_str()),
        _ => Err(Problem::Unsupported("a call argument that is not a `.param` variable")),
    });
    names.collect()
}
