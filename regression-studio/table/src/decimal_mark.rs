//! The decimal mark of numbers.

use serde::{Deserialize, Serialize};

pub(crate) use DecimalMark::{Comma, Point};

/// The decimal mark of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecimalMark {
    /// 1234.5; commas may separate thousands.
    Point,
    /// 1234,5; points may separate thousands.
    Comma,
}

impl DecimalMark {
    /// The other mark, which may separate thousands.
    pub fn other(self) -> Self {
        match self {
            Self::Point => Self::Comma,
            Self::Comma => Self::Point,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::Comma => "comma",
        }
    }
}
