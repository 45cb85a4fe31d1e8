//! A fleet trains several runs of one table at once on the CPU.
//!
//! The number of threads changes no bit of a run. Each member of a fleet therefore has the bits of its single run. A GPU trains one member
//! after another.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;

use command_line::available_memory;
use neural_net::device::{OpenedDevice, TrainingDevice};

use crate::settings::NetworkKind;
use crate::{Session, Settings, Snapshot, Table, at_once};

/// Trains a run with each of `members`, all with the same table, device and threads. `start` starts each run, `watch` gets the index and
/// snapshots of each, in the thread that waits for it, and `outcome` takes the part to keep from its last snapshot. The calling thread
/// passes each index and outcome to `done`, in the order in which the runs end; after a break no further run starts, and those in progress
/// end.
///
/// Returns the outcomes in the order of the members: all of them, or after a break the first ones. `None` if `cancel` was set.
pub fn train<R: Send>(
    table: &Arc<Table>,
    members: &[Settings],
    cancel: &AtomicBool,
    start: fn(Arc<Table>, Settings) -> Session,
    watch: impl Fn(usize, &Snapshot) + Sync,
    outcome: impl Fn(&Snapshot) -> R + Sync,
    mut done: impl FnMut(usize, &R) -> ControlFlow<()>,
) -> Option<Vec<R>> {
    let Some(first) = members.first() else { return Some(Vec::new()) };
    let cores = first.training.threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    let width = match runs_on_cpu(first) {
        true => number_at_once(members.len(), cores, available_memory(), bytes(table, first)),
        false => 1,
    };
    let of_member = |index: usize| {
        if cancel.load(Ordering::Relaxed) {
            return None;
        }
        let mut settings = members[index].clone();
        if width > 1 {
            settings.training.threads = Some((cores / width).max(1));
        }
        let last = start(Arc::clone(table), settings).wait_unless(cancel, |snapshot| watch(index, snapshot))?;
        watch(index, &last);
        Some(outcome(&last))
    };
    // A cancelled member has no outcome, and ends the fleet.
    let outcomes = at_once::run(members.len(), width, of_member, |index, outcome| match outcome {
        Some(outcome) => done(index, outcome),
        None => ControlFlow::Break(()),
    });
    outcomes.into_iter().collect()
}

/// Whether a run with these settings trains on the CPU for certain. With a GPU, `auto` measures both.
fn runs_on_cpu(settings: &Settings) -> bool {
    settings.network.kind == NetworkKind::Table
        || match settings.training.device {
            TrainingDevice::Cpu => true,
            TrainingDevice::Auto => matches!(TrainingDevice::Auto.open(0), Ok(OpenedDevice::Cpu(_))),
            _ => false,
        }
}

/// The number of members that train at once: at most one for each core, and no more than half of the available memory holds.
fn number_at_once(members: usize, cores: usize, available: Option<u64>, bytes: u64) -> usize {
    let by_memory = available.map_or(usize::MAX, |available| (available / 2 / bytes.max(1)) as usize);
    members.min(cores).min(by_memory).max(1)
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
