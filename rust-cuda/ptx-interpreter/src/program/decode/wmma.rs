//! Decodes `wmma`.

use super::addresses::{resolved, space_named};
use super::matrix::{read_as, synchronous, written_as};
use super::operands::{Widths, count, source};
use crate::program::error::Problem;
use crate::program::instruction::{
    AccessSpace, Action, Fragment, FragmentElement, FragmentLayout, Register, Wmma, WmmaAccess, WmmaProduct,
};
use crate::program::modifiers::ModifierCursor;
use crate::program::symbols::Symbols;
use crate::semantics::Class;
use crate::syntax::{Operand, ScalarType};

/// `wmma.load`, `wmma.store` and `wmma.mma`.
pub(super) fn decode(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<(Action, Class), Problem> {
    let name = modifiers.expect_any(&["load", "store", "mma"], "`.load`, `.store` or `.mma`")?;
    let wmma = match name {
        "load" => Wmma::Load(access(symbols, true, modifiers, operands)?),
        "store" => Wmma::Store(access(symbols, false, modifiers, operands)?),
        _ => Wmma::Product(product(symbols, modifiers, operands)?),
    };
    Ok((Action::Wmma(wmma), Class::Matrix))
}

/// Number of rows of A, number of columns of B, and depth.
type Shape = [usize; 3];

fn shape(modifiers: &mut ModifierCursor<'_>) -> Result<Shape, Problem> {
    const SHAPES: [(&str, Shape); 5] = [
        ("m16n16k16", [16, 16, 16]),
        ("m32n8k16", [32, 8, 16]),
        ("m8n32k16", [8, 32, 16]),
        ("m16n16k8", [16, 16, 8]),
        ("m8n8k4", [8, 8, 4]),
    ];
    let name = modifiers.expect_any(&SHAPES.map(|(name, _)| name), "the shape")?;
    SHAPES.iter().find(|(of, _)| *of == name).map(|(_, shape)| *shape).ok_or(Problem::Missing("the shape"))
}

/// Decodes `.row` or `.col`: whether the elements of a column are adjacent.
fn by_columns(modifiers: &mut ModifierCursor<'_>) -> Result<bool, Problem> {
    Ok(modifiers.expect_any(&["row", "col"], "`.row` or `.col`")? == "col")
}

/// `wmma.load.matrix.sync.aligned.layout.shape{.space}.type r, [p]{, stride}`, and `wmma.store.d.… [p], r{, stride}`
fn access(
    symbols: &mut Symbols<'_>,
    loads: bool,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<WmmaAccess, Problem> {
    let matrices: &[&str] = if loads { &["a", "b", "c"] } else { &["d"] };
    let matrix = modifiers.expect_any(matrices, "the matrix")?;
    synchronous(modifiers)?;
    let by_columns = by_columns(modifiers)?;
    let shape = shape(modifiers)?;
    let space = modifiers.take_any(&["global", "shared", "shared::cta"]);
    let space = space.and_then(space_named).map_or(AccessSpace::Generic, AccessSpace::Space);
    let scalar_type = modifiers.expect_type()?;
    modifiers.end()?;
    let (first, second, stride) = match operands {
        [first, second] => (first, second, None),
        [first, second, stride] => (first, second, Some(stride)),
        _ => return Err(Problem::OperandCount { expected: "2 or 3", found: operands.len() }),
    };
    let (registers, place) = if loads { (first, second) } else { (second, first) };
    let (address, space) = resolved(symbols, place, if loads { 2 } else { 1 }, space)?;
    let stride = stride.map(|stride| source(symbols, stride, 3, ScalarType::U32, Widths::Exact)).transpose()?;
    let kind = Kind::new(matrix, scalar_type, shape)?;
    let registers = match loads {
        true => written_as(symbols, registers, 1, kind.registers, kind.bits())?,
        false => read_as(symbols, registers, 2, kind.registers, kind.bits())?,
    };
    Ok(WmmaAccess { fragment: kind.fragment(registers), space, address, stride, by_columns })
}

/// `wmma.mma.sync.aligned.layout.layout.shape.types{.satfinite} d, a, b, c`
fn product(
    symbols: &mut Symbols<'_>,
    modifiers: &mut ModifierCursor<'_>,
    operands: &[Operand],
) -> Result<WmmaProduct, Problem> {
    synchronous(modifiers)?;
    // A and B keep the layouts that they were loaded with.
    for _ in ["a", "b"] {
        by_columns(modifiers)?;
    }
    let shape = shape(modifiers)?;
    // f64 rounds to nearest even. The modifier comes before or after the types.
    let is_rounded = modifiers.take("rn");
    let (d_type, second) = (modifiers.expect_type()?, modifiers.expect_type()?);
    // Products of f16 name only the types of D and C.
    let [a_type, b_type, c_type] = match modifiers.expect_type() {
        Ok(b_type) => [second, b_type, modifiers.expect_type()?],
        Err(_) => [ScalarType::F16, ScalarType::F16, second],
    };
    let saturates = modifiers.take("satfinite");
    if d_type == ScalarType::F64 && !is_rounded {
        modifiers.take("rn");
    }
    modifiers.end()?;
    let is_integer = matches!(a_type, ScalarType::S8 | ScalarType::U8);
    // The possible types of the sums.
    let sums: &[ScalarType] = match a_type {
        ScalarType::F16 => &[ScalarType::F16, ScalarType::F32],
        ScalarType::Bf16 | ScalarType::Tf32 => &[ScalarType::F32],
        ScalarType::F64 => &[ScalarType::F64],
        ScalarType::S8 | ScalarType::U8 => &[ScalarType::S32],
        _ => &[],
    };
    let is_known = sums.contains(&d_type) && sums.contains(&c_type);
    if !is_known || a_type != b_type || saturates && !is_integer {
        return Err(Problem::Unsupported("a matrix product of these types"));
    }
    let [d, a, b, c] = count(operands, "4")?;
    let kind = Kind::new("d", d_type, shape)?;
    let d = kind.fragment(written_as(symbols, d, 1, kind.registers, kind.bits())?);
    let mut factor = |matrix, scalar_type, operand, number| {
        let kind = Kind::new(matrix, scalar_type, shape)?;
        Ok::<_, Problem>(kind.fragment(read_as(symbols, operand, number, kind.registers, kind.bits())?))
    };
    let (a, b) = (factor("a", a_type, a, 2)?, factor("b", b_type, b, 3)?);
    Ok(WmmaProduct { d, a, b, c: factor("c", c_type, c, 4)?, saturates })
}

/// The contents of a fragment.
struct Kind {
    element: FragmentElement,
    rows: usize,
    columns: usize,
    registers: usize,
}

impl Kind {
    /// The fragment of a matrix (PTX ISA 9.7.15.3, "Matrix Fragments for WMMA").
    fn new(matrix: &str, scalar_type: ScalarType, [m, n, k]: Shape) -> Result<Self, Problem> {
        use FragmentElement::{Bf16, F16, F32, F64, S8, S32, Tf32, U8};
        let (rows, columns) = match matrix {
            "a" => (m, k),
            "b" => (k, n),
            _ => (m, n),
        };
        let is_sum = matches!(matrix, "c" | "d");
        let element = match (scalar_type, is_sum, k) {
            (ScalarType::F16, _, 16) => F16,
            (ScalarType::F32, true, 8 | 16) => F32,
            (ScalarType::Bf16, false, 16) => Bf16,
            (ScalarType::S8, false, 16) => S8,
            (ScalarType::U8, false, 16) => U8,
            (ScalarType::S32, true, 16) => S32,
            (ScalarType::Tf32, false, 8) => Tf32,
            (ScalarType::F64, _, 4) => F64,
            _ => return Err(Problem::Unsupported("a matrix of this type and shape")),
        };
        // For f16, A and B have 16 elements per lane in every shape.
        let per_lane = if element == F16 && !is_sum { 16 } else { rows * columns / 32 };
        Ok(Self { element, rows, columns, registers: per_lane / element.per_register() })
    }

    /// Width of the fragment's registers.
    fn bits(&self) -> usize {
        if self.element == FragmentElement::F64 { 64 } else { 32 }
    }

    fn fragment(&self, registers: Vec<Register>) -> Fragment {
        let Self { element, rows, columns, .. } = *self;
        Fragment { element, rows, columns, layout: FragmentLayout::Own, registers }
    }
}
