//! A discrete-event simulation of distributed training on machines that are not available. It
//! predicts how n ranks would perform on a network with a given latency and bandwidth.
//!
//! It simulates the computation of each rank, each message of each all-reduce or of each worker and
//! master, and the network interfaces. An interface sends one message after another and receives
//! one after another. The switch between them has no limit. No messages are lost, and no other
//! program runs.

mod asynchronous;
mod events;
mod synchronous;

pub use asynchronous::{Asynchronous, asynchronous};
pub use synchronous::{synchronous, synchronous_on};

use events::Time;

/// A network between ranks that have one interface each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network {
    /// Seconds from the start of an empty message to its arrival.
    pub latency: f64,
    /// Bytes per second of an interface, in each direction.
    pub bandwidth: f64,
}

/// The training run to distribute.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Bytes of each layer's gradients, starting with the first layer.
    pub layers: Vec<u64>,
    /// Seconds of computation per sample: forward and backward pass.
    pub seconds_of_sample: f64,
    /// Seconds of an update of all parameters.
    pub seconds_of_update: f64,
    /// Seconds to add or copy one received byte.
    pub seconds_of_byte: f64,
    /// Mean of the exponentially distributed delay of a computation, as a fraction of it. It
    /// represents other work on the machines.
    pub jitter: f64,
    /// Seed of the delays.
    pub seed: u64,
}

/// Fraction of a step's computation before the first gradients (the last layer's) are computed: the
/// forward pass and the backward pass of the deltas.
const BEFORE_GRADIENTS: f64 = 2.0 / 3.0;

impl Workload {
    /// Bytes of all gradients, and of all parameters.
    pub fn bytes(&self) -> u64 {
        self.layers.iter().sum()
    }

    /// Seconds of a step on one rank without messages.
    pub fn seconds_of_step(&self, samples: f64) -> f64 {
        samples * self.seconds_of_sample + self.seconds_of_update
    }

    /// The time from the start of a computation of `seconds` until each layer's gradients are
    /// ready, from the last layer to the first.
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
