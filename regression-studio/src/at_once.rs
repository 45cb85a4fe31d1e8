//! Runs several tasks at once, each in its own thread.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Calls `work` with each index below `count`, in up to `at_once` threads. Indices are taken in
/// ascending order. The calling thread passes each result to `done`; after a break no further index
/// is taken.
///
/// Returns the results in index order: all of them, or only the first ones after a break.
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

#[cfg(test)]
mod tests {
    use super::*;

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
