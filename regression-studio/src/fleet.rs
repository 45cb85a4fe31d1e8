//! A fleet trains several runs of one table at once on the CPU.
//!
//! The number of threads changes no bit of a run. Each member of a fleet therefore has the bits of its single run. A GPU trains one member
//! after another.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::available_parallelism;

use command_line::available_memory;
use neural_net::device::{OpenedDevice, TrainingDevice};

use crate::settings::NetworkKind;
use crate::{Session, Settings, Snapshot, Table};

/// Trains a run with each of `members`, all with the same table, device and threads. `start` starts each run, and `outcome` takes the
/// part to keep from its last snapshot. The calling thread passes each index and outcome to `done`, in the order in which the runs end;
/// after a break no further run starts, and those in progress end.
///
/// Returns the outcomes in the order of the members: all of them, or after a break the first ones. `None` if `cancel` was set.
pub fn train<R: Send>(
    table: &Arc<Table>,
    members: &[Settings],
    cancel: &AtomicBool,
    start: fn(Arc<Table>, Settings) -> Session,
    outcome: impl Fn(&Snapshot) -> R + Sync,
    mut done: impl FnMut(usize, &R) -> ControlFlow<()>,
) -> Option<Vec<R>> {
    let Some(first) = members.first() else { return Some(Vec::new()) };
    let cores = first.training.threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    let at_once = match runs_on_cpu(first) {
        true => number_at_once(members.len(), cores, available_memory(), bytes(table, first)),
        false => 1,
    };
    let of_member = |index: usize| {
        if cancel.load(Ordering::Relaxed) {
            return None;
        }
        let mut settings = members[index].clone();
        if at_once > 1 {
            settings.training.threads = Some((cores / at_once).max(1));
        }
        start(Arc::clone(table), settings).wait_unless(cancel, |_| ()).map(|last| outcome(&last))
    };
    // A cancelled member has no outcome, and ends the fleet.
    let outcomes = run(members.len(), at_once, of_member, |index, outcome| match outcome {
        Some(outcome) => done(index, outcome),
        None => ControlFlow::Break(()),
    });
    outcomes.into_iter().collect()
}

/// Calls `work` with each index below `count`, in up to `at_once` threads, which take the indices in ascending order. The calling thread
/// passes each result to `done`; after a break no further index is taken.
///
/// Returns the results in the order of the indices: all of them, or after a break the first ones.
pub(crate) fn run<R: Send>(
    count: usize,
    at_once: usize,
    work: impl Fn(usize) -> R + Sync,
    mut done: impl FnMut(usize, &R) -> ControlFlow<()>,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take =
        || next.try_update(Ordering::Relaxed, Ordering::Relaxed, |index| (index < count).then_some(index + 1)).ok();
    let mut results: Vec<Option<R>> = (0..count).map(|_| None).collect();
    let mut receive = |index: usize, result: R| {
        if done(index, &result).is_break() {
            next.store(count, Ordering::Relaxed);
        }
        results[index] = Some(result);
    };
    if at_once <= 1 {
        while let Some(index) = take() {
            receive(index, work(index));
        }
    } else {
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..at_once.min(count) {
                let (sender, take, work) = (sender.clone(), &take, &work);
                scope.spawn(move || {
                    while let Some(index) = take() {
                        // The receiver is gone only if `done` has panicked.
                        let _ = sender.send((index, work(index)));
                    }
                });
            }
            drop(sender);
            receiver.into_iter().for_each(|(index, result)| receive(index, result));
        });
    }
    results.into_iter().flatten().collect()
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

    #[test]
    fn results_are_in_order_and_after_a_break_the_first_ones() {
        for at_once in [1, 3, 20] {
            let mut seen = Vec::new();
            let squares = run(
                10,
                at_once,
                |index| index * index,
                |index, square| {
                    seen.push((index, *square));
                    ControlFlow::Continue(())
                },
            );
            seen.sort_unstable();
            assert_eq!(seen, (0..10).map(|index| (index, index * index)).collect::<Vec<_>>());
            assert_eq!(squares, (0..10).map(|index| index * index).collect::<Vec<_>>());
            let until = |index: usize| if index == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            let first = run(1000, at_once, |index| index, |index, _: &usize| until(index));
            assert!(first.len() >= 5 && (at_once > 1 || first.len() == 5), "{}", first.len());
            assert!(first.iter().copied().eq(0..first.len()));
        }
        assert!(run(0, 3, |index| index, |_, _| ControlFlow::Continue(())).is_empty());
    }
}
