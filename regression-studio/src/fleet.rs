//! A fleet trains several runs of one table at once: on the CPU as many as there are cores, on a GPU as many as there are multiprocessors.
//!
//! The number of threads changes no bit of a run, nor do the others on its device. Each member of a fleet therefore has the bits of its single
//! run on that device. A GPU trains networks at once that one block trains, and a group of steps of each other one after another. With
//! `auto` and a GPU, the first member trains alone, and the others on the device that it found faster.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::available_parallelism;

use command_line::available_memory;
use neural_net::device::{OpenedDevice, TrainingDevice};

use crate::session::{RunDevice, open_device};
use crate::{Session, Settings, Snapshot, Table, at_once};

/// Trains a run with each of `members`, all with the same table, kind of network, device and threads. `start` starts each run, `watch` gets
/// the index and snapshots of each, in the thread that waits for it, and `outcome` takes the part to keep from its last snapshot. The calling
/// thread passes each index and outcome to `done`, in the order in which the runs end. After a break no further run starts, and the runs in
/// progress end.
///
/// Returns the outcomes in the order of the members: all of them, or after a break the first ones. `None` if `cancel` was set.
pub fn train<R: Send>(
    table: &Arc<Table>,
    members: &[Settings],
    cancel: &AtomicBool,
    start: fn(Arc<Table>, Settings, Option<RunDevice>) -> Session,
    watch: impl Fn(usize, &Snapshot) + Sync,
    outcome: impl Fn(&Snapshot) -> R + Sync,
    mut done: impl FnMut(usize, &R) -> ControlFlow<()>,
) -> Option<Vec<R>> {
    let Some(first) = members.first() else { return Some(Vec::new()) };
    // Each run reports the error itself.
    let opened = open_device(first).ok();
    let (choice, found) = (first.training.device, OnceLock::new());
    let is_measured = choice == TrainingDevice::Auto && matches!(opened, Some(OpenedDevice::Gpu(_)));
    let cores = first.training.threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    let (alone, mut flow, mut outcomes) = (usize::from(is_measured), ControlFlow::Continue(()), Vec::new());
    for indices in [0..alone, alone..members.len()] {
        let device = found.get().copied().unwrap_or(choice);
        let (at_most, memory) = limits(opened.as_ref(), device, cores);
        let width = number_at_once(indices.len(), at_most, memory, bytes(table, first));
        let of_member = |index: usize| {
            if cancel.load(Ordering::Relaxed) {
                return None;
            }
            let index = indices.start + index;
            let mut settings = members[index].clone();
            settings.training.device = device;
            if width > 1 {
                settings.training.threads = Some((cores / width).max(1));
            }
            let session = start(Arc::clone(table), settings, opened.clone());
            let last = session.wait_unless(cancel, |snapshot| watch(index, snapshot))?;
            watch(index, &last);
            if let Some(device) = last.same_device {
                found.get_or_init(|| device);
            }
            Some(outcome(&last))
        };
        if flow.is_continue() {
            outcomes.extend(at_once::run(indices.len(), width, of_member, |index, outcome| {
                // A cancelled member has no outcome, and ends the fleet.
                let of_member = outcome.as_ref().map(|outcome| done(indices.start + index, outcome));
                flow = of_member.unwrap_or(ControlFlow::Break(()));
                flow
            }));
        }
    }
    outcomes.into_iter().collect()
}

/// The number of members that the device trains at once, and the bytes of memory for all of them. A GPU trains one for each multiprocessor; a
/// model of one has as many as the CPU.
fn limits(opened: Option<&RunDevice>, device: TrainingDevice, cores: usize) -> (usize, Option<u64>) {
    match opened {
        Some(OpenedDevice::Gpu(gpu)) if device != TrainingDevice::Cpu => {
            let memory = [available_memory(), gpu.total_memory().map(|bytes| bytes as u64)];
            (gpu.multiprocessors().map_or(cores, |count| count as usize), memory.into_iter().flatten().min())
        }
        _ => (cores, available_memory()),
    }
}

/// The number of members that train at once: up to `at_most`, and no more than half of the available memory holds.
fn number_at_once(members: usize, at_most: usize, available: Option<u64>, bytes: u64) -> usize {
    let by_memory = available.map_or(usize::MAX, |available| (available / 2 / bytes.max(1)) as usize);
    members.min(at_most).min(by_memory).max(1)
}

/// An estimate of the bytes that a run needs beside the table: its encoded rows, twice during their preparation.
fn bytes(table: &Table, settings: &Settings) -> u64 {
    let inputs = |name: &String| {
        let categories = table.column(name).and_then(|column| column.categories());
        categories.map_or(1, |categories| categories.names.len().min(settings.data.one_hot_limit) as u64)
    };
    let rows = settings.data.samples.unwrap_or(usize::MAX).min(table.rows()) as u64;
    let inputs: u64 = settings.data.features.iter().map(inputs).sum();
    rows * (2 * 4 * (inputs + 1) + 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_at_once_are_limited_by_cores_memory_and_members() {
        assert_eq!(number_at_once(5, 2, None, 1000), 2);
        assert_eq!(number_at_once(5, 64, Some(u64::MAX), 1000), 5);
        assert_eq!(number_at_once(100, 64, Some(20_000), 1000), 10);
        assert_eq!(number_at_once(100, 64, Some(10), 1000), 1);
        assert_eq!(number_at_once(100, 0, Some(10), 0), 1);
    }
}
