//! What students do not see: what each rank sends, and who waits for whom. A result that did not come by messages does not
//! count, nor does one of MPI's collective operations.

use distributed_functions_judge::{Sent, asynchronous_with_slow_worker};

use super::*;

/// Bytes of an element.
const F32: u64 = 4;

fn without_collectives(name: &str, sent: &[Sent]) -> Result<(), Failure> {
    match sent.iter().enumerate().find(|(_, sent)| sent.collectives > 0) {
        Some((rank, sent)) => Err(format!(
            "{name}: rank {rank} calls {} of MPI's collective operations, expected messages alone",
            sent.collectives
        )
        .into()),
        None => Ok(()),
    }
}

/// Compares the messages and bytes from a rank to another.
fn sends(name: &str, sent: &[Sent], from: usize, to: usize, messages: u64, bytes: u64) -> Result<(), Failure> {
    let found = (sent[from].messages[to], sent[from].bytes[to]);
    match found == (messages, bytes) {
        true => Ok(()),
        false => Err(format!(
            "{name}: rank {from} sends {} messages of {} bytes together to rank {to}, expected {messages} of {bytes} bytes, with {} ranks",
            found.0,
            found.1,
            sent.len()
        )
        .into()),
    }
}

#[test]
fn naive_allreduce_sends_its_buffer_to_each_other_rank() -> Result<(), Failure> {
    for (ranks, length) in [(1, 5), (2, 7), (5, 33), (8, 3)] {
        let (_, sent) = check(NAIVE.0, all_reduced(NAIVE.1, &buffers(ranks, length, 1), "sum"))?;
        without_collectives(NAIVE.0, &sent)?;
        for (from, to) in (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))) {
            let messages = u64::from(from != to);
            sends(NAIVE.0, &sent, from, to, messages, messages * length as u64 * F32)?;
        }
    }
    Ok(())
}

/// What a rank of a ring sends to its right neighbour: at most 2 (n − 1) parts of at most ⌈L/n⌉ elements, and at least that
/// of ⌊L/n⌋ elements, without which no rank has the sum.
fn are_of_a_ring(name: &str, sent: &[Sent], length: usize) -> Result<(), Failure> {
    without_collectives(name, sent)?;
    let ranks = sent.len();
    let most = 2 * (ranks as u64 - 1);
    let [at_least, at_most] = [length / ranks, length.div_ceil(ranks)].map(|part| most * part as u64 * F32);
    for (rank, sent) in sent.iter().enumerate() {
        let right = (rank + 1) % ranks;
        if let Some(other) = (0..ranks).find(|&to| to != right && sent.messages[to] > 0) {
            return Err(format!(
                "{name}: rank {rank} sends to rank {other}, expected its right neighbour {right} alone, with {ranks} ranks"
            )
            .into());
        }
        let (messages, bytes) = (sent.messages[right], sent.bytes[right]);
        if messages > most || !(at_least..=at_most).contains(&bytes) {
            return Err(format!(
                "{name}: rank {rank} sends {messages} messages of {bytes} bytes together, expected at most {most} messages and \
                 {at_least} to {at_most} bytes, with {ranks} ranks and {length} elements"
            )
            .into());
        }
    }
    Ok(())
}

/// Ranks, and elements of a buffer.
const RINGS: [(usize, usize); 6] = [(1, 5), (2, 8), (3, 9), (4, 1000), (5, 33), (8, 3)];

#[test]
fn ring_allreduce_sends_parts_to_its_right_neighbour_alone() -> Result<(), Failure> {
    for (ranks, length) in RINGS {
        let (_, sent) = check(RING.0, all_reduced(RING.1, &buffers(ranks, length, 2), "sum"))?;
        are_of_a_ring(RING.0, &sent, length)?;
    }
    Ok(())
}

#[test]
fn synchronous_step_sends_what_a_ring_does() -> Result<(), Failure> {
    for (ranks, length) in RINGS {
        let gradients = buffers(ranks, length, 3);
        let (_, sent) = check("synchronous_step", synchronous(&vec![1.0; length], &gradients, 0.5))?;
        are_of_a_ring("synchronous_step", &sent, length)?;
    }
    Ok(())
}

/// For each step, a message from each worker to each master, and one back.
#[test]
fn workers_and_masters_exchange_one_message_a_step() -> Result<(), Failure> {
    const STEPS: usize = 5;
    for (masters, workers, length) in [(1, 1, 4), (2, 3, 21), (4, 4, 40)] {
        let trained =
            check(BOTH, asynchronous(&vec![0.0; length], 0.5, masters, STEPS, &integers(workers, length, 4)))?;
        without_collectives(BOTH, &trained.sent)?;
        let ranks = masters + workers;
        for (from, to) in (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))) {
            let (name, master) = if from < masters { ("run_master", from) } else { ("run_worker", to) };
            let is_pair = (from < masters) != (to < masters);
            let (messages, bytes) = match is_pair {
                true => (STEPS, STEPS * part(length, master, masters).len()),
                false => (0, 0),
            };
            sends(name, &trained.sent, from, to, messages as u64, bytes as u64 * F32)?;
        }
    }
    Ok(())
}

/// A worker's first gradient comes when all others have made all of their steps: with each worker in turn, so that no order
/// of the workers helps.
#[test]
fn masters_do_not_wait_for_a_slow_worker() -> Result<(), Failure> {
    const STEPS: usize = 3;
    for (masters, workers) in [(1, 2), (2, 4)] {
        for slow in 0..workers {
            let gradients = integers(workers, 10, 5);
            let trained = asynchronous_with_slow_worker(&[0.0; 10], 1.0, masters, STEPS, &gradients, slow);
            let trained = check(&format!("run_master, where worker {slow} is slower than the others"), trained)?;
            for index in 0..10 {
                let all: f32 = gradients.iter().map(|gradient| gradient[index]).sum();
                let (of_others, of_slow) = (all - gradients[slow][index], gradients[slow][index]);
                let expected = -(STEPS as f32) * of_others - of_slow;
                // After its first step, the slow worker has all of the others' gradients.
                let found = trained.seen[slow].get(1).map_or(f32::NAN, |seen| seen[index]);
                if found != expected {
                    return Err(format!(
                        "{BOTH}: worker {slow} is slower than the others; after its first step, its parameter {index} is {found}, \
                         expected {expected}, to which all {STEPS} gradients of each other worker were applied"
                    )
                    .into());
                }
            }
        }
    }
    Ok(())
}
