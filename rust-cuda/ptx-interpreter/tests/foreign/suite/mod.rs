//! Labeled kernels, in pairs of a correct one and incorrect ones, for the checks of races, waits,
//! bounds and barriers.
//!
//! Each file of kernels has a table of launches. A correct kernel reports nothing under every
//! schedule of a search. An incorrect one has a single error, marked by a comment: `// RACE name`
//! is on the line of either racing access in kernel `name`. The table says under which schedule the
//! error shows: the default one, only the descending one, or only one that a search finds.
//!
//! Correctness follows PTX's memory consistency model and CUDA's rules of independent thread
//! scheduling (sm_70 and later), with the interpreter's additional rules: volatile stores are not
//! atomic, volatile loads may poll, all threads of a block must reach a barrier, and a block may
//! wait for later ones only in a cooperative launch.

mod data;
mod order;
mod waits;
mod warps;

use crate::cases::integers;
use crate::compilers::{self, Compiled};
use crate::run::Argument::{self, Buffer, Int, Output};
use crate::run::Elements::Ints;
use crate::run::{Calling, launch};
use cuda_launch::{Dim3, LaunchConfig, Search};
use ptx_interpreter::memory::AccessError;
use ptx_interpreter::{Fault, FaultKind, LaunchReport, Machine, Options, RaceReason, Uninitialised};

/// The schedules under which a correct kernel, or one with a known miss, must report nothing.
const SILENT: Search = Search { runs: 24, seconds: u32::MAX, seed: 1 };
/// The schedules that include one which shows an error.
const MANY: Search = Search { runs: 300, seconds: u32::MAX, seed: 1 };

/// The error in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    /// Nothing.
    Right,
    /// Two unordered accesses, at least one of them a write.
    Race,
    /// Unordered writes of the same value: a note, and a fault only with an option.
    SameValue,
    /// Works on a GPU, but violates a rule of CUDA C or PTX: a note, and a fault only with strict
    /// options.
    Note,
    /// A loop that no thread ends: a deadlock, or a wait for something that never happens.
    WaitsForever,
    OutOfBounds,
    Uninitialised,
    /// A barrier of the block, or of the cluster, that not all threads reach.
    BarrierDivergence,
    /// A warp-level operation executed by lanes other than its members.
    WarpOperation,
    /// Shared memory of a block of the cluster that has not started, has ended or does not exist.
    NoBlock,
}

impl Label {
    /// The marker word in the comment on the line.
    fn marker(self) -> &'static str {
        match self {
            Self::Right => "RIGHT",
            Self::Race => "RACE",
            Self::SameValue => "SAME",
            Self::Note => "NOTE",
            Self::WaitsForever => "WAITS",
            Self::OutOfBounds => "BOUNDS",
            Self::Uninitialised => "UNINITIALISED",
            Self::BarrierDivergence => "BARRIER",
            Self::WarpOperation => "LANES",
            Self::NoBlock => "BLOCK",
        }
    }

    fn is_of(self, kind: &FaultKind) -> bool {
        match kind {
            FaultKind::Race { reason: Some(RaceReason::MissingFence), .. } => self == Self::Note,
            FaultKind::Race { .. } => self == Self::Race,
            FaultKind::SameValueRace { .. } => self == Self::SameValue,
            FaultKind::WaitsForever { .. } => self == Self::WaitsForever,
            FaultKind::Access { error: AccessError::OutOfBounds { .. }, .. } => self == Self::OutOfBounds,
            FaultKind::Access { error: AccessError::Uninitialised { .. }, .. } => {
                [Self::Uninitialised, Self::Note].contains(&self)
            }
            FaultKind::BarrierDivergence { .. } | FaultKind::ClusterBarrierDivergence { .. } => {
                [Self::BarrierDivergence, Self::Note].contains(&self)
            }
            FaultKind::MissingLanes { .. }
            | FaultKind::NotAMember { .. }
            | FaultKind::DifferentMembers { .. }
            | FaultKind::NoSuchLane { .. } => self == Self::WarpOperation,
            FaultKind::BlockNotStarted { .. } | FaultKind::BlockEnded { .. } | FaultKind::NoSuchBlock { .. } => {
                self == Self::NoBlock
            }
            _ => false,
        }
    }
}

/// The schedules under which an error shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    /// Under the default schedule.
    First,
    /// Under the descending schedule, but not under the default one.
    Descending,
    /// Under a schedule that a search finds, but under neither of the first two.
    Searched,
    /// Under the default schedule if volatile accesses count as plain ones, otherwise never.
    PlainVolatile,
}

/// A kernel's launch and label.
struct Case {
    kernel: &'static str,
    config: LaunchConfig,
    arguments: Vec<Argument>,
    label: Label,
    shows: Shows,
}

impl Case {
    fn shows(self, shows: Shows) -> Self {
        Self { shows, ..self }
    }

    fn cooperative(self) -> Self {
        Self { config: self.config.cooperative(), ..self }
    }

    fn clusters_of(self, blocks: u32) -> Self {
        Self { config: self.config.clusters_of(blocks), ..self }
    }

    fn dynamic_shared(self, bytes: u32) -> Self {
        Self { config: self.config.with_dynamic_shared(bytes), ..self }
    }
}

fn case(
    label: Label,
    kernel: &'static str,
    (grid, block): (impl Into<Dim3>, impl Into<Dim3>),
    arguments: impl Into<Vec<Argument>>,
) -> Case {
    let (config, arguments) = (LaunchConfig::new(grid, block), arguments.into());
    Case { kernel, config, arguments, label, shows: Shows::First }
}

fn right(kernel: &'static str, shape: (impl Into<Dim3>, impl Into<Dim3>), arguments: impl Into<Vec<Argument>>) -> Case {
    case(Label::Right, kernel, shape, arguments)
}

fn race(kernel: &'static str, shape: (impl Into<Dim3>, impl Into<Dim3>), arguments: impl Into<Vec<Argument>>) -> Case {
    case(Label::Race, kernel, shape, arguments)
}

fn waits(kernel: &'static str, shape: (impl Into<Dim3>, impl Into<Dim3>), arguments: impl Into<Vec<Argument>>) -> Case {
    case(Label::WaitsForever, kernel, shape, arguments)
}

/// Pseudorandom elements.
fn x(count: usize) -> Argument {
    Buffer(Ints(integers(count, -1000, 1000)))
}

fn zeros(count: usize) -> Argument {
    Buffer(Ints(vec![0; count]))
}

fn out(count: usize) -> Argument {
    Output(Ints(vec![0; count]))
}

/// The number of the only line that marks a kernel's error. `None` if there is none.
fn marked_line(source: &str, case: &Case) -> Result<Option<u32>, String> {
    let name = format!(" {}", case.kernel);
    let is_marked = |line: &&str| line.rsplit_once("// ").is_some_and(|(_, mark)| mark.ends_with(&name));
    let marked: Vec<(usize, &str)> =
        source.lines().enumerate().filter_map(|(index, line)| is_marked(&line).then_some((index + 1, line))).collect();
    match (&marked[..], case.label) {
        ([], Label::Right) => Ok(None),
        ([(number, line)], label) if line.ends_with(&format!("// {}{name}", label.marker())) => {
            Ok(Some(*number as u32))
        }
        _ => Err(format!("marks of {:?}: {marked:?}", case.label)),
    }
}

struct Run<'m> {
    machine: &'m mut Machine,
    case: &'m Case,
    line: Option<u32>,
}

impl Run<'_> {
    /// The fault that a search finds, or the report if it finds none.
    fn launch(&mut self, search: Search, change: fn(&mut Options)) -> Result<LaunchReport, Box<Fault>> {
        let mut options = Options {
            block_instructions: 3_000_000,
            search,
            strict: false,
            uninitialised: Uninitialised::Note,
            ..Options::default()
        };
        change(&mut options);
        let Case { kernel, config, arguments, .. } = self.case;
        match launch(self.machine, options, kernel, (*config, Calling::C), arguments) {
            Ok((_, report)) => Ok(report),
            Err(error) => Err(Box::new(error.fault().unwrap_or_else(|| panic!("{error}")).clone())),
        }
    }

    fn is_silent(&mut self, search: Search) -> Result<LaunchReport, String> {
        self.launch(search, |_| ()).map_err(|fault| format!("not silent in {} orders: {fault}", search.runs))
    }

    fn is_found(&mut self, search: Search, change: fn(&mut Options)) -> Result<(), String> {
        let fault = match self.launch(search, change) {
            Ok(_) => return Err(format!("not found in {} orders", search.runs)),
            Err(fault) => fault,
        };
        if !self.case.label.is_of(&fault.kind) {
            return Err(format!("another fault: {fault}"));
        }
        let other = match &fault.kind {
            FaultKind::Race { other_place, .. } | FaultKind::SameValueRace { other_place, .. } => {
                other_place.source.as_ref()
            }
            _ => None,
        };
        let mut lines = fault.place.source.iter().chain(other).map(|place| place.line);
        if lines.any(|line| Some(line) == self.line) {
            return Ok(());
        }
        Err(format!("not at line {:?}: {fault}", self.line))
    }

    /// # Errors
    /// The difference from the label.
    fn check(&mut self) -> Result<(), String> {
        match (self.case.label, self.case.shows) {
            (Label::Right, _) => {
                let notes = self.is_silent(SILENT)?.notes;
                if notes.is_empty() { Ok(()) } else { Err(format!("notes: {notes:?}")) }
            }
            (Label::SameValue, _) => {
                let notes = self.is_silent(SILENT)?.notes;
                // The later access may be a read; the earlier one is a write.
                let lines = notes.iter().map(|note| match &note.kind {
                    FaultKind::SameValueRace { other_place, .. } => other_place.source.as_ref().map(|place| place.line),
                    _ => None,
                });
                if notes.is_empty() || lines.into_iter().any(|line| line != self.line) {
                    return Err(format!("notes: {notes:?}"));
                }
                self.is_found(Search::ONE, |options| options.same_value_races_are_faults = true)
            }
            (Label::Note, _) => {
                let notes = self.is_silent(SILENT)?.notes;
                let lines = notes.iter().map(|note| note.place.source.as_ref().map(|place| place.line));
                if notes.is_empty() || lines.into_iter().any(|line| line != self.line) {
                    return Err(format!("notes: {notes:?}"));
                }
                self.is_found(Search::ONE, |options| {
                    (options.strict, options.uninitialised) = (true, Uninitialised::Error);
                })
            }
            (_, Shows::First) => self.is_found(Search::ONE, |_| ()),
            (_, Shows::Descending) => {
                self.is_silent(Search::ONE)?;
                self.is_found(Search::TWO, |_| ())
            }
            (_, Shows::Searched) => {
                self.is_silent(Search::TWO)?;
                self.is_found(MANY, |_| ())
            }
            (_, Shows::PlainVolatile) => {
                self.is_silent(SILENT)?;
                self.is_found(Search::ONE, |options| options.volatile_is_plain = true)
            }
        }
    }
}

/// Compiles a file of kernels, and checks that each kernel behaves exactly as labeled.
#[track_caller]
fn check(file: &str, source: &str, cases: &[Case]) {
    let mut problems = Vec::new();
    for Compiled { name, ptx } in compilers::clang_of_one_target(&format!("suite/{file}")) {
        let mut machine = Machine::new(&ptx).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (kernel, error) in machine.refused() {
            problems.push(format!("{name}, {kernel}: {error}"));
        }
        let unlabelled = machine.kernels().filter(|kernel| cases.iter().all(|case| case.kernel != *kernel));
        problems.extend(unlabelled.map(|kernel| format!("{kernel}: no label")));
        for case in cases {
            let checked = marked_line(source, case).and_then(|line| Run { machine: &mut machine, case, line }.check());
            problems.extend(checked.err().map(|problem| format!("{name}, {}: {problem}", case.kernel)));
        }
    }
    assert!(problems.is_empty(), "{}:\n{}", problems.len(), problems.join("\n"));
}
