//! The epochs of several networks at once on one device.

use std::ops::ControlFlow;
use std::time::Instant;

use perceptron::engine::{Diverged, Engine, EngineError};

use crate::persistent::Persistent;
use crate::{GpuEngine, device_error};

/// An epoch of one of several networks; the fields are the arguments of [`Engine::train`].
#[allow(missing_debug_implementations, reason = "it has a closure")]
pub struct MemberEpoch<'m> {
    /// What trains the network. All members' engines are on clones of one device.
    pub engine: &'m mut GpuEngine,
    /// The permutation of the samples.
    pub order: &'m [u32],
    /// The first step.
    pub first_step: usize,
    /// Receives each step and its loss.
    pub observe: &'m mut dyn FnMut(usize, f64) -> ControlFlow<()>,
}

/// A member's steps that are still to be trained.
#[derive(Clone, Copy)]
struct Rest {
    first: usize,
    steps: usize,
    batch_size: usize,
}

/// Trains the members' epochs, each with the bits of [`Engine::train`]. Those that one block trains (`network_train_small`) have their
/// launches at once: a group of steps is queued for all of them before the host waits for any. The others train one after another.
///
/// Returns for each member whether it has diverged, which ends its training alone.
///
/// # Errors
/// If the device fails, or the engines are on several: the parameters of all members are then unusable.
pub fn train_at_once(members: &mut [MemberEpoch<'_>]) -> Result<Vec<Result<(), Diverged>>, EngineError> {
    let mut results: Vec<Result<(), Diverged>> = members.iter().map(|_| Ok(())).collect();
    let mut rests = Vec::with_capacity(members.len());
    for (member, result) in members.iter_mut().zip(&mut results) {
        let MemberEpoch { engine, order, first_step, observe } = member;
        let batch_size = engine.batch_size(order.len());
        let steps = order.len().div_ceil(batch_size);
        let is_small = matches!(engine.persistent_for(batch_size), Some(Persistent::Small(_)));
        if is_small && *first_step < steps {
            engine.begin(order, steps, batch_size).map_err(device_error)?;
            rests.push(Some(Rest { first: *first_step, steps, batch_size }));
            continue;
        }
        rests.push(None);
        match engine.train(order, *first_step, &mut **observe) {
            Err(EngineError::Diverged(diverged)) => *result = Err(diverged),
            trained => trained?,
        }
    }
    while rests.iter().any(Option::is_some) {
        let start = Instant::now();
        let counts = queue(members, &rests)?;
        for (((member, rest), result), count) in members.iter_mut().zip(&mut rests).zip(&mut results).zip(counts) {
            let Some(Rest { first, steps, batch_size }) = *rest else { continue };
            let losses = member.engine.losses_of(first, count, batch_size).map_err(device_error)?;
            member.engine.pace.record(count, start.elapsed());
            let flow = GpuEngine::report(first, losses, member.observe);
            let first = first + count;
            *rest = match flow {
                Ok(ControlFlow::Continue(())) if first < steps => Some(Rest { first, steps, batch_size }),
                Ok(_) => None,
                Err(diverged) => {
                    *result = Err(diverged);
                    None
                }
            };
        }
    }
    Ok(results)
}

/// Queues a group of steps of each member that has a rest. Returns the number of each member's steps.
fn queue(members: &mut [MemberEpoch<'_>], rests: &[Option<Rest>]) -> Result<Vec<usize>, EngineError> {
    let Some(device) = members.first().map(|member| member.engine.device.clone()) else { return Ok(vec![]) };
    let mut counts = Vec::with_capacity(members.len());
    let engines = members.iter_mut().map(|member| &mut *member.engine);
    let queued = device.launch_at_once(|at_once| {
        for (engine, rest) in engines.zip(rests) {
            let Some(Rest { first, steps, batch_size }) = *rest else {
                counts.push(0);
                continue;
            };
            let count = engine.pace.steps().min(steps - first);
            counts.push(count);
            if let (Some(Persistent::Small(small)), run, rule) = engine.persistent_run(batch_size) {
                small.add(at_once, run, (first, count), rule)?;
            }
        }
        Ok(())
    });
    queued.map_err(device_error)?;
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use gpu::{Device, InterpreterOptions, PtxVariant};
    use ndarray::Array2;
    use perceptron::engine::Parameters;
    use perceptron::network::Initialization;
    use perceptron::preset::Preset;
    use perceptron::training::{GradientScale, Optimizer, initial_parameters};
    use perceptron::{Activation, Architecture, Hyperparameters, Loss, Samples};

    use super::*;
    use crate::{GpuOptions, TrainingKernel};

    const COUNT: usize = 23;

    fn samples() -> Samples {
        let of_sizes = |columns| Array2::from_shape_fn((COUNT, columns), |(i, j)| ((i * 7 + j * 3) % 5) as f32 - 2.0);
        Samples::new(of_sizes(3), of_sizes(1)).unwrap()
    }

    /// Members of several optimizers, seeds and batch sizes; the last one has launches for each step.
    fn members() -> Vec<(Hyperparameters, Parameters)> {
        let small: &[usize] = &[3, 4, 1];
        let cases = [(small, 4, 1), (small, 5, 2), (small, 23, 3), (small, 4, 4), (&[3, 70, 1], 4, 5)];
        let member = |(sizes, batch_size, seed): (&[usize], usize, u64)| {
            let hyperparameters = Hyperparameters {
                loss: Loss::SquaredError,
                optimizer: if seed % 2 == 0 { Optimizer::Adam } else { Optimizer::Sgd },
                learning_rate: 0.01,
                batch_size: Some(batch_size),
                gradient: GradientScale::Mean,
                initialization: Initialization::Xavier,
                seed,
                ..Preset::Homework.hyperparameters()
            };
            let architecture = Architecture::new(sizes.to_vec(), Activation::Tanh, Activation::Identity).unwrap();
            let parameters = initial_parameters(architecture, &hyperparameters);
            (hyperparameters, parameters)
        };
        cases.into_iter().map(member).collect()
    }

    /// Engines that share a copy of the samples.
    fn engines(device: &Device, samples: &Samples, members: &[(Hyperparameters, Parameters)]) -> Vec<GpuEngine> {
        let options = GpuOptions::default();
        let mut engines: Vec<GpuEngine> = Vec::new();
        for (hyperparameters, parameters) in members {
            engines.push(match engines.first() {
                Some(first) => first.beside(samples, parameters, hyperparameters, &options).unwrap(),
                None => GpuEngine::new(device, samples, parameters, hyperparameters, &options).unwrap(),
            });
        }
        engines
    }

    /// The members' parameters as bits, with what the optimizers keep.
    fn bits(engine: &GpuEngine) -> String {
        format!("{:?}", engine.parameters().unwrap())
    }

    /// Trains two epochs at once; returns the results of the last, and the losses of each member.
    fn train(engines: &mut [GpuEngine]) -> (Vec<Result<(), Diverged>>, Vec<Vec<f64>>) {
        let order: Vec<u32> = (0..COUNT as u32).rev().collect();
        let mut losses = vec![Vec::new(); engines.len()];
        let mut results = Vec::new();
        for _ in 0..2 {
            let mut observers: Vec<_> = losses
                .iter_mut()
                .map(|losses| {
                    move |_: usize, loss: f64| {
                        losses.push(loss);
                        ControlFlow::Continue(())
                    }
                })
                .collect();
            let epochs = engines.iter_mut().zip(&mut observers);
            let mut epochs: Vec<MemberEpoch> =
                epochs.map(|(engine, observe)| MemberEpoch { engine, order: &order, first_step: 0, observe }).collect();
            results = train_at_once(&mut epochs).unwrap();
        }
        (results, losses)
    }

    /// Checks that members at once have the bits of single ones.
    fn check(device: &Device) {
        let (samples, members) = (samples(), members());
        let mut at_once = engines(device, &samples, &members);
        let is_small = |engine: &GpuEngine| matches!(engine.training_kernel(), Some((TrainingKernel::Small(_), 1)));
        assert!(at_once[..4].iter().all(is_small) && !is_small(&at_once[4]));
        let (results, losses) = train(&mut at_once);
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        for (index, member) in members.iter().enumerate() {
            let mut single = engines(device, &samples, std::slice::from_ref(member));
            let (_, of_single) = train(&mut single);
            assert_eq!(losses[index], of_single[0], "member {index}");
            assert_eq!(bits(&at_once[index]), bits(&single[0]), "member {index}");
        }
    }

    #[test]
    fn part1_members_at_once_have_the_bits_of_single_ones() {
        check(&Device::simulator());
    }

    #[test]
    fn part1_members_at_once_have_the_bits_of_single_ones_by_the_compiled_kernels() {
        let Some(newest) = PtxVariant::newest(&kernels_gpu::ptx::NETWORK) else { return };
        check(&Device::interpreter(newest, InterpreterOptions::default()).unwrap());
    }

    #[test]
    fn part1_engines_beside_share_a_copy_of_the_samples() {
        let (samples, members) = (samples(), members());
        let engines = engines(&Device::simulator(), &samples, &members[..2]);
        assert!(std::rc::Rc::ptr_eq(&engines[0].samples, &engines[1].samples));
        let (other, (hyperparameters, parameters)) = (self::samples(), &members[0]);
        let beside = engines[0].beside(&other, parameters, hyperparameters, &GpuOptions::default()).unwrap();
        assert!(!std::rc::Rc::ptr_eq(&engines[0].samples, &beside.samples));
    }

    #[test]
    fn part1_a_member_that_diverges_ends_alone() {
        let (samples, mut members) = (samples(), members());
        members[2].0.learning_rate = 1e30;
        members.truncate(4);
        let mut at_once = engines(&Device::simulator(), &samples, &members);
        let (results, _) = train(&mut at_once);
        let diverged: Vec<bool> = results.iter().map(Result::is_err).collect();
        assert_eq!(diverged, [false, false, true, false]);
        let mut single = engines(&Device::simulator(), &samples, &members[3..]);
        train(&mut single);
        assert_eq!(bits(&at_once[3]), bits(&single[0]));
    }
}
