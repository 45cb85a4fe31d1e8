//! Checks and times all three all-reduces on ranks.

use std::num::NonZeroUsize;

use mpi_driver::{Communicator, Error, Operation};
use serde::{Deserialize, Serialize};
use timing::Measurement;

use crate::{Sent, buffer_of, naive_allreduce, ring_allreduce, verify};

/// Times of the all-reduces of a buffer of f64.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Elements of the buffer.
    pub length: usize,
    /// Seconds of [`naive_allreduce`], [`ring_allreduce`] and `MPI_Allreduce`: medians over the
    /// calls. A call's time is that of its slowest rank.
    pub seconds: [f64; 3],
    /// Bytes that all ranks have sent in one call of each of the first two.
    pub sent: [u64; 2],
    /// Functions with a wrong result on this rank, and how it is wrong.
    pub mismatches: Vec<(String, String)>,
    /// Number of wrong results on all ranks.
    pub wrong: usize,
}

/// The functions, in the order of [`Measured::seconds`].
pub const FUNCTIONS: [&str; 3] = ["naive_allreduce", "ring_allreduce", "MPI_Allreduce"];

/// Checks every function against the sum in rank order, for buffers of each length, and times
/// `repeats` calls of it.
///
/// # Errors
/// If a rank has ended, or MPI fails.
pub fn measure(
    world: &Communicator,
    lengths: &[usize],
    repeats: NonZeroUsize,
    seed: u64,
) -> Result<Vec<Measured>, Error> {
    let (rank, ranks) = (world.rank(), world.size());
    let mut all = Vec::with_capacity(lengths.len());
    for &length in lengths {
        let send = buffer_of(rank, length, seed);
        let mut receive = vec![0.0; length];
        let mut measured = Measured { length, seconds: [0.0; 3], sent: [0; 2], mismatches: Vec::new(), wrong: 0 };
        for (index, name) in FUNCTIONS.iter().enumerate() {
            let call = |receive: &mut [f64]| -> Result<Sent, Error> {
                match index {
                    0 => naive_allreduce(&send, receive, world, |a, b| a + b),
                    1 => ring_allreduce(&send, receive, world, |a, b| a + b),
                    _ => world.all_reduce(&send, receive, Operation::Sum).map(|()| Sent::default()),
                }
            };
            let by_rank = call(&mut receive)?;
            if let Some(sent) = measured.sent.get_mut(index) {
                // The numbers are below 2⁵³, so the sum is exact.
                let mut bytes = [by_rank.bytes as f64];
                world.all_reduce_in_place(&mut bytes, Operation::Sum)?;
                *sent = bytes[0] as u64;
            }
            let mismatch = verify(&receive, ranks, seed).err();
            let mut wrong = [i32::from(mismatch.is_some())];
            world.all_reduce_in_place(&mut wrong, Operation::Sum)?;
            measured.wrong += usize::try_from(wrong[0]).expect("a number of ranks");
            measured.mismatches.extend(mismatch.map(|mismatch| ((*name).to_owned(), mismatch.to_string())));
            measured.seconds[index] = median_of_slowest(repeats, world, || call(&mut receive).map(drop))?;
        }
        all.push(measured);
    }
    Ok(all)
}

/// The median of the calls' times. A call's time is that of its slowest rank.
fn median_of_slowest(
    repeats: NonZeroUsize,
    world: &Communicator,
    mut call: impl FnMut() -> Result<(), Error>,
) -> Result<f64, Error> {
    let mut seconds = Vec::with_capacity(repeats.get());
    for _ in 0..repeats.get() {
        world.barrier()?;
        let start = world.wall_time();
        call()?;
        seconds.push(world.wall_time() - start);
    }
    world.all_reduce_in_place(&mut seconds, Operation::Maximum)?;
    Ok(Measurement::of(seconds).expect("there is at least one repeat").median)
}

/// Bytes that all ranks send in one call of the first two functions: n (n − 1) L and 2 (n − 1) L.
pub fn bytes_by_formula(ranks: usize, length: usize) -> [u64; 2] {
    let (bytes, others) = (8 * length as u64, ranks as u64 - 1);
    [ranks as u64 * others * bytes, 2 * others * bytes]
}
