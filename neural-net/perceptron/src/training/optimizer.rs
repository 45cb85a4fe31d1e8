//! The update rules.

use serde::{Deserialize, Serialize};

use crate::names::display_and_parse_names;

/// How a step changes the parameters. [`Hyperparameters`](super::Hyperparameters) has the formulas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimizer {
    /// Gradient descent with momentum.
    #[default]
    Sgd,
    /// Adam with decoupled weight decay (D. P. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", ICLR
    /// 2015; I. Loshchilov and F. Hutter, "Decoupled Weight Decay Regularization", ICLR 2019).
    Adam,
}

display_and_parse_names!(Optimizer, "optimizer");

impl Optimizer {
    /// All values, in declaration order.
    pub const ALL: [Self; 2] = [Self::Sgd, Self::Adam];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sgd => "sgd",
            Self::Adam => "adam",
        }
    }

    /// One line of help for the value.
    pub fn description(self) -> &'static str {
        match self {
            Self::Sgd => "Gradient descent with momentum",
            Self::Adam => "Steps whose size does not depend on the scale of the gradients",
        }
    }

    pub(crate) fn is_sgd(&self) -> bool {
        *self == Self::Sgd
    }
}

/// β₂ of [`Optimizer::Adam`]: the fraction of the mean squared gradient that remains after a step.
pub const SQUARES_DECAY: f64 = 0.999;
/// ε of [`Optimizer::Adam`], which is added to the root of the mean squared gradient.
pub const EPSILON: f64 = 1e-8;
