//! Shards of parameters, in whole rows. Each has its gradient and the values that a step changes.

use kernels_cpu::product::PaddedMatrix;

use crate::adam::Rule;
use crate::kernels::{self, Updated};
use crate::parameters::{ADAPTERS, HEAD_BIASES, HEADS, INDICATORS, Layout, OFFSETS, PIECES, SLOPES, weights};

/// Number of rows of weights per shard.
const ROWS: usize = 32;

/// The values that a step changes besides the parameters, one matrix per parameter.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    /// Mean gradients.
    pub(crate) means: Vec<PaddedMatrix<f32>>,
    /// Mean squared gradients.
    pub(crate) squares: Vec<PaddedMatrix<f32>>,
    /// The averages of the parameters over the steps.
    pub(crate) averages: Vec<PaddedMatrix<f32>>,
}

/// Some rows of a parameter.
pub(crate) struct Shard<'a> {
    pub(crate) parameter: usize,
    /// The first row; for [`PIECES`], the index of the number that they belong to.
    pub(crate) first: usize,
    pub(crate) stride: usize,
    pub(crate) gradient: &'a mut [f32],
    updated: Updated<'a>,
    /// The sum of the gradient's squares.
    pub(crate) norm: f64,
}

/// Splits all parameters into shards. All pieces of a number form one shard, since their gradients
/// depend on each other. Slopes, offsets and indicators have one shard each.
pub(crate) fn shards<'a>(
    layout: &Layout,
    gradients: &'a mut [PaddedMatrix<f32>],
    parameters: &'a mut [PaddedMatrix<f32>],
    moments: &'a mut Moments,
) -> Vec<Shard<'a>> {
    let mut shards = Vec::new();
    let Moments { means, squares, averages } = moments;
    let matrices = gradients.iter_mut().zip(parameters).zip(averages).zip(means).zip(squares);
    for (parameter, ((((gradient, values), averages), means), squares)) in matrices.enumerate() {
        let (rows, stride) = (values.rows(), values.stride());
        let sizes: Vec<usize> = match parameter {
            PIECES => layout.pieces.windows(2).map(|pieces| pieces[1] - pieces[0]).collect(),
            ADAPTERS | HEADS => vec![1; rows],
            SLOPES | OFFSETS | INDICATORS => vec![rows],
            _ => (0..rows).step_by(ROWS).map(|first| ROWS.min(rows - first)).collect(),
        };
        let mut rest = [gradient, values, averages, means, squares].map(PaddedMatrix::padded_mut);
        let mut row = 0;
        for (index, size) in sizes.into_iter().enumerate() {
            let parts = rest.map(|rest| rest.split_at_mut(size * stride));
            let [(gradient, g), (values, v), (averages, a), (means, m), (squares, s)] = parts;
            rest = [g, v, a, m, s];
            let updated = Updated { values, averages, means, squares };
            let first = if parameter == PIECES { index } else { row };
            row += size;
            shards.push(Shard { parameter, first, stride, gradient, updated, norm: 0.0 });
        }
    }
    shards
}

impl Shard<'_> {
    /// Updates the shard by `rule`, with the gradient times `scale`.
    pub(crate) fn update(&mut self, rule: Rule, scale: f32) {
        // Biases and offsets only shift an output. They do not decay.
        let is_bias = matches!(self.parameter, OFFSETS | HEAD_BIASES)
            || self.parameter >= weights(0) && (self.parameter - weights(0)) % 2 == 1;
        let decay = if is_bias { 1.0 } else { 1.0 - rule.learning_rate * rule.weight_decay };
        let Self { updated: Updated { values, averages, means, squares }, .. } = self;
        kernels::update(rule, decay, scale, self.gradient, Updated { values, averages, means, squares });
    }
}
