//! Ranks implemented as threads.

mod checks;

use std::panic::{AssertUnwindSafe, catch_unwind};

use mpi_driver::{Error, Operation, Source, threads};

#[test]
fn every_check_passes_on_threads() {
    for ranks in 1..=9 {
        assert!(threads(ranks, checks::run).into_iter().all(|result| result == Ok(())), "{ranks} ranks");
    }
}

#[test]
fn lengths_that_differ_between_ranks_are_an_error() {
    let errors = threads(2, |world| world.broadcast(&mut vec![0.0_f32; 3 + world.rank()], 0).err());
    assert_eq!(errors[0], None);
    let error = errors[1].as_ref().expect("the lengths differ");
    assert_eq!(error.to_string(), "MPI_Bcast with rank 0: the ranks' lengths differ: 3 and 4");
}

#[test]
fn a_message_of_another_type_is_an_error() {
    let results = threads(2, |world| match world.rank() {
        0 => world.send(&[1.0_f32], 1, 0).err(),
        _ => world.receive(&mut [0_i32], Source::Rank(0), 0).err(),
    });
    let error = results[1].as_ref().expect("the types differ");
    assert_eq!(error.to_string(), "MPI_Recv with rank 0: the message is of type F32, not I32");
}

#[test]
fn requests_return_the_buffers_that_they_were_lent_to_use_again() {
    let results = threads(2, |world| -> Result<_, Error> {
        let other = 1 - world.rank();
        let (mut sent, mut received, mut later) = ([world.rank() as i32; 3], [-1; 5], [-1; 2]);
        let (of_sent, of_received) = (sent.as_ptr(), received.as_ptr());
        world.scope(|scope| -> Result<(), Error> {
            // Waited for in reverse order: the second receive's wait completes the first one.
            let first = scope.receive(&mut received, Source::Rank(other), 0)?;
            let second = scope.receive(&mut later, Source::Rank(other), 0)?;
            let sent = scope.send_mut(&mut sent, other, 0)?.wait()?;
            assert_eq!(sent.as_ptr(), of_sent);
            sent[0] = 7;
            scope.send_mut(&mut sent[..2], other, 0)?.wait()?[1] = 8;
            let (message, later) = second.wait()?;
            assert_eq!((message.count, &*later), (2, &[7, other as i32][..]));
            let (message, received) = first.wait()?;
            assert_eq!((message.count, received.as_ptr()), (3, of_received));
            received[4] = 9;
            // Lent out again, and not waited for.
            _ = scope.receive(received, Source::Rank(other), 1)?;
            Ok(())
        })?;
        Ok((sent, received))
    });
    for (rank, result) in results.into_iter().enumerate() {
        let (own, other) = (rank as i32, 1 - rank as i32);
        assert_eq!(result, Ok(([7, 8, own], [other, other, other, -1, 9])));
    }
}

#[test]
fn a_rank_that_ends_early_fails_those_that_wait_for_it() {
    let results = threads(3, |world| match world.rank() {
        1 => Ok(()),
        _ => world.barrier(),
    });
    assert!(results[1].is_ok());
    assert_eq!(results[0].as_ref().unwrap_err().to_string(), "MPI_Barrier with rank 1: the rank has ended");
    assert!(results[2].is_err());
}

#[test]
fn a_panic_ends_all_ranks_and_is_passed_on() {
    let caught = catch_unwind(AssertUnwindSafe(|| {
        threads(4, |world| {
            assert_ne!(world.rank(), 2, "two fails");
            world.all_reduce_in_place(&mut [1.0_f64], Operation::Sum).expect("rank 2 takes part");
        })
    }));
    let payload = caught.expect_err("it panics");
    assert!(payload.downcast_ref::<String>().is_some_and(|text| text.contains("two fails")));
}

#[test]
fn ranks_that_all_wait_for_each_other_get_an_error() {
    let reason = "a deadlock: every rank waits for a message, and none sends one";
    for ranks in 1..=5 {
        let left_of = |rank: usize| (rank + ranks - 1) % ranks;
        let errors = threads(ranks, |world| {
            let rank = world.rank();
            // Some messages first, to make ranks wait more than once.
            world.send(&[rank as i32], (rank + 1) % ranks, 0)?;
            world.receive(&mut [0], Source::Rank(left_of(rank)), 0)?;
            world.receive(&mut [0], Source::Rank(left_of(rank)), 1)
        });
        let found: Vec<_> = errors.into_iter().map(|result| result.unwrap_err().reason).collect();
        // A rank that has failed ends, and others may notice that first.
        assert!(found.iter().any(|found| found == reason), "{found:?}");
        assert!(found.iter().all(|found| found == reason || found == "the rank has ended"), "{found:?}");
    }
}

/// A rank that ends or computes is not deadlocked with ranks that wait for it.
#[test]
fn ranks_that_wait_for_one_that_computes_or_ends_are_in_no_deadlock() {
    for round in 0..200 {
        let received = threads(4, |world| {
            let (mut buffer, rank) = ([0], world.rank());
            match rank {
                // It notices that rank 1 has ended and then sends.
                0 => {
                    assert!(world.receive(&mut buffer, Source::Rank(1), 0).is_err());
                    std::thread::sleep(std::time::Duration::from_micros(round));
                    (2..4).try_for_each(|to| world.send(&[7], to, 0))?;
                }
                1 => {}
                _ => assert_eq!(world.receive(&mut buffer, Source::Any, 0)?.source, 0),
            }
            Ok::<i32, mpi_driver::Error>(buffer[0])
        });
        assert_eq!(received, [Ok(0), Ok(0), Ok(7), Ok(7)]);
    }
}
