//! The settings of two networks: the homework's and the notebook's.

use serde::{Deserialize, Serialize};

use crate::names::display_and_parse_names;
use crate::network::{ArchitectureError, Initialization};
use crate::training::{GradientScale, Hyperparameters, Optimizer, Schedule};
use crate::{Activation, Architecture, Loss};

/// A predefined network and its hyperparameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// The homework: 784-128-64-10, sigmoid everywhere, squared error, batches of 16, 5 epochs of 50,000 images
    Homework,
    /// The notebook: 784-10-10, ReLU then softmax, cross-entropy, 1000 full-batch steps on the first 10,000 images
    Notebook,
}

display_and_parse_names!(Preset, "preset");

impl Preset {
    /// All values, in declaration order.
    pub const ALL: [Self; 2] = [Self::Homework, Self::Notebook];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Homework => "homework",
            Self::Notebook => "notebook",
        }
    }

    /// One line of help for the value.
    pub fn description(self) -> &'static str {
        match self {
            Self::Homework => {
                "The homework: 784-128-64-10, sigmoid everywhere, squared error, batches of 16, 5 epochs of 50,000 images"
            }
            Self::Notebook => {
                "The notebook: 784-10-10, ReLU then softmax, cross-entropy, 1000 full-batch steps on the first 10,000 images"
            }
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
            optimizer: Optimizer::Sgd,
            learning_rate: 0.1,
            learning_rate_factors: vec![],
            schedule: Schedule::Constant,
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

    /// The numbers of training and validation images. The notebook has no validation set: it is
    /// evaluated on the training images.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part1_the_homework_has_the_settings_of_its_sheet() {
        let homework = Preset::Homework;
        assert_eq!((homework.name(), homework.sizes()), ("homework", vec![784, 128, 64, 10]));
        let activations = (homework.hidden_activation(), homework.output_activation());
        assert_eq!(activations, (Activation::Sigmoid, Activation::Sigmoid));
        assert_eq!((homework.images(), homework.target_accuracy()), ((50_000, 10_000), 0.95));
        let settings = homework.hyperparameters();
        assert_eq!((settings.loss, settings.gradient), (Loss::SquaredError, GradientScale::Sum));
        assert_eq!((settings.learning_rate, settings.momentum, settings.weight_decay), (0.1, 0.0, 0.0));
        assert_eq!((settings.batch_size, settings.epochs, settings.shuffle), (Some(16), 5, true));
        assert_eq!((settings.report_every, settings.initialization), (1, Initialization::Xavier));
        assert_eq!((homework.epoch_word(), settings.stop_at), ("Epoch", None));
    }

    #[test]
    fn part1_the_notebook_has_the_settings_of_its_cells() {
        let notebook = Preset::Notebook;
        assert_eq!((notebook.name(), notebook.sizes()), ("notebook", vec![784, 10, 10]));
        let activations = (notebook.hidden_activation(), notebook.output_activation());
        assert_eq!(activations, (Activation::Relu, Activation::Softmax));
        assert_eq!((notebook.images(), notebook.target_accuracy()), ((10_000, 0), 0.9));
        let settings = notebook.hyperparameters();
        assert_eq!((settings.loss, settings.gradient), (Loss::CrossEntropy, GradientScale::Mean));
        assert_eq!((settings.learning_rate, settings.momentum, settings.weight_decay), (0.1, 0.0, 0.0));
        assert_eq!((settings.batch_size, settings.epochs, settings.shuffle), (None, 1000, false));
        assert_eq!((settings.report_every, settings.initialization), (50, Initialization::Normal));
        assert_eq!((notebook.epoch_word(), settings.stop_at), ("Iteration", None));
    }

    #[test]
    fn part1_both_presets_are_networks_whose_loss_suits_their_outputs() {
        for preset in [Preset::Homework, Preset::Notebook] {
            let architecture = preset.architecture().unwrap();
            assert_eq!(architecture.sizes(), preset.sizes());
            architecture.require_loss(preset.hyperparameters().loss).unwrap();
        }
        let homework = Preset::Homework.architecture().unwrap();
        assert!(homework.require_loss(Loss::CrossEntropy).is_ok(), "sigmoid outputs are probabilities");
        let unbounded = Architecture::new(homework.sizes().to_vec(), Activation::Relu, Activation::Identity).unwrap();
        assert!(unbounded.require_loss(Loss::CrossEntropy).is_err());
    }
}
