//! The result as JSON. `docs/checking-rules.md` describes the fields.

use cuda_launch::Dim3;
use ptx_interpreter::memory::{AccessError, Extent};
use ptx_interpreter::syntax::{Space, printable};
use ptx_interpreter::{Fault, FaultKind, Inexact, Place, Printed, SourcePlace};
use serde::Serialize;

use crate::check::{Counts, Outcome};

#[derive(Serialize)]
struct Document<'a> {
    tool: &'static str,
    version: &'static str,
    kernel: &'a str,
    config: Config,
    /// Maximum number of schedules.
    max_orders: u32,
    /// Number of schedules under which the launch ran without a fault.
    orders: Option<u32>,
    printed: Vec<PrintedFields<'a>>,
    faults: Vec<FaultFields<'a>>,
    notes: Vec<FaultFields<'a>>,
    counts: Option<&'a Counts>,
    inexact: Option<Vec<InexactFields<'a>>>,
}

#[derive(Serialize)]
struct InexactFields<'a> {
    fidelity: String,
    instruction: &'a str,
    count: u64,
}

#[derive(Serialize)]
struct Config {
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared_bytes: u32,
    cooperative: bool,
    cluster: u8,
}

#[derive(Serialize)]
struct PrintedFields<'a> {
    block: [u32; 3],
    thread: [u32; 3],
    text: &'a str,
}

#[derive(Serialize)]
struct FaultFields<'a> {
    kind: &'static str,
    message: String,
    block: [u32; 3],
    thread: [u32; 3],
    place: PlaceFields<'a>,
    /// Place of the race's other thread, or of the threads that wait elsewhere.
    other: Option<Other<'a>>,
    memory: Option<Memory<'a>>,
    /// Value for `--order`.
    order: String,
    /// Number of faults at this line, or of notes of this kind, including this one.
    count: u64,
}

#[derive(Serialize)]
struct Other<'a> {
    block: Option<[u32; 3]>,
    thread: Option<[u32; 3]>,
    place: PlaceFields<'a>,
}

#[derive(Serialize)]
struct PlaceFields<'a> {
    ptx_line: u32,
    ptx_text: &'a str,
    source: Option<Source<'a>>,
}

#[derive(Serialize)]
struct Source<'a> {
    file: &'a str,
    line: u32,
    column: Option<u32>,
    inlined_at: Option<Box<Source<'a>>>,
}

#[derive(Serialize)]
struct Memory<'a> {
    name: &'a str,
    space: &'static str,
    /// First byte of the access within the space.
    address: u64,
    /// Size of the access.
    bytes: usize,
    /// First byte of the allocation or variable.
    start: u64,
    /// Its size.
    size: u64,
}

/// The result as JSON text.
///
/// # Errors
/// If serialization fails.
pub fn document(outcome: &Outcome) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(&fields(outcome))? + "\n")
}

/// The result in serializable form.
pub fn fields(outcome: &Outcome) -> impl Serialize {
    let config = outcome.config;
    Document {
        tool: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
        kernel: &outcome.kernel,
        config: Config {
            grid: extents(config.grid),
            block: extents(config.block),
            dynamic_shared_bytes: config.dynamic_shared_bytes,
            cooperative: config.cooperative,
            cluster: config.cluster,
        },
        max_orders: outcome.search.runs,
        orders: outcome.clean.as_ref().map(|clean| clean.orders),
        printed: outcome.printed.iter().map(PrintedFields::of).collect(),
        faults: outcome.faults.iter().map(FaultFields::of).collect(),
        notes: outcome.notes.iter().map(FaultFields::of).collect(),
        counts: outcome.clean.as_ref().map(|clean| &clean.counts),
        inexact: outcome.clean.as_ref().map(|clean| clean.inexact.iter().map(InexactFields::of).collect()),
    }
}

impl<'a> InexactFields<'a> {
    fn of(inexact: &'a Inexact) -> Self {
        let fidelity = format!("{:?}", inexact.fidelity).to_lowercase();
        Self { fidelity, instruction: &inexact.instruction, count: inexact.count }
    }
}

fn extents(dim: Dim3) -> [u32; 3] {
    [dim.x, dim.y, dim.z]
}

impl<'a> PrintedFields<'a> {
    fn of(printed: &'a Printed) -> Self {
        Self { block: extents(printed.block), thread: extents(printed.thread), text: &printed.text }
    }
}

impl<'a> FaultFields<'a> {
    fn of(fault: &'a Fault) -> Self {
        let (other_block, other_thread) = match &fault.kind {
            FaultKind::Race { other_block, other_thread, .. }
            | FaultKind::SameValueRace { other_block, other_thread, .. } => {
                (Some(extents(*other_block)), Some(extents(*other_thread)))
            }
            _ => (None, None),
        };
        let other = fault.kind.other_place().map(PlaceFields::of);
        Self {
            kind: fault.kind.id(),
            message: printable(&fault.kind.to_string()),
            block: extents(fault.block),
            thread: extents(fault.thread),
            place: PlaceFields::of(&fault.place),
            other: other.map(|place| Other { block: other_block, thread: other_thread, place }),
            memory: Memory::of(&fault.kind),
            order: fault.schedule.to_string(),
            count: fault.count,
        }
    }
}

impl<'a> PlaceFields<'a> {
    fn of(place: &'a Place) -> Self {
        Self { ptx_line: place.line, ptx_text: &place.text, source: place.source.as_ref().map(Source::of) }
    }
}

impl<'a> Source<'a> {
    fn of(source: &'a SourcePlace) -> Self {
        Self {
            file: &source.file,
            line: source.line,
            column: (source.column > 0).then_some(source.column),
            inlined_at: source.inlined_at.as_deref().map(|call| Box::new(Self::of(call))),
        }
    }
}

impl<'a> Memory<'a> {
    fn of(kind: &'a FaultKind) -> Option<Self> {
        let (extent, address, bytes): (&Extent, u64, usize) = match kind {
            FaultKind::Race { memory, address, bytes, .. }
            | FaultKind::SameValueRace { memory, address, bytes, .. }
            | FaultKind::WaitsForever { memory, address, bytes, .. } => (memory, *address, *bytes),
            FaultKind::PhaseNeverEnds { memory, address, .. } | FaultKind::Mbarrier { memory, address, .. } => {
                (memory, *address, 8)
            }
            FaultKind::Access {
                error:
                    AccessError::OutOfBounds { nearest: memory, address, bytes }
                    | AccessError::Freed { freed: memory, address, bytes }
                    | AccessError::Uninitialised { place: memory, address, bytes, .. },
                ..
            } => (memory, *address, *bytes),
            _ => return None,
        };
        let space = match extent.space {
            Space::Const => "const",
            Space::Global => "global",
            Space::Local => "local",
            Space::Param => "param",
            Space::Shared => "shared",
        };
        Some(Self { name: &extent.name, space, address, bytes, start: extent.start, size: extent.bytes })
    }
}
