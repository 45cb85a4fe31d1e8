//! Data-parallel training, on ranks that are threads.

mod support;

use std::ops::ControlFlow;

use distributed_functions::AllReduce;
use mpi_driver::{Communicator, threads};
use neural_net::distributed::CommunicatorRanks;
use neural_net::engine::{CpuEngine, Engine, Parameters, ShardEngine};
use neural_net::network::Initialization;
use neural_net::preset::Preset;
use neural_net::training::Optimizer;
use neural_net::{Hyperparameters, Network, Samples};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use support::cases::{Case, assert_close, case, random_samples, start, train_by_reference_observed};

fn engine<'a>(
    world: &'a Communicator,
    all_reduce: AllReduce,
    samples: &'a Samples<f32>,
    parameters: &Parameters<f32>,
    hyperparameters: &Hyperparameters,
) -> ShardEngine<'a> {
    let ranks = Box::new(CommunicatorRanks::new(world, all_reduce));
    ShardEngine::new(samples, parameters, hyperparameters, ranks)
}

/// Trains on this number of ranks; returns the parameters and the summed loss on each.
fn trained(
    ranks: usize,
    all_reduce: AllReduce,
    samples: &Samples<f32>,
    parameters: &Parameters<f32>,
    hyperparameters: &Hyperparameters,
    order: &[u32],
) -> Vec<(Parameters<f32>, f64)> {
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
        let samples = random_samples::<f32>(count, architecture.inputs(), architecture.outputs(), &mut rng);
        let order: Vec<u32> = (0..count as u32).rev().collect();
        let parameters = start(network, &hyperparameters);
        let results = trained(ranks, all_reduce, &samples, &parameters, &hyperparameters, &order);
        prop_assert!(results.iter().all(|result| *result == results[0]), "the same bits on every rank");
        let (expected, expected_loss) =
            train_by_reference_observed(&samples, &parameters, &hyperparameters, &order, |_, _| ());
        let (parameters, loss) = &results[0];
        assert_close(&parameters.network, &expected, 2e-4)?;
        prop_assert!((loss - expected_loss).abs() <= 2e-4 * expected_loss.max(1.0), "{} not {}", loss, expected_loss);
    }
}

/// A homework network, its samples, and an order of them.
fn homework(optimizer: Optimizer) -> (Samples<f32>, Parameters<f32>, Hyperparameters, Vec<u32>) {
    let hyperparameters = Hyperparameters { optimizer, learning_rate: 0.01, ..Preset::Homework.hyperparameters() };
    let architecture = Preset::Homework.architecture().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let samples = random_samples(300, architecture.inputs(), architecture.outputs(), &mut rng);
    let parameters = neural_net::training::initial_parameters(architecture, &hyperparameters);
    (samples, parameters, hyperparameters, (0..300).collect())
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

/// One rank ends the run; all end after the same step, with the same weights, and resume to the bits of an unbroken run.
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
    assert_eq!(results[0].as_deref(), Some("MPI_Sendrecv with rank 2: the rank has ended"));
    assert!(results[1].is_some());
}
