//! Asynchronous training: ranks 0 up to `masters` are masters, which own the parameters, the others are workers, which
//! compute gradients. Master m owns the parameters `part(length, m, masters)`. No worker waits for another.

use mpi_driver::{Communicator, Error, Source};

use crate::{GRADIENT, PARAMETERS, part};

/// A master, with its `part` of the parameters. It receives `gradients` messages with the tag GRADIENT, the workers'
/// gradients of its part, in the order in which they arrive: from `Source::Any`. After each one it applies it at once,
/// parameter − `rate` · gradient, and sends the new part back to the worker that it is from, with the tag PARAMETERS.
///
/// `communicator.receive(&mut gradient, Source::Any, GRADIENT)?.source` is the sender.
///
/// # Errors
/// If all workers have ended too early, or MPI fails.
pub fn run_master(part: &mut [f32], rate: f32, gradients: usize, communicator: &Communicator) -> Result<(), Error> {
    // write: run_master
    let mut gradient = vec![0.0; part.len()];
    for _ in 0..gradients {
        let worker = communicator.receive(&mut gradient, Source::Any, GRADIENT)?.source;
        for (parameter, gradient) in part.iter_mut().zip(&gradient) {
            *parameter -= rate * gradient;
        }
        communicator.send(part, worker, PARAMETERS)?;
    }
    Ok(())
    // end
}

/// A worker, which makes `steps` steps. In each it computes the gradient of its current parameters by
/// `gradient_of(parameters, step)`, with steps from 0; sends each master its part of the gradient, with the tag GRADIENT;
/// and then receives each master's new part of the parameters, with the tag PARAMETERS, in their place.
///
/// A `send` may wait until its message is received. All workers go to the masters in the same order, from master 0 on:
/// then some master can always go on, and there is no deadlock.
///
/// # Errors
/// If a master has ended too early, or MPI fails.
pub fn run_worker(
    parameters: &mut [f32],
    steps: usize,
    masters: usize,
    mut gradient_of: impl FnMut(&[f32], usize) -> Vec<f32>,
    communicator: &Communicator,
) -> Result<(), Error> {
    // write: run_worker
    let length = parameters.len();
    for step in 0..steps {
        let gradient = gradient_of(parameters, step);
        for master in 0..masters {
            communicator.send(&gradient[part(length, master, masters)], master, GRADIENT)?;
        }
        for master in 0..masters {
            let own = &mut parameters[part(length, master, masters)];
            communicator.receive(own, Source::Rank(master), PARAMETERS)?;
        }
    }
    Ok(())
    // end
}
