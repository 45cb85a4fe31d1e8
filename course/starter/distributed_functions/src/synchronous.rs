use mpi_driver::{Communicator, Error};

use crate::ring_allreduce;

/// A step of synchronous training: every rank has the same `parameters`, and has computed a `gradient` of the same length
/// from samples of its own. Each parameter becomes parameter − `rate` · mean, with the mean of all ranks' gradients: their
/// sum by [`ring_allreduce`], divided by the number of ranks. All ranks have the same parameters afterwards, bit by bit.
///
/// # Errors
/// If a rank has ended, or MPI fails.
pub fn synchronous_step(
    parameters: &mut [f32],
    gradient: &[f32],
    rate: f32,
    communicator: &Communicator,
) -> Result<(), Error> {
    // write: synchronous_step
    let mut sum = vec![0.0; gradient.len()];
    ring_allreduce(gradient, &mut sum, communicator, |a, b| a + b)?;
    let ranks = communicator.size() as f32;
    for (parameter, sum) in parameters.iter_mut().zip(sum) {
        *parameter -= rate * (sum / ranks);
    }
    Ok(())
    // end
}
