use std::sync::mpsc::TryRecvError;

use gpu::{InterpreterOptions, PtxVariant};
use perceptron::engine::Diverged;
use perceptron::network::Initialization;
use perceptron::preset::Preset;
use perceptron::training::{GradientScale, Optimizer, initial_parameters};
use perceptron::{Activation, Architecture, Loss};

use super::*;

const COUNT: usize = 80;
/// Steps of the first group.
const FIRST_GROUP: usize = 64;

fn samples() -> Samples {
    let of_sizes = |columns| Array2::from_shape_fn((COUNT, columns), |(i, j)| ((i * 7 + j * 3) % 5) as f32 - 2.0);
    Samples::new(of_sizes(3), of_sizes(1)).unwrap()
}

fn order() -> Vec<u32> {
    (0..COUNT as u32).rev().collect()
}

/// A network and its optimizer.
type Member = (Hyperparameters, Parameters);

/// Members of several sizes, optimizers, seeds and batch sizes; the last one has launches for each step.
fn members() -> Vec<Member> {
    let cases: [(&[usize], usize, u64); 5] =
        [(&[3, 4, 1], 20, 1), (&[3, 5, 2, 1], 1, 2), (&[3, 4, 1], COUNT, 3), (&[3, 4, 1], 1, 4), (&[3, 70, 1], 40, 5)];
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

fn engine<D: EngineDevice>(device: &D, samples: &Samples, (hyperparameters, parameters): &Member) -> D::Engine {
    device.engine(samples, parameters, hyperparameters, &GpuOptions::default()).unwrap()
}

fn simulator() -> SharedDevice {
    SharedDevice::open(|| Ok::<_, ()>(Device::simulator())).unwrap()
}

/// Everything that an engine answers.
#[derive(Debug, PartialEq)]
struct Answers {
    device: String,
    losses: Vec<f64>,
    evaluations: [Evaluation; 2],
    outputs: Array2<f32>,
    parameters: Parameters,
}

/// Trains two epochs with different learning rates.
fn train(engine: &mut dyn Engine, samples: &Samples) -> Answers {
    let mut losses = Vec::new();
    for (rate, before) in [(0.01, 0), (0.005, 80)] {
        engine.start_epoch(rate, before);
        let mut observe = |_: usize, loss: f64| {
            losses.push(loss);
            ControlFlow::Continue(())
        };
        engine.train(&order(), 0, &mut observe).unwrap();
    }
    Answers {
        device: engine.device(),
        losses,
        evaluations: [engine.evaluate(samples).unwrap(), engine.evaluate_training_samples().unwrap()],
        outputs: engine.predict(samples).unwrap(),
        parameters: engine.parameters().unwrap(),
    }
}

/// Trains members alone, each on a device of its own.
fn alone(open: fn() -> Device, samples: &Samples, members: &[Member]) -> Vec<Answers> {
    members.iter().map(|member| train(&mut engine(&open(), samples, member), samples)).collect()
}

/// Checks that members at once have the bits of single ones.
fn check(open: fn() -> Device) {
    let (samples, members) = (samples(), members());
    let device = SharedDevice::open(move || Ok::<_, ()>(open())).unwrap();
    let engines: Vec<MemberEngine> = members.iter().map(|member| engine(&device, &samples, member)).collect();
    drop(device);
    let of_member = |mut engine: MemberEngine| {
        let samples = &samples;
        move || train(&mut engine, samples)
    };
    let at_once: Vec<Answers> = std::thread::scope(|scope| {
        let threads: Vec<_> = engines.into_iter().map(|engine| scope.spawn(of_member(engine))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let is_small = |answers: &Answers| answers.device.contains("network_train_small");
    assert!(at_once[..4].iter().all(is_small) && !is_small(&at_once[4]));
    assert_eq!(at_once, alone(open, &samples, &members));
}

#[test]
fn part1_members_at_once_have_the_bits_of_single_ones() {
    check(Device::simulator);
}

#[test]
fn part1_members_at_once_have_the_bits_of_single_ones_by_the_compiled_kernels() {
    fn interpreter() -> Option<Device> {
        let newest = PtxVariant::newest(&kernels_gpu::ptx::NETWORK)?;
        Some(Device::interpreter(newest, InterpreterOptions::default()).unwrap())
    }
    if interpreter().is_some() {
        check(|| interpreter().unwrap());
    }
}

#[test]
fn part1_a_member_that_stops_diverges_or_panics_does_not_change_the_others() {
    let (samples, mut members) = (samples(), members());
    members.truncate(4);
    let expected = alone(Device::simulator, &samples, &members[..1]).remove(0);
    members[2].0.learning_rate = 1e30;
    let device = simulator();
    let of_member = |index: usize| engine(&device, &samples, &members[index]);
    let (mut whole, mut stopped, mut diverging, mut panicking) =
        (of_member(0), of_member(1), of_member(2), of_member(3));
    let go_on = |_: usize, _: f64| ControlFlow::Continue(());
    std::thread::scope(|scope| {
        let whole = scope.spawn(|| train(&mut whole, &samples));
        let stopped = scope.spawn(|| {
            let mut seen = 0;
            let mut observe = |step: usize, _: f64| {
                seen = step + 1;
                ControlFlow::Break(())
            };
            stopped.train(&order(), 0, &mut observe).unwrap();
            assert_eq!(seen, FIRST_GROUP);
            stopped.train(&order(), seen, &mut { go_on }).unwrap();
            stopped.parameters().unwrap()
        });
        let diverging = scope.spawn(|| {
            (0..9).find_map(|_| diverging.train(&order(), 0, &mut { go_on }).err()).map(|error| error.to_string())
        });
        let panicking = scope.spawn(move || panicking.train(&order(), 0, &mut |_, _| panic!("in a test")));
        assert!(panicking.join().is_err());
        assert_eq!(whole.join().unwrap(), expected);
        let mut single = engine(&Device::simulator(), &samples, &members[1]);
        single.train(&order(), 0, &mut { go_on }).unwrap();
        assert_eq!(stopped.join().unwrap(), single.parameters().unwrap());
        assert_eq!(diverging.join().unwrap(), Some(Diverged { step: 0 }.to_string()));
    });
}

/// A device's thread that takes its calls one by one, and members on it.
struct ByHand {
    worker: Worker,
    waiting: Vec<Receiver<Result<Group, DeviceError>>>,
}

impl ByHand {
    fn new(members: &[Member]) -> Self {
        let mut worker = Worker::new(Device::simulator());
        for (index, (hyperparameters, parameters)) in (0..).zip(members) {
            // Of the same bits, in memory of their own.
            worker.add(index, &samples(), parameters, hyperparameters, &GpuOptions::default()).unwrap();
        }
        Self { worker, waiting: Vec::new() }
    }

    /// The member's call of a group of steps. Returns whether the members that wait have an answer then.
    fn call(&mut self, member: u64, order: &[u32]) -> bool {
        let (answer, waiting) = mpsc::sync_channel(1);
        let order = order.into();
        self.worker
            .receive(Box::new(move |worker| worker.wait(member, Waiting { order, first: 0, begins: true, answer })));
        self.waiting.push(waiting);
        self.worker.waiting.is_empty()
    }

    /// The number of steps, or the error, of each member of a round.
    fn answers(&mut self) -> Vec<Result<usize, String>> {
        let answer = |waiting: Receiver<Result<Group, DeviceError>>| {
            let group = waiting.try_recv().unwrap();
            assert!(matches!(waiting.try_recv(), Err(TryRecvError::Disconnected)));
            group.map(|group| group.losses.len()).map_err(|error| error.to_string())
        };
        self.waiting.drain(..).map(answer).collect()
    }
}

#[test]
fn part1_a_round_waits_for_the_members_that_may_train() {
    let mut by_hand = ByHand::new(&members()[..3]);
    assert!(!by_hand.call(0, &order()) && !by_hand.call(2, &order()) && by_hand.call(1, &order()));
    assert_eq!(by_hand.answers(), [Ok(4), Ok(1), Ok(FIRST_GROUP)]);
    // Member 1 does not come: the others train after a silence, and then without it.
    assert!(!by_hand.call(0, &order()) && !by_hand.call(2, &order()));
    by_hand.worker.train();
    assert_eq!(by_hand.answers().len(), 2);
    assert!(!by_hand.call(2, &order()) && by_hand.call(0, &order()));
    by_hand.answers();
    // It comes again, and ends.
    by_hand.worker.receive(Box::new(|worker| drop(worker.engine(1).parameters().unwrap())));
    assert!(!by_hand.call(0, &order()) && !by_hand.call(2, &order()));
    by_hand.worker.receive(Box::new(|worker| worker.remove(1)));
    assert_eq!(by_hand.answers().len(), 2);
}

#[test]
fn part1_an_error_of_the_device_is_one_of_all_members_of_the_round() {
    let mut by_hand = ByHand::new(&members()[..2]);
    let beyond = [COUNT as u32; COUNT];
    assert!(!by_hand.call(0, &beyond) && by_hand.call(1, &order()));
    let answers = by_hand.answers();
    assert!(answers[0].as_ref().is_err_and(|message| message.contains("network_train_small")), "{answers:?}");
    assert_eq!(answers[0], answers[1]);
}

#[test]
fn part1_engines_on_the_same_samples_share_one_copy() {
    let by_hand = ByHand::new(&members());
    let copies: Vec<_> = by_hand.worker.engines.values().map(|engine| &engine.samples).collect();
    assert!(copies[1..4].iter().all(|copy| std::rc::Rc::ptr_eq(copy, copies[0])));
    let mut other = samples().inputs().clone();
    other[(COUNT - 1, 2)] += 1.0;
    let other = Samples::new(other, samples().targets().clone()).unwrap();
    assert!(copies[0].can_be(&samples(), true) && !copies[0].can_be(&other, true));
    assert!(!copies[0].can_be(&samples(), false));
}

#[test]
fn part1_panics_and_errors_of_one_caller_are_its_own() {
    assert_eq!(SharedDevice::open(|| Err::<Device, _>("no device")).unwrap_err(), "no device");
    assert!(catch_unwind(|| SharedDevice::open(|| -> Result<Device, ()> { panic!("in a test") })).is_err());
    let (samples, members, device) = (samples(), members(), simulator());
    let mut member = engine(&device, &samples, &members[0]);
    let of_two = Samples::new(Array2::zeros((4, 2)), Array2::zeros((4, 1))).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| engine(&device, &of_two, &members[1]))).is_err());
    assert_eq!(train(&mut member, &samples), alone(Device::simulator, &samples, &members[..1]).remove(0));
}
