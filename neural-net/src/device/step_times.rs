//! The time of a training step on a GPU and on the CPU, measured over a few steps.

use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

use perceptron::Hyperparameters;
use perceptron::engine::{Engine, EngineError};

/// Time to measure on each side. A GPU finishes the group of steps that it has started.
const MEASURED: Duration = Duration::from_millis(20);
/// Warm-up time, in which threads start, kernels are loaded and caches fill.
const WARM_UP: Duration = Duration::from_millis(5);
/// Maximum number of measured steps.
const MAX_STEPS: usize = 1000;
/// A prime that spreads the measured samples over all, as a permutation does.
const STRIDE: usize = (1 << 31) - 1;

/// The mean time of a training step on a GPU and on the CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTimes {
    gpu: Duration,
    cpu: Duration,
    threads: usize,
}

impl StepTimes {
    /// Trains a few steps on both engines, which hold the `samples` training samples, and measures
    /// them. `clock` returns the time since an arbitrary moment. The engines' parameters are
    /// useless afterwards.
    ///
    /// # Errors
    /// If an engine fails, or training diverges.
    pub fn measure(
        [gpu, cpu]: [&mut dyn Engine; 2],
        hyperparameters: &Hyperparameters,
        samples: usize,
        clock: &dyn Fn() -> Duration,
    ) -> Result<Self, EngineError> {
        let batch = hyperparameters.batch_size.unwrap_or(samples).clamp(1, samples.max(1));
        let count = samples.min(batch.saturating_mul(MAX_STEPS));
        let order: Vec<u32> = (0..count).map(|index| (index * STRIDE % samples) as u32).collect();
        let time_of_step = |engine: &mut dyn Engine| {
            mean_of(engine, &order, WARM_UP, clock)?;
            mean_of(engine, &order, MEASURED, clock)
        };
        Ok(Self { gpu: time_of_step(gpu)?, cpu: time_of_step(cpu)?, threads: rayon::current_num_threads() })
    }

    /// Whether a step is faster on the GPU.
    pub fn is_gpu_faster(self) -> bool {
        self.gpu < self.cpu
    }
}

impl fmt::Display for StepTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [gpu, cpu] = [self.gpu, self.cpu].map(|time| timing::format_seconds(time.as_secs_f64()));
        let threads = command_line::counted(self.threads, "thread");
        write!(f, "GPU: {gpu} a step; CPU, {threads}: {cpu}")
    }
}

/// The mean time of the steps that an engine starts within `duration`, using the order at most once.
fn mean_of(
    engine: &mut dyn Engine,
    order: &[u32],
    duration: Duration,
    clock: &dyn Fn() -> Duration,
) -> Result<Duration, EngineError> {
    let (start, mut steps) = (clock(), 0_u32);
    engine.train(order, 0, &mut |_, _| {
        steps += 1;
        if clock().saturating_sub(start) >= duration { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(clock().saturating_sub(start) / steps.max(1))
}
