//! Decodes warp-level matrix products: `mma` and `ldmatrix`.

use super::addresses::address;
use super::operands::{Widths, destination, source};
use crate::program::error::Problem;
use crate::program::instruction::{
    Action, Fragment, FragmentElement, FragmentLayout, LoadMatrix, Matrix, Register, Wmma, WmmaProduct,
};
use crate::program::modifiers::ModifierCursor;
use crate::program::symbols::Symbols;
use crate::semantics::Class;
use crate::syntax::{Operand, ScalarType, Space};

pub(super) fn decode(
    symbols: &mut Symbols<'_>,
    opcode: &str,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<(Action, Class), Problem> {
    synchronous(modifiers)?;
    let action = match opcode {
        "mma" => product(symbols, modifiers, operands)?,
        _ => Action::LoadMatrix(load(symbols, modifiers, operands)?),
    };
    Ok((action, Class::Matrix))
}

/// `.sync.aligned`
pub(super) fn synchronous(modifiers: &mut ModifierCursor<'_>) -> Result<(), Problem> {
    modifiers.expect_any(&["sync"], "`.sync`")?;
    modifiers.expect_any(&["aligned"], "`.aligned`").map(drop)
}

/// `mma.sync.aligned.shape.row.col{.satfinite}{.rn}.dtype.atype.btype.ctype d, a, b, c`
fn product(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<Action, Problem> {
    let shapes = ["m8n8k4", "m8n8k16", "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"];
    let shape = modifiers.expect_any(&shapes, "the shape m8n8k4, m8n8k16, m16n8k4, m16n8k8, m16n8k16 or m16n8k32")?;
    modifiers.expect_any(&["row"], "`.row`")?;
    modifiers.expect_any(&["col"], "`.col`")?;
    let saturates = modifiers.take("satfinite");
    let rounds = modifiers.take("rn");
    let to = modifiers.expect_type()?;
    match to {
        ScalarType::S32 if !rounds => return whole_product(symbols, modifiers, operands, (to, shape, saturates)),
        ScalarType::F64 if !saturates => return whole_product(symbols, modifiers, operands, (to, shape, false)),
        _ if saturates || rounds => return Err(Problem::Unsupported("a matrix product of these types")),
        _ => {}
    }
    let elements = [factor(modifiers)?, factor(modifiers)?];
    let added = modifiers.expect_type()?;
    modifiers.end()?;
    let depth = match (elements, shape) {
        ([FragmentElement::Tf32, _], "m16n8k4") => 4,
        ([FragmentElement::Tf32 | FragmentElement::F16 | FragmentElement::Bf16, _], "m16n8k8") => 8,
        ([FragmentElement::F16 | FragmentElement::Bf16, _], "m16n8k16") => 16,
        ([FragmentElement::E4m3 | FragmentElement::E5m2, _], "m16n8k32") => 32,
        _ => return Err(Problem::Unsupported("a matrix product of these types and shape")),
    };
    let [element, other] = elements;
    let per_register = element.per_register();
    let half_accumulator = match (to, added) {
        (ScalarType::F32, ScalarType::F32) if element == other || [per_register, other.per_register()] == [4, 4] => {
            false
        }
        (ScalarType::F16, ScalarType::F16) if elements == [FragmentElement::F16; 2] => true,
        _ => return Err(Problem::Unsupported("a matrix product of these types")),
    };
    let (in_a, in_b) = (16 * depth / 32 / per_register, 8 * depth / 32 / per_register);
    let in_c = if half_accumulator { 2 } else { 4 };
    let [d, a, b, c] = super::operands::count(operands, "4")?;
    Ok(Action::Matrix(Matrix {
        elements,
        depth,
        half_accumulator,
        d: written_as(symbols, d, 1, in_c, 32)?,
        a: read_as(symbols, a, 2, in_a, 32)?,
        b: read_as(symbols, b, 3, in_b, 32)?,
        c: read_as(symbols, c, 4, in_c, 32)?,
    }))
}

/// A product of integers (bytes with 32-bit sums) or of f64, starting at the factors' types.
fn whole_product(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
    (to, shape, saturates): (ScalarType, &str, bool),
) -> Result<Action, Problem> {
    let [a_type, b_type, added] = [modifiers.expect_type()?, modifiers.expect_type()?, modifiers.expect_type()?];
    modifiers.end()?;
    let element = |scalar_type| match scalar_type {
        ScalarType::S8 if to == ScalarType::S32 => Ok(FragmentElement::S8),
        ScalarType::U8 if to == ScalarType::S32 => Ok(FragmentElement::U8),
        ScalarType::F64 if to == ScalarType::F64 => Ok(FragmentElement::F64),
        _ => Err(Problem::Unsupported("a matrix product of these types")),
    };
    let (a_element, b_element) = (element(a_type)?, element(b_type)?);
    let (rows, depth) = match (to, shape) {
        (ScalarType::F64, "m8n8k4") => (8, 4),
        (ScalarType::F64, "m16n8k4") => (16, 4),
        (ScalarType::F64, "m16n8k8") => (16, 8),
        (ScalarType::F64, "m16n8k16") => (16, 16),
        (ScalarType::S32, "m8n8k16") => (8, 16),
        (ScalarType::S32, "m16n8k16") => (16, 16),
        (ScalarType::S32, "m16n8k32") => (16, 32),
        _ => return Err(Problem::Unsupported("a matrix product of these types and shape")),
    };
    if added != to {
        return Err(Problem::Unsupported("a matrix product of these types"));
    }
    let sum = if to == ScalarType::F64 { FragmentElement::F64 } else { FragmentElement::S32 };
    let bits = if sum == FragmentElement::F64 { 64 } else { 32 };
    let count = |element: FragmentElement, rows: usize, columns: usize| rows * columns / 32 / element.per_register();
    let [d, a, b, c] = super::operands::count(operands, "4")?;
    let in_sum = count(sum, rows, 8);
    let d = written_as(symbols, d, 1, in_sum, bits)?;
    let a = read_as(symbols, a, 2, count(a_element, rows, depth), bits)?;
    let b = read_as(symbols, b, 3, count(b_element, depth, 8), bits)?;
    let c = read_as(symbols, c, 4, in_sum, bits)?;
    let fragment = |element, layout, (rows, columns), registers| Fragment { element, rows, columns, layout, registers };
    Ok(Action::Wmma(Wmma::Product(WmmaProduct {
        d: fragment(sum, FragmentLayout::Sum, (rows, 8), d),
        a: fragment(a_element, FragmentLayout::A, (rows, depth), a),
        b: fragment(b_element, FragmentLayout::B, (depth, 8), b),
        c: fragment(sum, FragmentLayout::Sum, (rows, 8), c),
        saturates,
    })))
}

/// The type of a factor.
fn factor(modifiers: &mut ModifierCursor<'_>) -> Result<FragmentElement, Problem> {
    match modifiers.take_any(&["e4m3", "e5m2"]) {
        Some("e4m3") => return Ok(FragmentElement::E4m3),
        Some(_) => return Ok(FragmentElement::E5m2),
        None => {}
    }
    match modifiers.expect_type()? {
        ScalarType::F16 => Ok(FragmentElement::F16),
        ScalarType::Bf16 => Ok(FragmentElement::Bf16),
        ScalarType::Tf32 => Ok(FragmentElement::Tf32),
        _ => Err(Problem::Unsupported("a matrix product of these types")),
    }
}

/// `ldmatrix.sync.aligned.m8n8.num{.trans}{.ss}.b16 r, [p]`
fn load(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<LoadMatrix, Problem> {
    modifiers.expect_any(&["m8n8"], "`.m8n8`")?;
    let number = match modifiers.expect_any(&["x1", "x2", "x4"], "the number of matrices")? {
        "x1" => 1,
        "x2" => 2,
        _ => 4,
    };
    let transposed = modifiers.take("trans");
    modifiers.expect_any(&["shared", "shared::cta"], "`.shared`")?;
    modifiers.expect_any(&["b16"], "`.b16`")?;
    modifiers.end()?;
    let [to, from] = super::operands::count(operands, "2")?;
    let destinations = written_as(symbols, to, 1, number, 32)?;
    let (address, variable) = address(symbols, from, 2)?;
    if variable.is_some_and(|space| space != Space::Shared) {
        return Err(Problem::Operand { number: 2, expected: "an address in shared memory" });
    }
    Ok(LoadMatrix { address, transposed, destinations })
}

fn parts(operand: &Operand, number: usize, count: usize) -> Result<&[Operand], Problem> {
    match operand {
        Operand::Vector(parts) if parts.len() == count => Ok(parts),
        operand if count == 1 => Ok(std::slice::from_ref(operand)),
        _ => Err(Problem::Operand { number, expected: "a vector with the matrix's number of registers" }),
    }
}

/// The registers of a destination fragment with this width.
pub(super) fn written_as(
    symbols: &Symbols<'_>,
    operand: &Operand,
    number: usize,
    count: usize,
    bits: usize,
) -> Result<Vec<Register>, Problem> {
    let parts = parts(operand, number, count)?.iter();
    parts.map(|part| destination(symbols, part, number, bits, Widths::Exact)).collect()
}

/// The registers of a source fragment with this width.
pub(super) fn read_as(
    symbols: &mut Symbols<'_>,
    operand: &Operand,
    number: usize,
    count: usize,
    bits: usize,
) -> Result<Vec<Register>, Problem> {
    let scalar_type = if bits == 64 { ScalarType::B64 } else { ScalarType::B32 };
    let parts = parts(operand, number, count)?.iter();
    parts.map(|part| source(symbols, part, number, scalar_type, Widths::Exact)).collect()
}
