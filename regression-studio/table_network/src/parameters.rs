//! The network's parameters: their positions and their initial values.

use kernels_cpu::product::PaddedMatrix;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use crate::encoder::Encoder;

/// Factor of each number in its embedding: numbers × embedding.
pub(crate) const SLOPES: usize = 0;
/// Offset of each number's embedding: numbers × embedding.
pub(crate) const OFFSETS: usize = 1;
/// The weights that each piece adds to the embedding: pieces of all numbers × embedding.
pub(crate) const PIECES: usize = 2;
/// Embeddings of the indicators: indicators × indicator embedding; no rows if they are not embedded.
pub(crate) const INDICATORS: usize = 3;
/// Each member's factor for each embedded value: members × width.
pub(crate) const ADAPTERS: usize = 4;
/// Each member's output weights: members × last hidden layer.
pub(crate) const HEADS: usize = 5;
/// Each member's output bias: 1 × members.
pub(crate) const HEAD_BIASES: usize = 6;

/// Weights of hidden layer `layer`: units before × units.
pub(crate) const fn weights(layer: usize) -> usize {
    7 + 2 * layer
}

/// Biases of hidden layer `layer`: 1 × units.
pub(crate) const fn biases(layer: usize) -> usize {
    8 + 2 * layer
}

/// The sizes that follow from the options and the inputs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    pub(crate) members: usize,
    /// Number of numeric inputs.
    pub(crate) numbers: usize,
    /// Size of a number's embedding.
    pub(crate) embedding: usize,
    /// The first row of each number in [`PIECES`], and the end of the last.
    pub(crate) pieces: Vec<usize>,
    /// Number of indicators.
    pub(crate) indicators: usize,
    /// Size of the indicators' embedding; `indicators` if they are not embedded.
    pub(crate) indicator_width: usize,
    /// Units of each hidden layer.
    pub(crate) hidden: Vec<usize>,
}

impl Layout {
    pub(crate) fn new(
        members: usize,
        embedding: usize,
        indicator_embedding: usize,
        hidden: &[usize],
        encoder: &Encoder,
    ) -> Self {
        let mut pieces = vec![0];
        for bins in &encoder.bins {
            pieces.push(pieces[pieces.len() - 1] + bins.count());
        }
        let indicators = encoder.thresholds.len();
        Self {
            members,
            numbers: encoder.scales.len(),
            embedding,
            pieces,
            indicators,
            indicator_width: indicators.min(indicator_embedding),
            hidden: hidden.to_vec(),
        }
    }

    /// Whether the indicators have embeddings.
    pub(crate) fn embeds_indicators(&self) -> bool {
        self.indicator_width < self.indicators
    }

    /// Size of an embedded row: the numbers' embeddings, followed by the indicators or their
    /// embedding.
    pub(crate) fn width(&self) -> usize {
        self.numbers * self.embedding + self.indicator_width
    }

    /// Number of units before hidden layer `layer`.
    pub(crate) fn units_before(&self, layer: usize) -> usize {
        if layer == 0 { self.width() } else { self.hidden[layer - 1] }
    }

    /// Number of units in the last hidden layer.
    pub(crate) fn last(&self) -> usize {
        self.hidden[self.hidden.len() - 1]
    }

    /// The name, rows and columns of each parameter.
    pub(crate) fn shapes(&self) -> Vec<(String, usize, usize)> {
        let rows_of_indicators = if self.embeds_indicators() { self.indicators } else { 0 };
        let mut shapes = vec![
            ("slopes".to_owned(), self.numbers, self.embedding),
            ("offsets".to_owned(), self.numbers, self.embedding),
            ("pieces".to_owned(), self.pieces[self.numbers], self.embedding),
            ("indicators".to_owned(), rows_of_indicators, self.indicator_width),
            ("adapters".to_owned(), self.members, self.width()),
            ("heads".to_owned(), self.members, self.last()),
            ("head_biases".to_owned(), 1, self.members),
        ];
        for (layer, &units) in self.hidden.iter().enumerate() {
            shapes.push((format!("weights.{layer}"), self.units_before(layer), units));
            shapes.push((format!("biases.{layer}"), 1, units));
        }
        shapes
    }

    /// Matrices of zeros with the parameters' shapes.
    pub(crate) fn zeros(&self) -> Vec<PaddedMatrix<f32>> {
        self.shapes().into_iter().map(|(_, rows, columns)| PaddedMatrix::zeros(rows, columns)).collect()
    }

    /// Initial parameters, drawn like TabM's: weights, biases and offsets uniform within ±1/√(units
    /// before), slopes uniform within ±1/√(embedding), pieces zero, and adapters normal, with one
    /// draw for each member and number.
    pub(crate) fn initial(&self, seed: u64) -> Vec<PaddedMatrix<f32>> {
        let mut parameters = self.zeros();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut fill = |parameter: usize, bound: usize| {
            let bound = 1.0 / (bound.max(1) as f32).sqrt();
            let matrix: &mut PaddedMatrix<f32> = &mut parameters[parameter];
            for row in 0..matrix.rows() {
                matrix.row_mut(row).iter_mut().for_each(|value| *value = rng.random_range(-bound..=bound));
            }
        };
        fill(SLOPES, self.embedding);
        fill(OFFSETS, self.embedding);
        fill(INDICATORS, self.indicator_width);
        for layer in 0..self.hidden.len() {
            fill(weights(layer), self.units_before(layer));
            fill(biases(layer), self.units_before(layer));
        }
        fill(HEADS, self.last());
        fill(HEAD_BIASES, self.last());
        for member in 0..self.members {
            let row = parameters[ADAPTERS].row_mut(member);
            let (numbers, indicators) = row.split_at_mut(self.numbers * self.embedding);
            for factors in numbers.chunks_mut(self.embedding) {
                let factor: f32 = StandardNormal.sample(&mut rng);
                factors.fill(factor);
            }
            indicators.iter_mut().for_each(|factor| *factor = StandardNormal.sample(&mut rng));
        }
        parameters
    }
}
