//! A user's declaration about a column.

use serde::{Deserialize, Serialize};

use crate::dates::Order;
use crate::{DecimalMark, Kind};

/// A user's declaration about a column. It overrides what the cells look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Numbers; every other cell is unreadable.
    Number,
    /// Numbers such as 1,250.5.
    DecimalPoint,
    /// Numbers such as 1.250,5.
    DecimalComma,
    /// Texts. Each one that is not empty is a category, including `NA` and `None`.
    Category,
    /// Texts. `NA` and the other spellings of a missing value are missing.
    Text,
    /// Dates, including 20250131 and 202501; every other cell is unreadable.
    Date,
    /// Dates such as 31/01/2025.
    DayFirst,
    /// Dates such as 01/31/2025.
    MonthFirst,
    /// The rows' numbers or names. Not a feature.
    Index,
    /// Not used. Not a feature.
    Ignore,
    /// The group of a row, such as a person. All rows of a group are in the same part. Not a
    /// feature.
    Group,
}

impl Role {
    /// All roles, in display order.
    pub const ALL: [Self; 11] = [
        Self::Number,
        Self::DecimalPoint,
        Self::DecimalComma,
        Self::Category,
        Self::Text,
        Self::Date,
        Self::DayFirst,
        Self::MonthFirst,
        Self::Index,
        Self::Ignore,
        Self::Group,
    ];

    /// Its name in a settings file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::DecimalPoint => "decimal-point",
            Self::DecimalComma => "decimal-comma",
            Self::Category => "category",
            Self::Text => "text",
            Self::Date => "date",
            Self::DayFirst => "day-first",
            Self::MonthFirst => "month-first",
            Self::Index => "index",
            Self::Ignore => "ignore",
            Self::Group => "group",
        }
    }

    /// Whether a column with this role may be a feature or the target.
    pub fn may_be_used(self) -> bool {
        !matches!(self, Self::Index | Self::Ignore | Self::Group)
    }

    /// The kind that the cells are read as; `None` if the cells decide.
    pub(crate) fn kind(self) -> Option<Kind> {
        match self {
            Self::Number | Self::DecimalPoint | Self::DecimalComma => Some(Kind::Number),
            Self::Category | Self::Text | Self::Date | Self::DayFirst | Self::MonthFirst => Some(Kind::Text),
            // Keep the cells as written: 00123 and 123 are different rows, and an f64 cannot
            // represent twenty digits.
            Self::Index | Self::Group => Some(Kind::Text),
            Self::Ignore => None,
        }
    }

    /// The decimal mark that the role declares.
    pub(crate) fn decimal_mark(self) -> Option<DecimalMark> {
        match self {
            Self::DecimalPoint => Some(DecimalMark::Point),
            Self::DecimalComma => Some(DecimalMark::Comma),
            _ => None,
        }
    }

    /// The order of day and month that the role declares.
    pub(crate) fn order(self) -> Option<Order> {
        match self {
            Self::DayFirst => Some(Order::DayFirst),
            Self::MonthFirst => Some(Order::MonthFirst),
            _ => None,
        }
    }

    /// The role that declares an order of day and month.
    pub(crate) fn of_order(order: Order) -> Self {
        match order {
            Order::DayFirst => Self::DayFirst,
            Order::MonthFirst => Self::MonthFirst,
        }
    }

    /// Whether the role declares a date column.
    pub(crate) fn is_date(self) -> bool {
        matches!(self, Self::Date | Self::DayFirst | Self::MonthFirst)
    }
}
