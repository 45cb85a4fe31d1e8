//! Training never reaches subnormal values, with which many processors compute a hundred times
//! slower. This holds for saturated networks and for values that shrink through momentum, Adam and
//! weight decay.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

use crate::support::cases::random_samples;
use ndarray::{Array1, Array2};
use neural_net::engine::{CpuEngine, Engine, MasterLayer, Masters, Parameters, Says, WorkerEngine};
use neural_net::network::Initialization;
use neural_net::preset::Preset;
use neural_net::training::Optimizer;
use neural_net::{Activation, Architecture, Hyperparameters, Loss, Network, Samples};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// A network with weights so large that its units saturate. With sigmoids, outputs of 10⁻³⁰ are common.
fn saturated(sizes: &[usize], hidden: Activation, output: Activation) -> Network {
    let architecture = Architecture::new(sizes.to_vec(), hidden, output).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(7));
    let network = Network::<f32>::random(architecture.clone(), Initialization::Xavier, &mut rng);
    let weights = network.weights().iter().map(|weights| weights * 30.0).collect();
    let biases = network.biases().iter().map(|biases| biases - 20.0).collect();
    Network::new(architecture, weights, biases).unwrap()
}

/// Saturated networks for both sets of kernels: those for few units and those for many.
fn cases() -> Vec<(Network, Loss)> {
    use Activation::{Relu, Sigmoid, Softmax, Tanh};
    let mut cases = Vec::new();
    for sizes in [&[50, 40, 33, 10][..], &[50, 12, 10]] {
        for (hidden, output, loss) in [
            (Sigmoid, Sigmoid, Loss::SquaredError),
            (Sigmoid, Sigmoid, Loss::CrossEntropy),
            (Tanh, Tanh, Loss::SquaredError),
            (Relu, Softmax, Loss::CrossEntropy),
            (Sigmoid, Softmax, Loss::SquaredError),
        ] {
            cases.push((saturated(sizes, hidden, output), loss));
        }
    }
    cases
}

fn samples(count: usize) -> Samples {
    random_samples(count, 50, 10, &mut ChaCha8Rng::seed_from_u64(test_support::seed(11)))
}

fn hyperparameters(loss: Loss, batch_size: Option<usize>) -> Hyperparameters {
    Hyperparameters { loss, batch_size, learning_rate: 0.01, ..Preset::Homework.hyperparameters() }
}

#[track_caller]
fn assert_normal<'a>(values: impl IntoIterator<Item = &'a f32>, what: &str) {
    let subnormal = values.into_iter().filter(|value| value.is_subnormal()).count();
    assert_eq!(subnormal, 0, "subnormal values: {what}");
}

/// Keeps the gradients that a worker sends. The worker's parameters stay equal to the layers'.
struct Keeps {
    layers: Vec<MasterLayer>,
    gradients: Rc<RefCell<Vec<f32>>>,
}

impl Masters for Keeps {
    fn worker(&self) -> usize {
        0
    }

    fn workers(&self) -> usize {
        1
    }

    fn exchange(
        &mut self,
        _learning_rate: f64,
        count: usize,
        gradients: &[Vec<f32>],
        parameters: &mut [Vec<f32>],
    ) -> Result<(), String> {
        if count > 0 {
            self.gradients.borrow_mut().extend(gradients.iter().flatten());
        }
        self.layers.iter().zip(parameters).for_each(|(layer, parameters)| layer.copy_to(parameters));
        Ok(())
    }

    fn meet(&mut self, says: Says) -> Result<Says, String> {
        Ok(says)
    }
}

#[test]
fn part1_gradients_of_saturated_networks_are_zero_or_normal() {
    let samples = samples(300);
    let order: Vec<u32> = (0..300).collect();
    for (network, loss) in cases() {
        let (what, hyperparameters) =
            (format!("{:?}, {loss}", network.architecture()), hyperparameters(loss, Some(100)));
        let parameters = Parameters::new(network);
        let layer = |index| MasterLayer::new(&parameters, index, &hyperparameters);
        let layers = (0..parameters.network.architecture().layers()).map(layer).collect();
        let gradients = Rc::default();
        let masters = Keeps { layers, gradients: Rc::clone(&gradients) };
        let mut worker = WorkerEngine::new(&samples, &parameters, &hyperparameters, Box::new(masters));
        worker.train(&order, 0, &mut |_, _| ControlFlow::Continue(())).unwrap();
        let gradients = gradients.borrow();
        assert!(gradients.iter().any(|&gradient| gradient != 0.0), "{what}: no gradients");
        assert_normal(gradients.iter(), &what);
    }
}

fn values(arrays: &[(Array2<f32>, Array1<f32>)]) -> impl Iterator<Item = &f32> {
    arrays.iter().flat_map(|(weights, biases)| weights.iter().chain(biases))
}

/// After the first batch, one input is always zero. The rest of its gradient and of its weights
/// shrinks in each step.
#[test]
fn part1_what_shrinks_in_each_step_ends_at_zero() {
    let count = 4000;
    let targets = Array2::from_shape_simple_fn((count, 2), || 0.25);
    let inputs = Array2::from_shape_fn((count, 3), |(row, column)| if column == 1 && row > 0 { 0.0 } else { 0.5 });
    let samples = Samples::new(inputs, targets).unwrap();
    let architecture = Architecture::new(vec![3, 4, 2], Activation::Sigmoid, Activation::Sigmoid).unwrap();
    let network =
        Network::random(architecture, Initialization::Xavier, &mut ChaCha8Rng::seed_from_u64(test_support::seed(5)));
    let parameters = Parameters::new(network);
    let order: Vec<u32> = (0..count as u32).collect();
    let mut found = false;
    for (optimizer, momentum, weight_decay) in [
        (Optimizer::Sgd, 0.9, 0.0),
        (Optimizer::Sgd, 0.5, 3.0),
        (Optimizer::Sgd, 0.0, 3.0),
        (Optimizer::Adam, 0.9, 0.0),
        (Optimizer::Adam, 0.9, 3.0),
    ] {
        let what = format!("{optimizer}, momentum {momentum}, weight decay {weight_decay}");
        let preset = Preset::Homework.hyperparameters();
        let hyperparameters =
            Hyperparameters { optimizer, momentum, weight_decay, learning_rate: 0.02, batch_size: Some(1), ..preset };
        let mut engine = CpuEngine::new(&samples, &parameters, &hyperparameters);
        // Checked at many steps, since a value passes through the subnormal range in only some of them.
        for first in (0..count).step_by(50) {
            engine.train(&order[..first + 50], first, &mut |_, _| ControlFlow::Continue(())).unwrap();
            let Parameters { network, velocities, squares } = engine.parameters().unwrap();
            assert_normal(network.weights().iter().flatten(), &what);
            assert_normal(velocities.iter().flat_map(|state| values(state)), &what);
            assert_normal(squares.iter().flat_map(|state| values(state)), &what);
            let first_layer = velocities.as_ref().map(|velocities| velocities[0].0.row(1).to_owned());
            found |= first_layer.is_some_and(|velocities| velocities.iter().all(|&velocity| velocity == 0.0));
        }
    }
    assert!(found, "no velocity has ended at zero");
}

/// The processor's sticky flags for a subnormal operand and a subnormal result.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "reads the floating-point flags")]
fn subnormal_flags() -> u32 {
    const SUBNORMAL_OPERAND: u32 = 1 << 1;
    const UNDERFLOW: u32 = 1 << 4;
    let mut register = 0_u32;
    // SAFETY: every x86-64 processor has the instruction. It only writes the four bytes of `register`.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut register, options(nostack, preserves_flags)) };
    register & (SUBNORMAL_OPERAND | UNDERFLOW)
}

#[cfg(target_arch = "x86_64")]
#[test]
fn part1_no_operation_on_saturated_networks_is_subnormal() {
    let samples = samples(400);
    let order: Vec<u32> = (0..400).collect();
    for (network, loss) in cases() {
        for batch_size in [Some(16), Some(200), None] {
            let what = format!("{:?}, {loss}, {batch_size:?}", network.architecture());
            let parameters = Parameters::new(network.clone());
            let hyperparameters = hyperparameters(loss, batch_size);
            // On a new thread, which starts with clear flags.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            let [before, after] = pool.install(|| {
                let mut engine = CpuEngine::new(&samples, &parameters, &hyperparameters);
                engine.set_threads(neural_net::engine::Threads::Exactly(1));
                let before = subnormal_flags();
                engine.train(&order, 0, &mut |_, _| ControlFlow::Continue(())).unwrap();
                [before, subnormal_flags()]
            });
            assert_eq!((before, after), (0, 0), "{what}");
        }
    }
}
