//! The memories of a recording, as rows and columns: the block's shared variables and the buffers
//! that it touches.

use std::num::NonZeroU32;
use std::ops::Range;

use kernel_launch::{Argument, ElementType, Launch};
use ptx_interpreter::memory::{AccessError, Extent};
use ptx_interpreter::syntax::Space;
use ptx_interpreter::{Fault, FaultKind, StoppedBlock};

use super::outline::Touched;
use crate::lines::Lines;
use crate::query::{Query, QueryError};

/// Size of a row of shared memory in bytes: one 4-byte word for each of the 32 banks.
const BANK_ROW_BYTES: usize = 128;

/// Number of columns of one-dimensional memory.
const LINEAR_COLUMNS: usize = 32;

/// Maximum number of cells of a buffer shown whole, and of a window into a larger one.
const MAX_WHOLE_CELLS: usize = 1 << 14;

/// Maximum number of rows and columns of a buffer shown whole, and of a window into a larger one.
const MAX_SIDE: usize = 512;

/// Number of rows and columns around the touched ones in a window.
const MARGIN: usize = 1;

/// A memory of the recording.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) name: String,
    pub(super) extent: Extent,
    /// Index among the block's shared variables. `None` for global memory.
    pub(super) shared: Option<usize>,
    pub(super) element: ElementType,
    /// Whether a single index selects an element.
    pub(super) is_linear: bool,
    /// Whether the element's type is known. Shared variables have no types in PTX.
    pub(super) is_typed: bool,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// The shown rows and columns.
    pub(super) window: (Range<usize>, Range<usize>),
}

impl Memory {
    /// The access's offset in bytes, if the access lies entirely in the memory.
    pub(super) fn offset_of(&self, space: Space, address: u64, bytes: usize) -> Option<u64> {
        (self.extent.space == space).then(|| self.extent.offset_of(address, bytes))?.map(|offset| offset as u64)
    }

    /// The memory's bytes in a stopped block.
    pub(super) fn range<'b>(&self, block: &StoppedBlock<'b>) -> Option<ptx_interpreter::MemoryRange<'b>> {
        match self.shared {
            Some(index) => block.shared().nth(index),
            None => block.global().find(|range| range.extent.start == self.extent.start),
        }
    }

    /// Whether the element at this offset is in the window.
    pub(super) fn shows(&self, offset: u64, bytes: usize) -> bool {
        let element = self.element.bytes();
        let (first, last) = (offset as usize / element, (offset as usize + bytes - 1) / element);
        let is_shown = |index: usize| {
            let (row, column) = (index / self.columns, index % self.columns);
            self.window.0.contains(&row) && self.window.1.contains(&column)
        };
        (first..=last).any(is_shown)
    }
}

/// The memories to record: all shared variables, and the buffers that the block or its fault touches.
pub(super) fn plan(
    launch: &Launch,
    lines: &Lines,
    touched: &Touched,
    fault: Option<&Fault>,
    shapes: &[Query],
) -> Result<Vec<Memory>, QueryError> {
    let at_fault = fault.and_then(|fault| fault_place(fault, touched.shared.iter().chain(&touched.global)));
    let mut memories = Vec::new();
    for (index, extent) in touched.shared.iter().enumerate() {
        if extent.bytes == 0 {
            continue;
        }
        let opcodes = touched.instructions.iter().filter(|(_, memory)| *memory == index);
        let sizes = opcodes.map(|(pc, _)| lines.place(*pc).element_bytes().map_or(4, NonZeroU32::get));
        let by_size = match sizes.min().unwrap_or(4) {
            8 => ElementType::F64,
            4 => ElementType::F32,
            _ => ElementType::U8,
        };
        let variable = &launch.shared()[index];
        let element = variable.element.unwrap_or(by_size);
        let (columns, is_typed) = (BANK_ROW_BYTES / element.bytes(), variable.element.is_some());
        let name = variable.name.clone();
        let shape = Shape { element, is_typed, columns, is_linear: true };
        memories.push(memory(name, extent, Some(index), shape, shapes, None)?);
    }
    for extent in &touched.global {
        let in_extent = touched.accesses.range(extent.start..extent.end());
        let offsets = in_extent.map(|(address, bytes)| ((address - extent.start) as usize, *bytes));
        let fault = at_fault.as_ref().filter(|(place, _, _)| place == extent).map(|(_, offset, bytes)| {
            let last = (extent.bytes as usize).saturating_sub(*bytes);
            ((*offset).clamp(0, last as i64) as usize, *bytes)
        });
        let accesses: Vec<(usize, usize)> = offsets.chain(fault).collect();
        if accesses.is_empty() || extent.bytes == 0 {
            continue;
        }
        let argument = launch.arguments().iter().find_map(|argument| match argument {
            Argument::Buffer { name, element, shape, address, .. } if *address == extent.start => {
                let (columns, is_linear) = columns(shape);
                Some((name.clone(), Shape { element: *element, is_typed: true, columns, is_linear }))
            }
            _ => None,
        });
        let plain = Shape { element: ElementType::U32, is_typed: false, columns: LINEAR_COLUMNS, is_linear: true };
        let (name, shape) = argument.unwrap_or_else(|| (extent.name.to_string(), plain));
        memories.push(memory(name, extent, None, shape, shapes, Some((&accesses, fault)))?);
    }
    let is_known = |query: &&Query| memories.iter().any(|memory| memory.name == query.name);
    match shapes.iter().find(|query| !is_known(query)) {
        None => Ok(memories),
        Some(query) => {
            let known: Vec<&str> = memories.iter().map(|memory| &*memory.name).collect();
            Err(QueryError::Unknown { name: query.name.clone(), known: known.join(", ") })
        }
    }
}

struct Shape {
    element: ElementType,
    is_typed: bool,
    columns: usize,
    is_linear: bool,
}

/// Number of columns, and whether a single index selects an element.
fn columns(extents: &[usize]) -> (usize, bool) {
    match extents {
        [.., columns] if extents.len() > 1 && *columns > 1 => (*columns, false),
        _ => (LINEAR_COLUMNS, true),
    }
}

/// Offsets and sizes of the accesses, and of the fault's access.
type Accesses<'a> = (&'a [(usize, usize)], Option<(usize, usize)>);

fn memory(
    name: String,
    extent: &Extent,
    shared: Option<usize>,
    mut shape: Shape,
    shapes: &[Query],
    accesses: Option<Accesses<'_>>,
) -> Result<Memory, QueryError> {
    if let Some(query) = shapes.iter().find(|query| query.name == name) {
        if let Some(element) = query.element {
            // A row keeps its size in bytes.
            shape.columns = (shape.columns * shape.element.bytes() / element.bytes()).max(1);
            (shape.element, shape.is_typed) = (element, true);
        }
        let element = shape.element;
        if let Some(extents) = &query.shape {
            let asked = extents.iter().fold(1_usize, |all, extent| all.saturating_mul(*extent));
            if asked.saturating_mul(element.bytes()) as u64 > extent.bytes {
                let bytes = extent.bytes;
                return Err(QueryError::TooLarge { name, asked, element: element.name(), bytes });
            }
            (shape.columns, shape.is_linear) = columns(extents);
        }
    }
    let Shape { element, is_typed, columns, is_linear } = shape;
    let elements = (extent.bytes as usize).div_ceil(element.bytes());
    let columns = columns.min(elements).max(1);
    let rows = elements.div_ceil(columns);
    let window = match accesses {
        Some((accesses, fault)) if elements > MAX_WHOLE_CELLS || rows.max(columns) > MAX_SIDE => {
            window(accesses, fault, element, (rows, columns))
        }
        _ => (0..rows, 0..columns),
    };
    Ok(Memory { name, extent: extent.clone(), shared, element, is_linear, is_typed, rows, columns, window })
}

/// The rows and columns around the accesses. If these are too many, the ones around the fault or
/// the first access.
fn window(
    accesses: &[(usize, usize)],
    fault: Option<(usize, usize)>,
    element: ElementType,
    (rows, columns): (usize, usize),
) -> (Range<usize>, Range<usize>) {
    let cells = |(offset, bytes): (usize, usize)| {
        let (first, last) = (offset / element.bytes(), (offset + bytes.max(1) - 1) / element.bytes());
        let row = |index: usize| (index / columns).min(rows - 1);
        match row(first) == row(last) {
            true => (row(first)..row(last) + 1, first % columns..last % columns + 1),
            false => (row(first)..row(last) + 1, 0..columns),
        }
    };
    let hull = |a: Range<usize>, b: Range<usize>| a.start.min(b.start)..a.end.max(b.end);
    let boxes = accesses.iter().map(|access| cells(*access));
    let (all_rows, all_columns) =
        boxes.reduce(|a, b| (hull(a.0, b.0), hull(a.1, b.1))).unwrap_or((0..rows, 0..columns));
    let centre = fault.or_else(|| accesses.first().copied()).map_or((0..1, 0..1), cells);
    let shown_columns = clip(widen(all_columns, columns), centre.1.start, MAX_SIDE);
    let shown_rows = clip(widen(all_rows, rows), centre.0.start, MAX_SIDE.min(MAX_WHOLE_CELLS / shown_columns.len()));
    (shown_rows, shown_columns)
}

/// The range extended by [`MARGIN`] at both ends, within 0..extent.
fn widen(range: Range<usize>, extent: usize) -> Range<usize> {
    range.start.saturating_sub(MARGIN)..(range.end + MARGIN).min(extent)
}

/// At most `length` indices of a range, around `centre`.
fn clip(range: Range<usize>, centre: usize, length: usize) -> Range<usize> {
    if range.len() <= length {
        return range;
    }
    let start = centre.saturating_sub(length / 2).clamp(range.start, range.end - length);
    start..start + length
}

/// The memory of a fault's access, its byte offset there (possibly outside), and its size.
pub(super) fn fault_place<'e>(
    fault: &Fault,
    mut extents: impl Iterator<Item = &'e Extent>,
) -> Option<(Extent, i64, usize)> {
    let (found, address, bytes) = match &fault.kind {
        FaultKind::Race { address, bytes, memory, .. } | FaultKind::SameValueRace { address, bytes, memory, .. } => {
            (extents.find(|extent| (extent.space, extent.start) == (memory.space, memory.start))?, *address, *bytes)
        }
        FaultKind::Access { error, .. } => {
            let (space, address, bytes, nearest) = match error {
                AccessError::OutOfBounds { address, bytes, nearest } => {
                    (nearest.space, *address, *bytes, nearest.start)
                }
                AccessError::Uninitialised { address, bytes, place, .. } => {
                    (place.space, *address, *bytes, place.start)
                }
                AccessError::Misaligned { address, alignment, space } => (*space, *address, *alignment, *address),
                AccessError::ReadOnly { address, bytes, space } => (*space, *address, *bytes, *address),
                _ => return None,
            };
            let holds = |extent: &&Extent| extent.space == space && extent.offset_of(nearest, 1).is_some();
            (extents.find(holds)?, address, bytes)
        }
        _ => return None,
    };
    Some((found.clone(), address.wrapping_sub(found.start).cast_signed(), bytes))
}
