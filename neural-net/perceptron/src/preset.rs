//! The settings of two networks: the homework's and the notebook's.

use serde::{Deserialize, Serialize};

use crate::network::{ArchitectureError, Initialization};
use crate::training::{GradientScale, Hyperparameters};
use crate::{Activation, Architecture, Loss};

/// A predefined network and its hyperparameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// The homework: 784-128-64-10, sigmoid everywhere, squared error, batches of 16, 5 epochs of 50,000 images
    Homework,
    /// The notebook: 784-10-10, ReLU then softmax, cross-entropy, 1000 full-batch steps on the first 10,000 images
    Notebook,
}

impl Preset {
    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Homework => "homework",
            Self::Notebook => "notebook",
        }
    }

    /// The number of units of each layer, inputs first.
    pub fn sizes(self) -> Vec<usize> {
        match self {
            Self::Homework => vec![784, 128, 64, 10],
            Self::Notebook => vec![784, 10, 10],
        }
    }

    /// The hidden layers' activation.
    pub fn hidden_activation(self) -> Activation {
        match self {
            Self::Homework => Activation::Sigmoid,
            Self::Notebook => Activation::Relu,
        }
    }

    /// The output layer's activation.
    pub fn output_activation(self) -> Activation {
        match self {
            Self::Homework => Activation::Sigmoid,
            Self::Notebook => Activation::Softmax,
        }
    }

    /// The network's architecture.
    ///
    /// # Errors
    /// None: both presets are valid.
    pub fn architecture(self) -> Result<Architecture, ArchitectureError> {
        Architecture::new(self.sizes(), self.hidden_activation(), self.output_activation())
    }

    /// The hyperparameters.
    pub fn hyperparameters(self) -> Hyperparameters {
        let homework = Hyperparameters {
            loss: Loss::SquaredError,
            learning_rate: 0.1,
            learning_rate_factors: vec![],
            momentum: 0.0,
            weight_decay: 0.0,
            batch_size: Some(16),
            gradient: GradientScale::Sum,
            epochs: 5,
            shuffle: true,
            report_every: 1,
            stop_at: None,
            initialization: Initialization::Xavier,
            seed: 0,
        };
        match self {
            Self::Homework => homework,
            Self::Notebook => Hyperparameters {
                loss: Loss::CrossEntropy,
                batch_size: None,
                gradient: GradientScale::Mean,
                epochs: 1000,
                shuffle: false,
                report_every: 50,
                initialization: Initialization::Normal,
                ..homework
            },
        }
    }

    /// The numbers of training and validation images. The notebook has no validation set: it measures on the training
    /// images.
    pub fn images(self) -> (usize, usize) {
        match self {
            Self::Homework => (50_000, 10_000),
            Self::Notebook => (10_000, 0),
        }
    }

    /// The required test accuracy on MNIST, 0 … 1.
    pub fn target_accuracy(self) -> f64 {
        match self {
            Self::Homework => 0.95,
            Self::Notebook => 0.9,
        }
    }

    /// The word for one pass over the training images in the program's output.
    pub fn epoch_word(self) -> &'static str {
        match self {
            Self::Homework => "Epoch",
            Self::Notebook => "Iteration",
        }
    }
}
