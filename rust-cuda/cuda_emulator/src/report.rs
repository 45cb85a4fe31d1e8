//! A process's report in JSON: its kernels, launches, instructions and errors.

use std::collections::BTreeMap;

use cuda_launch::Dim3;
use ptx_interpreter::{Fault, Place};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::source;

/// The launches of one or more processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The kernels, by name.
    pub kernels: Vec<KernelReport>,
    /// The errors in order of occurrence. Only the first is kept for each kernel, kind and source
    /// line.
    pub faults: Vec<FaultReport>,
    /// Number of device buffers not freed when the process ended, excluding buffers of a destroyed
    /// context.
    pub live_buffers: u64,
    /// Their total size in bytes.
    pub live_bytes: u64,
}

/// The launches of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelReport {
    /// The kernel's name in the source.
    pub kernel: String,
    /// Number of launches, including failed ones.
    pub launches: u64,
    /// Instructions counted per thread, over launches without an error.
    pub thread_instructions: u64,
    /// Instructions counted per warp, over launches without an error.
    pub warp_instructions: u64,
    /// Instructions that a GPU may compute differently, and how often threads executed them, over
    /// launches without an error.
    pub inexact: BTreeMap<String, u64>,
}

/// A kernel error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultReport {
    /// The kind of error, as listed in `docs/checking.md`.
    pub rule: String,
    /// The driver's error code.
    pub error: String,
    /// The kernel's name in the source.
    pub kernel: String,
    /// Index of the block in the grid.
    pub block: [u32; 3],
    /// Index of the thread in its block.
    pub thread: [u32; 3],
    /// The instruction.
    pub place: PlaceReport,
    /// The other access of a data race.
    pub other_place: Option<PlaceReport>,
    /// The user's file and line, or the PTX line if the PTX names no source.
    pub location: String,
    /// Number of such errors in all launches.
    pub count: u64,
    /// Number of launches with them.
    pub launches: u64,
    /// The whole message.
    pub message: String,
}

/// The location of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceReport {
    /// Line of the PTX.
    pub ptx_line: u32,
    /// Source file, if the PTX names it.
    pub file: Option<String>,
    /// Line of the source.
    pub line: Option<u32>,
}

impl Report {
    /// Adds the report of another process.
    pub fn add(&mut self, other: Self) {
        for kernel in other.kernels {
            match self.kernels.iter_mut().find(|known| known.kernel == kernel.kernel) {
                Some(known) => {
                    known.launches += kernel.launches;
                    known.thread_instructions += kernel.thread_instructions;
                    known.warp_instructions += kernel.warp_instructions;
                    known.add_inexact(kernel.inexact);
                }
                None => self.kernels.push(kernel),
            }
        }
        self.live_buffers += other.live_buffers;
        self.live_bytes += other.live_bytes;
        for fault in other.faults {
            match self.faults.iter_mut().find(|known| known.kernel == fault.kernel && known.is_at_line_of(&fault)) {
                Some(known) => known.count_with(&fault),
                None => self.faults.push(fault),
            }
        }
    }
}

impl KernelReport {
    /// Adds instruction counts.
    pub(crate) fn add_inexact(&mut self, counts: impl IntoIterator<Item = (String, u64)>) {
        counts.into_iter().for_each(|(instruction, count)| *self.inexact.entry(instruction).or_default() += count);
    }
}

impl FaultReport {
    pub(crate) fn new(fault: &Fault, error: Error) -> Self {
        let index = |index: Dim3| [index.x, index.y, index.z];
        let other_place = fault.kind.other_place();
        Self {
            rule: fault.kind.id().to_owned(),
            error: error.name().to_owned(),
            kernel: fault.kernel.to_string(),
            block: index(fault.block),
            thread: index(fault.thread),
            place: PlaceReport::new(&fault.place),
            other_place: other_place.map(PlaceReport::new),
            location: source::location(fault).unwrap_or_else(|| format!("PTX line {}", fault.place.line)),
            count: fault.count,
            launches: 1,
            message: fault.to_string(),
        }
    }

    /// Whether both have the same kind and line.
    pub(crate) fn is_at_line_of(&self, other: &Self) -> bool {
        let line = |place: &PlaceReport| (place.file.clone(), place.line.unwrap_or(place.ptx_line));
        self.rule == other.rule && line(&self.place) == line(&other.place)
    }

    /// Adds the count of the same error in other launches.
    pub(crate) fn count_with(&mut self, other: &Self) {
        self.count += other.count;
        self.launches += other.launches;
    }
}

impl PlaceReport {
    fn new(place: &Place) -> Self {
        let source = place.source.as_ref();
        Self {
            ptx_line: place.line,
            file: source.map(|source| source.file.to_string()),
            line: source.map(|source| source.line),
        }
    }
}
