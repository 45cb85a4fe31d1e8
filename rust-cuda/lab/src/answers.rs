//! Answers requests.

use std::path::Path;

use cuda_launch::{Dim3, Schedule, ScheduleError};
use kernel_check::check::{CheckError, check};
use kernel_check::json;
use kernel_check::location::Locations;
use kernel_debugger::record::{self, RecordError, record};
use kernel_language::Refusal;
use ptx_interpreter::memory::MemoryError;
use ptx_interpreter::syntax::printable;
use ptx_interpreter::{LaunchError, LoadError, Machine};
use serde::Serialize;
use serde_json::json;
use thiserror::Error;

use crate::names::demangled;
use crate::plain::Plain;
use crate::request::{MAX_ORDERS, ProgramError, Request, options, traced};
use crate::results::contents;
use crate::trace::trace;

/// Why a request cannot be answered, on one line.
#[derive(Debug, Error)]
enum NoAnswer {
    #[error("the number of schedules must be from 1 to {MAX_ORDERS}, got {0}")]
    Orders(u32),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}")]
    Load(#[from] LoadError),
    #[error("{0}")]
    Program(#[from] ProgramError),
    #[error("{0}")]
    Check(#[from] CheckError),
    #[error("{0}")]
    Record(#[from] RecordError),
    #[error("{0}")]
    Memory(#[from] MemoryError),
    #[error("{0}")]
    Schedule(#[from] ScheduleError),
    #[error("{0}")]
    Trace(#[from] LaunchError),
}

#[derive(Serialize)]
struct Kernel<'a> {
    /// Its name in the PTX.
    name: &'a str,
    /// Its name in the source, as far as it can be derived from the PTX.
    demangled: String,
    parameters: Vec<Parameter<'a>>,
    /// The block size that every launch must have (`.reqntid`).
    required_block: Option<[u32; 3]>,
    /// The block size with the maximum number of threads (`.maxntid`). Other shapes are valid too.
    max_block: Option<[u32; 3]>,
    /// Shared memory per block declared in the PTX, in bytes.
    static_shared_bytes: usize,
    /// Whether it has a shared array with a size that the launch sets.
    has_dynamic_shared: bool,
}

#[derive(Serialize)]
struct Parameter<'a> {
    name: &'a str,
    bytes: u64,
    /// Whether the PTX marks it as a pointer (`.ptr`).
    is_pointer: bool,
}

#[derive(Serialize)]
struct Refused<'a> {
    name: &'a str,
    demangled: String,
    reason: String,
}

impl<'a> Kernel<'a> {
    fn new(machine: &'a Machine, name: &'a str) -> Self {
        let resources = machine.resources(name);
        let block = |block: Dim3| [block.x, block.y, block.z];
        let parameters = machine.parameters(name).zip(machine.pointers(name));
        Kernel {
            name,
            demangled: demangled(name),
            parameters: parameters.map(|((name, bytes), is_pointer)| Parameter { name, bytes, is_pointer }).collect(),
            required_block: resources.and_then(|of| of.required_block).map(block),
            max_block: resources.and_then(|of| of.max_block).map(block),
            static_shared_bytes: resources.map_or(0, |of| of.static_shared_bytes),
            has_dynamic_shared: resources.is_some_and(|of| of.has_dynamic_shared),
        }
    }
}

/// Answers a request.
///
/// - `{"task": "kernels", "ptx": TEXT}`: returns `kernels`, the kernels that can be launched, with
///   their demangled names, parameters, block sizes and shared memory, and `refused`, the
///   unsupported kernels with the reason and its line.
/// - `{"task": "check", "ptx": TEXT, "names": TEXT, "launch": LAUNCH, "orders": 2, "seed": 0}`:
///   returns `check`, the output of `kernel-check --json`, `sentences`, its errors in words, and
///   `buffers` after the launch. LAUNCH is a [launch file](kernel_launch::LaunchFile); its `ptx` is
///   only a name for messages. `names` is the contents of the file beside the PTX, and may be
///   omitted. Instead of both, `"files": {FILE: TEXT}` has the sources of the kernel's crate, which
///   [`kernel_language`] compiles.
/// - `{"task": "trace", …, "schedule": "descending"}`: returns the same as `check`, and `faults`
///   and `trace`. Each of the `faults` has its class, one plain sentence, its lines, threads and
///   element. `trace` lists what each thread reads and writes in the schedule. Without a schedule,
///   it is the first error's schedule, or ascending. `buffers` has the contents after the trace.
/// - `{"task": "record", "ptx", "names", "launch", "sources": {FILE: TEXT}, "instructions": 100000}`:
///   returns `html`, the page that plays the recording.
///
/// If a request is invalid, the answer has an `error` on one line. If a source is rejected, `place`
/// has the `file`, `line` and `column`, and the reason as `text`.
pub fn answer(request: &str) -> String {
    let answered = serde_json::from_str(request).map_err(NoAnswer::from).and_then(answer_to);
    answered.unwrap_or_else(|error| {
        let mut answer = json!({ "error": printable(&error.to_string()) });
        if let NoAnswer::Program(ProgramError::Source(Refusal { file, line: line @ 1.., column, reason })) = &error {
            answer["place"] = json!({ "file": file, "line": line, "column": column, "text": printable(reason) });
        }
        answer.to_string()
    })
}

fn answer_to(request: Request) -> Result<String, NoAnswer> {
    match request {
        Request::Kernels { ptx } => {
            let machine = Machine::new(&ptx)?;
            let kernels: Vec<Kernel<'_>> = machine.kernels().map(|name| Kernel::new(&machine, name)).collect();
            let refused = machine.refused().map(|(name, error)| Refused {
                name,
                demangled: demangled(name),
                reason: printable(&error.to_string()),
            });
            let refused: Vec<Refused<'_>> = refused.collect();
            Ok(json!({ "kernels": kernels, "refused": refused }).to_string())
        }
        Request::Check { orders, .. } if !(1..=MAX_ORDERS).contains(&orders) => Err(NoAnswer::Orders(orders)),
        Request::Check { program, orders, seed } => {
            let (launch, ptx) = program.launch()?;
            let locations = Locations::new(Path::new("."), Path::new(&ptx));
            let outcome = check(&launch, options(&launch, orders, seed), locations)?;
            let sentences: Vec<String> = outcome.faults.iter().map(|fault| printable(&fault.to_string())).collect();
            let answer =
                json!({ "check": json::fields(&outcome), "sentences": sentences, "buffers": contents(&launch)? });
            Ok(answer.to_string())
        }
        Request::Trace { orders, .. } if !(1..=MAX_ORDERS).contains(&orders) => Err(NoAnswer::Orders(orders)),
        Request::Trace { program, orders, seed, schedule } => {
            let (launch, ptx) = program.launch()?;
            let locations = Locations::new(Path::new("."), Path::new(&ptx));
            let outcome = check(&launch, options(&launch, orders, seed), locations)?;
            let faults: Vec<Plain> = outcome.faults.iter().map(|fault| Plain::of(&launch, fault)).collect();
            let schedule = match (schedule, outcome.faults.first()) {
                (Some(text), _) => text.parse()?,
                (None, Some(fault)) => fault.schedule.clone(),
                (None, None) => Schedule::default(),
            };
            let text = schedule.to_string();
            let trace = trace(&launch, traced(&launch, schedule))?;
            let (check, buffers) = (json::fields(&outcome), contents(&launch)?);
            let answer =
                json!({ "check": check, "faults": faults, "trace": trace, "schedule": text, "buffers": buffers });
            Ok(answer.to_string())
        }
        Request::Record { program, sources, instructions } => {
            let (launch, ptx) = program.launch()?;
            let page = record(&launch, &record::Options { ptx, sources, instructions, ..record::Options::default() })?;
            Ok(json!({ "html": page.html, "block": page.block, "recorded": page.recorded }).to_string())
        }
    }
}
