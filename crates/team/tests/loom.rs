//! The barrier under the model checker, which tries every interleaving of a few threads:
//! `RUSTFLAGS='--cfg loom' cargo test -p team --test loom --release`.
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use team::{Barrier, Broken};

/// A cell that is written by one member before a meeting and read by the others after it; loom reports a data race if the
/// barrier does not order the two.
struct Written(UnsafeCell<usize>);

// SAFETY: loom checks every access.
#[allow(unsafe_code)]
unsafe impl Sync for Written {}

impl Written {
    fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn write(&self, value: usize) {
        #[allow(unsafe_code)]
        // SAFETY: loom checks that no other access is concurrent.
        self.0.with_mut(|cell| unsafe { *cell = value });
    }

    fn read(&self) -> usize {
        #[allow(unsafe_code)]
        // SAFETY: as above.
        self.0.with(|cell| unsafe { *cell })
    }
}

/// Runs every interleaving of `model` with at most three preemptions of a thread: more than any known error of a barrier needs,
/// and few enough for seconds.
fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// `members` threads write a cell each, meet, read all cells, meet, and write again, `rounds` times.
fn phases(members: usize, rounds: usize) {
    check(move || {
        let barrier = Arc::new(Barrier::new(members));
        let cells: Arc<Vec<Written>> = Arc::new((0..members).map(|_| Written::new()).collect());
        let work = move |index: usize| {
            for round in 1..=rounds {
                cells[index].write(round);
                barrier.wait().unwrap();
                assert!(cells.iter().all(|cell| cell.read() == round));
                barrier.wait().unwrap();
            }
        };
        let start = |index| {
            let work = work.clone();
            thread::spawn(move || work(index))
        };
        let others: Vec<_> = (1..members).map(start).collect();
        work(0);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

#[test]
fn two_members_see_what_the_other_wrote_before_each_meeting() {
    phases(2, 2);
}

#[test]
fn three_members_see_what_the_others_wrote_before_each_meeting() {
    phases(3, 1);
}

/// Whenever the barrier is broken, a waiting member returns, and no one sleeps forever.
#[test]
fn a_member_that_leaves_releases_the_other() {
    check(|| {
        let barrier = Arc::new(Barrier::new(2));
        let other = {
            let barrier = barrier.clone();
            thread::spawn(move || {
                let first = barrier.wait();
                (first.is_ok(), barrier.wait())
            })
        };
        let first = barrier.wait();
        barrier.break_up();
        let (other_met, second) = other.join().unwrap();
        assert!(first.is_ok() && other_met, "both arrived before the barrier was broken");
        assert_eq!(second, Err(Broken));
    });
}

#[test]
fn a_member_that_never_arrives_releases_the_other() {
    check(|| {
        let barrier = Arc::new(Barrier::new(2));
        let other = {
            let barrier = barrier.clone();
            thread::spawn(move || barrier.wait())
        };
        barrier.break_up();
        assert_eq!(other.join().unwrap(), Err(Broken));
    });
}
