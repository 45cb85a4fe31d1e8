//! Timing of this machine's GPU.

use std::num::NonZeroUsize;

use activation_functions::{ActivationGpu, ActivationGpuError, Step, Version};
use gpu::{Device, Error};
use matmul_functions::{MatmulGpu, Rung, matmul_transpose_gpu};
use max_functions::{MaxGpu, max_gpu};
use neural_net::data::Dataset;
use timing::seconds_of_repeats;

use super::{MeasureError, Plan, activation, maximum, product, training};
use crate::Times;
use crate::figures::{
    Activation, GpuActivation, GpuMaximum, GpuProduct, GpuRun, Maximum, OnThreads, Product, RungTimes,
};

/// The input of all exercises.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub(super) maximum: &'a maximum::Input,
    pub(super) product: &'a product::Input,
    pub(super) activation: &'a activation::Input,
    pub(super) dataset: &'a Dataset,
}

/// Times the kernels by GPU events, and the functions with copies by host time. The processor's
/// times are passed in.
pub(super) fn measure(
    plan: &Plan,
    device: &Device,
    inputs: Inputs,
    (maximum, product, activation): (&Maximum, &Product, &Activation),
) -> Result<GpuRun, MeasureError> {
    let gpu =
        crate::machine::facts_of(device).ok_or_else(|| MeasureError::Device("the device is not a GPU".to_owned()))?;
    let repeats = plan.repeats().saturating_mul(NonZeroUsize::MIN.saturating_add(plan.rounds() - 1));
    let timer = Timer { device, repeats };
    Ok(GpuRun {
        gpu,
        maximum: Some(timer.maximum(inputs.maximum, maximum)?),
        product: Some(timer.product(inputs.product, product)?),
        activation: Some(timer.activation(inputs.activation, activation)?),
        training: Some(training::on_the_gpu(device, inputs.dataset)?),
        failed: Vec::new(),
    })
}

struct Timer<'a> {
    device: &'a Device,
    repeats: NonZeroUsize,
}

impl Timer<'_> {
    fn maximum(&self, input: &maximum::Input, processor: &Maximum) -> Result<GpuMaximum, MeasureError> {
        let mut sets = MaxGpu::beyond_cache(self.device, &input.a, &input.b).map_err(MeasureError::device)?;
        let count = sets.len();
        let kernel = self.kernel("max_gpu", |call| sets[call % count].launch())?;
        drop(sets);
        Ok(GpuMaximum {
            kernel,
            with_copies: self.whole("max_gpu", || max_gpu(self.device, &input.a, &input.b))?,
            cpu: processor.cpu,
            rayon: fastest(&processor.rayon)?,
        })
    }

    fn product(&self, input: &product::Input, processor: &Product) -> Result<GpuProduct, MeasureError> {
        let name = "matmul_transpose_gpu";
        let mut work = MatmulGpu::new(self.device, &input.0).map_err(MeasureError::device)?;
        let rungs = work.rungs().into_iter().filter(|rung| Rung::ONE_BLOCK.contains(rung));
        let mut time = |rung: Rung| {
            let times = self.kernel(name, |_| work.launch(rung))?;
            Ok(RungTimes { name: rung.name().to_owned(), times })
        };
        Ok(GpuProduct {
            rungs: rungs.map(&mut time).collect::<Result<_, MeasureError>>()?,
            with_copies: self.whole(name, || matmul_transpose_gpu(self.device, &input.0))?,
            trivial: processor.trivial,
            rayon: fastest(&processor.rayon)?,
        })
    }

    fn activation(&self, input: &activation::Input, processor: &Activation) -> Result<GpuActivation, MeasureError> {
        let (values, weights) = (&input.values, &input.weights);
        let mut sets = ActivationGpu::beyond_cache(self.device, values, weights).map_err(MeasureError::device)?;
        let count = sets.len();
        let mut kernel = |name, version| self.kernel(name, |call| sets[call % count].launch(version));
        let three_kernels = kernel("three kernels", Version::ThreeLaunches)?;
        let fused_kernel = kernel("one kernel", Version::Fused)?;
        let mut work = sets.swap_remove(0);
        drop(sets);
        let fused_with_copies = self.whole("one kernel with copies", || -> Result<_, ActivationGpuError> {
            work.upload(values, weights)?;
            work.launch(Version::Fused)?;
            Ok(work.result(Step::Activate)?)
        })?;
        let copied = self.whole("three kernels with copies", || -> Result<_, ActivationGpuError> {
            work.upload(values, weights)?;
            for step in [Step::Normalize, Step::Weigh] {
                work.launch_step(step)?;
                work.copy_to_host_and_back(step)?;
            }
            work.launch_step(Step::Activate)?;
            Ok(work.result(Step::Activate)?)
        })?;
        Ok(GpuActivation {
            three_kernels,
            fused_kernel,
            fused_with_copies,
            copied_after_every_step: copied,
            rayon_fused: fastest(&processor.fused)?,
        })
    }

    /// Times a kernel by GPU events. `launch` receives the number of the call.
    fn kernel<E: From<Error> + std::fmt::Display>(
        &self,
        name: &'static str,
        launch: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Times, MeasureError> {
        let seconds = self.device.time_repeats(self.repeats, launch).map_err(MeasureError::device)?;
        seconds.and_then(Times::of).ok_or(MeasureError::NoTime { version: name })
    }

    /// Times `work` by host time.
    fn whole<R, E: std::fmt::Display>(
        &self,
        name: &'static str,
        mut work: impl FnMut() -> Result<R, E>,
    ) -> Result<Times, MeasureError> {
        let mut failed = None;
        let seconds = seconds_of_repeats(self.repeats, || work().map_err(|error| failed = Some(error)));
        match failed {
            Some(error) => Err(MeasureError::device(error)),
            None => Times::of(seconds).ok_or(MeasureError::NoTime { version: name }),
        }
    }
}

/// The times for the number of threads with the lowest median.
fn fastest(ladder: &[OnThreads]) -> Result<OnThreads, MeasureError> {
    let fastest = ladder.iter().min_by(|a, b| a.times.median.total_cmp(&b.times.median));
    fastest.copied().ok_or(MeasureError::NoTime { version: "the processor" })
}
