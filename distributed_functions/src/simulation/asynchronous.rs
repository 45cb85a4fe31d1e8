use super::events::{Delays, Events, Interfaces, Time};
use super::{Network, Workload};

/// The result of an asynchronous simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asynchronous {
    /// Batches per second of all workers together.
    pub batches_per_second: f64,
    /// The mean number of updates to a layer between a worker's copy of it and the update with the
    /// worker's gradient.
    pub staleness: f64,
    /// Fraction of the time during which the busiest master computes.
    pub busiest_master: f64,
}

/// Simulates asynchronous training. Each of `workers` workers computes the gradients of `samples`
/// samples, sends each layer's gradients to its master (master i mod `masters` for layer i), and
/// waits for the updated parameters. Each worker computes `batches` batches; the first half of them
/// is not counted.
///
/// # Panics
/// If there is no worker, no master or no layer, or fewer than two batches.
pub fn asynchronous(
    (workers, masters): (usize, usize),
    samples: f64,
    workload: &Workload,
    network: Network,
    batches: usize,
) -> Asynchronous {
    assert!(workers > 0 && masters > 0 && batches > 1 && !workload.layers.is_empty(), "nothing to simulate");
    let layers = workload.layers.len();
    let mut simulation = Simulation {
        workers: vec![Worker { batches: 0, waits_for: 0, versions: vec![0; layers] }; workers],
        masters: vec![Master { free: Time::default(), busy: Time::default() }; masters],
        versions: vec![0; layers],
        samples,
        workload,
        interfaces: Interfaces::new(network, workers + masters),
        delays: Delays::new(workload.jitter, workload.seed),
        events: Events::new(),
        staleness: 0,
        updates: 0,
    };
    simulation.run(batches)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A worker has computed the gradients of a layer, counted from the last one.
    Computed { worker: usize, layer: usize },
    /// A layer's gradients have arrived at its master.
    Gradients { worker: usize, layer: usize },
    /// A master has updated a layer.
    Updated { worker: usize, layer: usize, version: usize },
    /// A layer's parameters have arrived at a worker.
    Parameters { worker: usize, layer: usize, version: usize },
}

#[derive(Clone, Debug)]
struct Worker {
    batches: usize,
    /// Number of layers that have not come back yet.
    waits_for: usize,
    /// The version of each layer that the worker has.
    versions: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Master {
    free: Time,
    busy: Time,
}

struct Simulation<'a> {
    workers: Vec<Worker>,
    masters: Vec<Master>,
    versions: Vec<usize>,
    samples: f64,
    workload: &'a Workload,
    interfaces: Interfaces,
    delays: Delays,
    events: Events<Event>,
    staleness: usize,
    updates: usize,
}

impl Simulation<'_> {
    fn run(&mut self, batches: usize) -> Asynchronous {
        let (workers, last) = (self.workers.len(), self.workload.layers.len() - 1);
        (0..workers).for_each(|worker| self.compute(worker, Time::default()));
        // The number of completed batches, the time after the first half of them, and the end.
        let (mut completed, mut half, mut end) = (0, Time::default(), Time::default());
        let all = workers * batches;
        while let Some((now, event)) = self.events.next() {
            match event {
                Event::Computed { worker, layer } => {
                    let layer = last - layer;
                    let arrival = self.interfaces.send(now, worker, self.rank_of(layer), self.workload.layers[layer]);
                    self.events.add(arrival, Event::Gradients { worker, layer });
                }
                Event::Gradients { worker, layer } => {
                    let seconds = self.seconds_of_update(layer);
                    let index = layer % self.masters.len();
                    let master = &mut self.masters[index];
                    let time = Time::of_seconds(seconds);
                    master.free = now.max(master.free) + time;
                    master.busy += time;
                    self.staleness += self.versions[layer] - self.workers[worker].versions[layer];
                    self.updates += 1;
                    self.versions[layer] += 1;
                    let version = self.versions[layer];
                    self.events.add(master.free, Event::Updated { worker, layer, version });
                }
                Event::Updated { worker, layer, version } => {
                    let arrival = self.interfaces.send(now, self.rank_of(layer), worker, self.workload.layers[layer]);
                    self.events.add(arrival, Event::Parameters { worker, layer, version });
                }
                Event::Parameters { worker, layer, version } => {
                    let state = &mut self.workers[worker];
                    state.versions[layer] = version;
                    state.waits_for -= 1;
                    if state.waits_for > 0 {
                        continue;
                    }
                    state.batches += 1;
                    completed += 1;
                    if completed == all / 2 {
                        half = now;
                    }
                    if completed == all {
                        end = now;
                    } else if self.workers[worker].batches < batches {
                        self.compute(worker, now);
                    }
                }
            }
        }
        let busiest = self.masters.iter().map(|master| master.busy).max().expect("there is a master");
        Asynchronous {
            batches_per_second: (all - all / 2) as f64 / (end - half).seconds(),
            staleness: self.staleness as f64 / self.updates as f64,
            busiest_master: busiest.seconds() / end.seconds(),
        }
    }

    /// Starts a batch.
    fn compute(&mut self, worker: usize, now: Time) {
        let seconds = self.delays.delayed(self.samples * self.workload.seconds_of_sample);
        self.workers[worker].waits_for = self.workload.layers.len();
        // The messages are sent once all gradients are computed.
        let end = *self.workload.gradient_times(seconds).last().expect("there is a layer");
        for layer in 0..self.workload.layers.len() {
            self.events.add(now + end, Event::Computed { worker, layer });
        }
    }

    /// A master's time for a layer: the update, and a copy of what it receives and of what it sends.
    fn seconds_of_update(&self, layer: usize) -> f64 {
        let bytes = self.workload.layers[layer] as f64;
        let share = bytes / self.workload.bytes().max(1) as f64;
        share * self.workload.seconds_of_update + 2.0 * bytes * self.workload.seconds_of_byte
    }

    /// The rank of a layer's master.
    fn rank_of(&self, layer: usize) -> usize {
        self.workers.len() + layer % self.masters.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: Network = Network { latency: 1e-5, bandwidth: 1e9 };

    fn workload() -> Workload {
        Workload {
            layers: vec![400_000, 40_000, 4_000],
            seconds_of_sample: 1e-6,
            seconds_of_update: 3e-5,
            seconds_of_byte: 1e-10,
            jitter: 0.0,
            seed: 0,
        }
    }

    #[test]
    fn a_single_worker_is_never_stale_and_waits_for_its_messages() {
        let workload = Workload { layers: vec![400_000], ..workload() };
        let Asynchronous { batches_per_second, staleness, .. } = asynchronous((1, 1), 100.0, &workload, NETWORK, 10);
        let expected = 1e-4 + 2.0 * (1e-5 + 4e-4) + 3e-5 + 2.0 * 4e5 * 1e-10;
        assert!((batches_per_second * expected - 1.0).abs() < 1e-6, "{batches_per_second} not {}", 1.0 / expected);
        assert_eq!(staleness, 0.0);
    }

    #[test]
    fn many_workers_are_as_stale_as_there_are_others_and_bound_by_the_first_layers_master() {
        let of = |workers, masters| asynchronous((workers, masters), 100.0, &workload(), NETWORK, 40);
        let Asynchronous { batches_per_second, staleness, busiest_master } = of(16, 1);
        assert!((14.0..16.0).contains(&staleness), "{staleness}");
        // The master's interface receives all gradients one after another.
        assert!((batches_per_second * 444_000e-9 - 1.0).abs() < 0.05, "{batches_per_second}");
        assert!((0.0..1.0).contains(&busiest_master));
        // Two masters divide the layers, but the first one has most of the bytes.
        let two = of(16, 2).batches_per_second;
        assert!(two > batches_per_second && two < 1.2 * batches_per_second, "{two}, {batches_per_second}");
        // If computation dominates, the speeds of workers add up.
        let slow = Workload { seconds_of_sample: 1e-3, ..workload() };
        let [one, eight] = [1, 8].map(|workers| asynchronous((workers, 2), 100.0, &slow, NETWORK, 10));
        assert!((eight.batches_per_second / one.batches_per_second - 8.0).abs() < 0.4);
    }
}
