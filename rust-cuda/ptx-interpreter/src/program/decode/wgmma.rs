//! Decodes the matrix products of a warpgroup (`wgmma`).

use super::copies::groups;
use super::matrix::{read_as, synchronous, written_as};
use super::operands::{Widths, count, source};
use super::predicates::predicate_source;
use crate::program::error::Problem;
use crate::program::instruction::{Action, FragmentElement, Wgmma, WgmmaFactor, WgmmaProduct};
use crate::program::modifiers::ModifierCursor;
use crate::program::symbols::Symbols;
use crate::semantics::Class;
use crate::syntax::{Immediate, Operand, ScalarType};

/// Size in bytes of a row of A and of a column of B.
const DEPTH_BYTES: usize = 32;

/// `wgmma.mma_async`, `.fence`, `.commit_group` and `.wait_group`.
pub(super) fn decode(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<(Action, Class), Problem> {
    let names = ["mma_async", "fence", "commit_group", "wait_group"];
    let name = modifiers.expect_any(&names, "the operation")?;
    if name == "mma_async" && modifiers.take("sp") {
        return Err(Problem::Unsupported("a product of a sparse matrix"));
    }
    synchronous(modifiers)?;
    if name == "mma_async" {
        return Ok((Action::Wgmma(Wgmma::Product(product(symbols, modifiers, operands)?)), Class::Matrix));
    }
    modifiers.end()?;
    if name == "wait_group" {
        return Ok((Action::Wgmma(Wgmma::Wait { groups: groups(operands)? }), Class::Barrier));
    }
    count::<0>(operands, "0")?;
    // Here, registers are written in order anyway.
    let action = if name == "fence" { Action::Nothing } else { Action::Wgmma(Wgmma::Commit) };
    Ok((action, Class::Barrier))
}

/// `wgmma.mma_async.sync.aligned.shape{.satfinite}.dtype.atype.btype d, a, b-desc, scale-d{, scales
/// of a and b{, transpositions}}`
fn product(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<WgmmaProduct, Problem> {
    use FragmentElement::{Bf16, E4m3, E5m2, F16, F32, S8, S32, Tf32, U8};
    const UNSUPPORTED: Problem = Problem::Unsupported("a matrix product of these types and shape");
    let Some(shape) = modifiers.take_beginning(&["m64n"]) else { return Err(modifiers.unexpected("the shape")) };
    let sizes = shape.trim_start_matches("m64n").split_once('k');
    let sizes = sizes.and_then(|(columns, depth)| Some((columns.parse().ok()?, depth.parse().ok()?)));
    let (columns, depth): (usize, usize) = sizes.ok_or(Problem::Missing("the shape"))?;
    let saturates = modifiers.take("satfinite");
    let sum = element(modifiers)?;
    let elements = [element(modifiers)?, element(modifiers)?];
    modifiers.end()?;
    let is_known = matches!(
        (elements, sum),
        ([F16, F16], F16 | F32)
            | ([Bf16, Bf16] | [Tf32, Tf32], F32)
            | ([E4m3 | E5m2, E4m3 | E5m2], F16 | F32)
            | ([S8 | U8, S8 | U8], S32)
    );
    let is_whole = sum == S32;
    let has_columns = (1..=32).contains(&(columns / 8)) && columns.is_multiple_of(8);
    let has_columns = has_columns && (!is_whole || columns.is_multiple_of(16) || matches!(columns, 8 | 24));
    if !is_known || !has_columns || depth * elements[0].bytes() != DEPTH_BYTES || saturates && !is_whole {
        return Err(UNSUPPORTED);
    }
    let [d, a, b, keeps, rest @ ..] = operands else {
        return Err(Problem::OperandCount { expected: "at least 4", found: operands.len() });
    };
    let is_vector = matches!(a, Operand::Vector(_));
    // Only 16-bit elements can be transposed, and not in registers.
    let transpositions = if elements[0].bytes() == 2 { 2 - usize::from(is_vector) } else { 0 };
    let scales = if is_whole { 0 } else { 2 };
    if rest.len() != scales + transpositions {
        return Err(Problem::OperandCount {
            expected: "D, A, B, a predicate, and the scales and transpositions of the types",
            found: operands.len(),
        });
    }
    let number = |index: usize, values: [i64; 2]| match rest[index] {
        Operand::Immediate(Immediate::Integer(value)) if values.contains(&value) => Ok(value == values[1]),
        _ => Err(Problem::Operand { number: index + 5, expected: "a scale of 1 or -1, or a transposition of 0 or 1" }),
    };
    let mut negates = [false; 2];
    for (index, negates) in negates.iter_mut().enumerate().take(scales) {
        *negates = number(index, [1, -1])?;
    }
    let mut transposes = [false; 2];
    for index in 0..transpositions {
        transposes[2 - transpositions + index] = number(scales + index, [0, 1])?;
    }
    let in_sum = columns / 2 / sum.per_register();
    let a = match is_vector {
        true => WgmmaFactor::Registers(read_as(symbols, a, 2, 4, 32)?),
        false => WgmmaFactor::Descriptor(source(symbols, a, 2, ScalarType::B64, Widths::Exact)?),
    };
    Ok(WgmmaProduct {
        elements,
        sum,
        columns,
        depth,
        d: written_as(symbols, d, 1, in_sum, 32)?,
        a,
        b: source(symbols, b, 3, ScalarType::B64, Widths::Exact)?,
        adds: predicate_source(symbols, keeps, 4)?,
        negates,
        transposes,
        saturates,
    })
}

fn element(modifiers: &mut ModifierCursor<'_>) -> Result<FragmentElement, Problem> {
    match modifiers.take_any(&["e4m3", "e5m2"]) {
        Some("e4m3") => return Ok(FragmentElement::E4m3),
        Some(_) => return Ok(FragmentElement::E5m2),
        None => {}
    }
    match modifiers.expect_type()? {
        ScalarType::F16 => Ok(FragmentElement::F16),
        ScalarType::Bf16 => Ok(FragmentElement::Bf16),
        ScalarType::Tf32 => Ok(FragmentElement::Tf32),
        ScalarType::F32 => Ok(FragmentElement::F32),
        ScalarType::S8 => Ok(FragmentElement::S8),
        ScalarType::U8 => Ok(FragmentElement::U8),
        ScalarType::S32 => Ok(FragmentElement::S32),
        _ => Err(Problem::Unsupported("a matrix product of these types")),
    }
}
