//! Assignment 3's functions, on the ranks of the submission's process.

use grader::call;

mod check;

pub use check::{verify, verify_step};
pub use distributed_functions::part;

/// What a rank has sent.
pub struct Sent {
    pub messages: Vec<u64>,
    pub bytes: Vec<u64>,
    pub collectives: u64,
}

/// The results of asynchronous training.
pub struct Trained {
    pub parameters: Vec<f32>,
    pub seen: Vec<Vec<Vec<f32>>>,
    pub sent: Vec<Sent>,
}

type Counts = (Vec<u64>, Vec<u64>, u64);
type Results = (Vec<Vec<f32>>, Vec<Counts>);

/// The counts of each rank.
fn counted(ranks: usize, counts: Vec<Counts>) -> Result<Vec<Sent>, String> {
    let is_complete = |(messages, bytes, _): &Counts| [messages.len(), bytes.len()] == [ranks; 2];
    if counts.len() != ranks || !counts.iter().all(is_complete) {
        return Err("its result has other ranks than were asked for".to_owned());
    }
    Ok(counts.into_iter().map(|(messages, bytes, collectives)| Sent { messages, bytes, collectives }).collect())
}

/// The results of each rank, which have `length` elements.
fn results(ranks: usize, length: usize, (lists, counts): Results) -> Result<(Vec<Vec<f32>>, Vec<Sent>), String> {
    if lists.len() != ranks || lists.iter().any(|list| list.len() != length) {
        return Err("its result has other lengths than were asked for".to_owned());
    }
    Ok((lists, counted(ranks, counts)?))
}

pub fn all_reduced(
    function: &str,
    buffers: &[Vec<f32>],
    operation: &str,
) -> Result<(Vec<Vec<f32>>, Vec<Sent>), String> {
    let length = buffers.first().map_or(0, Vec::len);
    let all = call("all_reduced", &(function, buffers, operation), buffers.len() * length)?;
    results(buffers.len(), length, all)
}

pub fn synchronous(
    parameters: &[f32],
    gradients: &[Vec<f32>],
    rate: f32,
) -> Result<(Vec<Vec<f32>>, Vec<Sent>), String> {
    let all = call("synchronous", &(parameters, gradients, rate), gradients.len() * parameters.len())?;
    results(gradients.len(), parameters.len(), all)
}

type Values = (Vec<f32>, Vec<Vec<Vec<f32>>>, Vec<Counts>);

/// Number of the parameters at the end, and of those that each worker sees before and after each step.
fn seen(parameters: &[f32], steps: usize, workers: &[Vec<f32>]) -> usize {
    parameters.len() * (1 + workers.len() * (steps + 1))
}

/// Training of this number of parameters, masters and workers.
fn trained(
    length: usize,
    masters: usize,
    workers: usize,
    (parameters, seen, counts): Values,
) -> Result<Trained, String> {
    let is_complete = |list: &Vec<Vec<f32>>| !list.is_empty() && list.iter().all(|list| list.len() == length);
    if parameters.len() != length || seen.len() != workers || !seen.iter().all(is_complete) {
        return Err("its result has other lengths than were asked for".to_owned());
    }
    Ok(Trained { parameters, seen, sent: counted(masters + workers, counts)? })
}

pub fn asynchronous(
    parameters: &[f32],
    rate: f32,
    masters: usize,
    steps: usize,
    gradients: &[Vec<f32>],
) -> Result<Trained, String> {
    let elements = seen(parameters, steps, gradients);
    let all = call("asynchronous", &(parameters, rate, masters, steps, gradients), elements)?;
    trained(parameters.len(), masters, gradients.len(), all)
}

pub fn asynchronous_towards(
    parameters: &[f32],
    rate: f32,
    masters: usize,
    steps: usize,
    targets: &[Vec<f32>],
) -> Result<Trained, String> {
    let elements = seen(parameters, steps, targets);
    let all = call("asynchronous_towards", &(parameters, rate, masters, steps, targets), elements)?;
    trained(parameters.len(), masters, targets.len(), all)
}

pub fn asynchronous_with_slow_worker(
    parameters: &[f32],
    rate: f32,
    masters: usize,
    steps: usize,
    gradients: &[Vec<f32>],
    slow: usize,
) -> Result<Trained, String> {
    let elements = seen(parameters, steps, gradients);
    let training = (parameters, rate, masters, steps, gradients);
    let all = call("asynchronous_with_slow_worker", &(training, slow), elements)?;
    trained(parameters.len(), masters, gradients.len(), all)
}
