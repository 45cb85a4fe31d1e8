//! Columns that number the rows.

use crate::Table;

/// Lower-case names of quantities that may count up from 0 or 1 and still be meaningful.
const QUANTITIES: [&str; 26] = [
    "t",
    "x",
    "time",
    "day",
    "days",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
    "quarter",
    "hour",
    "hours",
    "minute",
    "minutes",
    "second",
    "seconds",
    "age",
    "dose",
    "doses",
    "distance",
    "depth",
    "step",
    "period",
    "temperature",
];

impl Table {
    /// Whether a column numbers the rows: whole numbers that count up from 0 or 1, in row order. A
    /// column named like a meaningful quantity, such as a dose or a time, does not count.
    pub fn numbers_rows(&self, name: &str) -> bool {
        let Some(numbers) = self.column(name).filter(|column| !column.is_date()).and_then(|column| column.numbers())
        else {
            return false;
        };
        let Some(&first) = numbers.first().filter(|first| [0.0, 1.0].contains(*first)) else { return false };
        let is_quantity = || {
            let word = |word: &str| QUANTITIES.contains(&&*word.to_lowercase());
            name.split(|character: char| !character.is_alphabetic()).any(word)
        };
        numbers.len() > 2 && (0..).zip(numbers).all(|(row, &number)| number == first + f64::from(row)) && !is_quantity()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Column, Table};

    #[test]
    fn rows_are_numbered_from_zero_or_one_unless_a_quantity_counts() {
        let from = |first: u32, step: u32| (0..20).map(|row| f64::from(first + row * step)).collect::<Vec<_>>();
        let shuffled: Vec<f64> = (0..20).map(|row| f64::from(row * 7 % 20)).collect();
        let columns = vec![
            Column::of_numbers("column 1", from(0, 1)),
            Column::of_numbers("id", from(1, 1)),
            Column::of_numbers("Time (s)", from(0, 1)),
            Column::of_numbers("dose", from(1, 1)),
            Column::of_numbers("year of build", from(2001, 1)),
            Column::of_numbers("even", from(0, 2)),
            Column::of_numbers("shuffled", shuffled),
            Column::of_texts("text", &[""; 20]),
        ];
        let table = Table::new("table", columns);
        let found: Vec<&str> =
            table.columns().iter().map(Column::name).filter(|name| table.numbers_rows(name)).collect();
        assert_eq!(found, ["column 1", "id"]);
    }
}
