//! Values of a stopped launch: registers, and memory as matrices.

use std::ops::Range;

use kernel_launch::{Argument, ElementType, debug_information::RegisterKind};
use ptx_interpreter::semantics::LANES;
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{MemoryRange, ObservedAccess, StoppedWarp};

use crate::names::{Scope, is_register, listed};
use crate::query::{Query, QueryError};
use crate::stopped::Stopped;
use crate::variables::Named;
use crate::writers::Writer;

/// Maximum number of elements that one expression shows.
const MAX_CELLS: usize = 1 << 20;

/// Elements of a memory, as rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// The elements' type.
    pub element: ElementType,
    /// Number of columns of the shown part.
    pub columns: usize,
    /// The shown elements, row by row. `None` for elements that were never written.
    pub cells: Vec<Option<String>>,
    /// Index of the first shown row and column.
    pub first: (usize, usize),
    /// The memory: its state space, its address and its number of columns.
    memory: (Space, u64, usize),
}

/// A register of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its name in the PTX.
    pub name: String,
    /// Its bits in each lane.
    pub lanes: [u64; LANES],
    /// Its size in bits; 1 for predicates.
    pub bits: usize,
    /// How to interpret the bits. `None` if unknown.
    pub kind: Option<RegisterKind>,
}

/// The value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A register of a warp.
    Register(Box<Register>),
    /// A Rust variable, or a part of one.
    Variable(Named),
    /// A part of a memory.
    Matrix(Matrix),
    /// An argument passed by value.
    Scalar(String),
}

impl Stopped<'_> {
    /// The value of an expression in a warp's registers and variables. Looks up a variable in the
    /// frame with this index and its callers; without an index, in the warp's innermost frame.
    ///
    /// # Errors
    /// If the expression has no value.
    pub fn evaluate(&self, query: &Query, warp: &StoppedWarp<'_>, frame: Option<usize>) -> Result<Value, QueryError> {
        let argument = self.launch.arguments().iter().find(|argument| argument.name() == query.name);
        let is_view = query.element.is_some() || query.shape.is_some();
        if !is_view && !matches!(argument, Some(Argument::Buffer { .. })) {
            let innermost = || self.path(warp).map_or(0, |path| self.lines.frame(path.pc));
            let frame = frame.unwrap_or_else(innermost);
            // For a view of shared memory, show its elements, not its address.
            if !self.is_shared_memory(&query.name, warp, frame)
                && let Some(variable) = self.variable(query, warp, frame)?
            {
                return Ok(Value::Variable(variable));
            }
        }
        if let Some((range, element, shape)) = self.memory(query) {
            return View::new(query, range, element, &shape)?.matrix().map(Value::Matrix);
        }
        let register = self.registers(warp, |name| is_register(name, &query.name)).next();
        let value = match (register, argument) {
            (Some(register), _) => Value::Register(Box::new(register)),
            (None, Some(Argument::Value { element, bytes, .. })) => Value::Scalar(element.show(bytes)),
            _ => return Err(self.scope(warp, frame).unknown(&query.name)),
        };
        match is_view || !query.slices.is_empty() {
            true => Err(self.not_memory(&query.name)),
            false => Ok(value),
        }
    }

    /// The names in scope at a warp's position, in the frame with this index and its callers, or in
    /// the innermost frame.
    pub(crate) fn scope(&self, warp: &StoppedWarp<'_>, frame: Option<usize>) -> Scope<'_> {
        let pc = self.path(warp).map_or(self.stop.step.pc, |path| path.pc);
        Scope::at(self.launch, self.lines, pc).in_frame(frame)
    }

    fn not_memory(&self, name: &str) -> QueryError {
        let buffers = self.launch.arguments().iter().filter(|argument| matches!(argument, Argument::Buffer { .. }));
        let names = self.shared().map(|(name, _)| name).chain(buffers.map(Argument::name));
        let names: Vec<String> = names.map(str::to_owned).collect();
        let known =
            if names.is_empty() { "a buffer, of which there is none".to_owned() } else { listed(names.into_iter()) };
        QueryError::NotMemory { name: name.to_owned(), known }
    }

    /// The registers of a warp with wanted names, in declaration order.
    pub fn registers<'w>(
        &'w self,
        warp: &'w StoppedWarp<'_>,
        is_wanted: impl Fn(&str) -> bool + 'w,
    ) -> impl Iterator<Item = Register> + 'w {
        let code = self.launch.machine().code(self.launch.kernel()).expect("a launch's kernel is in its module");
        let pc = self.path(warp).map_or(self.stop.step.pc, |path| path.pc);
        let wanted = code.registers().filter(move |(name, _)| is_wanted(name));
        wanted.filter_map(move |(name, bits)| {
            let (lanes, kind) = (warp.register(name)?, self.lines.register_kind(name, pc));
            Some(Register { name: name.to_owned(), lanes, bits, kind })
        })
    }

    /// The memory that an expression shows: the first address and the size in bytes of each row.
    ///
    /// # Errors
    /// If it shows no memory.
    pub fn addresses(&self, query: &Query) -> Result<Vec<(u64, u64)>, QueryError> {
        let (range, element, shape) = self.memory(query).ok_or_else(|| self.no_memory(query))?;
        View::new(query, range, element, &shape)?.addresses()
    }

    /// The part of a memory that an expression shows.
    ///
    /// # Errors
    /// If it shows no memory.
    #[cfg(feature = "fronts")]
    pub(crate) fn view(&self, query: &Query) -> Result<View<'_>, QueryError> {
        let (range, element, shape) = self.memory(query).ok_or_else(|| self.no_memory(query))?;
        View::new(query, range, element, &shape)
    }

    /// The buffer or shared variable that an expression names, with its type and shape.
    fn memory(&self, query: &Query) -> Option<(MemoryRange<'_>, ElementType, Vec<usize>)> {
        for argument in self.launch.arguments() {
            if let Argument::Buffer { name, element, shape, address, .. } = argument
                && *name == query.name
            {
                let range = self.block.global().find(|range| range.extent.start == *address);
                return Some((range.expect("a launch's buffers are live"), *element, shape.clone()));
            }
        }
        let name = self.launch.name_of_shared(&query.name);
        let mut variables = self.launch.shared().iter().zip(self.block.shared());
        let (variable, range) = variables.find(|(variable, _)| variable.name == name)?;
        let element = query.element.or(variable.element).unwrap_or(ElementType::F32);
        Some((range, element, vec![range.extent.bytes as usize / element.bytes()]))
    }

    /// The reason why an expression shows no memory: it has another kind of value, the variable has
    /// been removed, or its name is unknown.
    fn no_memory(&self, query: &Query) -> QueryError {
        let scope = Scope::at(self.launch, self.lines, self.stop.step.pc);
        scope.find(&query.name).err().unwrap_or_else(|| self.not_memory(&query.name))
    }

    /// The thread that last wrote a shown element, by the element's index in the matrix's cells.
    /// `None` if no thread of the launch wrote it. If several threads wrote parts of the element,
    /// returns the writer of its first bytes.
    pub fn writer(&self, matrix: &Matrix, cell: usize) -> Option<Writer> {
        let (space, address) = matrix.place(cell);
        self.writers.last_writer((space == Space::Shared).then_some(self.block.number()), address)
    }

    /// A writer in words: the thread and its source line.
    pub fn describe_writer(&self, writer: Writer) -> String {
        let config = self.block.config();
        let (block, thread) = (config.grid.index_of(writer.block.into()), config.block.index_of(writer.thread.into()));
        let line = self.lines.source(writer.pc).map(|(file, line)| format!(" at {file}:{line}")).unwrap_or_default();
        format!("block {block}, thread {thread}{line}")
    }

    /// A write to watched memory in words: the writing thread, and the element of a buffer or
    /// shared variable.
    pub fn describe(&self, write: &ObservedAccess) -> String {
        let thread = self.block.config().block.index_of(Writer::of(write).thread.into());
        let place = self.place_name(write.space, write.address, self.lines.place(write.step.pc).element_bytes());
        let place = place.unwrap_or_else(|| format!("address {:#x}", write.address));
        let line = self.lines.source(write.step.pc);
        let line = line.map(|(file, line)| format!(" at {file}:{line}")).unwrap_or_default();
        format!("block {}, thread {thread} writes {place}{line}", self.block.index())
    }

    /// The block's shared variables with their names in expressions: names from the source if
    /// known, otherwise `shared0`, `shared1`, …. Named variables can also be used by these numbered
    /// names.
    pub fn shared(&self) -> impl Iterator<Item = (&str, MemoryRange<'_>)> {
        self.launch.shared().iter().map(|variable| variable.name.as_str()).zip(self.block.shared())
    }
}

/// The part of a memory that an expression asks for.
pub(crate) struct View<'a> {
    pub(crate) range: MemoryRange<'a>,
    pub(crate) element: ElementType,
    /// Number of columns of the whole memory.
    pub(crate) columns: usize,
    pub(crate) shown_rows: Range<usize>,
    pub(crate) shown_columns: Range<usize>,
}

impl<'a> View<'a> {
    fn new(query: &Query, range: MemoryRange<'a>, element: ElementType, shape: &[usize]) -> Result<Self, QueryError> {
        let element = query.element.unwrap_or(element);
        let shape = query.shape.as_deref().unwrap_or(shape);
        let asked = shape.iter().fold(1_usize, |all, extent| all.saturating_mul(*extent));
        if asked.saturating_mul(element.bytes()) as u64 > range.extent.bytes {
            let (name, bytes) = (query.name.clone(), range.extent.bytes);
            return Err(QueryError::TooLarge { name, asked, element: element.name(), bytes });
        }
        let (columns, shown_rows, shown_columns) = rows_and_columns(query, shape)?;
        Ok(Self { range, element, columns, shown_rows, shown_columns })
    }

    /// Offset of an element in the memory.
    pub(crate) fn offset(&self, row: usize, column: usize) -> usize {
        (row * self.columns + column) * self.element.bytes()
    }

    /// An element as text. `None` if it was never written.
    pub(crate) fn cell(&self, row: usize, column: usize) -> Option<String> {
        let offset = self.offset(row, column);
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..self.element.bytes()];
        self.range.is_written(offset, bytes.len()).then(|| {
            self.range.read(offset, bytes).expect("the shape is within the memory");
            self.element.show(bytes)
        })
    }

    fn matrix(self) -> Result<Matrix, QueryError> {
        if self.shown_rows.len().saturating_mul(self.shown_columns.len()) > MAX_CELLS {
            return Err(QueryError::TooMany { limit: MAX_CELLS });
        }
        let cells = self.shown_rows.clone().flat_map(|row| self.shown_columns.clone().map(move |column| (row, column)));
        let cells = cells.map(|(row, column)| self.cell(row, column)).collect();
        let first = (self.shown_rows.start, self.shown_columns.start);
        let memory = (self.range.extent.space, self.range.extent.start, self.columns);
        Ok(Matrix { element: self.element, columns: self.shown_columns.len(), cells, first, memory })
    }

    fn addresses(self) -> Result<Vec<(u64, u64)>, QueryError> {
        if self.shown_rows.len() > MAX_CELLS {
            return Err(QueryError::TooMany { limit: MAX_CELLS });
        }
        let bytes = (self.shown_columns.len() * self.element.bytes()) as u64;
        let start = |row| self.range.extent.start + self.offset(row, self.shown_columns.start) as u64;
        Ok(self.shown_rows.clone().map(|row| (start(row), bytes)).collect())
    }
}

/// The number of columns of a memory of this shape, and the rows and columns that an expression
/// asks for.
///
/// # Errors
/// If it asks for indices or dimensions that do not exist.
pub(crate) fn rows_and_columns(
    query: &Query,
    shape: &[usize],
) -> Result<(usize, Range<usize>, Range<usize>), QueryError> {
    let elements = shape.iter().fold(1_usize, |all, extent| all.saturating_mul(*extent));
    let (rows, columns) = match shape {
        [] => (1, 1),
        [columns] => (1, *columns),
        [.., columns] => (elements.checked_div(*columns).unwrap_or(0), *columns),
    };
    let name = || query.name.clone();
    let (shown_rows, shown_columns) = match query.slices[..] {
        [] => (0..rows, 0..columns),
        [slice] if rows == 1 => (0..1, slice.within(&name(), columns)?),
        [slice] => (slice.within(&name(), rows)?, 0..columns),
        [row, column] => (row.within(&name(), rows)?, column.within(&name(), columns)?),
        _ => return Err(QueryError::Dimensions { name: name(), slices: query.slices.len(), dimensions: 2 }),
    };
    Ok((columns, shown_rows, shown_columns))
}

impl Matrix {
    /// State space and address of a shown element, by its index in the cells.
    fn place(&self, cell: usize) -> (Space, u64) {
        let (space, start, columns) = self.memory;
        let (row, column) = (cell / self.columns.max(1), cell % self.columns.max(1));
        let index = (self.first.0 + row) * columns + self.first.1 + column;
        (space, start + (index * self.element.bytes()) as u64)
    }

    /// The rows as text, with `–` for elements that were never written.
    pub fn rows(&self) -> impl Iterator<Item = String> {
        self.cells.chunks(self.columns.max(1)).map(|row| {
            let cells = row.iter().map(|cell| cell.as_deref().unwrap_or("–"));
            cells.collect::<Vec<_>>().join(", ")
        })
    }
}
