//! A bounded queue with many writers and one reader.

use std::ops::ControlFlow;
use std::sync::mpsc;

/// Passes `make(0)`, `make(1)` … `make(count − 1)` to `read`, in this order, until it breaks. `workers` threads make
/// them ahead, each at most two more than `read` has taken; without workers, they are made when they are needed.
///
/// # Panics
/// If `make` or `read` panics.
pub fn in_order<T: Send, B>(
    count: usize,
    workers: usize,
    make: impl Fn(usize) -> T + Sync,
    mut read: impl FnMut(usize, T) -> ControlFlow<B>,
) -> ControlFlow<B> {
    if workers == 0 {
        return (0..count).try_for_each(|index| read(index, make(index)));
    }
    std::thread::scope(|scope| {
        // Each worker makes every `workers`-th item, so that none runs ahead of a slow one.
        let start = |worker: usize| {
            let (sender, receiver) = mpsc::sync_channel(1);
            let make = &make;
            scope.spawn(move || {
                for index in (worker..count).step_by(workers) {
                    // The reader is gone if it has broken off.
                    if sender.send(make(index)).is_err() {
                        break;
                    }
                }
            });
            receiver
        };
        let receivers: Vec<_> = (0..workers).map(start).collect();
        for index in 0..count {
            // Without its sender, a worker has panicked, which the scope passes on.
            let Ok(made) = receivers[index % workers].recv() else { break };
            read(index, made)?;
        }
        ControlFlow::Continue(())
    })
}
