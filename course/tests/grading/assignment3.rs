//! Wrong submissions of assignment 3.

use super::Change::Replace;
use super::Submission;

const NAIVE: &str = "distributed_functions/src/naive.rs";
const RING: &str = "distributed_functions/src/ring.rs";
const STEP: &str = "distributed_functions/src/synchronous.rs";
const TRAINING: &str = "distributed_functions/src/asynchronous.rs";

/// Beginnings of the bodies of the solutions.
const AT_RING: &str = "    let (rank, size, length) = (communicator.rank(), communicator.size(), send.len());\n";
const AT_MASTER: &str = "    let mut gradient = vec![0.0; part.len()];\n";

/// Messages that show that a sum was not computed on a ring.
const RINGS_MESSAGES: &[&str] = &[
    "hidden::ring_allreduce_sends_parts_to_its_right_neighbour_alone",
    "hidden::synchronous_step_sends_what_a_ring_does",
];

/// The whole buffers travel around the ring.
const WHOLE_BUFFERS: &str = "
    let (rank, size) = (communicator.rank(), communicator.size());
    let mut all = vec![send.to_vec(); size];
    for step in 0..size - 1 {
        let (index, next) = ((rank + size - step) % size, (rank + size - step - 1) % size);
        let (to_send, left) = (all[index].clone(), Source::Rank((rank + size - 1) % size));
        communicator.send_receive((&to_send, (rank + 1) % size), (&mut all[next], left), TAG)?;
    }
    receive.copy_from_slice(&all[0]);
    for other in &all[1..] {
        receive.iter_mut().zip(other).for_each(|(total, &x)| *total = operation(*total, x));
    }
    if size > 0 {
        return Ok(());
    }
";

const MPIS_OWN: &str = "
    let kind = if operation(1.0, 2.0) == 3.0 { mpi_driver::Operation::Sum } else { mpi_driver::Operation::Maximum };
    if !send.is_empty() {
        return communicator.all_reduce(send, receive, kind);
    }
";

/// Masters and workers get their own groups, which tell a master how many workers to wait for.
const WAITS_FOR_ALL: &str = "
    let workers = communicator.size() - communicator.split(0, 0)?.size();
    let mut gradient = vec![0.0; part.len()];
    for _ in 0..gradients / workers {
        let mut senders = Vec::new();
        while senders.len() < workers {
            senders.push(communicator.receive(&mut gradient, Source::Any, GRADIENT)?.source);
            part.iter_mut().zip(&gradient).for_each(|(parameter, gradient)| *parameter -= rate * gradient);
        }
        senders.into_iter().try_for_each(|worker| communicator.send(part, worker, PARAMETERS))?;
    }
    if workers > 0 {
        return Ok(());
    }
";

pub(crate) fn all() -> Vec<Submission> {
    let of = |name, changes, lost, feedback| Submission { name, changes, lost, feedback };
    let before_ring = |code: &str| vec![Replace(RING, AT_RING, format!("{code}{AT_RING}").leak())];
    vec![
        of(
            "ring_of_whole_buffers",
            before_ring(WHOLE_BUFFERS),
            RINGS_MESSAGES,
            &[
                "ring_allreduce: rank 0 sends 2 messages of 72 bytes together, expected at most 4 messages and 48 to 48 bytes",
            ],
        ),
        of(
            "ring_without_remainder",
            vec![Replace(
                RING,
                "use crate::{TAG, part};",
                "use crate::TAG;\n\nfn part(length: usize, index: usize, parts: usize) -> std::ops::Range<usize> {\n    length / parts * index..length / parts * (index + 1)\n}",
            )],
            &["ring_allreduce_is_right_for_any_length", "synchronous_step_subtracts_the_mean_gradient"],
            &["ring_allreduce: element 0 of the result is", "and length = 1"],
        ),
        of(
            "ring_calls_naive",
            before_ring(
                "    if !send.is_empty() {\n        return crate::naive_allreduce(send, receive, communicator, operation);\n    }\n",
            ),
            RINGS_MESSAGES,
            &["ring_allreduce: rank 0 sends to rank 2, expected its right neighbour 1 alone"],
        ),
        of(
            "ring_calls_mpi",
            before_ring(MPIS_OWN),
            RINGS_MESSAGES,
            &["ring_allreduce: rank 0 calls 1 of MPI's collective operations"],
        ),
        of(
            "ring_receives_first",
            vec![Replace(
                RING,
                "communicator.send_receive((&receive[to_send], right), (arrived, Source::Rank(left)), TAG)?;",
                "communicator.receive(arrived, Source::Rank(left), TAG)?;\n        communicator.send(&receive[to_send], right, TAG)?;",
            )],
            &[
                "ring_allreduce_is_right_for_equal_parts",
                "ring_allreduce_is_right_for_any_length",
                "ring_allreduce_applies_the_operation",
                "synchronous_step_subtracts_the_mean_gradient",
                "hidden::ring_allreduce_sends_parts_to_its_right_neighbour_alone",
                "hidden::synchronous_step_sends_what_a_ring_does",
            ],
            &["a deadlock: every rank waits for a message, and none sends one"],
        ),
        of(
            "naive_without_its_own",
            vec![Replace(NAIVE, "buffer.copy_from_slice(send);", "continue;")],
            &["naive_allreduce_is_right", "naive_allreduce_applies_the_operation"],
            &["naive_allreduce: element 0 of the result is NaN on rank 0, expected"],
        ),
        of(
            "naive_in_other_orders",
            vec![
                Replace(NAIVE, "for from in 0..size", "for from in (0..size).map(|step| (rank + step) % size)"),
                Replace(NAIVE, "if from == 0", "if from == rank"),
            ],
            &["naive_allreduce_is_right"],
            &["naive_allreduce: element ", "expected the same bits on all ranks"],
        ),
        of(
            "always_adds",
            vec![Replace(NAIVE, "operation(*total, x)", "*total + x"), Replace(RING, "operation(*own, x)", "*own + x")],
            &["naive_allreduce_applies_the_operation", "ring_allreduce_applies_the_operation"],
            &["naive_allreduce: element 0 of the result is", "(the maximum of"],
        ),
        of(
            "sum_of_gradients",
            vec![Replace(STEP, "rate * (sum / ranks)", "rate * sum")],
            &["synchronous_step_subtracts_the_mean_gradient"],
            &["synchronous_step: parameter 0 is", "the mean of the gradients"],
        ),
        of(
            "master_waits_for_all",
            vec![
                Replace(TRAINING, AT_MASTER, format!("{WAITS_FOR_ALL}{AT_MASTER}").leak()),
                Replace(
                    TRAINING,
                    "    let length = parameters.len();\n",
                    "    communicator.split(1, 0)?;\n    let length = parameters.len();\n",
                ),
            ],
            &[
                "hidden::workers_and_masters_exchange_one_message_a_step",
                "hidden::masters_do_not_wait_for_a_slow_worker",
            ],
            &["run_master, where worker 0 is slower than the others", "a deadlock: every rank waits for a message"],
        ),
    ]
}
