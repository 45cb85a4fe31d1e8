//! Snapshots of an observed launch, from which it can be run again.

use std::sync::Arc;

use cuda_launch::LaunchConfig;

use super::context::Context;
use super::launch::Launch;
use super::observer::StoppedBlock;
use super::residents::{Resident, Residents};
use crate::memory::{GlobalSnapshot, MemoryError};

/// The state of an observed launch before an instruction: running blocks and global memory. The
/// race detector's state is not included.
#[derive(Debug)]
pub struct Snapshot {
    kernel: Arc<str>,
    config: LaunchConfig,
    /// The resident blocks, including the running one.
    residents: Residents,
    /// Number of instructions of the time slice that the running path has executed.
    slice_used: u32,
    memory: GlobalSnapshot,
}

impl Snapshot {
    /// Size on the host, in bytes.
    pub fn host_bytes(&self) -> usize {
        let residents = self.residents.list.iter();
        let blocks = residents.map(|Resident { block, state }| block.host_bytes() + state.host_bytes());
        size_of::<Self>() + blocks.sum::<usize>() + self.memory.host_bytes()
    }

    /// Whether it was taken from a launch of this kernel and configuration.
    pub(super) fn is_of(&self, launch: &Launch<'_>) -> bool {
        *self.kernel == *launch.kernel.name && self.config == launch.config
    }

    /// Restores global memory and a fresh worker to the snapshot's state.
    pub(super) fn restore(&self, context: &mut Context<'_>) {
        context.launch.view.restore(&self.memory);
        context.slice_used = self.slice_used;
        context.residents = self.residents.clone();
    }
}

impl StoppedBlock<'_> {
    /// The state of the launch before the instruction where it stopped.
    ///
    /// # Errors
    /// `HostOutOfMemory`
    ///
    /// # Panics
    /// After a fault, which ends the launch.
    pub fn snapshot(&self) -> Result<Snapshot, MemoryError> {
        assert!(!self.is_at_fault, "a launch does not resume after a fault");
        let memory = self.launch.view.snapshot()?;
        let mut residents = self.residents.clone();
        let running = Resident { block: self.block.clone(), state: self.state.clone() };
        // If there are several blocks, the running block's state has been swapped out of the list.
        match residents.list.get_mut(residents.current) {
            Some(resident) => *resident = running,
            None => residents.list.push(running),
        }
        for resident in &mut residents.list {
            resident.state.watched = None;
        }
        let (kernel, config) = (Arc::clone(&self.launch.kernel.name), self.launch.config);
        Ok(Snapshot { kernel, config, residents, slice_used: self.slice_used, memory })
    }
}
