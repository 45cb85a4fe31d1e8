//! A discrete-event simulation of distributed training, for machines that one does not have: what would n ranks on a
//! network of some latency and bandwidth do?
//!
//! Simulated are the computation of each rank, each message of each all-reduce or of each worker and master, and the
//! network interfaces, which send one message after the other and receive one after the other. The switch between them
//! has no limit. Nothing is lost, and no other program runs.

mod asynchronous;
mod events;
mod synchronous;

pub use asynchronous::{Asynchronous, asynchronous};
pub use synchronous::{synchronous, synchronous_on};

use events::Time;

/// A network between ranks, each with its own interface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network {
    /// Seconds from the start of an empty message to its arrival.
    pub latency: f64,
    /// Bytes a second of an interface, in each direction.
    pub bandwidth: f64,
}

/// The training that is distributed.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Bytes of the gradients of each layer, from the first one on.
    pub layers: Vec<u64>,
    /// Seconds of computation for a sample: forward and backward pass.
    pub seconds_of_sample: f64,
    /// Seconds of an update of all parameters.
    pub seconds_of_update: f64,
    /// Seconds to add an arrived byte, or to copy it.
    pub seconds_of_byte: f64,
    /// Mean of the exponentially distributed delay of a computation, as a share of it: other work of the machines.
    pub jitter: f64,
    /// Seed of the delays.
    pub seed: u64,
}

/// Share of a step's computation after which the first gradients, those of the last layer, are computed: the forward
/// pass and the backward pass of the errors.
const BEFORE_GRADIENTS: f64 = 2.0 / 3.0;

impl Workload {
    /// Bytes of all gradients, and of all parameters.
    pub fn bytes(&self) -> u64 {
        self.layers.iter().sum()
    }

    /// Seconds of a step on one rank that has no messages.
    pub fn seconds_of_step(&self, samples: f64) -> f64 {
        samples * self.seconds_of_sample + self.seconds_of_update
    }

    /// The time from the start of a computation of `seconds` to each layer's gradients, from the last layer to the
    /// first.
    fn gradient_times(&self, seconds: f64) -> Vec<Time> {
        let all = self.bytes().max(1) as f64;
        let mut bytes = 0;
        let times = self.layers.iter().rev().map(|of_layer| {
            bytes += of_layer;
            Time::of_seconds(seconds * (BEFORE_GRADIENTS + (1.0 - BEFORE_GRADIENTS) * bytes as f64 / all))
        });
        times.collect()
    }
}
