//! The public tests of assignment 3, on ranks that are threads. `cargo test -p distributed_functions`

use distributed_functions::{all_reduced, asynchronous, asynchronous_towards, part, synchronous, verify, verify_step};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use teaching_tests::{Failure, check, for_any, seed_of_the_tests};

/// A buffer for each rank.
fn buffers(ranks: usize, length: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed_of_the_tests() + seed);
    (0..ranks).map(|_| (0..length).map(|_| rng.random_range(-100.0..100.0)).collect()).collect()
}

/// Small integers, whose sums are exact in any order.
fn integers(count: usize, length: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed_of_the_tests() + seed);
    (0..count).map(|_| (0..length).map(|_| rng.random_range(-8..=8_i8).into()).collect()).collect()
}

/// An all-reduce: the name of its function, and for `all_reduced`.
type Version = (&'static str, &'static str);

const NAIVE: Version = ("naive_allreduce", "naive");
const RING: Version = ("ring_allreduce", "ring");

fn is_right((name, version): Version, buffers: &[Vec<f32>], operation: &str) -> Result<(), Failure> {
    let results = all_reduced(version, buffers, operation);
    check(name, results.and_then(|(results, _)| verify(&results, buffers, operation)))
}

#[test]
fn naive_allreduce_is_right() -> Result<(), Failure> {
    for_any(40, (1..9_usize, 0..41_usize, 0..1000_u64), |(ranks, length, seed)| {
        is_right(NAIVE, &buffers(ranks, length, seed), "sum")
    })?;
    is_right(NAIVE, &buffers(4, 100_003, 1), "sum")
}

#[test]
fn naive_allreduce_applies_the_operation() -> Result<(), Failure> {
    for_any(20, (1..9_usize, 0..41_usize, 0..1000_u64), |(ranks, length, seed)| {
        is_right(NAIVE, &buffers(ranks, length, seed), "maximum")
    })
}

/// Buffers whose parts have the same length.
#[test]
fn ring_allreduce_is_right_for_equal_parts() -> Result<(), Failure> {
    for_any(40, (1..9_usize, 0..6_usize, 0..1000_u64), |(ranks, of_each, seed)| {
        is_right(RING, &buffers(ranks, ranks * of_each, seed), "sum")
    })
}

/// Also with a remainder, and with fewer elements than ranks.
#[test]
fn ring_allreduce_is_right_for_any_length() -> Result<(), Failure> {
    for_any(60, (1..9_usize, 0..41_usize, 0..1000_u64), |(ranks, length, seed)| {
        is_right(RING, &buffers(ranks, length, seed), "sum")
    })?;
    is_right(RING, &buffers(8, 3, 2), "sum")?;
    is_right(RING, &buffers(4, 100_003, 3), "sum")
}

#[test]
fn ring_allreduce_applies_the_operation() -> Result<(), Failure> {
    for_any(20, (1..9_usize, 0..6_usize, 0..1000_u64), |(ranks, of_each, seed)| {
        is_right(RING, &buffers(ranks, ranks * of_each, seed), "maximum")
    })
}

#[test]
fn synchronous_step_subtracts_the_mean_gradient() -> Result<(), Failure> {
    for_any(40, (1..9_usize, 0..41_usize, 0..1000_u64), |(ranks, length, seed)| {
        let (gradients, parameters) = (buffers(ranks, length, seed), buffers(1, length, seed + 1).remove(0));
        let results = synchronous(&parameters, &gradients, 0.1);
        let is_right = results.and_then(|(results, _)| verify_step(&results, &parameters, &gradients, 0.1));
        check("synchronous_step", is_right)
    })
}

/// The sentence's beginning where both functions take part.
const BOTH: &str = "run_master and run_worker";

/// Every gradient changes the parameters once, whatever the order: all values here are exact.
#[test]
fn masters_apply_every_gradient_once() -> Result<(), Failure> {
    let inputs = (1..5_usize, 1..5_usize, 0..6_usize, 0..41_usize, 0..1000_u64);
    for_any(40, inputs, |(masters, workers, steps, length, seed)| {
        let (gradients, before) = (integers(workers, length, seed), integers(1, length, seed + 1).remove(0));
        let trained = check(BOTH, asynchronous(&before, 0.5, masters, steps, &gradients))?;
        for (index, (&found, &before)) in trained.parameters.iter().zip(&before).enumerate() {
            let sum: f32 = gradients.iter().map(|gradient| gradient[index]).sum();
            let expected = before - 0.5 * steps as f32 * sum;
            if found != expected {
                return Err(format!(
                    "{BOTH}: parameter {index} is {found}, expected {expected} (it was {before}; {steps} times, each of {workers} \
                     workers sends its gradient, and these have the sum {sum}; the rate is 0.5), for {masters} masters and {length} \
                     parameters"
                )
                .into());
            }
        }
        Ok(())
    })
}

/// Worker w's gradients are powers of 8, so that the parameters tell how many of each worker's were applied.
#[test]
fn workers_continue_with_the_masters_parameters() -> Result<(), Failure> {
    const STEPS: usize = 6;
    for_any(20, (1..5_usize, 1..5_usize, 4..20_usize), |(masters, workers, length)| {
        let gradients: Vec<Vec<f32>> = (0..workers).map(|worker| vec![8_f32.powi(worker as i32); length]).collect();
        let trained = check(BOTH, asynchronous(&vec![0.0; length], 1.0, masters, STEPS, &gradients))?;
        for (worker, seen) in trained.seen.iter().enumerate() {
            if seen.len() != STEPS + 1 {
                return Err(format!("run_worker: it makes {} steps, expected {STEPS}", seen.len() - 1).into());
            }
            for (step, parameters) in seen.iter().enumerate() {
                for master in 0..masters {
                    let own = &parameters[part(length, master, masters)];
                    let applied = own.first().map_or(0, |&first| -first as usize >> (3 * worker) & 7);
                    if own.iter().any(|parameter| *parameter != own[0]) || applied != step {
                        return Err(format!(
                            "{BOTH}: after {step} steps of worker {worker}, its parameters of master {master} are {own:?}, where \
                             {applied} of its gradients were applied, expected {step} everywhere, for {masters} masters and \
                             {workers} workers"
                        )
                        .into());
                    }
                }
            }
        }
        Ok(())
    })
}

#[test]
fn asynchronous_training_ends_near_the_target() -> Result<(), Failure> {
    for masters in [2, 4] {
        let (before, target) = (buffers(1, 50, 4).remove(0), buffers(1, 50, 5).remove(0));
        let trained = check(BOTH, asynchronous_towards(&before, 0.1, masters, 60, &vec![target.clone(); 4]))?;
        let distance =
            |from: &[f32]| from.iter().zip(&target).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt();
        let (first, last) = (distance(&before), distance(&trained.parameters));
        // Not `last > …`: a NaN is not near.
        let is_near = last <= 0.05 * first;
        if !is_near {
            return Err(format!(
                "{BOTH}: after 60 steps of 4 workers, the distance to the target is {last:.3}, expected less than {:.3} (it was \
                 {first:.3}), with {masters} masters",
                0.05 * first
            )
            .into());
        }
    }
    Ok(())
}
