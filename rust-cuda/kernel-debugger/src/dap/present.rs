//! Presents a stop in the protocol's terms: warps as threads, inlined functions as frames, memory
//! as matrices.

use std::path::{Path, PathBuf};

use emmy_dap_types::types::{Scope, Source, StackFrame, Thread, Variable};
use kernel_launch::Argument;
use ptx_interpreter::semantics::LANES;
use ptx_interpreter::{StoppedWarp, Waits};

use crate::presentation::Asked;
use crate::{CallFrame, Matrix, Named, Query, Register, Stopped, Value, sources};

/// Maximum number of matrix rows shown as one line of text or as children.
const MAX_ROWS: usize = 1024;

/// Maximum number of row elements shown as children.
const MAX_COLUMNS: usize = 4096;

/// Maximum number of frames that a thread shows.
const MAX_FRAMES: i64 = 64;

/// A stop as presented in the protocol.
pub(crate) struct Presenter<'s> {
    stopped: &'s Stopped<'s>,
    source_root: PathBuf,
    /// Targets of the client's references: reference n stands for the entry at n − 1.
    references: Vec<Reference>,
}

/// An item with children.
#[derive(Clone)]
enum Reference {
    /// The variables of a frame in a lane of a warp.
    LaneVariables(u32, usize, usize),
    /// The variables of a frame in all lanes of a warp.
    WarpVariables(u32, usize),
    /// The registers of a lane.
    LaneRegisters(u32, usize),
    /// The registers of a warp.
    WarpRegisters(u32),
    /// A value in each lane of a warp.
    Lanes(u32, Vec<String>),
    /// The parts of a variable in a lane.
    Parts(Named, usize),
    Buffers,
    Shared,
    /// A part of a memory, and the expression without slices.
    Matrix(Matrix, String),
    /// A row of a matrix, by the matrix's index among the references.
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

    /// The thread of the warp that stopped.
    pub(crate) fn current_thread(&self) -> i64 {
        self.thread_of(self.stopped.stop.step.warp)
    }

    pub(crate) fn threads(&self) -> Vec<Thread> {
        let block = self.stopped.block;
        let name = |warp: &StoppedWarp<'_>| {
            // Editors cut long names, so the part that distinguishes warps comes first.
            let (number, index) = (warp.number(), block.index());
            let Some(path) = self.stopped.path(warp) else { return format!("warp {number}, ended, block {index}") };
            let lanes = path.lanes.count_ones();
            let existing = warp.existing().count_ones();
            let (line, file) = match self.stopped.lines.source(path.pc) {
                Some((file, line)) => (format!("line {line}"), format!(", {file}")),
                None => (format!("PTX line {}", self.stopped.lines.place(path.pc).line), String::new()),
            };
            let waits = match path.waits {
                None => "",
                Some(Waits::Barrier(_)) => ", at the barrier",
                Some(Waits::ClusterBarrier) => ", at the cluster's barrier",
                Some(Waits::Lanes) => ", waits for other lanes",
            };
            format!("warp {number}, {line}{waits}, {lanes} of {existing} lanes, block {index}{file}")
        };
        block.warps().map(|warp| Thread { id: self.thread_of(warp.number()), name: name(&warp) }).collect()
    }

    /// The warp of a thread of the block.
    fn warp(&self, thread: i64) -> Result<StoppedWarp<'s>, String> {
        let found = self.stopped.block.warps().find(|warp| self.thread_of(warp.number()) == thread);
        found.ok_or_else(|| {
            let (block, count) = (self.stopped.block.index(), self.warps_per_block());
            let first = self.thread_of(0);
            let runs = format!("block {block} runs, with threads {first} to {}, one for each warp", first + count - 1);
            match self.check_exists(thread) {
                Ok(()) => format!("thread {thread} is a warp of another block: {runs}"),
                Err(_) => format!("there is no thread {thread}: {runs}"),
            }
        })
    }

    /// Index within its block of the warp that a thread stands for.
    ///
    /// # Errors
    /// If the running block has no such warp.
    pub(crate) fn warp_of(&self, thread: i64) -> Result<u32, String> {
        self.warp(thread).map(|warp| warp.number())
    }

    /// # Errors
    /// If the launch has no such thread in any block.
    pub(crate) fn check_exists(&self, thread: i64) -> Result<(), String> {
        let all = i128::from(self.stopped.block.config().grid.count()) * i128::from(self.warps_per_block());
        match (1..=all).contains(&thread.into()) {
            true => Ok(()),
            false => Err(format!("there is no thread {thread}: the launch has threads 1 to {all}, one for each warp")),
        }
    }

    /// # Errors
    /// If a thread is not a warp of the running block, or has ended.
    pub(crate) fn check_runs(&self, thread: i64) -> Result<(), String> {
        let warp = self.warp(thread)?;
        self.stopped.check_runs(&warp)
    }

    pub(crate) fn frames(&self, thread: i64) -> Result<Vec<StackFrame>, String> {
        let warp = self.warp(thread)?;
        let Some(path) = self.stopped.path(&warp) else { return Ok(Vec::new()) };
        let first = i64::from(warp.number()) * MAX_FRAMES + 1;
        let frames = self.stopped.frames(path.pc).into_iter().take(MAX_FRAMES as usize);
        let shown = |(id, frame): (i64, CallFrame)| {
            let place = frame.place.as_ref().map(|(file, line, column)| (file.as_str(), *line, *column));
            self.frame(id, &frame.function, place)
        };
        Ok((first..).zip(frames).map(shown).collect())
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

    /// The warp of a frame, and the frame's index in the debug information.
    fn of_frame(&self, frame: i64) -> Result<(StoppedWarp<'s>, usize), String> {
        let no_frame = || format!("there is no frame {frame} at this stop: ask for the stack trace again");
        let (number, depth) = frame
            .checked_sub(1)
            .map(|id| (id.div_euclid(MAX_FRAMES), id.rem_euclid(MAX_FRAMES)))
            .ok_or_else(no_frame)?;
        let found = self.stopped.block.warps().find(|warp| i64::from(warp.number()) == number);
        let warp = found.ok_or_else(no_frame)?;
        let frames = self.stopped.path(&warp).map(|path| self.stopped.frames(path.pc)).unwrap_or_default();
        let index = frames.get(depth as usize).ok_or_else(no_frame)?.index;
        Ok((warp, index))
    }

    fn refer(&mut self, to: Reference) -> i64 {
        self.references.push(to);
        self.references.len() as i64
    }

    pub(crate) fn scopes(&mut self, frame: i64) -> Result<Vec<Scope>, String> {
        let (warp, frame) = self.of_frame(frame)?;
        let number = warp.number();
        let lane = match self.stopped.stop.step.warp == number {
            true => self.stopped.stop.lane,
            false => self.stopped.path(&warp).map_or(0, |path| path.lanes.trailing_zeros() as usize % LANES),
        };
        let (of_lane, of_warp) = (format!("Lane {lane}"), format!("Warp {number}"));
        let (shared, arguments) = ("Shared memory".to_owned(), "Arguments".to_owned());
        let scopes = match self.stopped.lines.information().is_empty() {
            true => vec![
                (of_lane, Reference::LaneRegisters(number, lane)),
                (of_warp, Reference::WarpRegisters(number)),
                (shared, Reference::Shared),
                (arguments, Reference::Buffers),
            ],
            false => vec![
                (of_lane, Reference::LaneVariables(number, frame, lane)),
                (of_warp, Reference::WarpVariables(number, frame)),
                (shared, Reference::Shared),
                (arguments, Reference::Buffers),
                (format!("Registers of lane {lane}"), Reference::LaneRegisters(number, lane)),
                (format!("Registers of warp {number}"), Reference::WarpRegisters(number)),
            ],
        };
        let scope = |(name, to): (String, Reference)| {
            let expensive = matches!(to, Reference::LaneRegisters(..) | Reference::WarpRegisters(..));
            Scope { name, variables_reference: self.refer(to), expensive, ..Default::default() }
        };
        Ok(scopes.into_iter().map(scope).collect())
    }

    pub(crate) fn variables(&mut self, reference: i64) -> Result<Vec<Variable>, String> {
        let index = reference.checked_sub(1).and_then(|index| usize::try_from(index).ok());
        let found = index.and_then(|index| Some((index, self.references.get(index)?.clone())));
        let (index, reference) = found.ok_or("the launch has gone on: ask for the scopes again")?;
        Ok(match reference {
            Reference::LaneVariables(warp, frame, lane) => {
                let warp = self.warp(self.thread_of(warp))?;
                let named = self.stopped.variables(&warp, frame);
                named.into_iter().map(|named| self.in_lane(named.name.clone(), named, lane)).collect()
            }
            Reference::WarpVariables(warp, frame) => {
                let number = warp;
                let warp = self.warp(self.thread_of(warp))?;
                let named = self.stopped.variables(&warp, frame);
                named.into_iter().map(|named| self.in_all_lanes(named.name.clone(), number, &named)).collect()
            }
            Reference::Parts(of, lane) => {
                let parts = self.stopped.parts(&of);
                parts.into_iter().map(|(name, part)| self.in_lane(name, part, lane)).collect()
            }
            Reference::LaneRegisters(warp, lane) => {
                let value = |register: Register| {
                    let shown = self.stopped.show_register(&register, lane);
                    Variable { evaluate_name: Some(register.name.clone()), ..variable(register.name, shown, 0) }
                };
                self.registers(warp)?.into_iter().map(value).collect()
            }
            Reference::WarpRegisters(warp) => {
                let mut variables = Vec::new();
                for register in self.registers(warp)? {
                    let values = self.in_lanes(&register);
                    let (text, to) = (show_lanes(&values), self.refer(Reference::Lanes(warp, values)));
                    let evaluate_name = Some(register.name.clone());
                    variables.push(Variable { evaluate_name, ..variable(register.name, text, to) });
                }
                variables
            }
            Reference::Lanes(warp, values) => {
                let warp = self.warp(self.thread_of(warp))?;
                let active = self.stopped.path(&warp).map_or(0, |path| path.lanes);
                let lane = |(lane, value): (usize, String)| {
                    let state = if active >> lane & 1 == 1 { "" } else { " (diverged)" };
                    variable(format!("lane {lane}{state}"), value, 0)
                };
                values.into_iter().enumerate().map(lane).collect()
            }
            Reference::Buffers => {
                let arguments = self.stopped.launch.arguments();
                let shown = |argument: &Argument| match argument {
                    Argument::Value { name, element, bytes } => variable(name.clone(), element.show(bytes), 0),
                    argument => self.named(argument.name().to_owned()),
                };
                arguments.iter().map(shown).collect()
            }
            Reference::Shared => {
                let names: Vec<String> = self.stopped.shared().map(|(name, _)| name.to_owned()).collect();
                names.into_iter().map(|name| self.named(name)).collect()
            }
            // A single row's elements are shown directly.
            Reference::Matrix(matrix, whole) if matrix.cells.len() == matrix.columns => {
                elements(self.stopped, &matrix, &whole, 0)
            }
            Reference::Matrix(matrix, _) => {
                let mut rows = Vec::new();
                for (row, text) in matrix.rows().take(MAX_ROWS).enumerate() {
                    let (name, to) = (format!("[{}]", matrix.first.0 + row), self.refer(Reference::Row(index, row)));
                    let evaluate_name = Some(self.expression(Some(index as i64 + 1), &name));
                    rows.push(Variable { evaluate_name, ..variable(name, text, to) });
                }
                rows
            }
            Reference::Row(matrix, row) => match &self.references[matrix] {
                Reference::Matrix(matrix, whole) => elements(self.stopped, matrix, whole, row),
                _ => unreachable!("a row refers to its matrix"),
            },
        })
    }

    /// An expression's value as a variable.
    fn named(&mut self, name: String) -> Variable {
        let (value, reference) = self.evaluate(&name, None).unwrap_or_else(|error| (error, 0));
        let first = value.lines().next().unwrap_or_default().to_owned();
        Variable { evaluate_name: Some(name.clone()), ..variable(name, first, reference) }
    }

    /// A variable, or a part of one, in a lane.
    fn in_lane(&mut self, name: String, named: Named, lane: usize) -> Variable {
        let value = self.stopped.show(&named, lane);
        let type_field = Some(self.stopped.type_name(&named).to_owned());
        let evaluate_name = Some(named.name.clone());
        let reference = match self.stopped.parts(&named).is_empty() {
            true => 0,
            false => self.refer(Reference::Parts(named, lane)),
        };
        Variable { evaluate_name, type_field, ..variable(name, value, reference) }
    }

    /// A variable in all lanes of a warp.
    fn in_all_lanes(&mut self, name: String, warp: u32, named: &Named) -> Variable {
        let values: Vec<String> = (0..LANES).map(|lane| self.stopped.show(named, lane)).collect();
        let type_field = Some(self.stopped.type_name(named).to_owned());
        let (text, to) = (show_lanes(&values), self.refer(Reference::Lanes(warp, values)));
        Variable { evaluate_name: Some(named.name.clone()), type_field, ..variable(name, text, to) }
    }

    /// A register's value in each lane.
    fn in_lanes(&self, register: &Register) -> Vec<String> {
        (0..LANES).map(|lane| self.stopped.show_register(register, lane)).collect()
    }

    /// The registers of a warp, predicates last.
    fn registers(&self, warp: u32) -> Result<Vec<Register>, String> {
        let warp = self.warp(self.thread_of(warp))?;
        let mut registers: Vec<Register> = self.stopped.registers(&warp, |_| true).collect();
        registers.sort_by_key(|register| register.bits == 1);
        Ok(registers)
    }

    /// An expression's value as text, and a reference to its parts.
    pub(crate) fn evaluate(&mut self, expression: &str, frame: Option<i64>) -> Result<(String, i64), String> {
        let (warp, frame) = match frame {
            Some(frame) => self.of_frame(frame).map(|(warp, frame)| (warp, Some(frame)))?,
            None => (self.warp(self.current_thread())?, None),
        };
        let value = match self.stopped.ask(expression, &warp, frame)? {
            Asked::Value(value) => value,
            Asked::Lanes(values) => {
                return Ok((show_lanes(&values), self.refer(Reference::Lanes(warp.number(), values))));
            }
        };
        Ok(match value {
            Value::Scalar(text) => (text, 0),
            Value::Variable(named) if self.stopped.is_removed(&named) => {
                return Err(self.stopped.scope(&warp, frame).removed(&named.name).to_string());
            }
            Value::Variable(named) => {
                let shown = self.in_all_lanes(String::new(), warp.number(), &named);
                (shown.value, shown.variables_reference)
            }
            Value::Register(register) => {
                let values = self.in_lanes(&register);
                (show_lanes(&values), self.refer(Reference::Lanes(warp.number(), values)))
            }
            Value::Matrix(matrix) => {
                let rows = matrix.cells.len().checked_div(matrix.columns).unwrap_or(0);
                let mut text = format!("{rows} × {} {}", matrix.columns, matrix.element.name());
                for row in matrix.rows().take(MAX_ROWS) {
                    text.push('\n');
                    text.push_str(&row);
                }
                if let [Some(_)] = matrix.cells[..]
                    && let Some(writer) = self.stopped.writer(&matrix, 0)
                {
                    text.push_str(&format!("\nwritten by {}", self.stopped.describe_writer(writer)));
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

/// The elements of a matrix's row, as variables. Their type says who wrote them. `whole` is the
/// expression for the whole memory.
fn elements(stopped: &Stopped<'_>, matrix: &Matrix, whole: &str, row: usize) -> Vec<Variable> {
    let cells = matrix.cells[row * matrix.columns..].iter().take(matrix.columns.min(MAX_COLUMNS)).enumerate();
    let element = |(column, cell): (usize, &Option<String>)| {
        let text = cell.as_deref().unwrap_or("–").to_owned();
        let name = format!("[{}]", matrix.first.1 + column);
        let evaluate_name = Some(format!("{whole}[{}]{name}", matrix.first.0 + row));
        let element = matrix.element.name();
        let type_field = Some(match stopped.writer(matrix, row * matrix.columns + column) {
            Some(writer) => format!("{element}, written by {}", stopped.describe_writer(writer)),
            None => element.to_owned(),
        });
        Variable { evaluate_name, type_field, ..variable(name, text, 0) }
    };
    cells.map(element).collect()
}

fn variable(name: String, value: String, variables_reference: i64) -> Variable {
    Variable { name, value, variables_reference, ..Default::default() }
}

/// The values in all lanes as one text.
fn show_lanes(values: &[String]) -> String {
    match values.iter().all(|value| *value == values[0]) {
        true => format!("all lanes: {}", values[0]),
        false => values.join(", "),
    }
}
