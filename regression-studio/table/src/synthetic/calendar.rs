//! The calendar of trading days, without holidays.

use std::fmt;

const MONTHS: [(&str, u32); 12] = [
    ("Jan", 31),
    ("Feb", 28),
    ("Mar", 31),
    ("Apr", 30),
    ("May", 31),
    ("Jun", 30),
    ("Jul", 31),
    ("Aug", 31),
    ("Sep", 30),
    ("Oct", 31),
    ("Nov", 30),
    ("Dec", 31),
];

/// A day of the Gregorian calendar, from Monday to Friday.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Day {
    year: u32,
    /// 0 … 11
    month: usize,
    /// 1 … 31
    day: u32,
    /// Monday is 0.
    weekday: u32,
}

impl Day {
    /// 1 January 2024, a Monday.
    pub(super) const FIRST: Self = Self { year: 2024, month: 0, day: 1, weekday: 0 };

    /// The next day from Monday to Friday.
    pub(super) fn next_trading_day(self) -> Self {
        let mut day = self.next();
        while day.weekday >= 5 {
            day = day.next();
        }
        day
    }

    fn next(self) -> Self {
        let weekday = (self.weekday + 1) % 7;
        let is_leap = self.year.is_multiple_of(4) && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        let days = MONTHS[self.month].1 + u32::from(is_leap && self.month == 1);
        match (self.day < days, self.month) {
            (true, _) => Self { day: self.day + 1, weekday, ..self },
            (false, 11) => Self { year: self.year + 1, month: 0, day: 1, weekday },
            (false, month) => Self { month: month + 1, day: 1, weekday, ..self },
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:02}-{}-{}", self.day, MONTHS[self.month].0, self.year)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_the_calendar_without_weekends() {
        let days: Vec<Day> =
            std::iter::successors(Some(Day::FIRST), |day| Some(day.next_trading_day())).take(600).collect();
        let text = |index: usize| days[index].to_string();
        assert_eq!([0, 4, 5].map(text), ["01-Jan-2024", "05-Jan-2024", "08-Jan-2024"]);
        // 2024 has 262 days from Monday to Friday, 2025 has 261; 29 February 2024 is the 44th.
        assert_eq!(
            [43, 44, 261, 262, 522, 523].map(text),
            ["29-Feb-2024", "01-Mar-2024", "31-Dec-2024", "01-Jan-2025", "31-Dec-2025", "01-Jan-2026"]
        );
    }
}
