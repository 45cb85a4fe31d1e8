//! Teams of real threads: barriers, delays, panics and early exits.
#![cfg(not(loom))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use team::{Broken, Member, run};

/// Waits at `rounds` barriers, and checks at each one that every member has finished the round
/// before it. `delay` receives the member's index and the round.
fn meet(counts: &[AtomicUsize], rounds: usize, member: &Member, delay: impl Fn(usize, usize)) {
    for round in 1..=rounds {
        delay(member.index(), round);
        counts[member.index()].store(round, Relaxed);
        member.wait().unwrap();
        assert!(counts.iter().all(|count| count.load(Relaxed) == round), "round {round}");
        member.wait().unwrap();
    }
}

fn counts(members: usize) -> Vec<AtomicUsize> {
    (0..members).map(|_| AtomicUsize::new(0)).collect()
}

#[test]
fn part1_members_meet_in_lockstep() {
    for members in [1, 2, 3, 8] {
        let counts = counts(members);
        let indices = run(members, |leader| (leader.index(), leader.members()), |_| ()).unwrap();
        assert_eq!(indices, (0, members));
        run(members, |leader| meet(&counts, 300, leader, |_, _| ()), |member| meet(&counts, 300, member, |_, _| ()))
            .unwrap();
    }
}

/// A late member makes the others yield and sleep, but no barrier is lost.
#[test]
fn part1_members_meet_whatever_their_delays() {
    let counts = counts(3);
    let delay = |index: usize, round: usize| {
        // A fixed, irregular pattern of delays of up to 3 ms.
        let hash = (index * 7919 + round * 104_729) % 31;
        if hash < 3 {
            std::thread::sleep(Duration::from_micros(1000 * hash as u64 + 100));
        }
    };
    run(3, |leader| meet(&counts, 200, leader, delay), |member| meet(&counts, 200, member, delay)).unwrap();
}

#[test]
fn part1_a_leader_that_returns_releases_the_others() {
    let ended = AtomicUsize::new(0);
    let follow = |member: &Member| {
        let mut meetings = 0;
        while member.wait() != Err(Broken) {
            meetings += 1;
        }
        assert_eq!(meetings, 5);
        ended.fetch_add(1, Relaxed);
    };
    run(4, |leader| (0..5).for_each(|_| assert!(leader.wait().is_ok())), follow).unwrap();
    assert_eq!(ended.load(Relaxed), 3);
}

#[test]
fn part1_a_panic_in_any_member_ends_the_team() {
    for culprit in 0..3 {
        let ended = AtomicUsize::new(0);
        let work = |member: &Member| {
            for round in 0.. {
                assert!(round < 4 || member.index() != culprit, "member {culprit}");
                if member.wait().is_err() {
                    break;
                }
            }
            ended.fetch_add(1, Relaxed);
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| run(3, work, work)));
        let panic = outcome.expect_err("the panic is passed on");
        assert_eq!(panic.downcast_ref::<String>(), Some(&format!("member {culprit}")));
        assert_eq!(ended.load(Relaxed), 2);
    }
}
