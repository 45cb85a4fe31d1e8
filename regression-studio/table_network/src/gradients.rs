//! The gradients of a batch, and the parameter update.
//!
//! The parameters are split into shards of whole rows. Any thread can work on any shard. Each
//! gradient is a sum over the batch's samples in order, whatever its shard.

use kernels_cpu::InstructionSet;
use kernels_cpu::product::{PaddedMatrix, product_of_transpose};
use rayon::prelude::*;

use crate::adam::Rule;
use crate::chunk::TrainedChunk;
use crate::encoder::Rows;
use crate::kernels::{self, Continue};
use crate::parameters::{ADAPTERS, HEAD_BIASES, HEADS, INDICATORS, Layout, OFFSETS, PIECES, SLOPES, biases, weights};
use crate::shards::{Moments, Shard, shards};

/// If the gradient of all parameters has a larger norm, it is scaled to this norm. Otherwise rare
/// outliers in the target would drive all units to zero.
const LARGEST_NORM: f64 = 1.0;

/// A batch after the backward pass.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) rows: &'a Rows,
    /// The batch's chunks in order. All are full except perhaps the last.
    pub(crate) chunks: &'a [TrainedChunk],
}

impl Batch<'_> {
    /// Writes the gradients of all parameters to `gradients`. If `rule` is given, updates the
    /// parameters and moments with it.
    pub(crate) fn update(
        self,
        gradients: &mut [PaddedMatrix<f32>],
        parameters: &mut [PaddedMatrix<f32>],
        moments: &mut Moments,
        rule: Option<Rule>,
    ) {
        let mut shards = shards(self.layout, gradients, parameters, moments);
        shards.par_iter_mut().with_max_len(1).for_each(|shard| {
            self.compute(shard);
            shard.norm = shard.gradient.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
        });
        let Some(rule) = rule else { return };
        let norm = shards.iter().map(|shard| shard.norm).sum::<f64>().sqrt();
        // NaN is not changed, to detect a run that diverges.
        let scale = if norm > LARGEST_NORM { (LARGEST_NORM / norm) as f32 } else { 1.0 };
        shards.par_iter_mut().with_max_len(1).for_each(|shard| shard.update(rule, scale));
    }

    fn compute(self, shard: &mut Shard) {
        let Shard { parameter, first, stride, ref mut gradient, .. } = *shard;
        let members = self.layout.members;
        gradient.fill(0.0);
        if gradient.is_empty() {
            return;
        }
        match parameter {
            SLOPES | OFFSETS => self.linear(parameter, gradient, stride),
            PIECES => self.pieces(first, gradient, stride),
            INDICATORS => self.indicators(gradient, stride),
            _ => {
                for chunk in self.chunks {
                    let rows = chunk.chunk.samples.len() * members;
                    match parameter {
                        ADAPTERS => {
                            let errors = &chunk.input_errors.padded()[first * stride..rows * stride];
                            let embedded = &chunk.chunk.embedded.padded()[..chunk.chunk.samples.len() * stride];
                            kernels::add_products_of_rows(errors, members, embedded, gradient);
                        }
                        HEADS => {
                            let hidden = &chunk.chunk.hidden[self.layout.hidden.len() - 1].padded()[..rows * stride];
                            let factors = &chunk.output_errors[first..rows];
                            kernels::add_scaled_rows(&hidden[first * stride..], factors, members, gradient);
                        }
                        HEAD_BIASES => {
                            for errors in chunk.output_errors[..rows].chunks_exact(members) {
                                gradient.iter_mut().zip(errors).for_each(|(sum, &error)| *sum += error);
                            }
                        }
                        _ => self.of_layer(parameter, first, chunk, rows, gradient, stride),
                    }
                }
            }
        }
    }

    /// Adds a chunk's contribution to the gradient of weights or biases.
    fn of_layer(
        self,
        parameter: usize,
        first: usize,
        chunk: &TrainedChunk,
        rows: usize,
        gradient: &mut [f32],
        stride: usize,
    ) {
        let layer = (parameter - weights(0)) / 2;
        let errors = &chunk.errors[layer];
        if parameter == biases(layer) {
            kernels::add_rows(&errors.padded()[..rows * stride], gradient);
            return;
        }
        let input = if layer == 0 { &chunk.chunk.inputs } else { &chunk.chunk.hidden[layer - 1] };
        let left: Vec<&[f32]> = (0..rows).map(|row| input.row(row)).collect();
        let of_shard = first..first + gradient.len() / stride;
        product_of_transpose(
            InstructionSet::detect(),
            &left,
            of_shard,
            errors,
            Continue { first, sums: gradient, stride },
        );
    }

    /// The gradients with respect to the embedded values of each sample, in order.
    fn embedded_errors(&self) -> impl Iterator<Item = (usize, &[f32])> {
        self.chunks.iter().flat_map(|chunk| {
            let samples = chunk.chunk.samples.iter().enumerate();
            samples.map(|(place, &sample)| (sample as usize, chunk.embedded_errors.row(place)))
        })
    }

    fn linear(self, parameter: usize, gradient: &mut [f32], stride: usize) {
        let Layout { numbers, embedding, .. } = *self.layout;
        for (sample, errors) in self.embedded_errors() {
            let values = &self.rows.values[sample * numbers..][..numbers];
            let of_numbers = gradient.chunks_exact_mut(stride).zip(errors.chunks_exact(embedding));
            for ((sums, errors), &value) in of_numbers.zip(values) {
                let factor = if parameter == SLOPES { value } else { 1.0 };
                sums.iter_mut().zip(errors).for_each(|(sum, &error)| *sum += factor * error);
            }
        }
    }

    /// A piece adds its weights times the fraction of the piece below the value: 1 for all pieces
    /// before the value's own. So a piece also receives the gradients of samples in later pieces,
    /// by a sum from the last piece to the first.
    fn pieces(self, number: usize, gradient: &mut [f32], stride: usize) {
        let Layout { numbers, embedding, .. } = *self.layout;
        let mut whole = vec![0.0; gradient.len()];
        for (sample, errors) in self.embedded_errors() {
            let place = sample * numbers + number;
            let (start, part) = (usize::from(self.rows.pieces[place]) * stride, self.rows.parts[place]);
            let errors = &errors[number * embedding..][..embedding];
            let sums = gradient[start..].iter_mut().zip(&mut whole[start..]);
            for ((sum, whole), &error) in sums.zip(errors) {
                *sum += part * error;
                *whole += error;
            }
        }
        for start in (stride..whole.len()).step_by(stride).rev() {
            for value in 0..embedding {
                let later = whole[start + value];
                whole[start - stride + value] += later;
                gradient[start - stride + value] += later;
            }
        }
    }

    fn indicators(self, gradient: &mut [f32], stride: usize) {
        let start = self.layout.numbers * self.layout.embedding;
        for (sample, errors) in self.embedded_errors() {
            for &indicator in self.rows.active(sample) {
                let sums = &mut gradient[indicator as usize * stride..][..stride];
                sums.iter_mut().zip(&errors[start..]).for_each(|(sum, &error)| *sum += error);
            }
        }
    }
}
