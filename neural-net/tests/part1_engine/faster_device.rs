//! The measurement with which `auto` chooses between a GPU and the CPU.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::time::Duration;

use neural_net::device::StepTimes;
use neural_net::engine::{DeviceError, Diverged, Engine, EngineError, Evaluation, Parameters};
use neural_net::preset::Preset;
use neural_net::{Hyperparameters, Samples};

/// An engine with steps that take time on a clock that only they advance, in groups like a GPU's.
struct Paced<'a> {
    clock: &'a Cell<Duration>,
    step: Duration,
    /// Extra time of the first call.
    start: Duration,
    group: usize,
    /// Number of samples.
    samples: usize,
    diverges: bool,
}

impl Engine for Paced<'_> {
    fn device(&self) -> String {
        panic!("measuring asks only for steps")
    }

    fn start_epoch(&mut self, _: f64, _: usize) {}

    fn train(
        &mut self,
        order: &[u32],
        first_step: usize,
        observe: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        assert!(order.iter().all(|&index| (index as usize) < self.samples) && first_step == 0);
        self.clock.set(self.clock.get() + std::mem::take(&mut self.start));
        for group in (0..order.len().div_ceil(16)).collect::<Vec<_>>().chunks(self.group) {
            self.clock.set(self.clock.get() + self.step * group.len() as u32);
            if self.diverges {
                return Err(Diverged { step: group[0] }.into());
            }
            // A group is observed as a whole.
            if group.iter().map(|&step| observe(step, 1.0)).fold(false, |_, flow| flow.is_break()) {
                break;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, _: &Samples) -> Result<Evaluation, DeviceError> {
        panic!("measuring asks only for steps")
    }

    fn evaluate_training_samples(&mut self) -> Result<Evaluation, DeviceError> {
        panic!("measuring asks only for steps")
    }

    fn parameters(&self) -> Result<Parameters, DeviceError> {
        panic!("measuring asks only for steps")
    }
}

const US: Duration = Duration::from_micros(1);

/// Measures engines with these step times. Also returns the total time of the measurement.
fn times(gpu: Duration, cpu: Duration, samples: usize, diverges: bool) -> (Result<StepTimes, EngineError>, Duration) {
    let hyperparameters = Hyperparameters { batch_size: Some(16), ..Preset::Homework.hyperparameters() };
    rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap().install(|| {
        let clock = Cell::new(Duration::ZERO);
        let paced = |step, start, group| Paced { clock: &clock, step, start, group, samples, diverges };
        let (mut gpu, mut cpu) = (paced(gpu, Duration::from_millis(700), 64), paced(cpu, Duration::from_millis(1), 1));
        let measured = StepTimes::measure([&mut gpu, &mut cpu], &hyperparameters, samples, &|| clock.get());
        (measured, clock.get())
    })
}

#[test]
fn part1_auto_takes_the_device_whose_steps_are_faster_and_says_both_times() {
    for (gpu, cpu, is_gpu_faster, shown) in [
        (US * 5 / 2, US * 27, true, "GPU: 2.500 µs a step; CPU, 3 threads: 27.00 µs"),
        (US * 25, US * 24, false, "GPU: 25.00 µs a step; CPU, 3 threads: 24.00 µs"),
        (US * 300, US * 900_000, true, "GPU: 300.0 µs a step; CPU, 3 threads: 900.0 ms"),
        (US * 900_000, US * 300, false, "GPU: 900.0 ms a step; CPU, 3 threads: 300.0 µs"),
    ] {
        for samples in [17, 60_000, 1_000_003] {
            let (times, took) = times(gpu, cpu, samples, false);
            let times = times.unwrap();
            assert_eq!(
                (times.is_gpu_faster(), times.to_string()),
                (is_gpu_faster, shown.to_owned()),
                "{samples} samples"
            );
            // The start, a short time on each side, and the groups that had started.
            let most = Duration::from_millis(701 + 2 * 25) + 2 * (64 * gpu + cpu);
            assert!(took <= most, "{took:?} of {most:?}, {shown}, {samples} samples");
        }
    }
}

#[test]
fn part1_auto_does_not_choose_by_training_that_diverges() {
    assert!(matches!(times(US, US, 100, true).0, Err(EngineError::Diverged(_))));
}
