//! The learning rate over the epochs of a training run.

use serde::{Deserialize, Serialize};

use crate::names::display_and_parse_names;

/// How the learning rate changes from epoch to epoch. Within an epoch, it is constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// It does not change.
    #[default]
    Constant,
    /// It falls along half a cosine: in epoch e of E, counted from 0, it is η · (1 + cos(π e / E)) / 2 (I. Loshchilov
    /// and F. Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", ICLR 2017, without restarts).
    Cosine,
}

display_and_parse_names!(Schedule, "schedule");

impl Schedule {
    /// All values, in declaration order.
    pub const ALL: [Self; 2] = [Self::Constant, Self::Cosine];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Cosine => "cosine",
        }
    }

    /// One line of help for the value.
    pub fn description(self) -> &'static str {
        match self {
            Self::Constant => "The same rate in every epoch",
            Self::Cosine => "From the rate in the first epoch down to almost 0 in the last, along half a cosine",
        }
    }

    pub(crate) fn is_constant(&self) -> bool {
        *self == Self::Constant
    }
}
