//! The marks under the model checker, which tries every interleaving of a few threads:
//! `RUSTFLAGS='--cfg loom' cargo test -p team --test loom --release`.
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use team::{Broken, Marks};

/// A cell that one member writes before a barrier and the others read after it. Loom reports a data
/// race if the marks do not order the two.
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

/// Runs every interleaving of `model` with at most three preemptions of a thread. That is more than
/// any known bug in such marks needs, and few enough to finish in seconds.
fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// Two threads write a cell each, wait at a barrier, read both cells, wait again, and write again.
/// With a third thread, the model checker lets two of them poll alternately without end.
#[test]
fn two_members_see_what_the_other_wrote_before_each_meeting() {
    check(|| {
        let marks = Arc::new(Marks::new(2));
        let cells = Arc::new([Written::new(), Written::new()]);
        let work = move |index: usize| {
            for round in 1..=2 {
                cells[index].write(round);
                marks.meet(index).unwrap();
                assert!(cells.iter().all(|cell| cell.read() == round));
                marks.meet(index).unwrap();
            }
        };
        let of_other = work.clone();
        let other = thread::spawn(move || of_other(1));
        work(0);
        other.join().unwrap();
    });
}

/// A member writes, then raises its mark. The member that waits for that mark sees the write, and
/// so does a third one that waits for the second one's mark.
#[test]
fn what_is_handed_on_is_seen_by_each_that_waits_for_the_one_before() {
    check(|| {
        let (marks, cells) = (Arc::new(Marks::new(3)), Arc::new((Written::new(), Written::new())));
        let second = {
            let (marks, cells) = (marks.clone(), cells.clone());
            thread::spawn(move || {
                marks.wait_for(0, 2).unwrap();
                assert_eq!((cells.0.read(), cells.1.read()), (1, 2));
                cells.0.write(3);
                marks.raise(1);
            })
        };
        let third = {
            let (marks, cells) = (marks.clone(), cells.clone());
            thread::spawn(move || {
                marks.wait_for(1, 1).unwrap();
                assert_eq!((cells.0.read(), cells.1.read()), (3, 2));
            })
        };
        cells.0.write(1);
        marks.raise(0);
        cells.1.write(2);
        marks.raise(0);
        second.join().unwrap();
        third.join().unwrap();
    });
}

/// Whenever a member leaves, a waiting member returns. No one waits forever.
#[test]
fn a_member_that_leaves_releases_the_other() {
    check(|| {
        let marks = Arc::new(Marks::new(2));
        let other = {
            let marks = marks.clone();
            thread::spawn(move || {
                let first = marks.meet(1);
                (first.is_ok(), marks.meet(1))
            })
        };
        let first = marks.meet(0);
        marks.leave(0);
        let (other_met, second) = other.join().unwrap();
        assert!(first.is_ok() && other_met, "both arrived before the team was broken up");
        assert_eq!(second, Err(Broken));
    });
}

#[test]
fn a_member_that_never_arrives_releases_the_other() {
    check(|| {
        let marks = Arc::new(Marks::new(2));
        let other = {
            let marks = marks.clone();
            thread::spawn(move || marks.meet(1))
        };
        marks.leave(0);
        assert_eq!(other.join().unwrap(), Err(Broken));
    });
}
