//! A launch: the parameters shared by its blocks, and its results.

use std::sync::Arc;

use cuda_launch::{Dim3, LaunchConfig};

use super::counts::InstructionCounts;
use super::fault::Fault;
use super::launch_error::LaunchError;
use super::note::{self, Notes};
use super::options::Options;
use super::printed::PrintBuffer;
use super::speech::Speech;
use crate::memory::{Extent, GlobalSnapshot, GlobalView, Region};
use crate::program::{Kernel, Program};

/// The launch parameters that all blocks share.
#[derive(Debug)]
pub(super) struct Launch<'a> {
    pub(super) program: &'a Program,
    pub(super) kernel: &'a Kernel,
    pub(super) config: LaunchConfig,
    pub(super) options: Options,
    pub(super) view: Arc<GlobalView>,
    pub(super) parameters: Region,
    pub(super) constants: &'a Region,
    pub(super) dynamic_shared: Extent,
    /// Address of the grid workspace, which holds the grid barrier of CUDA's cooperative groups.
    pub(super) workspace: Option<u64>,
    /// Number of blocks that memory can hold at the same time.
    pub(super) max_residents: u64,
    /// Destination of printed texts. `None` in a replay, which has already printed them.
    pub(super) printed: Option<&'a PrintBuffer>,
    /// The messages of Rust kernels. `None` if no kernel of the module has any.
    pub(super) speech: Option<&'a Speech>,
}

impl Launch<'_> {
    /// Takes the messages of the launch's threads.
    pub(super) fn take_messages(&self) {
        if let Some(speech) = self.speech {
            speech.take(&self.view, self.printed, self.config);
        }
    }
}

/// Counts and races of the blocks run by a worker.
#[derive(Debug, Default)]
pub(super) struct LaunchResults {
    /// One entry per instruction.
    pub(super) counts: Vec<InstructionCounts>,
    pub(super) notes: Notes,
    /// The faults after which the launch continued.
    pub(super) faults: Vec<Fault>,
    /// Uses of uninitialized memory.
    pub(super) deferred: Vec<Fault>,
    /// Number of synchronizing accesses by warps, in a launch under a schedule.
    pub(super) synchronising: u64,
}

impl LaunchResults {
    /// Turns the end of a launch into its results.
    ///
    /// # Errors
    /// The launch's first fault, with the others.
    pub(super) fn finish(mut self, ended: Result<(), Box<Fault>>, max_faults: usize) -> Result<Self, Box<Fault>> {
        let found: Vec<Fault> =
            std::mem::take(&mut self.faults).into_iter().chain(ended.err().map(|fault| *fault)).collect();
        // Report the missing barrier, not the value that is missing because of it.
        let deferred = std::mem::take(&mut self.deferred).into_iter();
        let deferred = deferred.filter(|fault| !found.iter().any(|race| race.is_race_at(&fault.place)));
        let mut faults: Vec<Fault> = Vec::new();
        // Several workers may have recorded the same line.
        for fault in deferred.collect::<Vec<_>>().into_iter().chain(found) {
            match faults.iter_mut().find(|known| fault.is_known_as(known)) {
                Some(known) => known.count += fault.count,
                None => faults.push(fault),
            }
        }
        if faults.is_empty() {
            return Ok(self);
        }
        let mut notes = note::by_line(self.notes);
        // This also applies to a note of such a value.
        let is_of = |note: &Fault, fault: &Fault| {
            note.kind.id() == fault.kind.id() && note.is_at_line_of(fault)
                || note.kind.id() == "uninitialised-read" && fault.is_race_at(&note.place)
        };
        notes.retain(|note| !faults.iter().any(|fault| is_of(note, fault)));
        faults.truncate(max_faults.max(1));
        let first = faults.remove(0);
        Err(Box::new(Fault { others: faults, notes, ..first }))
    }

    /// Adds the results of another worker.
    pub(super) fn add(&mut self, other: Self) {
        if self.counts.is_empty() {
            *self = other;
            return;
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| sum.add(count));
        note::add(&mut self.notes, other.notes);
        self.faults.extend(other.faults);
        self.deferred.extend(other.deferred);
    }
}

impl Launch<'_> {
    /// A copy of global memory.
    ///
    /// # Errors
    /// If the host lacks the memory.
    pub(super) fn copy(&self) -> Result<GlobalSnapshot, LaunchError> {
        self.view.snapshot().map_err(|error| LaunchError::Copy { kernel: Arc::clone(&self.kernel.name), error })
    }

    /// Three-dimensional index of block `number` in the grid.
    pub(super) fn block_index(&self, number: u64) -> Dim3 {
        self.config.grid.index_of(number)
    }
}
