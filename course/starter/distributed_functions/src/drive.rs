//! Given: runs the functions on threads, each of which is a rank, and returns their results.

use mpi_driver::{Communicator, Error, MAX_TAG, Source, threads};
use teaching_tests::call;

use crate::{naive_allreduce, part, ring_allreduce, run_master, run_worker, synchronous_step};

pub use mpi_driver::Sent;

/// The results of asynchronous training.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The parameters at the end, of all masters.
    pub parameters: Vec<f32>,
    /// The parameters of each worker: at the beginning of each of its steps, and at the end.
    pub seen: Vec<Vec<Vec<f32>>>,
    /// What each rank has sent.
    pub sent: Vec<Sent>,
}

/// Runs `run` on each rank; returns the results, and what each rank has sent.
///
/// # Errors
/// The first error or panic that does not follow from another rank's, in one sentence.
fn on_ranks<T: Send>(
    ranks: usize,
    run: impl Fn(&Communicator) -> Result<T, Error> + Sync,
) -> Result<(Vec<T>, Vec<Sent>), String> {
    // A panic becomes an error on its own rank, so that it is not printed.
    let results = threads(ranks, |world| call(|| run(world)).map(|result| (result, world.sent())));
    let errors = || results.iter().enumerate().filter_map(|(rank, result)| Some((rank, result.as_ref().err()?)));
    let first = errors().find(|(_, error)| !error.contains("the rank has ended")).or_else(|| errors().next());
    match first {
        Some((_, error)) if error.starts_with("not written yet") => Err(error.clone()),
        Some((rank, error)) => Err(format!("rank {rank}: {error}")),
        None => Ok(results.into_iter().flatten().unzip()),
    }
}

/// The results of an all-reduce, "naive" or "ring", on each rank, and what each has sent. Rank r has `buffers[r]`; the
/// operation is "sum" or "maximum".
///
/// # Errors
/// An error or a panic of a rank, in one sentence.
pub fn all_reduced(
    function: &str,
    buffers: &[Vec<f32>],
    operation: &str,
) -> Result<(Vec<Vec<f32>>, Vec<Sent>), String> {
    let operation: fn(f32, f32) -> f32 = match operation {
        "sum" => |a, b| a + b,
        "maximum" => |a, b| if a > b { a } else { b },
        other => return Err(format!("there is no operation {other}")),
    };
    on_ranks(buffers.len(), |communicator| {
        let send = &buffers[communicator.rank()];
        // An element that is not written remains NaN, which no result agrees with.
        let mut receive = vec![f32::NAN; send.len()];
        match function {
            "naive" => naive_allreduce(send, &mut receive, communicator, operation)?,
            _ => ring_allreduce(send, &mut receive, communicator, operation)?,
        }
        Ok(receive)
    })
}

/// The parameters on each rank after a step of synchronous training, and what each has sent. Rank r has computed
/// `gradients[r]`.
///
/// # Errors
/// As [`all_reduced`].
pub fn synchronous(
    parameters: &[f32],
    gradients: &[Vec<f32>],
    rate: f32,
) -> Result<(Vec<Vec<f32>>, Vec<Sent>), String> {
    on_ranks(gradients.len(), |communicator| {
        let mut parameters = parameters.to_vec();
        synchronous_step(&mut parameters, &gradients[communicator.rank()], rate, communicator)?;
        Ok(parameters)
    })
}

/// Asynchronous training of `steps` steps by each worker. Worker w's gradient is always `gradients[w]`, so that the
/// parameters at the end do not depend on the order: the first ones − `rate` · `steps` · the sum of all gradients.
///
/// # Errors
/// As [`all_reduced`].
pub fn asynchronous(
    parameters: &[f32],
    rate: f32,
    masters: usize,
    steps: usize,
    gradients: &[Vec<f32>],
) -> Result<Trained, String> {
    let gradient_of = |worker: usize, _: &[f32], _: usize, _: &Communicator| gradients[worker].clone();
    trained(parameters, rate, [masters, gradients.len(), steps], gradient_of, |_, _| Ok(()))
}

/// [`asynchronous`], where worker w's gradient is that of ½ |parameters − `targets[w]`|²: parameters − `targets[w]`.
///
/// # Errors
/// As [`all_reduced`].
pub fn asynchronous_towards(
    parameters: &[f32],
    rate: f32,
    masters: usize,
    steps: usize,
    targets: &[Vec<f32>],
) -> Result<Trained, String> {
    let gradient_of = |worker: usize, parameters: &[f32], _: usize, _: &Communicator| {
        parameters.iter().zip(&targets[worker]).map(|(parameter, target)| parameter - target).collect()
    };
    trained(parameters, rate, [masters, targets.len(), steps], gradient_of, |_, _| Ok(()))
}

/// [`asynchronous`], where worker `slow` has its first gradient only when all others have made all of their steps.
///
/// # Errors
/// As [`all_reduced`]; a deadlock if the others' steps wait for that gradient.
pub fn asynchronous_with_slow_worker(
    parameters: &[f32],
    rate: f32,
    masters: usize,
    steps: usize,
    gradients: &[Vec<f32>],
    slow: usize,
) -> Result<Trained, String> {
    let workers = gradients.len();
    let others = || (0..workers).filter(move |&worker| worker != slow);
    let gradient_of = |worker: usize, _: &[f32], step: usize, communicator: &Communicator| {
        if worker == slow && step == 0 {
            for other in others() {
                let told = communicator.receive::<f32>(&mut [], Source::Rank(masters + other), MAX_TAG);
                told.unwrap_or_else(|error| panic!("{error}"));
            }
        }
        gradients[worker].clone()
    };
    trained(parameters, rate, [masters, workers, steps], gradient_of, |worker, communicator| match worker == slow {
        true => Ok(()),
        false => communicator.send::<f32>(&[], masters + slow, MAX_TAG),
    })
}

/// Asynchronous training with this gradient of a worker's parameters in its step, and what a worker does at its end.
fn trained(
    parameters: &[f32],
    rate: f32,
    [masters, workers, steps]: [usize; 3],
    gradient_of: impl Fn(usize, &[f32], usize, &Communicator) -> Vec<f32> + Sync,
    at_end: impl Fn(usize, &Communicator) -> Result<(), Error> + Sync,
) -> Result<Trained, String> {
    let (mut of_ranks, sent) = on_ranks(masters + workers, |communicator| {
        let rank = communicator.rank();
        if rank < masters {
            let mut own = parameters[part(parameters.len(), rank, masters)].to_vec();
            run_master(&mut own, rate, workers * steps, communicator)?;
            return Ok(vec![own]);
        }
        let (worker, mut own, mut seen) = (rank - masters, parameters.to_vec(), Vec::new());
        let gradient_of = |parameters: &[f32], step: usize| {
            assert!(step == seen.len(), "gradient_of is called with step {step}, expected {}", seen.len());
            seen.push(parameters.to_vec());
            gradient_of(worker, parameters, step, communicator)
        };
        run_worker(&mut own, steps, masters, gradient_of, communicator)?;
        at_end(worker, communicator)?;
        seen.push(own);
        Ok(seen)
    })?;
    let seen = of_ranks.split_off(masters);
    Ok(Trained { parameters: of_ranks.into_iter().flatten().flatten().collect(), seen, sent })
}
