//! Values of a stopped launch: registers, and memory as matrices.

use std::ops::Range;

use ptx_interpreter::semantics::LANES;
use ptx_interpreter::{MemoryRange, StoppedWarp};

use crate::launch::{Argument, ElementType};
use crate::query::{Query, QueryError};
use crate::session::Stopped;

/// Maximum number of elements that one expression shows.
const MAX_CELLS: usize = 1 << 20;

/// Elements of a memory, as rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// The elements' type.
    pub element: ElementType,
    /// Number of columns of the shown part.
    pub columns: usize,
    /// The shown elements, row by row; None for those that have never been written.
    pub cells: Vec<Option<String>>,
    /// Index of the first shown row and column.
    pub first: (usize, usize),
}

/// The value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A register's bits in each lane, and its size in bits.
    Register(Box<[u64; LANES]>, usize),
    /// A part of a memory.
    Matrix(Matrix),
    /// An argument passed by value.
    Scalar(String),
}

impl Stopped<'_> {
    /// The value of an expression, whose registers are those of a warp.
    ///
    /// # Errors
    /// If it has none.
    pub fn evaluate(&self, query: &Query, warp: &StoppedWarp<'_>) -> Result<Value, QueryError> {
        let code = self.launch.machine().code(self.launch.kernel()).expect("a launch's kernel is in its module");
        let register = query.name.trim_start_matches('%');
        let named = |name: &str| name.trim_start_matches('%') == register;
        if let Some((name, bits)) = code.registers().find(|(name, _)| named(name))
            && let Some(lanes) = warp.register(name)
        {
            return Ok(Value::Register(Box::new(lanes), bits));
        }
        match self.launch.arguments().iter().find(|argument| argument.name() == query.name) {
            Some(Argument::Value { element, bytes, .. }) => return Ok(Value::Scalar(element.show(bytes))),
            Some(Argument::Buffer { element, shape, address, .. }) => {
                let range = self.block.global().find(|range| range.extent.start == *address);
                let range = range.expect("a launch's buffers are live");
                return matrix(query, range, *element, shape).map(Value::Matrix);
            }
            None => {}
        }
        match self.shared().find(|(name, _)| *name == query.name) {
            Some((_, range)) => {
                let element = query.element.unwrap_or(ElementType::F32);
                matrix(query, range, element, &[range.extent.bytes as usize / element.bytes()]).map(Value::Matrix)
            }
            None => {
                let arguments = self.launch.arguments().iter().map(|argument| argument.name().to_owned());
                let known = arguments.chain(self.shared().map(|(name, _)| name));
                let known: Vec<String> = known.chain(["registers such as %r1".to_owned()]).collect();
                Err(QueryError::Unknown { name: query.name.clone(), known: known.join(", ") })
            }
        }
    }

    /// The block's shared variables by the names that expressions use: `shared0`, `shared1`, …
    pub fn shared(&self) -> impl Iterator<Item = (String, MemoryRange<'_>)> {
        self.block.shared().enumerate().map(|(index, range)| (format!("shared{index}"), range))
    }
}

/// The part of a memory that an expression asks for.
fn matrix(query: &Query, range: MemoryRange<'_>, element: ElementType, shape: &[usize]) -> Result<Matrix, QueryError> {
    let element = query.element.unwrap_or(element);
    let shape = query.shape.as_deref().unwrap_or(shape);
    let asked = shape.iter().fold(1_usize, |all, extent| all.saturating_mul(*extent));
    if asked.saturating_mul(element.bytes()) as u64 > range.extent.bytes {
        let (name, bytes) = (query.name.clone(), range.extent.bytes);
        return Err(QueryError::TooLarge { name, asked, element: element.name(), bytes });
    }
    let (rows, columns) = match shape {
        [] => (1, 1),
        [columns] => (1, *columns),
        [.., columns] => (asked.checked_div(*columns).unwrap_or(0), *columns),
    };
    let all = |extent: usize| 0..extent;
    let (shown_rows, shown_columns): (Range<usize>, Range<usize>) = match query.slices[..] {
        [] => (all(rows), all(columns)),
        [slice] if rows == 1 => (0..1, slice.within(columns)?),
        [slice] => (slice.within(rows)?, all(columns)),
        [row, column] => (row.within(rows)?, column.within(columns)?),
        _ => return Err(QueryError::Dimensions { slices: query.slices.len(), dimensions: 2 }),
    };
    if shown_rows.len() * shown_columns.len() > MAX_CELLS {
        return Err(QueryError::TooMany { limit: MAX_CELLS });
    }
    let cell = |row: usize, column: usize| {
        let offset = (row * columns + column) * element.bytes();
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..element.bytes()];
        range.is_written(offset, bytes.len()).then(|| {
            range.read(offset, bytes).expect("the shape is within the memory");
            element.show(bytes)
        })
    };
    let cells = shown_rows.clone().flat_map(|row| shown_columns.clone().map(move |column| (row, column)));
    let cells = cells.map(|(row, column)| cell(row, column)).collect();
    Ok(Matrix { element, columns: shown_columns.len(), cells, first: (shown_rows.start, shown_columns.start) })
}

impl Matrix {
    /// The rows as text, with the elements that have never been written as `–`.
    pub fn rows(&self) -> impl Iterator<Item = String> {
        self.cells.chunks(self.columns.max(1)).map(|row| {
            let cells = row.iter().map(|cell| cell.as_deref().unwrap_or("–"));
            cells.collect::<Vec<_>>().join(", ")
        })
    }
}
