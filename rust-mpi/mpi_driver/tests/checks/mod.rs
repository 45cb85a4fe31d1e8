//! Checks that every rank runs, on threads and on MPI.

use mpi_driver::{Communicator, Error, Number, Operation, Source};

/// Runs all checks.
pub(crate) fn run(world: &Communicator) -> Result<(), Error> {
    collectives_agree_with_their_definitions(world)?;
    messages_arrive_in_order(world)?;
    a_shorter_message_is_counted_and_a_longer_one_rejected(world)?;
    non_blocking_operations_overlap(world)?;
    requests_that_are_dropped_end_with_their_scope(world)?;
    probes_see_a_message_before_it_is_received(world)?;
    groups_have_their_own_messages(world)?;
    arguments_out_of_range_are_rejected(world);
    every_message_is_counted(world)?;
    let before = world.wall_time();
    world.barrier()?;
    assert!(world.wall_time() >= before);
    Ok(())
}

/// A value of a rank's buffer, small enough for exact sums.
fn value(rank: usize, index: usize) -> i32 {
    (rank * 31 + index * 7) as i32 % 19 - 5
}

fn collectives_agree_with_their_definitions(world: &Communicator) -> Result<(), Error> {
    fn check<T: Number>(world: &Communicator, length: usize, of: fn(i32) -> T) -> Result<(), Error> {
        let (rank, size) = (world.rank(), world.size());
        let buffer_of = |rank: usize| (0..length).map(|index| of(value(rank, index))).collect::<Vec<T>>();
        for operation in [Operation::Sum, Operation::Product, Operation::Minimum, Operation::Maximum] {
            // The product of many values would not be exact.
            let factor = |x: T| if operation == Operation::Product { operation.apply(x, of(1)) } else { x };
            let ranks = if operation == Operation::Product { size.min(3) } else { size };
            let operand = |rank: usize| match rank < ranks {
                true => buffer_of(rank).into_iter().map(factor).collect(),
                false => vec![of(1); length],
            };
            let expected = (1..size).fold(operand(0), |total: Vec<T>, rank| {
                total.into_iter().zip(operand(rank)).map(|(a, b)| operation.apply(a, b)).collect()
            });
            let mut received = vec![of(0); length];
            world.all_reduce(&operand(rank), &mut received, operation)?;
            assert_eq!(received, expected, "{operation:?} of {length}");
            let mut in_place = operand(rank);
            world.all_reduce_in_place(&mut in_place, operation)?;
            assert_eq!(in_place, expected, "{operation:?} of {length} in place");
        }
        for root in 0..size {
            let mut buffer = if rank == root { buffer_of(root) } else { vec![of(0); length] };
            world.broadcast(&mut buffer, root)?;
            assert_eq!(buffer, buffer_of(root));
            let gathered = world.gather(&buffer_of(rank), root)?;
            let expected: Vec<T> = (0..size).flat_map(buffer_of).collect();
            assert_eq!(gathered, (rank == root).then_some(expected));
        }
        Ok(())
    }
    // Bytes are not reduced. An empty byte slice may have the address that means MPI_IN_PLACE.
    for length in [0, 1, 1000] {
        let mut buffer = vec![world.rank() as u8; length];
        world.broadcast(&mut buffer, 0)?;
        assert_eq!(buffer, vec![0; length]);
        assert_eq!(world.gather(&buffer, 0)?, (world.rank() == 0).then(|| vec![0; length * world.size()]));
        let message = world.send_receive((&buffer, world.rank()), (&mut vec![1; length], Source::Any), 2)?;
        assert_eq!((message.source, message.count), (world.rank(), length));
    }
    for length in [0, 1, 3, 1000, 70_000] {
        check::<i32>(world, length, |x| x)?;
        check::<f32>(world, length, |x| x as f32)?;
        check::<f64>(world, length, f64::from)?;
    }
    Ok(())
}

fn messages_arrive_in_order(world: &Communicator) -> Result<(), Error> {
    let (rank, size) = (world.rank(), world.size());
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    for length in [0, 1, 100, 40_000] {
        let sent: Vec<f32> = (0..length).map(|index| value(rank, index) as f32).collect();
        let mut received = vec![f32::NAN; length];
        let message = world.send_receive((&sent, right), (&mut received, Source::Rank(left)), 3)?;
        assert_eq!((message.source, message.count), (left, length));
        assert!(received.iter().enumerate().all(|(index, &x)| x == value(left, index) as f32));
    }
    // All ranks send to rank 0, twice each. A rank's messages keep their order.
    if rank > 0 {
        world.send(&[rank as i32, 1], 0, 9)?;
        world.send(&[rank as i32, 2], 0, 9)?;
    } else {
        let mut last = vec![0; size];
        for _ in 1..size {
            for _ in 0..2 {
                let mut buffer = [0; 2];
                let message = world.receive(&mut buffer, Source::Any, 9)?;
                assert_eq!(message.source as i32, buffer[0]);
                assert_eq!(buffer[1], last[message.source] + 1);
                last[message.source] = buffer[1];
            }
        }
    }
    world.barrier()
}

fn a_shorter_message_is_counted_and_a_longer_one_rejected(world: &Communicator) -> Result<(), Error> {
    if world.size() > 1 {
        match world.rank() {
            0 => {
                let mut buffer = [7_i32; 5];
                assert_eq!(world.receive(&mut buffer, Source::Rank(1), 1)?.count, 3);
                assert_eq!(buffer, [1, 2, 3, 7, 7]);
                let error = world.receive(&mut buffer[..2], Source::Rank(1), 2).expect_err("it is too long");
                assert_eq!(error.peer, Some(1));
                assert!(!error.to_string().contains('\n'), "{error}");
            }
            1 => {
                world.send(&[1_i32, 2, 3], 0, 1)?;
                world.send(&[1_i32, 2, 3], 0, 2)?;
            }
            _ => {}
        }
    }
    world.barrier()
}

/// Sends large messages to all ranks at once. Blocking sends would wait for each other.
fn non_blocking_operations_overlap(world: &Communicator) -> Result<(), Error> {
    let (rank, size, length) = (world.rank(), world.size(), 50_000);
    let sent: Vec<f64> = (0..length).map(|index| value(rank, index).into()).collect();
    let mut received = vec![vec![f64::NAN; length]; size];
    world.scope(|scope| -> Result<(), Error> {
        let sends: Vec<_> = (0..size).map(|to| scope.send(&sent, to, 5)).collect::<Result<_, _>>()?;
        let receives = received.iter_mut().enumerate();
        let receives: Vec<_> =
            receives.map(|(from, buffer)| scope.receive(buffer, Source::Rank(from), 5)).collect::<Result<_, _>>()?;
        for (from, request) in receives.into_iter().enumerate().rev() {
            let (message, buffer) = request.wait()?;
            assert_eq!((message.source, message.count), (from, length));
            buffer[0] += 1.0;
        }
        sends.into_iter().try_for_each(|send| send.wait())
    })?;
    for (from, buffer) in received.iter().enumerate() {
        assert_eq!(buffer[0], f64::from(value(from, 0)) + 1.0);
        assert!(buffer[1..].iter().enumerate().all(|(index, &x)| x == value(from, index + 1).into()));
    }
    // A buffer that is sent and then changed. The receive is polled.
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    let (mut sent, mut received) = (vec![rank as i32; length], vec![-1; length]);
    world.scope(|scope| -> Result<(), Error> {
        let receive = scope.receive(&mut received, Source::Rank(left), 7)?;
        if size > 1 {
            assert!(!receive.is_complete(), "the left rank has not sent yet");
        }
        world.barrier()?;
        let send = scope.send_mut(&mut sent, right, 7)?;
        while !(receive.is_complete() && send.is_complete()) {
            std::thread::yield_now();
        }
        send.wait()?.fill(-2);
        let (message, buffer) = receive.wait()?;
        assert_eq!((message.source, message.count), (left, length));
        assert!(buffer.iter().all(|&x| x == left as i32));
        Ok(())
    })?;
    assert!(sent.iter().all(|&x| x == -2));
    // Two receives from the same rank, waited for in reverse order.
    let mut buffers = [[0_i32; 1]; 2];
    let [first, second] = &mut buffers;
    world.scope(|scope| -> Result<(), Error> {
        let first = scope.receive(first, Source::Rank(left), 6)?;
        let second = scope.receive(second, Source::Rank(left), 6)?;
        for message in [&[10], &[20]] {
            scope.send(message, right, 6)?.wait()?;
        }
        assert_eq!(second.wait()?.1, [20]);
        assert_eq!(first.wait()?.1, [10]);
        Ok(())
    })?;
    world.barrier()
}

fn requests_that_are_dropped_end_with_their_scope(world: &Communicator) -> Result<(), Error> {
    let (rank, size) = (world.rank(), world.size());
    for _ in 0..20 {
        // No message comes: the receive is canceled, and its buffer can be freed.
        let mut buffer = vec![3_i32; 1000];
        world.scope(|scope| {
            let request = scope.receive(&mut buffer, Source::Any, 77);
            drop(request);
        });
        assert!(buffer.iter().all(|&x| x == 3));
        drop(buffer);
        // A send arrives even if it is not waited for.
        let sent = vec![rank as i32; 2000];
        let mut changeable = vec![rank as i32 + 1; 2000];
        let mut received = vec![-1; 2000];
        let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
        world.scope(|scope| -> Result<(), Error> {
            drop(scope.send(&sent, right, 78)?);
            drop(scope.send_mut(&mut changeable, right, 79)?);
            let (_, received) = scope.receive(&mut received, Source::Rank(left), 78)?.wait()?;
            assert!(received.iter().all(|&x| x == left as i32));
            let (_, received) = scope.receive(received, Source::Rank(left), 79)?.wait()?;
            assert!(received.iter().all(|&x| x == left as i32 + 1));
            Ok(())
        })?;
        changeable.fill(0);
    }
    world.barrier()
}

fn probes_see_a_message_before_it_is_received(world: &Communicator) -> Result<(), Error> {
    let (rank, size) = (world.rank(), world.size());
    assert_eq!(world.probe::<f64>(Source::Any, 12)?, None);
    world.barrier()?;
    if rank + 1 == size && size > 1 {
        world.send(&[1.0, 2.0, 3.0], 0, 12)?;
    }
    if rank == 0 && size > 1 {
        let message = loop {
            if let Some(message) = world.probe::<f64>(Source::Any, 12)? {
                break message;
            }
            std::thread::yield_now();
        };
        assert_eq!((message.source, message.count), (size - 1, 3));
        let mut buffer = vec![0.0; message.count];
        world.receive(&mut buffer, Source::Rank(message.source), 12)?;
        assert_eq!(buffer, [1.0, 2.0, 3.0]);
    }
    world.barrier()
}

/// Splits into even and odd ranks, in reverse order.
fn groups_have_their_own_messages(world: &Communicator) -> Result<(), Error> {
    let (rank, size) = (world.rank(), world.size());
    let parity = rank % 2;
    let group = world.split(parity as u32, size - rank)?;
    let members: Vec<usize> = (0..size).filter(|other| other % 2 == parity).rev().collect();
    assert_eq!((group.size(), members[group.rank()]), (members.len(), rank));
    let mut sum = [rank as i32];
    group.all_reduce_in_place(&mut sum, Operation::Sum)?;
    assert_eq!(sum[0] as usize, members.iter().sum::<usize>());
    // The same tag in both communicators: each message is received in its own communicator.
    let (right, left) = ((group.rank() + 1) % group.size(), (group.rank() + group.size() - 1) % group.size());
    let (world_right, world_left) = ((rank + 1) % size, (rank + size - 1) % size);
    let (mut in_group, mut in_world) = ([-1_i32], [-1_i32]);
    world.scope(|of_world| -> Result<(), Error> {
        let later = of_world.send(&[1000], world_right, 4)?;
        group.send_receive((&[rank as i32], right), (&mut in_group, Source::Rank(left)), 4)?;
        world.receive(&mut in_world, Source::Rank(world_left), 4)?;
        later.wait()
    })?;
    assert_eq!((in_group[0] as usize, in_world[0]), (members[left], 1000));
    drop(group);
    world.barrier()
}

fn arguments_out_of_range_are_rejected(world: &Communicator) {
    let size = world.size();
    let error = world.send(&[1.0_f32], size, 0).expect_err("there is no such rank");
    assert_eq!(error.to_string(), format!("MPI_Send: rank {size} is not below the size {size}"));
    let error = world.send(&[1.0_f32], 0, 40_000).expect_err("the tag is too large");
    assert_eq!(error.to_string(), "MPI_Send with rank 0: tag 40000 is above 32767");
    let error = world.all_reduce(&[1.0_f32], &mut [0.0; 2], Operation::Sum).expect_err("the lengths differ");
    assert_eq!(error.to_string(), "MPI_Allreduce: 1 elements are sent, but 2 received");
    assert!(world.broadcast(&mut [0_u8], size).is_err() && world.gather(&[0_u8], size).is_err());
    assert!(world.split(u32::MAX, 0).is_err());
}

/// Counts messages for each way to send one, with the bytes of their elements, by receiver.
/// Rejected messages are not counted.
fn every_message_is_counted(world: &Communicator) -> Result<(), Error> {
    let (rank, size) = (world.rank(), world.size());
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    let before = world.sent();
    let (mut received, mut changeable) = (vec![0.0_f64; 3], [1_i32; 2]);
    world.send_receive((&[1.0, 2.0, 3.0], right), (&mut received, Source::Rank(left)), 21)?;
    world.scope(|scope| -> Result<(), Error> {
        let sends = (scope.send(&[1_u8], right, 22)?, scope.send_mut(&mut changeable, right, 23)?);
        world.receive(&mut [0_u8], Source::Rank(left), 22)?;
        world.receive(&mut [0_i32; 2], Source::Rank(left), 23)?;
        sends.0.wait()?;
        sends.1.wait().map(drop)
    })?;
    if rank > 0 {
        world.send::<i32>(&[], 0, 24)?;
    }
    for _ in 1..if rank == 0 { size } else { 1 } {
        world.receive::<i32>(&mut [], Source::Any, 24)?;
    }
    assert!(world.send(&[1_i32], size, 0).is_err());
    let mut expected = before.clone();
    expected.messages[right] += 3;
    expected.bytes[right] += 24 + 1 + 8;
    expected.messages[0] += u64::from(rank > 0);
    assert_eq!(world.sent(), expected);

    // The messages of collective operations are MPI's own.
    world.barrier()?;
    world.broadcast(&mut [0_u8], 0)?;
    world.all_reduce(&[1], &mut [0], Operation::Sum)?;
    world.all_reduce_in_place(&mut [0], Operation::Sum)?;
    world.gather(&[1.0], 0)?;
    let group = world.split(0, rank)?;
    group.send_receive((&[7], right), (&mut [0], Source::Rank(left)), 25)?;
    expected.collectives += 6;
    assert_eq!(world.sent(), expected);
    let sent = group.sent();
    assert_eq!((sent.messages[right], sent.bytes[right], sent.collectives), (1, 4, 0));
    Ok(())
}
