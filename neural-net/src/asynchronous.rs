//! Asynchronous training on ranks. The first ranks are workers, the last ones masters. Master i mod
//! M owns layer i.

use mpi_driver::{Communicator, Error, Operation, Source};

use crate::Hyperparameters;
use crate::engine::{MasterLayer, Masters, Parameters, Says};

/// How a master treats the staleness of a gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Staleness {
    /// It divides the learning rate by the staleness if that is above 1 (W. Zhang, S. Gupta, X.
    /// Lian and J. Liu, "Staleness-aware Async-SGD for Distributed Deep Learning", IJCAI 2016).
    #[default]
    Aware,
    /// It ignores the staleness.
    Ignore,
}

impl Staleness {
    /// All values, in declaration order.
    pub const ALL: [Self; 2] = [Self::Aware, Self::Ignore];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aware => "aware",
            Self::Ignore => "ignore",
        }
    }

    /// One line of help for the value.
    pub fn description(self) -> &'static str {
        match self {
            Self::Aware => "Divide the learning rate by the staleness",
            Self::Ignore => "Use stale gradients like fresh ones, as in the course, where training failed",
        }
    }

    fn rate(self, learning_rate: f64, staleness: usize) -> f64 {
        match self {
            Self::Aware => learning_rate / staleness.max(1) as f64,
            Self::Ignore => learning_rate,
        }
    }
}

impl std::fmt::Display for Staleness {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.name())
    }
}

/// Message tags: a worker's request to a master, its gradients, and the answers for layer 0. The
/// answers for the other layers follow.
const REQUEST: u16 = 1;
const GRADIENTS: u16 = 2;
const ANSWERS: u16 = 16;

/// Maximum number of layers: each has two tags.
pub const MAX_LAYERS: usize = 1000;

/// The layer in a request that ends the master's work for a worker.
const END: i32 = -1;

/// The masters of a communicator, for [`WorkerEngine`](crate::engine::WorkerEngine).
#[derive(Debug)]
pub struct CommunicatorMasters<'a> {
    world: &'a Communicator,
    workers: Communicator,
    masters: usize,
    /// The version of each layer's parameters that this worker has.
    versions: Vec<i32>,
}

/// The tag of the answer with a layer's version. The next tag is the answer with its parameters.
fn answer(layer: usize) -> u16 {
    ANSWERS + 2 * u16::try_from(layer).expect("the number of layers was checked")
}

impl<'a> CommunicatorMasters<'a> {
    /// The last `masters` ranks of `world`. The other ranks form `workers`.
    pub fn new(world: &'a Communicator, workers: Communicator, masters: usize) -> Self {
        Self { world, workers, masters, versions: Vec::new() }
    }

    fn exchange_all(
        &mut self,
        learning_rate: f64,
        count: usize,
        gradients: &[Vec<f32>],
        parameters: &mut [Vec<f32>],
    ) -> Result<(), Error> {
        let (world, first) = (self.world, self.world.size() - self.masters);
        let master = |layer: usize| first + layer % self.masters;
        self.versions.resize(gradients.len(), 0);
        let requests: Vec<[i32; 3]> = (0..gradients.len())
            .map(|layer| [layer as i32, self.versions[layer], i32::try_from(count).expect("a batch fits a message")])
            .collect();
        let rate = [learning_rate as f32];
        let mut versions: Vec<[i32; 1]> = vec![[0]; gradients.len()];
        world.scope(|scope| -> Result<(), Error> {
            let mut answers = Vec::with_capacity(2 * gradients.len());
            let mut sent = Vec::with_capacity(3 * gradients.len());
            let mut received = Vec::with_capacity(gradients.len());
            for (layer, (version, parameters)) in versions.iter_mut().zip(parameters).enumerate() {
                answers.push(scope.receive(version, Source::Rank(master(layer)), answer(layer))?);
                received.push(scope.receive(parameters, Source::Rank(master(layer)), answer(layer) + 1)?);
            }
            for (layer, request) in requests.iter().enumerate() {
                sent.push(scope.send(request, master(layer), REQUEST)?);
                if count > 0 {
                    sent.push(scope.send(&rate, master(layer), GRADIENTS)?);
                    sent.push(scope.send(&gradients[layer], master(layer), GRADIENTS)?);
                }
            }
            for (version, parameters) in answers.into_iter().zip(received) {
                version.wait()?;
                parameters.wait()?;
            }
            sent.into_iter().try_for_each(|request| request.wait())
        })?;
        self.versions = versions.into_iter().map(|[version]| version).collect();
        Ok(())
    }
}

impl Masters for CommunicatorMasters<'_> {
    fn worker(&self) -> usize {
        self.workers.rank()
    }

    fn workers(&self) -> usize {
        self.workers.size()
    }

    fn exchange(
        &mut self,
        learning_rate: f64,
        count: usize,
        gradients: &[Vec<f32>],
        parameters: &mut [Vec<f32>],
    ) -> Result<(), String> {
        self.exchange_all(learning_rate, count, gradients, parameters).map_err(|error| error.to_string())
    }

    fn meet(&mut self, says: Says) -> Result<Says, String> {
        const ALL: [Says; 3] = [Says::Done, Says::Ended, Says::Diverged];
        let mut greatest = [says as i32];
        let met = self.workers.all_reduce_in_place(&mut greatest, Operation::Maximum);
        met.map_err(|error| error.to_string())?;
        let said = ALL.into_iter().find(|&said| said as i32 == greatest[0]);
        said.ok_or_else(|| format!("a worker says {}, which has no meaning", greatest[0]))
    }
}

/// Tells all masters that this worker no longer needs them.
///
/// # Errors
/// If a message cannot be sent.
pub fn leave(world: &Communicator, masters: usize) -> Result<(), Error> {
    (world.size() - masters..world.size()).try_for_each(|master| world.send(&[END, 0, 0], master, REQUEST))
}

/// Numbers of gradients by staleness. The last element also counts gradients with a larger staleness.
pub type Histogram = [i32; 64];

/// How a master treats gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StalenessRule {
    /// For gradients that are used.
    pub staleness: Staleness,
    /// Maximum staleness. Gradients beyond it are not used (bounded staleness).
    pub max: usize,
}

/// Statistics on the gradients that masters have received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Their numbers by staleness.
    pub histogram: Histogram,
    /// Number of gradients that were too stale to be used.
    pub unused: i32,
}

impl Served {
    /// Statistics on no gradients.
    pub const NONE: Self = Self { histogram: [0; 64], unused: 0 };

    /// The sum over all ranks.
    ///
    /// # Errors
    /// If a message cannot be sent or received.
    pub fn sum(mut self, world: &Communicator) -> Result<Self, Error> {
        world.all_reduce_in_place(&mut self.histogram, Operation::Sum)?;
        let mut unused = [self.unused];
        world.all_reduce_in_place(&mut unused, Operation::Sum)?;
        Ok(Self { unused: unused[0], ..self })
    }

    /// Number of gradients.
    pub fn gradients(&self) -> u64 {
        self.histogram.iter().map(|&count| u64::from(count.unsigned_abs())).sum()
    }

    /// The mean staleness; `None` without gradients.
    pub fn mean(&self) -> Option<f64> {
        let staleness = self.histogram.iter().zip(0_u64..);
        let sum: u64 = staleness.map(|(&count, staleness)| u64::from(count.unsigned_abs()) * staleness).sum();
        let all = self.gradients();
        (all > 0).then(|| sum as f64 / all as f64)
    }
}

/// Runs a master until all workers have left ([`leave`]). It answers requests in the order of arrival.
///
/// # Errors
/// If a message cannot be sent or received.
pub fn serve(
    world: &Communicator,
    masters: usize,
    parameters: &Parameters,
    hyperparameters: &Hyperparameters,
    rule: StalenessRule,
) -> Result<Served, Error> {
    let workers = world.size() - masters;
    let own = world.rank() - workers;
    let all = parameters.network.weights().len();
    let mut layers: Vec<Option<MasterLayer>> = (0..all)
        .map(|layer| (layer % masters == own).then(|| MasterLayer::new(parameters, layer, hyperparameters)))
        .collect();
    let longest = layers.iter().flatten().map(MasterLayer::values_of_state).max().unwrap_or(0);
    let (mut buffer, mut rate, mut served, mut left) = (vec![0.0_f32; longest], [0.0_f32], Served::NONE, 0);
    while left < workers {
        let mut request = [0; 3];
        let worker = world.receive(&mut request, Source::Any, REQUEST)?.source;
        let [index, version, count] = request;
        if index == END {
            left += 1;
            continue;
        }
        let unknown = || Error {
            operation: "a master's request",
            peer: Some(worker),
            reason: format!("layer {index} is not of this master"),
        };
        let index = usize::try_from(index).map_err(|_| unknown())?;
        let layer = layers.get_mut(index).and_then(Option::as_mut).ok_or_else(unknown)?;
        let values = &mut buffer[..if count > 0 { layer.values() } else { layer.values_of_state() }];
        if count > 0 {
            world.receive(&mut rate, Source::Rank(worker), GRADIENTS)?;
            world.receive(values, Source::Rank(worker), GRADIENTS)?;
            let stale = layer.version().saturating_sub(usize::try_from(version).unwrap_or(0));
            served.histogram[stale.min(served.histogram.len() - 1)] += 1;
            match stale <= rule.max {
                true => layer.update(rule.staleness.rate(rate[0].into(), stale), count as usize, values),
                false => served.unused += 1,
            }
        }
        layer.copy_to(values);
        let version = i32::try_from(layer.version()).unwrap_or(i32::MAX);
        world.send(&[version], worker, answer(index))?;
        world.send(values, worker, answer(index) + 1)?;
    }
    Ok(served)
}
