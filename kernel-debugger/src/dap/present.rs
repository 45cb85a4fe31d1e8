//! What a stop looks like in the protocol: warps as threads, inlined functions as frames, memory as matrices.

use std::path::{Path, PathBuf};

use emmy_dap_types::types::{Scope, Source, StackFrame, Thread, Variable};
use ptx_interpreter::semantics::LANES;
use ptx_interpreter::{SourcePlace, StoppedWarp, Waits};

use crate::presentation::show;
use crate::{Matrix, Query, Register, Stopped, Value, sources};

/// Maximum number of rows of a matrix in one line of text or as children.
const MAX_ROWS: usize = 1024;

/// Maximum number of elements of a row as children.
const MAX_COLUMNS: usize = 4096;

/// Frames of a thread have numbers up to this one.
const MAX_FRAMES: i64 = 8;

/// A stop as the protocol shows it.
pub(crate) struct Presenter<'s> {
    stopped: &'s Stopped<'s>,
    source_root: PathBuf,
    /// What the client's references refer to: reference n to the entry at n − 1.
    references: Vec<Reference>,
}

/// What has children.
#[derive(Clone)]
enum Reference {
    /// The registers of a lane.
    Lane(u32, usize),
    /// The registers of a warp.
    Warp(u32),
    /// A register's lanes.
    Register(u32, Box<Register>),
    Buffers,
    Shared,
    /// A part of a memory, and the expression without slices.
    Matrix(Matrix, String),
    /// A row of it, by the matrix's index among the references.
    Row(usize, usize),
}

impl<'s> Presenter<'s> {
    pub(crate) fn new(stopped: &'s Stopped<'s>, source_root: PathBuf) -> Self {
        Self { stopped, source_root, references: Vec::new() }
    }

    fn warps_per_block(&self) -> i64 {
        self.stopped.block.config().block.count().div_ceil(LANES as u64) as i64
    }

    fn thread_of(&self, warp: u32) -> i64 {
        i64::from(self.stopped.block.number()) * self.warps_per_block() + i64::from(warp) + 1
    }

    /// The thread of the warp that has stopped.
    pub(crate) fn current_thread(&self) -> i64 {
        self.thread_of(self.stopped.stop.step.warp)
    }

    pub(crate) fn threads(&self) -> Vec<Thread> {
        let block = self.stopped.block;
        let name = |warp: &StoppedWarp<'_>| {
            let head = format!("block {} warp {}", block.index(), warp.number());
            let Some(path) = self.stopped.path(warp) else { return format!("{head}: ended") };
            let lanes = path.lanes.count_ones();
            let existing = warp.existing().count_ones();
            let place = match self.stopped.lines.source(path.pc) {
                Some((file, line)) => format!("{file}:{line}"),
                None => format!("PTX line {}", self.stopped.lines.place(path.pc).line),
            };
            let waits = match path.waits {
                None => "",
                Some(Waits::Barrier(_)) => ", at the barrier",
                Some(Waits::ClusterBarrier) => ", at the cluster's barrier",
                Some(Waits::Lanes) => ", waits for other lanes",
            };
            format!("{head}: {lanes} of {existing} lanes at {place}{waits}")
        };
        block.warps().map(|warp| Thread { id: self.thread_of(warp.number()), name: name(&warp) }).collect()
    }

    /// The warp of a thread of the block.
    fn warp(&self, thread: i64) -> Result<StoppedWarp<'s>, String> {
        let found = self.stopped.block.warps().find(|warp| self.thread_of(warp.number()) == thread);
        found.ok_or_else(|| format!("thread {thread} is no warp of the block that runs"))
    }

    pub(crate) fn frames(&self, thread: i64) -> Result<Vec<StackFrame>, String> {
        let warp = self.warp(thread)?;
        let Some(path) = self.stopped.path(&warp) else { return Ok(Vec::new()) };
        let kernel = self.stopped.launch.kernel();
        let id = |depth: i64| i64::from(warp.number()) * MAX_FRAMES + depth + 1;
        let place = self.stopped.lines.place(path.pc);
        let innermost = place.source.as_ref().filter(|source| source.line > 0);
        if let Some(SourcePlace { inlined_at: Some(call), .. }) = innermost {
            let source = innermost.map(|source| (&*source.file, source.line, source.column));
            return Ok(vec![
                self.frame(id(0), "inlined", source),
                self.frame(id(1), kernel, Some((&call.file, call.line, call.column))),
            ]);
        }
        let column = innermost.map_or(0, |source| source.column);
        let source = self.stopped.lines.source(path.pc).map(|(file, line)| (file, line, column));
        Ok(vec![self.frame(id(0), kernel, source)])
    }

    fn frame(&self, id: i64, name: &str, place: Option<(&str, u32, u32)>) -> StackFrame {
        let (source, line, column) = match place {
            None => (None, 0, 0),
            Some((file, line, column)) => {
                let path = sources::find(&self.source_root, file);
                let path = std::path::absolute(&path).unwrap_or(path);
                let name = Path::new(file).file_name().map(|name| name.to_string_lossy().into_owned());
                let source = Source { name, path: Some(path.display().to_string()), ..Default::default() };
                (Some(source), i64::from(line), i64::from(column))
            }
        };
        StackFrame { id, name: name.to_owned(), source, line, column, ..Default::default() }
    }

    /// The warp of a frame.
    fn warp_of_frame(&self, frame: i64) -> Result<StoppedWarp<'s>, String> {
        let number = frame.checked_sub(1).map(|index| index.div_euclid(MAX_FRAMES));
        let found = self.stopped.block.warps().find(|warp| Some(i64::from(warp.number())) == number);
        found.ok_or_else(|| format!("there is no frame {frame}"))
    }

    fn refer(&mut self, to: Reference) -> i64 {
        self.references.push(to);
        self.references.len() as i64
    }

    pub(crate) fn scopes(&mut self, frame: i64) -> Result<Vec<Scope>, String> {
        let warp = self.warp_of_frame(frame)?;
        let number = warp.number();
        let lane = match self.stopped.stop.step.warp == number {
            true => self.stopped.stop.lane,
            false => self.stopped.path(&warp).map_or(0, |path| path.lanes.trailing_zeros() as usize % LANES),
        };
        let scopes = [
            (format!("Lane {lane}"), Reference::Lane(number, lane)),
            (format!("Warp {number}"), Reference::Warp(number)),
            ("Shared memory".to_owned(), Reference::Shared),
            ("Arguments".to_owned(), Reference::Buffers),
        ];
        let scope = |(name, to)| Scope { name, variables_reference: self.refer(to), ..Default::default() };
        Ok(scopes.into_iter().map(scope).collect())
    }

    pub(crate) fn variables(&mut self, reference: i64) -> Result<Vec<Variable>, String> {
        let index = reference.checked_sub(1).and_then(|index| usize::try_from(index).ok());
        let found = index.and_then(|index| Some((index, self.references.get(index)?.clone())));
        let (index, reference) = found.ok_or("the launch has gone on: ask for the scopes again")?;
        Ok(match reference {
            Reference::Lane(warp, lane) => {
                let value = |register: Register| variable(register.name, show(register.lanes[lane], register.bits), 0);
                self.registers(warp)?.into_iter().map(value).collect()
            }
            Reference::Warp(warp) => {
                let registers = self.registers(warp)?;
                let mut variables = Vec::with_capacity(registers.len());
                for register in registers {
                    let (name, value) = (register.name.clone(), show_lanes(&register));
                    let to = self.refer(Reference::Register(warp, Box::new(register)));
                    variables.push(variable(name, value, to));
                }
                variables
            }
            Reference::Register(warp, register) => {
                let warp = self.warp(self.thread_of(warp))?;
                let active = self.stopped.path(&warp).map_or(0, |path| path.lanes);
                let lane = |(lane, value): (usize, &u64)| {
                    let state = if active >> lane & 1 == 1 { "" } else { " (diverged)" };
                    variable(format!("lane {lane}{state}"), show(*value, register.bits), 0)
                };
                register.lanes.iter().enumerate().map(lane).collect()
            }
            Reference::Buffers => {
                let arguments = self.stopped.launch.arguments().iter();
                let names: Vec<String> = arguments.map(|argument| argument.name().to_owned()).collect();
                names.into_iter().map(|name| self.named(name)).collect()
            }
            Reference::Shared => {
                let names: Vec<String> = self.stopped.shared().map(|(name, _)| name).collect();
                names.into_iter().map(|name| self.named(name)).collect()
            }
            // A single row is shown by its elements at once.
            Reference::Matrix(matrix, _) if matrix.cells.len() == matrix.columns => elements(&matrix, 0),
            Reference::Matrix(matrix, _) => {
                let mut rows = Vec::new();
                for (row, text) in matrix.rows().take(MAX_ROWS).enumerate() {
                    let to = self.refer(Reference::Row(index, row));
                    rows.push(variable(format!("[{}]", matrix.first.0 + row), text, to));
                }
                rows
            }
            Reference::Row(matrix, row) => match &self.references[matrix] {
                Reference::Matrix(matrix, _) => elements(matrix, row),
                _ => unreachable!("a row refers to its matrix"),
            },
        })
    }

    /// The variable that an expression's value is.
    fn named(&mut self, name: String) -> Variable {
        let (value, reference) = self.evaluate(&name, None).unwrap_or_else(|error| (error, 0));
        let first = value.lines().next().unwrap_or_default().to_owned();
        Variable { evaluate_name: Some(name.clone()), ..variable(name, first, reference) }
    }

    /// The registers of a warp.
    fn registers(&self, warp: u32) -> Result<Vec<Register>, String> {
        let warp = self.warp(self.thread_of(warp))?;
        Ok(self.stopped.registers(&warp, |_| true).collect())
    }

    /// An expression's value as text, and a reference to its parts.
    pub(crate) fn evaluate(&mut self, expression: &str, frame: Option<i64>) -> Result<(String, i64), String> {
        let query: Query = expression.parse().map_err(|error: crate::QueryError| error.to_string())?;
        let warp = match frame {
            Some(frame) => self.warp_of_frame(frame)?,
            None => self.warp(self.current_thread())?,
        };
        let value = self.stopped.evaluate(&query, &warp).map_err(|error| error.to_string())?;
        Ok(match value {
            Value::Scalar(text) => (text, 0),
            Value::Register(register) => {
                (show_lanes(&register), self.refer(Reference::Register(warp.number(), register)))
            }
            Value::Matrix(matrix) => {
                let rows = matrix.cells.len().checked_div(matrix.columns).unwrap_or(0);
                let mut text = format!("{rows} × {} {}", matrix.columns, matrix.element.name());
                for row in matrix.rows().take(MAX_ROWS) {
                    text.push('\n');
                    text.push_str(&row);
                }
                let whole = expression.split('[').next().unwrap_or_default().trim();
                (text, self.refer(Reference::Matrix(matrix, whole.to_owned())))
            }
        })
    }

    /// The expression of a variable among a reference's children.
    pub(crate) fn expression(&self, parent: Option<i64>, name: &str) -> String {
        let reference = |index: usize| self.references.get(index);
        let parent = parent.and_then(|parent| usize::try_from(parent.checked_sub(1)?).ok());
        match parent.and_then(reference) {
            Some(Reference::Matrix(matrix, whole)) if matrix.cells.len() == matrix.columns => {
                format!("{whole}[{}]{name}", matrix.first.0)
            }
            Some(Reference::Matrix(matrix, whole)) => {
                format!("{whole}{name}[{}..{}]", matrix.first.1, matrix.first.1 + matrix.columns)
            }
            Some(Reference::Row(matrix, row)) => match reference(*matrix) {
                Some(Reference::Matrix(matrix, whole)) => format!("{whole}[{}]{name}", matrix.first.0 + row),
                _ => unreachable!("a row refers to its matrix"),
            },
            _ => name.to_owned(),
        }
    }

    /// The memory that an expression shows, for data breakpoints.
    pub(crate) fn addresses(&self, expression: &str) -> Result<Vec<(u64, u64)>, String> {
        let query: Query = expression.parse().map_err(|error: crate::QueryError| error.to_string())?;
        self.stopped.addresses(&query).map_err(|error| error.to_string())
    }
}

/// The elements of a matrix's row, as variables.
fn elements(matrix: &Matrix, row: usize) -> Vec<Variable> {
    let cells = matrix.cells[row * matrix.columns..].iter().take(matrix.columns.min(MAX_COLUMNS)).enumerate();
    let element = |(column, cell): (usize, &Option<String>)| {
        let text = cell.as_deref().unwrap_or("–").to_owned();
        variable(format!("[{}]", matrix.first.1 + column), text, 0)
    };
    cells.map(element).collect()
}

fn variable(name: String, value: String, variables_reference: i64) -> Variable {
    Variable { name, value, variables_reference, ..Default::default() }
}

/// A register's values in all lanes.
fn show_lanes(Register { lanes, bits, .. }: &Register) -> String {
    if lanes.iter().all(|value| *value == lanes[0]) {
        return format!("all lanes: {}", show(lanes[0], *bits));
    }
    let values = lanes.iter().map(|value| show(*value, *bits));
    values.collect::<Vec<_>>().join(", ")
}
