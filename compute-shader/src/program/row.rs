//! The measurements of one batch size.

use std::num::NonZeroUsize;

use anyhow::{Context, Result};
use compute_shader::{Phases, ShaderNetwork};
use ndarray::ArrayView2;
use neural_net::Predictor;
use serde::Serialize;
use serde_json::{Value, json};
use timing::{Measurement, measure};

/// The times of one batch size, in seconds.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) batch: usize,
    /// `neural_net::Predictor` on the CPU.
    pub(super) cpu: Measurement,
    /// The shader, including both transfers.
    pub(super) shader: Measurement,
    /// The launches alone, by device timestamps.
    pub(super) compute: Option<Measurement>,
    pub(super) upload: Measurement,
    pub(super) read_back: Measurement,
}

impl Row {
    /// Times a batch on the CPU, with rayon's current thread pool, and on the device.
    pub(super) fn measure(
        shader: &mut ShaderNetwork,
        predictor: &mut Predictor,
        inputs: ArrayView2<f32>,
        repeats: NonZeroUsize,
    ) -> Result<Self> {
        let one = inputs.row(0).to_vec();
        let cpu = match inputs.nrows() {
            1 => measure(repeats, || predictor.predict(&one).first().copied()),
            _ => measure(repeats, || predictor.predict_all(inputs)),
        };
        shader.predict(inputs)?;
        let mut failure = None;
        let whole = measure(repeats, || failure = shader.predict(inputs).err().or(failure.take()));
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        let phases: Vec<Phases> = (0..repeats.get()).map(|_| shader.time_phases(inputs)).collect::<Result<_, _>>()?;
        let of = |phase: fn(&Phases) -> Option<f64>| Measurement::of(phases.iter().filter_map(phase).collect());
        Ok(Self {
            batch: inputs.nrows(),
            cpu,
            shader: whole,
            compute: of(|phases| phases.compute),
            upload: of(|phases| Some(phases.upload)).context("no repeat")?,
            read_back: of(|phases| Some(phases.read_back)).context("no repeat")?,
        })
    }

    /// The shader's time divided by the CPU's; below 1, the shader is faster.
    pub(super) fn ratio(&self) -> f64 {
        self.shader.min / self.cpu.min
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "batch": self.batch, "seconds": self })
    }
}
