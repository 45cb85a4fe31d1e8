//! Everything that a run depends on.

use crate::Error;

/// The kind of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// A number.
    Number,
    /// Whether the row has a category: one of two values, which may be standardized.
    Indicator,
}

/// All settings of a network and its training. [`Options::for_table`] chooses them for a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Number of members. Their mean is the prediction.
    pub members: usize,
    /// Units of each hidden layer. The members share the weights.
    pub hidden: Vec<usize>,
    /// Maximum number of pieces in a number's embedding. A number with few distinct values has
    /// fewer.
    pub bins: usize,
    /// Size of a number's embedding.
    pub embedding: usize,
    /// Size of the joint embedding of all indicators. Used if there are more indicators than that.
    pub indicator_embedding: usize,
    /// Fraction of the hidden units dropped in each step, at least 0 and below 1.
    pub dropout: f32,
    /// The learning rate of AdamW after the warm-up.
    pub learning_rate: f32,
    /// Decoupled weight decay: a step multiplies weights by 1 − learning rate × this.
    pub weight_decay: f32,
    /// Number of epochs over which the weights are averaged for predictions. Later steps have more
    /// weight in the mean.
    pub averaged_epochs: f32,
    /// Rows per step.
    pub batch_size: usize,
    /// Maximum number of epochs. Over them, the learning rate falls along half a cosine.
    pub epochs: usize,
    /// Seed of the initial weights, the order of the rows, and dropout.
    pub seed: u64,
}

impl Options {
    /// The options for training on `rows` rows with inputs of these kinds.
    pub fn for_table(rows: usize, kinds: &[InputKind]) -> Self {
        let numbers = kinds.iter().filter(|kind| **kind == InputKind::Number).count();
        // Chosen from the errors on fourteen tables of 300 to 45,000 rows. Few rows need more
        // passes and more regularization; with many rows, few passes are enough.
        let (batch_size, epochs) = match rows {
            ..1000 => (32, 60),
            1000..4000 => (32, 30),
            _ => (128, (400_000 / rows).clamp(4, 24)),
        };
        Self {
            members: if rows < 4000 { 16 } else { 8 },
            hidden: vec![128, 128],
            bins: 64,
            embedding: if numbers <= 16 { 16 } else { 8 },
            indicator_embedding: 64,
            dropout: if rows < 4000 { 0.1 } else { 0.0 },
            learning_rate: 0.02,
            weight_decay: if rows < 10_000 { 0.3 } else { 3e-4 },
            averaged_epochs: 2.0,
            batch_size,
            epochs,
            seed: 0,
        }
    }

    /// The number of epochs without a smaller validation error after which training on `rows` rows
    /// should stop.
    pub fn patience_for_table(rows: usize) -> usize {
        match rows {
            ..1000 => 20,
            1000..4000 => 10,
            _ => 6,
        }
    }

    /// # Errors
    /// If an option is out of range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let error = |name, value: String, range| Err(Error::Option { name, value, range });
        let counts = [
            ("members", self.members),
            ("bins", self.bins),
            ("embedding", self.embedding),
            ("indicator_embedding", self.indicator_embedding),
            ("batch_size", self.batch_size),
            ("epochs", self.epochs),
        ];
        for (name, value) in counts {
            if value == 0 || value > 1 << 24 {
                return error(name, value.to_string(), "from 1 to 16,777,216");
            }
        }
        if self.bins > usize::from(u16::MAX) {
            return error("bins", self.bins.to_string(), "at most 65,535");
        }
        if self.hidden.is_empty() || self.hidden.contains(&0) {
            return error("hidden", format!("{:?}", self.hidden), "at least one layer, each of at least one unit");
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return error("dropout", self.dropout.to_string(), "from 0 to below 1");
        }
        for (name, value) in [
            ("learning_rate", self.learning_rate),
            ("averaged_epochs", self.averaged_epochs),
            ("weight_decay", self.weight_decay),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return error(name, value.to_string(), "finite and not negative");
            }
        }
        Ok(())
    }
}
