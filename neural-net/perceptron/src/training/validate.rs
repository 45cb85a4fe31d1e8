//! Validation of hyperparameters and progress that were read from a file.

use std::fmt::Display;

use super::batches::Batches;
use super::hyperparameters::Hyperparameters;
use super::progress::{EpochRecord, Progress};

/// A named value that is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is {found}: it must be {expected}")]
pub struct InvalidValue {
    /// The value's name, such as `progress.epoch`.
    pub name: String,
    /// The value.
    pub found: String,
    /// The valid range.
    pub expected: String,
}

impl InvalidValue {
    /// Checks a value.
    ///
    /// # Errors
    /// If `is_valid` is false.
    pub fn unless(is_valid: bool, name: &str, found: &dyn Display, expected: &str) -> Result<(), Self> {
        match is_valid {
            true => Ok(()),
            false => Err(Self { name: name.to_owned(), found: found.to_string(), expected: expected.to_owned() }),
        }
    }
}

impl Hyperparameters {
    /// Checks that every value is in range.
    ///
    /// # Errors
    /// The first value that is not.
    pub fn validate(&self) -> Result<(), InvalidValue> {
        let require = |is_valid, name: &str, found: &dyn Display, expected| {
            InvalidValue::unless(is_valid, &format!("hyperparameters.{name}"), found, expected)
        };
        let is_positive = |value: f64| value.is_finite() && value > 0.0;
        require(is_positive(self.learning_rate), "learning_rate", &self.learning_rate, "above 0 and finite")?;
        for factor in &self.learning_rate_factors {
            require(is_positive(*factor), "learning_rate_factors", factor, "above 0 and finite")?;
        }
        require((0.0..1.0).contains(&self.momentum), "momentum", &self.momentum, "from 0 to below 1")?;
        let is_decay = self.weight_decay.is_finite() && self.weight_decay >= 0.0;
        require(is_decay, "weight_decay", &self.weight_decay, "0 or more and finite")?;
        require(self.batch_size != Some(0), "batch_size", &0, "1 or more")?;
        require(self.epochs > 0, "epochs", &0, "1 or more")?;
        require(self.report_every > 0, "report_every", &0, "1 or more")?;
        let accuracy = self.stop_at.map_or(0.0, |stop_at| stop_at.accuracy);
        require((0.0..=1.0).contains(&accuracy), "stop_at.accuracy", &accuracy, "from 0 to 1")
    }
}

impl Progress {
    /// Checks that a training run on `samples` samples with these valid hyperparameters can have
    /// this progress.
    ///
    /// # Errors
    /// The first value that is out of range or inconsistent with an earlier one.
    pub fn validate(&self, hyperparameters: &Hyperparameters, samples: usize) -> Result<(), InvalidValue> {
        let require = |is_valid, name: &str, found: &dyn Display, expected: &str| {
            InvalidValue::unless(is_valid, &format!("progress.{name}"), found, expected)
        };
        let Hyperparameters { epochs, batch_size, .. } = hyperparameters;
        let batches = Batches { samples, size: batch_size.unwrap_or(samples).max(1) };
        require(self.epoch <= *epochs, "epoch", &self.epoch, &format!("at most the {epochs} epochs to train"))?;
        // The number of samples seen in all epochs must not overflow.
        let is_countable = self.epoch.checked_mul(samples).is_some_and(|seen| i64::try_from(seen).is_ok());
        require(is_countable, "epoch", &self.epoch, "so small that the number of samples seen fits into 63 bits")?;
        let steps = if self.epoch < *epochs { batches.steps() } else { 1 };
        require(self.step < steps, "step", &self.step, &format!("below {steps}, the number of steps in its epoch"))?;
        let is_time = |seconds: f64| seconds.is_finite() && seconds >= 0.0;
        require(self.loss.is_finite(), "loss", &self.loss, "finite")?;
        require(is_time(self.seconds), "seconds", &self.seconds, "0 or more and finite")?;

        let (mut before, here) = ((0, 0), (self.epoch, batches.seen(self.step)));
        for (index, EpochRecord { epoch, samples: seen, seconds, loss, accuracy }) in self.history.iter().enumerate() {
            let require = |is_valid, name: &str, found: &dyn Display, expected: &str| {
                require(is_valid, &format!("history[{index}].{name}"), found, expected)
            };
            require(*epoch > 0, "epoch", epoch, "counted from 1")?;
            if let Some(seen) = seen {
                require(
                    (1..samples).contains(seen),
                    "samples",
                    seen,
                    &format!("from 1 to below {samples}, or absent"),
                )?;
            }
            // The number of complete epochs, and of samples in the next one.
            let end = seen.map_or((*epoch, 0), |seen| (epoch - 1, seen));
            let is_in_order = before < end && end <= here;
            require(is_in_order, "epoch", epoch, "after that of the previous record, and no later than the progress")?;
            before = end;
            require(is_time(*seconds), "seconds", seconds, "0 or more and finite")?;
            require(loss.is_finite(), "loss", loss, "finite")?;
            require((0.0..=1.0).contains(accuracy), "accuracy", accuracy, "from 0 to 1")?;
        }
        Ok(())
    }
}
