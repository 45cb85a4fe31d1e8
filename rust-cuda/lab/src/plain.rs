//! Describes each error in one plain sentence, and where the page draws it.

use cuda_launch::{Access, Dim3, LaunchConfig};
use kernel_launch::Launch;
use ptx_interpreter::memory::{AccessError, Extent};
use ptx_interpreter::syntax::printable;
use ptx_interpreter::{Fault, FaultKind, Indexed};
use serde::Serialize;

/// An error as shown by the page.
#[derive(Debug, Serialize)]
pub(crate) struct Plain {
    /// The class of error, such as "data race".
    class: &'static str,
    /// What happens, in one sentence.
    sentence: String,
    /// The lines of the kernel's source: the thread's and, for a data race, the other thread's.
    lines: Vec<Line>,
    /// The thread and, for a data race, the other one: each with the block's number and the
    /// thread's number in the block.
    threads: Vec<[u32; 2]>,
    /// The name of the memory and the index of the element, which may be out of bounds.
    element: Option<(String, i64)>,
}

/// A line of a source file.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Line {
    file: String,
    line: u32,
    /// Starting at 1; 0 if unknown.
    column: u32,
}

impl Plain {
    pub(crate) fn of(launch: &Launch, fault: &Fault) -> Self {
        let config = launch.config();
        let number = |block: Dim3, thread: Dim3| [linear(block, config.grid), linear(thread, config.block)];
        let other = match &fault.kind {
            FaultKind::Race { other_block, other_thread, .. }
            | FaultKind::SameValueRace { other_block, other_thread, .. } => Some(number(*other_block, *other_thread)),
            _ => None,
        };
        let threads: Vec<[u32; 2]> = [number(fault.block, fault.thread)].into_iter().chain(other).collect();
        let other_place = fault.kind.other_place().filter(|_| other.is_some());
        let places = [Some(&fault.place), other_place].into_iter().flatten();
        // If functions are inlined, the outermost call is the kernel's line.
        let lines = places.filter_map(|place| {
            let mut source = place.source.as_ref()?;
            while let Some(call) = source.inlined_at.as_deref() {
                source = call;
            }
            Some(Line { file: source.file.to_string(), line: source.line, column: source.column })
        });
        let element = element(&fault.kind, launch);
        let sentence = printable(&sentence(fault, &element, &threads, config));
        Self { class: class(&fault.kind), sentence, lines: lines.collect(), threads, element }
    }
}

/// The linear index; x varies fastest.
fn linear(index: Dim3, extents: Dim3) -> u32 {
    index.x + extents.x * (index.y + extents.y * index.z)
}

fn class(kind: &FaultKind) -> &'static str {
    match kind {
        FaultKind::Race { .. } | FaultKind::SameValueRace { .. } => "data race",
        FaultKind::Access { error: AccessError::Uninitialised { .. }, .. } => "uninitialized read",
        FaultKind::Access { .. } | FaultKind::OutOfBounds { .. } | FaultKind::Range { .. } => "out-of-bounds access",
        FaultKind::BarrierDivergence { .. } | FaultKind::ClusterBarrierDivergence { .. } => "barrier divergence",
        FaultKind::MissingLanes { .. } | FaultKind::NoSuchLane { .. } => "missing lanes",
        FaultKind::EndlessLoop | FaultKind::Endless { .. } | FaultKind::NoProgress { .. } => "endless loop",
        FaultKind::WaitsForever { .. } | FaultKind::PhaseNeverEnds { .. } => "deadlock",
        FaultKind::Trap | FaultKind::Panic { .. } | FaultKind::Overflow(_) => "panic",
        _ => "error",
    }
}

/// The element that an error concerns.
fn element(kind: &FaultKind, launch: &Launch) -> Option<(String, i64)> {
    let at = |memory: &Extent, address: u64| {
        let size = i64::from(memory.element?.get());
        let offset = address.wrapping_sub(memory.start).cast_signed();
        Some((memory.name.to_string(), offset.div_euclid(size)))
    };
    match kind {
        FaultKind::Race { memory, address, .. } | FaultKind::SameValueRace { memory, address, .. } => {
            at(memory, *address)
        }
        FaultKind::Access { error: AccessError::Uninitialised { address, place: memory, .. }, .. }
        | FaultKind::Access { error: AccessError::OutOfBounds { address, nearest: memory, .. }, .. } => {
            at(memory, *address)
        }
        FaultKind::OutOfBounds { memory, bounds: Some((index, _)) } => {
            let name = match memory {
                Indexed::Buffer { name, .. } => name.as_deref()?.to_owned(),
                // If there are several arrays, it is unknown which one it is.
                Indexed::SharedArray => match launch.shared() {
                    [only] => only.name.clone(),
                    _ => return None,
                },
            };
            Some((name, index.cast_signed()))
        }
        _ => None,
    }
}

/// Describes the error, for example "Thread 31 reads `tile[32]` before any thread wrote it."
fn sentence(fault: &Fault, element: &Option<(String, i64)>, threads: &[[u32; 2]], config: LaunchConfig) -> String {
    let [block, thread] = threads[0];
    let is_flat = config.block.y == 1 && config.block.z == 1;
    let name = |thread: u32| match is_flat {
        true => thread.to_string(),
        false => format!("({}, {})", thread % config.block.x, thread / config.block.x % config.block.y),
    };
    let in_block = |block: u32| match config.grid.count() {
        1 => String::new(),
        _ => format!(" of block {block}"),
    };
    let who = format!("Thread {}{}", name(thread), in_block(block));
    let what = element.as_ref().map(|(name, index)| format!("`{name}[{index}]`"));
    match (&fault.kind, what) {
        (FaultKind::Race { access, other_access, .. }, Some(what)) => {
            let [other_block, other] = threads[1];
            let (access, other_access) = (verb(*access), verb(*other_access));
            let other = match other_block == block {
                true => format!("thread {}", name(other)),
                false => format!("thread {}{}", name(other), in_block(other_block)),
            };
            if access == other_access {
                format!("{who} and {other} both {} {what}, and nothing orders them.", plural(access))
            } else {
                format!("{who} {access} {what} and {other} {other_access} it, and nothing orders them.")
            }
        }
        (FaultKind::Access { error: AccessError::Uninitialised { .. }, .. }, Some(what)) => {
            format!("{who} reads {what} before any thread wrote it.")
        }
        (FaultKind::Access { access, error: AccessError::OutOfBounds { nearest, .. } }, Some(what)) => {
            let length = nearest.element.map_or(0, |element| nearest.bytes / u64::from(element.get()));
            format!("{who} {} {what}, but `{}` {}.", verb(*access), nearest.name, elements(length))
        }
        (FaultKind::OutOfBounds { bounds: Some((_, length)), .. }, Some(what)) => {
            let name = what.split('[').next().unwrap_or_default().trim_start_matches('`');
            format!("{who} uses {what}, but `{name}` {}.", elements(*length))
        }
        (FaultKind::BarrierDivergence { waiting, threads, .. }, _) => {
            let (waits, never) = (if *waiting == 1 { "waits" } else { "wait" }, threads - waiting);
            let others = if never == 1 { "the other one never arrives" } else { "the others never arrive" };
            format!("Only {waiting} of the {threads} threads{} {waits} at this barrier: {others}.", in_block(block))
        }
        (FaultKind::MissingLanes { expected, missing }, _) => format!(
            "Only {} of {} lanes reach this warp operation: {} missing.",
            (expected & !missing).count_ones(),
            expected.count_ones(),
            lanes(*missing)
        ),
        (kind, _) => format!("{who}: {kind}."),
    }
}

fn verb(access: Access) -> &'static str {
    match access {
        Access::Read => "reads",
        Access::Write => "writes",
        Access::Atomic => "atomically changes",
    }
}

/// The verb in its plural form.
fn plural(verb: &str) -> &str {
    match verb {
        "reads" => "read",
        "writes" => "write",
        _ => "atomically change",
    }
}

fn elements(length: u64) -> String {
    match length {
        0 => "has no elements".to_owned(),
        1 => "has 1 element: index 0".to_owned(),
        length => format!("has {length} elements: indices 0 to {}", length - 1),
    }
}

/// The lanes in a mask, for example "lanes 0 to 7 are".
fn lanes(mask: u32) -> String {
    let (first, count) = (mask.trailing_zeros(), mask.count_ones());
    let is_range = count > 0 && (mask >> first) == u32::MAX >> (32 - count);
    match (count, is_range) {
        (1, _) => format!("lane {first} is"),
        (_, true) => format!("lanes {first} to {} are", first + count - 1),
        _ => format!("{count} lanes are"),
    }
}
