//! Training on a thread team: presets, early ends, panics, and the choice of the number of threads.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::support::cases::random_samples;
use neural_net::engine::{CpuEngine, Engine, EngineError, Parameters, Threads};
use neural_net::preset::Preset;
use neural_net::training::{initial_parameters, order_of_epoch};
use neural_net::{Hyperparameters, Samples};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// Random samples for a preset's network, its initial parameters, and an order of the samples.
fn start(preset: Preset, count: usize, batch_size: Option<usize>) -> (Samples, Parameters, Hyperparameters, Vec<u32>) {
    let architecture = preset.architecture().unwrap();
    let hyperparameters = Hyperparameters { batch_size, ..preset.hyperparameters() };
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(3));
    let samples = random_samples(count, architecture.inputs(), architecture.outputs(), &mut rng);
    let parameters = initial_parameters(architecture, &hyperparameters);
    let order = order_of_epoch(&hyperparameters, count, 0);
    (samples, parameters, hyperparameters, order)
}

/// An engine with exactly this number of threads, regardless of the number of cores.
fn engine<'a>(
    samples: &'a Samples,
    parameters: &Parameters,
    hyperparameters: &Hyperparameters,
    threads: usize,
) -> CpuEngine<'a> {
    let mut engine = CpuEngine::new(samples, parameters, hyperparameters);
    engine.set_threads(Threads::Exactly(threads));
    engine
}

/// Trains from step `first` to step `last`. Returns the losses.
fn train(engine: &mut CpuEngine, order: &[u32], first: usize, last: usize) -> Vec<f64> {
    let mut losses = Vec::new();
    let mut observe = |step, loss| {
        losses.push(loss);
        if step == last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    engine.train(order, first, &mut observe).unwrap();
    losses
}

#[test]
fn part1_presets_train_to_the_same_bits_by_any_team() {
    for preset in Preset::ALL {
        // With a small batch, five and eight members share fewer cores, so each barrier takes long.
        for (batch_size, count) in [(16, 100), (48, 200), (64, 200), (256, 800), (1200, 1500), (1500, 1500)] {
            let batch_size = Some(batch_size).filter(|&size| size < count);
            let (samples, parameters, hyperparameters, order) = start(preset, count, batch_size);
            let mut alone = engine(&samples, &parameters, &hyperparameters, 1);
            let losses = train(&mut alone, &order, 0, usize::MAX);
            for threads in [2, 3, 5, 8] {
                let mut team = engine(&samples, &parameters, &hyperparameters, threads);
                let got = train(&mut team, &order, 0, usize::MAX);
                let same = got == losses && team.parameters().unwrap() == alone.parameters().unwrap();
                assert!(same, "{} of {batch_size:?} on {threads} threads", preset.name());
            }
        }
    }
}

/// After the observer stops a run, all members have done the last step and none has begun the next.
#[test]
fn part1_a_team_stops_after_any_step_and_goes_on() {
    for batch_size in [16, 100] {
        let (samples, parameters, hyperparameters, order) = start(Preset::Homework, 300, Some(batch_size));
        let mut alone = engine(&samples, &parameters, &hyperparameters, 1);
        let mut team = engine(&samples, &parameters, &hyperparameters, 2);
        let mut first = 0;
        for last in [0, 1, 4] {
            assert_eq!(train(&mut team, &order, first, last), train(&mut alone, &order, first, last));
            assert!(team.parameters().unwrap() == alone.parameters().unwrap(), "after step {last}");
            first = last + 1;
        }
        assert_eq!(train(&mut team, &order, first, usize::MAX), train(&mut alone, &order, first, usize::MAX));
        assert!(team.parameters().unwrap() == alone.parameters().unwrap());
    }
}

#[test]
fn part1_the_phases_of_all_steps_are_timed_without_the_observer() {
    for (threads, batch_size) in [(1, 16), (2, 16), (2, 256), (3, 1200)] {
        let (samples, parameters, hyperparameters, order) = start(Preset::Homework, 1500, Some(batch_size));
        let mut engine = engine(&samples, &parameters, &hyperparameters, threads);
        assert_eq!(engine.phase_times(), None);
        engine.time_phases();
        let (start, mut observed) = (Instant::now(), Duration::ZERO);
        let mut observe = |_, _| {
            let start = Instant::now();
            std::thread::sleep(Duration::from_micros(200));
            observed += start.elapsed();
            ControlFlow::Continue(())
        };
        engine.train(&order, 0, &mut observe).unwrap();
        let training = start.elapsed() - observed;
        let times = engine.phase_times().unwrap();
        assert_eq!(times.steps, 1500_usize.div_ceil(batch_size));
        let phases = [times.first_layer, times.other_layers, times.update, times.meetings];
        assert!(phases.iter().all(|&seconds| seconds > 0.0), "{times:?}");
        assert!(phases.iter().sum::<f64>() <= training.as_secs_f64(), "{times:?} of {training:?}");
    }
}

#[test]
fn part1_a_team_ends_when_the_loss_is_not_finite() {
    let (samples, parameters, mut hyperparameters, order) = start(Preset::Homework, 400, Some(16));
    hyperparameters.learning_rate = f64::MAX;
    let outcome = |threads| {
        let mut engine = engine(&samples, &parameters, &hyperparameters, threads);
        engine.train(&order, 0, &mut |_, _| ControlFlow::Continue(()))
    };
    let step = |threads| match outcome(threads) {
        Err(EngineError::Diverged(diverged)) => diverged.step,
        other => panic!("{other:?}"),
    };
    assert_eq!(step(3), step(1));
}

/// The run ends with the observer's panic. No thread keeps waiting for the leader.
#[test]
fn part1_a_panic_of_the_observer_ends_the_team() {
    let (samples, parameters, hyperparameters, order) = start(Preset::Homework, 400, Some(16));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut engine = engine(&samples, &parameters, &hyperparameters, 3);
        engine.train(&order, 0, &mut |step, _| {
            assert!(step < 5, "at step 5");
            ControlFlow::Continue(())
        })
    }));
    let panic = outcome.map(|_| ()).expect_err("the panic is passed on");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"at step 5"));
}

/// Long enough for the engine to try a team, and to return to one thread if other programs occupy
/// the cores.
#[test]
fn part1_the_fastest_number_of_threads_changes_no_bit() {
    for batch_size in [16, 256] {
        let (samples, parameters, hyperparameters, order) = start(Preset::Homework, 4000, Some(batch_size));
        let mut alone = engine(&samples, &parameters, &hyperparameters, 1);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let mut fastest = CpuEngine::new(&samples, &parameters, &hyperparameters);
        for _ in 0..10 {
            let losses = pool.install(|| train(&mut fastest, &order, 0, usize::MAX));
            assert_eq!(losses, train(&mut alone, &order, 0, usize::MAX));
        }
        assert!(fastest.parameters().unwrap() == alone.parameters().unwrap());
    }
}
