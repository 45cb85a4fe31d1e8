//! Data-parallel training on ranks that are threads.

mod support;

use std::ops::ControlFlow;

use distributed_functions::AllReduce;
use gpu::{Device, DeviceChoice};
use mpi_driver::{Communicator, threads};
use neural_net::asynchronous::{CommunicatorMasters, Staleness, StalenessRule, leave, serve};
use neural_net::distributed::CommunicatorRanks;
use neural_net::engine::{CpuEngine, Engine, EngineError, Parameters, Ranks, ShardEngine, WorkerEngine, shard_engine};
use neural_net::network::Initialization;
use neural_net::preset::Preset;
use neural_net::training::Optimizer;
use neural_net::{Activation, Architecture, Hyperparameters, Network, Samples};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use support::cases::{Case, TOLERANCE, assert_close, case, random_samples, start, train_by_reference};

fn engine<'a>(
    world: &'a Communicator,
    all_reduce: AllReduce,
    samples: &'a Samples,
    parameters: &Parameters,
    hyperparameters: &Hyperparameters,
) -> ShardEngine<'a> {
    let ranks = Box::new(CommunicatorRanks::new(world, all_reduce));
    ShardEngine::new(samples, parameters, hyperparameters, ranks)
}

/// Trains on this number of ranks. Returns each rank's parameters and summed loss.
fn trained(
    ranks: usize,
    all_reduce: AllReduce,
    samples: &Samples,
    parameters: &Parameters,
    hyperparameters: &Hyperparameters,
    order: &[u32],
) -> Vec<(Parameters, f64)> {
    threads(ranks, |world| {
        let mut engine = engine(world, all_reduce, samples, parameters, hyperparameters);
        let mut total = 0.0;
        let mut observe = |_, loss| {
            total += loss;
            ControlFlow::Continue(())
        };
        engine.train(order, 0, &mut observe).unwrap();
        (engine.parameters().unwrap(), total)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn part1_ranks_train_as_the_reference_does(case in case(), ranks in 2_usize..10, all_reduce in prop::sample::select(&AllReduce::ALL[..])) {
        let Case { architecture, hyperparameters, count, seed } = case;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let network = Network::<f32>::random(architecture.clone(), Initialization::Xavier, &mut rng);
        let samples = random_samples(count, architecture.inputs(), architecture.outputs(), &mut rng);
        let order: Vec<u32> = (0..count as u32).rev().collect();
        let parameters = start(network, &hyperparameters);
        let results = trained(ranks, all_reduce, &samples, &parameters, &hyperparameters, &order);
        prop_assert!(results.iter().all(|result| *result == results[0]), "the same bits on every rank");
        let expected = train_by_reference(&samples, &parameters, &hyperparameters, &order);
        prop_assume!(!expected.is_at_a_kink);
        let (parameters, loss) = &results[0];
        assert_close(&parameters.network, &expected.network, TOLERANCE)?;
        prop_assert!((loss - expected.loss).abs() <= TOLERANCE * expected.loss.max(1.0), "{} not {}", loss, expected.loss);
    }
}

/// A homework network, its samples, and an order of them.
fn homework(optimizer: Optimizer) -> (Samples, Parameters, Hyperparameters, Vec<u32>) {
    let hyperparameters = Hyperparameters { optimizer, learning_rate: 0.01, ..Preset::Homework.hyperparameters() };
    let architecture = Preset::Homework.architecture().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(3));
    let samples = random_samples(300, architecture.inputs(), architecture.outputs(), &mut rng);
    let parameters = neural_net::training::initial_parameters(architecture, &hyperparameters);
    (samples, parameters, hyperparameters, (0..300).collect())
}

/// Where the ranks compute.
#[derive(Clone, Copy, Debug)]
enum On {
    Cpu,
    Simulator,
    Gpu,
}

/// Trains on this number of ranks, in order. Returns the parameters, which have the same bits on
/// each rank.
fn trained_on(
    on: On,
    ranks: usize,
    reproducible: bool,
    samples: &Samples,
    parameters: &Parameters,
    hyperparameters: &Hyperparameters,
) -> Parameters {
    let order: Vec<u32> = (0..samples.len() as u32).collect();
    let mut results = threads(ranks, |world| {
        let ranks = Box::new(CommunicatorRanks::new(world, AllReduce::Ring));
        let on_device = |device: Device| shard_engine(&device, samples, parameters, hyperparameters, ranks);
        let engine = match on {
            On::Cpu => engine(world, AllReduce::Ring, samples, parameters, hyperparameters),
            On::Simulator => on_device(Device::simulator()).unwrap(),
            On::Gpu => {
                on_device(Device::open_one(DeviceChoice::Cuda, &kernels_gpu::PTX, world.rank()).unwrap()).unwrap()
            }
        };
        let mut engine = if reproducible { engine.reproducible() } else { engine };
        engine.train(&order, 0, &mut |_, _| ControlFlow::Continue(())).unwrap();
        engine.parameters().unwrap()
    });
    assert!(results.iter().all(|result| *result == results[0]), "the same bits on every rank");
    results.swap_remove(0)
}

/// A random network, its samples and its hyperparameters.
fn of_case(case: Case) -> (Samples, Parameters, Hyperparameters) {
    let Case { architecture, hyperparameters, count, seed } = case;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let network = Network::<f32>::random(architecture.clone(), Initialization::Xavier, &mut rng);
    let samples = random_samples(count, architecture.inputs(), architecture.outputs(), &mut rng);
    (samples, start(network, &hyperparameters), hyperparameters)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn part1_reproducible_ranks_have_the_same_bits_for_any_number_of_them(case in case()) {
        let (samples, parameters, hyperparameters) = of_case(case);
        let alone = trained_on(On::Cpu, 1, true, &samples, &parameters, &hyperparameters);
        for ranks in [2, 3, 5, 8, 20] {
            prop_assert!(trained_on(On::Cpu, ranks, true, &samples, &parameters, &hyperparameters) == alone);
        }
        let order: Vec<u32> = (0..samples.len() as u32).collect();
        let expected = train_by_reference(&samples, &parameters, &hyperparameters, &order);
        prop_assume!(!expected.is_at_a_kink);
        assert_close(&alone.network, &expected.network, TOLERANCE)?;
    }
}

/// Checks that ranks on GPUs train like ranks on the CPU.
fn check_on_gpus(on: On, case: Case, ranks: usize) -> Result<(), TestCaseError> {
    let count = case.count.min(40);
    let (samples, parameters, hyperparameters) = of_case(Case { count, ..case });
    let order: Vec<u32> = (0..samples.len() as u32).collect();
    let expected = train_by_reference(&samples, &parameters, &hyperparameters, &order);
    prop_assume!(!expected.is_at_a_kink);
    let summed = trained_on(on, ranks, false, &samples, &parameters, &hyperparameters);
    assert_close(&summed.network, &expected.network, TOLERANCE)?;
    let in_order = trained_on(on, ranks, true, &samples, &parameters, &hyperparameters);
    assert_close(&in_order.network, &expected.network, TOLERANCE)?;
    let alone = trained_on(on, 1, true, &samples, &parameters, &hyperparameters);
    prop_assert!(alone == in_order, "the same bits on one rank");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn part1_ranks_on_simulated_gpus_train_as_the_reference_does(case in case(), ranks in 2_usize..5) {
        check_on_gpus(On::Simulator, case, ranks)?;
    }
}

#[test]
fn part1_ranks_train_as_the_reference_does_on_gpus_if_there_is_one() {
    if gpu_testing::require_gpu() {
        let config = ProptestConfig::with_cases(8);
        proptest!(config, |(case in case(), ranks in 2_usize..5)| check_on_gpus(On::Gpu, case, ranks)?);
    }
}

#[test]
fn part1_a_single_rank_has_the_bits_of_the_cpu_engine() {
    for optimizer in Optimizer::ALL {
        let (samples, parameters, hyperparameters, order) = homework(optimizer);
        let mut cpu = CpuEngine::new(&samples, &parameters, &hyperparameters);
        cpu.train(&order, 0, &mut |_, _| ControlFlow::Continue(())).unwrap();
        let alone = trained(1, AllReduce::Ring, &samples, &parameters, &hyperparameters, &order);
        assert_eq!(alone[0].0, cpu.parameters().unwrap());
    }
}

/// One rank ends the run. All ranks end after the same step with the same weights, and resuming
/// gives the bits of an uninterrupted run.
#[test]
fn part1_a_run_that_one_rank_ends_resumes_on_all() {
    let (samples, parameters, hyperparameters, order) = homework(Optimizer::Adam);
    let unbroken = trained(3, AllReduce::Mpi, &samples, &parameters, &hyperparameters, &order);
    let results = threads(3, |world| {
        let mut engine = engine(world, AllReduce::Mpi, &samples, &parameters, &hyperparameters);
        let mut steps = 0;
        let mut ends = Vec::new();
        while steps < 19 {
            let first = steps;
            let mut observe = |step, _| {
                assert_eq!(step, steps);
                steps += 1;
                // Rank 1 ends after three steps each time.
                match world.rank() == 1 && steps == first + 3 {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            };
            engine.train(&order, first, &mut observe).unwrap();
            ends.push(steps);
        }
        (ends, engine.parameters().unwrap())
    });
    for (ends, parameters) in &results {
        assert_eq!(*ends, [4, 8, 12, 16, 19], "one step later");
        assert_eq!(*parameters, unbroken[0].0);
    }
}

#[test]
fn part1_a_rank_that_fails_ends_the_others_with_an_error() {
    let (samples, parameters, hyperparameters, order) = homework(Optimizer::Sgd);
    let results = threads(3, |world| {
        if world.rank() == 2 {
            return None;
        }
        let mut engine = engine(world, AllReduce::Ring, &samples, &parameters, &hyperparameters);
        engine.train(&order, 0, &mut |_, _| ControlFlow::Continue(())).err().map(|error| error.to_string())
    });
    assert_eq!(results[0].as_deref(), Some("MPI_Wait with rank 2: the rank has ended"));
    assert!(results[1].is_some());
}

/// A rank that cannot compute its gradients completes the step with the others and then fails.
#[test]
fn part1_an_error_of_one_rank_leaves_no_rank_waiting() {
    for all_reduce in AllReduce::ALL {
        let results = threads(3, |world| {
            let mut ranks = CommunicatorRanks::new(world, all_reduce);
            let mut buffers = [vec![1.0_f32; 5000], vec![2.0; 5000]];
            let mut slices: Vec<&mut [f32]> = buffers.iter_mut().map(Vec::as_mut_slice).collect();
            let reason = || EngineError::Communication { reason: "no gradients".to_owned() };
            let mut fill = |index: usize, _: &mut [f32]| match world.rank() == 1 && index == 0 {
                true => Err(reason()),
                false => Ok(()),
            };
            ranks.sum_each(&mut slices, &mut fill).map_err(|error| error.to_string())
        });
        assert_eq!(results, [Ok(()), Err("no gradients".to_owned()), Ok(())]);
    }
}

/// Trains asynchronously on `workers` ranks and `masters` more, with `after_step` on each worker.
/// Returns each worker's parameters or error, and the total number of updates at all masters.
fn trained_by_masters(
    (workers, masters): (usize, usize),
    staleness: Staleness,
    samples: &Samples,
    parameters: &Parameters,
    hyperparameters: &Hyperparameters,
    order: &[u32],
    after_step: impl Fn(usize, usize) -> ControlFlow<()> + Sync,
) -> (Vec<Result<Parameters, String>>, i64) {
    let results = threads(workers + masters, |world| {
        let is_master = world.rank() >= workers;
        let group = world.split(u32::from(is_master), world.rank()).unwrap();
        if is_master {
            let rule = StalenessRule { staleness, max: usize::MAX };
            let served = serve(world, masters, parameters, hyperparameters, rule).unwrap();
            assert_eq!(served.unused, 0);
            return (None, served.gradients() as i64);
        }
        let of_worker = Box::new(CommunicatorMasters::new(world, group, masters));
        let mut engine = WorkerEngine::new(samples, parameters, hyperparameters, of_worker);
        let trained = engine.train(order, 0, &mut |step, _| after_step(world.rank(), step));
        leave(world, masters).unwrap();
        let result = trained.map(|()| engine.parameters().unwrap()).map_err(|error| error.to_string());
        (Some(result), 0)
    });
    let updates = results.iter().map(|(_, updates)| updates).sum();
    (results.into_iter().filter_map(|(result, _)| result).collect(), updates)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A single worker has current parameters in each step.
    #[test]
    fn part1_a_single_worker_trains_as_the_reference_does(case in case(), masters in 1_usize..4) {
        let Case { architecture, hyperparameters, count, seed } = case;
        let hyperparameters = Hyperparameters { optimizer: Optimizer::Sgd, ..hyperparameters };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let network = Network::<f32>::random(architecture.clone(), Initialization::Xavier, &mut rng);
        let samples = random_samples(count, architecture.inputs(), architecture.outputs(), &mut rng);
        let order: Vec<u32> = (0..count as u32).rev().collect();
        let parameters = start(network, &hyperparameters);
        let go_on = |_, _| ControlFlow::Continue(());
        let (results, updates) =
            trained_by_masters((1, masters), Staleness::Aware, &samples, &parameters, &hyperparameters, &order, go_on);
        let expected = train_by_reference(&samples, &parameters, &hyperparameters, &order);
        prop_assume!(!expected.is_at_a_kink);
        let trained = results[0].as_ref().unwrap();
        assert_close(&trained.network, &expected.network, TOLERANCE)?;
        // The optimizer's state also comes back, for checkpoints.
        let mut engine = CpuEngine::new(&samples, &parameters, &hyperparameters);
        engine.train(&order, 0, &mut |_, _| ControlFlow::Continue(())).unwrap();
        let by_engine = engine.parameters().unwrap();
        prop_assert_eq!(trained.velocities.is_some(), hyperparameters.momentum != 0.0);
        let velocities = |parameters: &Parameters| -> Vec<f32> {
            let layers = parameters.velocities.iter().flatten();
            layers.flat_map(|(weights, biases)| weights.iter().chain(biases).copied().collect::<Vec<_>>()).collect()
        };
        let pairs = velocities(trained).into_iter().zip(velocities(&by_engine));
        for (got, expected) in pairs {
            prop_assert!((got - expected).abs() <= 2e-4 * expected.abs().max(1.0), "{} not {}", got, expected);
        }
        let steps = count.div_ceil(hyperparameters.batch_size.unwrap_or(count));
        prop_assert_eq!(updates, (steps * architecture.layers()) as i64);
    }
}

#[test]
fn part1_all_workers_have_the_same_network_at_the_end_and_every_batch_counts_once() {
    let (samples, parameters, hyperparameters, order) = homework(Optimizer::Sgd);
    for (workers, masters) in [(2, 1), (3, 2), (8, 2), (30, 1)] {
        for staleness in Staleness::ALL {
            let go_on = |_, _| ControlFlow::Continue(());
            let ranks = (workers, masters);
            let (results, updates) =
                trained_by_masters(ranks, staleness, &samples, &parameters, &hyperparameters, &order, go_on);
            assert_eq!(updates, 19 * 3, "19 batches of three layers");
            let first = results[0].as_ref().unwrap();
            assert!(results.iter().all(|result| result.as_ref() == Ok(first)) && *first != parameters);
        }
    }
}

#[test]
fn part1_a_worker_that_ends_or_diverges_ends_all_workers() {
    let (samples, parameters, hyperparameters, order) = homework(Optimizer::Sgd);
    let end = |worker, step: usize| match worker == 1 && step >= 4 {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let (results, updates) =
        trained_by_masters((3, 2), Staleness::Aware, &samples, &parameters, &hyperparameters, &order, end);
    assert!(results.iter().all(Result::is_ok) && updates < 19 * 3, "{updates}");

    let hyperparameters = Hyperparameters { learning_rate: 1e38, ..hyperparameters };
    let architecture = Architecture::new(vec![784, 5, 10], Activation::Identity, Activation::Identity).unwrap();
    let parameters = neural_net::training::initial_parameters(architecture, &hyperparameters);
    let go_on = |_, _| ControlFlow::Continue(());
    let (results, _) =
        trained_by_masters((3, 2), Staleness::Ignore, &samples, &parameters, &hyperparameters, &order, go_on);
    for result in results {
        assert!(result.is_err_and(|error| error.contains("the loss is no longer finite")));
    }
}

/// With a bound of 0, only gradients of the current parameters are used.
#[test]
fn part1_gradients_that_are_too_stale_are_not_used() {
    let (samples, parameters, hyperparameters, order) = homework(Optimizer::Sgd);
    let results = threads(9, |world| {
        let is_master = world.rank() == 8;
        let group = world.split(u32::from(is_master), world.rank()).unwrap();
        if is_master {
            let rule = StalenessRule { staleness: Staleness::Ignore, max: 0 };
            return Some(serve(world, 1, &parameters, &hyperparameters, rule).unwrap());
        }
        let of_worker = Box::new(CommunicatorMasters::new(world, group, 1));
        let mut engine = WorkerEngine::new(&samples, &parameters, &hyperparameters, of_worker);
        engine.train(&order, 0, &mut |_, _| ControlFlow::Continue(())).unwrap();
        leave(world, 1).unwrap();
        None
    });
    let served = results[8].unwrap();
    assert_eq!(served.gradients(), 19 * 3);
    let stale: i32 = served.histogram[1..].iter().sum();
    assert_eq!(served.unused, stale);
    println!("{stale} gradients of eight workers were too stale");
}
