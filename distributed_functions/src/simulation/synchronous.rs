use super::events::{Delays, Events, Interfaces, Time};
use super::{Network, Workload};
use crate::ring::part;

/// Simulates data-parallel training and returns the mean seconds of `steps` steps on `ranks` ranks
/// with `samples` samples each. Each layer's gradients are summed on a ring, starting with the last
/// layer, while the previous layer's gradients are computed. Received data is passed on when a
/// layer's gradients are complete, as in [`Rings::all_reduce_each`](crate::Rings::all_reduce_each).
///
/// # Panics
/// If there is no rank, no layer or no step.
pub fn synchronous(ranks: usize, samples: f64, workload: &Workload, network: Network, steps: usize) -> f64 {
    synchronous_on(ranks, ranks, samples, workload, network, steps)
}

/// Like [`synchronous`], but all ranks share `cores` cores. If there are fewer cores than ranks,
/// all computations take longer.
///
/// # Panics
/// If there is no rank, no core, no layer or no step.
pub fn synchronous_on(
    ranks: usize,
    cores: usize,
    samples: f64,
    workload: &Workload,
    network: Network,
    steps: usize,
) -> f64 {
    assert!(ranks > 0 && cores > 0 && steps > 0 && !workload.layers.is_empty(), "nothing to simulate");
    let slower = (ranks as f64 / cores as f64).max(1.0);
    let workload = Workload {
        seconds_of_sample: slower * workload.seconds_of_sample,
        seconds_of_update: slower * workload.seconds_of_update,
        seconds_of_byte: slower * workload.seconds_of_byte,
        ..workload.clone()
    };
    let mut simulation = Simulation {
        samples,
        steps,
        interfaces: Interfaces::new(network, ranks),
        delays: Delays::new(workload.jitter, workload.seed),
        events: Events::new(),
        ranks: (0..ranks).map(|_| Rank::new(workload.layers.len())).collect(),
        workload,
    };
    simulation.run() / steps as f64
}

/// What happens to a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The gradients of a layer, counted from the last one, have been computed.
    Gradients { rank: usize, layer: usize },
    /// A message of a layer's ring has arrived.
    Arrival { rank: usize, layer: usize },
}

/// The state of a rank within its step.
#[derive(Clone, Debug)]
struct Rank {
    /// Number of steps it has completed.
    steps: usize,
    /// Number of layers, counted from the last one, with computed gradients.
    computed: usize,
    /// When its processor becomes free.
    free: Time,
    rings: Vec<RingState>,
}

/// The ring of one layer at one rank.
#[derive(Clone, Copy, Debug, Default)]
struct RingState {
    /// Messages that have arrived, for this step and for the next one, which a left neighbor may
    /// have started.
    arrived: usize,
    /// Completed steps of the ring, out of 2 (n − 1).
    done: usize,
}

impl Rank {
    fn new(layers: usize) -> Self {
        Self { steps: 0, computed: 0, free: Time::default(), rings: vec![RingState::default(); layers] }
    }
}

struct Simulation {
    workload: Workload,
    samples: f64,
    steps: usize,
    interfaces: Interfaces,
    delays: Delays,
    events: Events<Event>,
    ranks: Vec<Rank>,
}

impl Simulation {
    /// Runs all steps. Returns the time in seconds at which the last rank has finished.
    fn run(&mut self) -> f64 {
        (0..self.ranks.len()).for_each(|rank| self.compute(rank));
        while let Some((now, event)) = self.events.next() {
            match event {
                Event::Gradients { rank, layer } => {
                    self.ranks[rank].free = now;
                    self.ranks[rank].computed = layer + 1;
                    self.send(rank, layer, 0);
                    (0..=layer).for_each(|layer| self.advance(rank, layer));
                }
                Event::Arrival { rank, layer } => {
                    self.ranks[rank].rings[layer].arrived += 1;
                    // A rank does not check for messages while it computes.
                    if self.ranks[rank].computed == self.workload.layers.len() {
                        let free = &mut self.ranks[rank].free;
                        *free = now.max(*free);
                        self.advance(rank, layer);
                    }
                }
            }
        }
        debug_assert!(self.ranks.iter().all(|rank| rank.steps == self.steps), "a rank waits for ever");
        self.ranks.iter().map(|rank| rank.free).max().expect("there is a rank").seconds()
    }

    /// Starts a step of a rank.
    fn compute(&mut self, rank: usize) {
        let seconds = self.delays.delayed(self.samples * self.workload.seconds_of_sample);
        let start = self.ranks[rank].free;
        for (layer, time) in self.workload.gradient_times(seconds).into_iter().enumerate() {
            self.events.add(start + time, Event::Gradients { rank, layer });
        }
    }

    /// Bytes of a part of a layer. The layer is counted from the last one.
    fn bytes(&self, layer: usize, index: usize) -> u64 {
        let (ranks, layers) = (self.ranks.len(), &self.workload.layers);
        // Parts are whole values of four bytes.
        4 * part((layers[layers.len() - 1 - layer] / 4) as usize, index % ranks, ranks).len() as u64
    }

    /// Sends the part for step `step` of a ring, unless it is empty.
    fn send(&mut self, rank: usize, layer: usize, step: usize) {
        let ranks = self.ranks.len();
        if step == 2 * (ranks - 1) {
            return;
        }
        let bytes = self.bytes(layer, rank + 2 * ranks - step);
        if bytes > 0 {
            let to = (rank + 1) % ranks;
            let arrival = self.interfaces.send(self.ranks[rank].free, rank, to, bytes);
            self.events.add(arrival, Event::Arrival { rank: to, layer });
        }
    }

    /// Performs the ring's steps for which messages have arrived.
    fn advance(&mut self, rank: usize, layer: usize) {
        let ranks = self.ranks.len();
        loop {
            let RingState { arrived, done } = self.ranks[rank].rings[layer];
            if done == 2 * (ranks - 1) {
                return self.end_if_done(rank);
            }
            let bytes = self.bytes(layer, rank + 2 * ranks - done - 1);
            if bytes > 0 {
                if arrived == 0 {
                    return;
                }
                let seconds = bytes as f64 * self.workload.seconds_of_byte;
                self.ranks[rank].free += Time::of_seconds(seconds);
                self.ranks[rank].rings[layer].arrived -= 1;
            }
            self.ranks[rank].rings[layer].done += 1;
            self.send(rank, layer, done + 1);
        }
    }

    /// Updates the parameters and starts the next step if all layers have been summed.
    fn end_if_done(&mut self, rank: usize) {
        let all = 2 * (self.ranks.len() - 1);
        let state = &mut self.ranks[rank];
        let is_done = state.computed == self.workload.layers.len() && state.rings.iter().all(|ring| ring.done == all);
        if !is_done {
            return;
        }
        state.free += Time::of_seconds(self.workload.seconds_of_update);
        state.steps += 1;
        state.computed = 0;
        state.rings.iter_mut().for_each(|ring| ring.done = 0);
        if state.steps < self.steps {
            self.compute(rank);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(layers: &[u64]) -> Workload {
        Workload {
            layers: layers.to_vec(),
            seconds_of_sample: 1e-6,
            seconds_of_update: 3e-5,
            seconds_of_byte: 1e-10,
            jitter: 0.0,
            seed: 0,
        }
    }

    const NETWORK: Network = Network { latency: 1e-5, bandwidth: 1e9 };

    #[test]
    fn one_layer_takes_the_time_of_the_formula() {
        for ranks in [1, 2, 3, 8, 64] {
            let bytes = 4 * 64 * 3 * 1000;
            let got = synchronous(ranks, 100.0, &workload(&[bytes]), NETWORK, 3);
            let message = bytes as f64 / ranks as f64;
            let (rank, links) = (ranks as f64, 2.0 * (ranks as f64 - 1.0));
            let of_link = NETWORK.latency + message / NETWORK.bandwidth + message * 1e-10;
            let expected = 100.0 * 1e-6 + links * of_link + 3e-5;
            assert!((got / expected - 1.0).abs() < 1e-6, "{rank} ranks: {got} instead of {expected}");
        }
    }

    #[test]
    fn a_layer_is_on_its_way_while_the_next_is_computed() {
        // One of the second layer's two messages overlaps with computing the first layer's
        // gradients, a sixth of 12 ms.
        let layer = 400_000;
        let alone = synchronous(2, 12_000.0, &workload(&[layer]), NETWORK, 2);
        let both = synchronous(2, 12_000.0, &workload(&[layer, layer]), NETWORK, 2);
        let one_by_one = 2.0 * (1e-5 + 200_000.0 * 1.1e-9);
        let added = both - alone;
        assert!(added > 0.3 * one_by_one && added < 0.6 * one_by_one, "{added} of {one_by_one}");
    }

    #[test]
    fn fewer_values_than_ranks_and_delays_end_as_well() {
        let with_delays = Workload { jitter: 0.2, ..workload(&[40, 8, 0]) };
        let delayed = synchronous(7, 100.0, &with_delays, NETWORK, 20);
        let without = synchronous(7, 100.0, &workload(&[40, 8, 0]), NETWORK, 20);
        assert!(delayed > 1.1 * without, "all wait for the slowest: {delayed}, {without}");
        assert_eq!(delayed, synchronous(7, 100.0, &with_delays, NETWORK, 20), "the same seed");
    }

    #[test]
    fn shared_cores_compute_more_slowly() {
        let free = Network { latency: 0.0, bandwidth: 1e30 };
        let workload = Workload { seconds_of_byte: 0.0, ..workload(&[4000]) };
        let [two, four] = [2, 4].map(|ranks| synchronous_on(ranks, 2, 400.0, &workload, free, 1));
        assert!((four / two - 2.0).abs() < 1e-6, "{two}, {four}");
    }
}
