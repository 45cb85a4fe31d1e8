//! Assignment 3's functions, for the judge, with the driver's own counts of messages.

mod drive;

use distributed_functions::{naive_allreduce, part, ring_allreduce, run_master, run_worker, synchronous_step};
use drive::{Sent, Trained};
use grader::Functions;

/// Messages and bytes to each rank, and the number of collective operations.
type Counts = (Vec<u64>, Vec<u64>, u64);

fn counts(sent: Vec<Sent>) -> Vec<Counts> {
    sent.into_iter().map(|sent| (sent.messages, sent.bytes, sent.collectives)).collect()
}

type Training = (Vec<f32>, f32, usize, usize, Vec<Vec<f32>>);
type Lists = Vec<Vec<Vec<f32>>>;

fn values(trained: Trained) -> (Vec<f32>, Lists, Vec<Counts>) {
    (trained.parameters, trained.seen, counts(trained.sent))
}

fn main() -> std::io::Result<()> {
    Functions::default()
        .with("all_reduced", |(function, buffers, operation): (String, Vec<Vec<f32>>, String)| {
            drive::all_reduced(&function, &buffers, &operation).map(|(results, sent)| (results, counts(sent)))
        })
        .with("synchronous", |(parameters, gradients, rate): (Vec<f32>, Vec<Vec<f32>>, f32)| {
            drive::synchronous(&parameters, &gradients, rate).map(|(results, sent)| (results, counts(sent)))
        })
        .with("asynchronous", |(parameters, rate, masters, steps, gradients): Training| {
            drive::asynchronous(&parameters, rate, masters, steps, &gradients).map(values)
        })
        .with("asynchronous_towards", |(parameters, rate, masters, steps, targets): Training| {
            drive::asynchronous_towards(&parameters, rate, masters, steps, &targets).map(values)
        })
        .with("asynchronous_with_slow_worker", |(training, slow): (Training, usize)| {
            let (parameters, rate, masters, steps, gradients) = training;
            drive::asynchronous_with_slow_worker(&parameters, rate, masters, steps, &gradients, slow).map(values)
        })
        .serve()
}
