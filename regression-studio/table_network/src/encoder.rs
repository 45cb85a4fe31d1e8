//! The fixed part of the network: maps a row's inputs to scaled numbers, their pieces, and active
//! indicators.

use ndarray::{ArrayView1, ArrayView2, Axis};
use rayon::prelude::*;

use crate::bins::Bins;
use crate::scale::RobustScale;
use crate::{Error, InputKind};

/// The input map, fitted to the training rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Encoder {
    /// The kind of each input.
    pub(crate) kinds: Vec<InputKind>,
    /// The scale of each number.
    pub(crate) scales: Vec<RobustScale>,
    /// The pieces of each number, for scaled values.
    pub(crate) bins: Vec<Bins>,
    /// The threshold of each indicator: it is active above it.
    pub(crate) thresholds: Vec<f32>,
}

/// Encoded rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    /// Number of rows.
    pub(crate) count: usize,
    /// Scaled numbers, rows × numbers.
    pub(crate) values: Vec<f32>,
    /// The piece of each number, rows × numbers.
    pub(crate) pieces: Vec<u16>,
    /// The fraction of the piece below the number, rows × numbers.
    pub(crate) parts: Vec<f32>,
    /// The active indicators of all rows, one row after the other.
    active: Vec<u32>,
    /// The start of each row in `active`, and the end of the last.
    starts: Vec<usize>,
}

impl Rows {
    /// The indices of the active indicators of a row.
    pub(crate) fn active(&self, row: usize) -> &[u32] {
        &self.active[self.starts[row]..self.starts[row + 1]]
    }
}

impl Encoder {
    /// Fits the map to these inputs, rows × kinds, which are all finite. There is at least one row.
    pub(crate) fn fit(kinds: &[InputKind], inputs: ArrayView2<f32>, bins: usize) -> Self {
        let fitted: Vec<Fitted> = kinds
            .par_iter()
            .zip(inputs.axis_iter(Axis(1)).into_par_iter())
            .map(|(kind, column)| fit(*kind, column, bins))
            .collect();
        let mut encoder = Self { kinds: kinds.to_vec(), scales: vec![], bins: vec![], thresholds: vec![] };
        for fitted in fitted {
            match fitted {
                Fitted::Number(scale, bins) => {
                    encoder.scales.push(scale);
                    encoder.bins.push(bins);
                }
                Fitted::Indicator(threshold) => encoder.thresholds.push(threshold),
            }
        }
        encoder
    }

    /// Encodes inputs, rows × kinds.
    ///
    /// # Errors
    /// If the number of columns differs from the number of inputs.
    pub(crate) fn encode(&self, inputs: ArrayView2<f32>) -> Result<Rows, Error> {
        let (count, columns) = inputs.dim();
        if columns != self.kinds.len() {
            let (expected_rows, expected_columns) = (count, self.kinds.len());
            return Err(Error::Shape { what: "the inputs", rows: count, columns, expected_rows, expected_columns });
        }
        let numbers = self.scales.len();
        let mut rows = Rows {
            count,
            values: vec![0.0; count * numbers],
            pieces: vec![0; count * numbers],
            parts: vec![0.0; count * numbers],
            active: vec![],
            starts: vec![0],
        };
        if numbers > 0 {
            let places = self.places(InputKind::Number);
            let outputs = rows.values.par_chunks_mut(numbers).zip(rows.pieces.par_chunks_mut(numbers));
            let outputs =
                outputs.zip(rows.parts.par_chunks_mut(numbers)).zip(inputs.axis_iter(Axis(0)).into_par_iter());
            outputs.with_min_len(64).for_each(|(((values, pieces), parts), inputs)| {
                for (number, &place) in places.iter().enumerate() {
                    values[number] = self.scales[number].apply(inputs[place]);
                    (pieces[number], parts[number]) = self.bins[number].place(values[number]);
                }
            });
        }
        let places = self.places(InputKind::Indicator);
        for inputs in inputs.outer_iter() {
            for ((index, &place), &threshold) in (0..).zip(&places).zip(&self.thresholds) {
                if inputs[place] > threshold {
                    rows.active.push(index);
                }
            }
            rows.starts.push(rows.active.len());
        }
        Ok(rows)
    }

    /// The columns of this kind.
    fn places(&self, kind: InputKind) -> Vec<usize> {
        self.kinds.iter().enumerate().filter(|(_, of)| **of == kind).map(|(place, _)| place).collect()
    }
}

/// The fitted map of one input.
enum Fitted {
    Number(RobustScale, Bins),
    Indicator(f32),
}

fn fit(kind: InputKind, column: ArrayView1<f32>, bins: usize) -> Fitted {
    let mut values = column.to_vec();
    values.sort_unstable_by(f32::total_cmp);
    match kind {
        InputKind::Number => {
            let scale = RobustScale::fit(&values);
            values.iter_mut().for_each(|value| *value = scale.apply(*value));
            Fitted::Number(scale, Bins::of_quantiles(&values, bins))
        }
        InputKind::Indicator => {
            let (least, most) = (values[0], values[values.len() - 1]);
            // A constant is never active.
            Fitted::Indicator(if least == most { f32::INFINITY } else { least / 2.0 + most / 2.0 })
        }
    }
}
