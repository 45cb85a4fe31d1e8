//! One column of a table, numeric or text.

use std::borrow::Cow;

use super::csv::number;
use super::dates::{self, Dates, Order, Reading};
use super::looks;
use super::role::Role;
use super::shown::decimal;
use super::texts::{Dictionary, Texts};
use super::{DecimalMark, Kind};

/// A named column.
#[derive(Clone, Debug)]
pub struct Column {
    name: String,
    missing: usize,
    values: Values,
    unit: Option<String>,
    indistinct_integers: usize,
    two_digit_years: bool,
    date_order: Option<Role>,
}

#[derive(Clone, Debug)]
enum Values {
    Numbers {
        /// Finite, or NaN in rows without a number.
        values: Vec<f64>,
        not_numeric: NotNumeric,
    },
    Texts {
        texts: Texts,
        indices: Vec<u32>,
    },
    /// Texts that are mostly dates, or numbers with a spelling that is kept.
    Spelled {
        texts: Texts,
        indices: Vec<u32>,
        /// For dates, the days since 1970-01-01; NaN in rows without a date or number.
        values: Vec<f64>,
        /// Cells that are neither missing nor a date or number.
        others: usize,
        is_date: bool,
    },
}

/// The cells of a numeric column that are neither missing nor a finite number.
#[derive(Clone, Debug, Default)]
pub(crate) struct NotNumeric {
    /// Row and index in `texts`, by ascending row.
    pub(crate) cells: Vec<(u32, u32)>,
    pub(crate) texts: Texts,
}

/// A text column as distinct texts and an index per row.
#[derive(Clone, Copy, Debug)]
pub struct Categories<'a> {
    /// The distinct texts, in order of first appearance.
    pub names: &'a Texts,
    /// Each row's index in `names`, or [`Categories::MISSING`].
    pub indices: &'a [u32],
}

impl Categories<'_> {
    /// The index of a missing cell.
    pub const MISSING: u32 = u32::MAX;
}

impl Column {
    /// Creates a numeric column. NaN is a missing cell, and infinities count as not numeric.
    ///
    /// # Panics
    /// If there are 2³² or more rows.
    pub fn of_numbers(name: impl Into<String>, mut values: Vec<f64>) -> Self {
        let missing = values.iter().filter(|value| value.is_nan()).count();
        let mut dictionary = Dictionary::default();
        let mut cells = Vec::new();
        for (row, value) in values.iter_mut().enumerate().filter(|(_, value)| value.is_infinite()) {
            cells.push((index(row), dictionary.code(&value.to_string())));
            *value = f64::NAN;
        }
        Self::from_numbers(name.into(), values, missing, NotNumeric { cells, texts: dictionary.into_texts() })
    }

    /// Creates a text column, or a date column if most texts are dates. An empty string is a
    /// missing cell.
    ///
    /// # Panics
    /// If there are 2³² or more rows.
    pub fn of_texts<T: AsRef<str>>(name: impl Into<String>, cells: &[T]) -> Self {
        let mut dictionary = Dictionary::default();
        let code = |cell: &T| match cell.as_ref() {
            "" => Categories::MISSING,
            text => dictionary.code(text),
        };
        index(cells.len());
        let indices: Vec<u32> = cells.iter().map(code).collect();
        let texts = dictionary.into_texts();
        match dates::of_texts(&texts, &texts.counts(&indices), &Reading::default()) {
            Some(Dates { days, two_digit_year, order, .. }) => {
                Self::from_spelled(name.into(), texts, indices, &days, true).with_dates(two_digit_year.is_some(), order)
            }
            None => Self::from_texts(name.into(), texts, indices),
        }
    }

    pub(crate) fn from_numbers(name: String, values: Vec<f64>, missing: usize, not_numeric: NotNumeric) -> Self {
        Self::new(name, missing, Values::Numbers { values, not_numeric })
    }

    pub(crate) fn from_texts(name: String, texts: Texts, indices: Vec<u32>) -> Self {
        Self::new(name, missing(&indices), Values::Texts { texts, indices })
    }

    /// Creates a column of dates or numbers. `values_of_texts` has the value of each text, or NaN.
    pub(crate) fn from_spelled(
        name: String,
        texts: Texts,
        indices: Vec<u32>,
        values_of_texts: &[f64],
        is_date: bool,
    ) -> Self {
        let of_row = |&index: &u32| values_of_texts.get(index as usize).copied().unwrap_or(f64::NAN);
        let values: Vec<f64> = indices.iter().map(of_row).collect();
        let missing = missing(&indices);
        let others = values.iter().filter(|value| value.is_nan()).count() - missing;
        Self::new(name, missing, Values::Spelled { texts, indices, values, others, is_date })
    }

    fn new(name: String, missing: usize, values: Values) -> Self {
        Self { name, missing, values, unit: None, indistinct_integers: 0, two_digit_years: false, date_order: None }
    }

    /// Sets the text that every number has before or after it.
    pub(crate) fn with_unit(self, unit: Option<String>) -> Self {
        Self { unit, ..self }
    }

    /// Sets the number of cells that [`Column::indistinct_integers`] counts.
    pub(crate) fn with_indistinct_integers(self, indistinct_integers: usize) -> Self {
        Self { indistinct_integers, ..self }
    }

    /// Sets how the column's dates were read.
    pub(crate) fn with_dates(self, two_digit_years: bool, order: Option<Order>) -> Self {
        Self { two_digit_years, date_order: order.map(Role::of_order), ..self }
    }

    /// Makes these cells missing. They are texts as written in the file, or numbers.
    pub(crate) fn take_as_missing(&mut self, cells: &[String]) {
        let mut taken = 0;
        let numbers: Vec<f64> = cells.iter().filter_map(|cell| number(cell.as_bytes(), DecimalMark::Point)).collect();
        let is_text = |text: &str| cells.iter().any(|cell| cell == text);
        let are_taken = |texts: &Texts| texts.iter().map(is_text).collect::<Vec<bool>>();
        match &mut self.values {
            Values::Numbers { values, not_numeric } => {
                for value in values.iter_mut().filter(|value| numbers.contains(*value)) {
                    (*value, taken) = (f64::NAN, taken + 1);
                }
                let NotNumeric { cells: others, texts } = not_numeric;
                let count = others.len();
                others.retain(|&(_, index)| !texts.get(index as usize).is_some_and(is_text));
                taken += count - others.len();
            }
            Values::Texts { texts, indices } => {
                let is_taken = are_taken(texts);
                for index in indices.iter_mut().filter(|index| is_taken.get(**index as usize) == Some(&true)) {
                    (*index, taken) = (Categories::MISSING, taken + 1);
                }
            }
            Values::Spelled { texts, indices, values, others, is_date } => {
                let is_taken = are_taken(texts);
                for (index, value) in indices.iter_mut().zip(values) {
                    let is_number = !*is_date && numbers.contains(value);
                    if is_number || is_taken.get(*index as usize) == Some(&true) {
                        *others -= usize::from(value.is_nan());
                        (*index, *value, taken) = (Categories::MISSING, f64::NAN, taken + 1);
                    }
                }
            }
        }
        self.missing += taken;
    }

    /// The column's name, from the header.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of the column's values.
    pub fn kind(&self) -> Kind {
        match self.values {
            Values::Numbers { .. } | Values::Spelled { .. } => Kind::Number,
            Values::Texts { .. } => Kind::Text,
        }
    }

    /// Whether the numbers are dates, as days since 1970-01-01.
    pub fn is_date(&self) -> bool {
        matches!(self.values, Values::Spelled { is_date: true, .. })
    }

    /// The currency or unit that every number of the column has, as in the file: `€`, `%`, `m2`.
    /// With `…` in between if it stands on both sides. `None` for bare numbers, dates and texts.
    pub fn unit(&self) -> Option<&str> {
        self.unit.as_deref()
    }

    /// The number of cells with a whole number beyond 2⁵³ that an f64 cannot represent exactly,
    /// such as 9007199254740993. [`Column::number`] gives another number for them, which may be
    /// equal for different cells. 0 for texts and dates.
    pub fn indistinct_integers(&self) -> usize {
        self.indistinct_integers
    }

    /// Whether a date of the column has a two-digit year, which [`csv::Declared::first_year`]
    /// completes.
    ///
    /// [`csv::Declared::first_year`]: super::csv::Declared::first_year
    pub fn two_digit_years(&self) -> bool {
        self.two_digit_years
    }

    /// The order of day and month that was used for the column's dates such as 01/02/2025:
    /// [`Role::DayFirst`] or [`Role::MonthFirst`]. Declare it to read another table the same way.
    /// `None` if there are no such dates.
    pub fn date_order(&self) -> Option<Role> {
        self.date_order
    }

    /// The number of missing cells; [`super::csv`] lists how missing values may be written.
    pub fn missing(&self) -> usize {
        self.missing
    }

    /// The number of cells that are neither missing nor a finite number; in a date column, neither
    /// missing nor a date. 0 for a text column.
    pub fn not_numeric(&self) -> usize {
        match &self.values {
            Values::Numbers { not_numeric, .. } => not_numeric.cells.len(),
            Values::Texts { .. } => 0,
            Values::Spelled { others, .. } => *others,
        }
    }

    /// The row of the first cell that [`Column::not_numeric`] counts.
    pub fn first_not_numeric(&self) -> Option<usize> {
        match &self.values {
            Values::Numbers { not_numeric, .. } => not_numeric.cells.first().map(|cell| cell.0 as usize),
            Values::Texts { .. } => None,
            Values::Spelled { indices, values, .. } => {
                indices.iter().zip(values).position(|(&index, value)| value.is_nan() && index != Categories::MISSING)
            }
        }
    }

    /// The number in row `row`, always finite; `None` if it is missing or not numeric, or the column is text.
    pub fn number(&self, row: usize) -> Option<f64> {
        self.numbers()?.get(row).copied().filter(|value| !value.is_nan())
    }

    /// The cell in row `row` as text. Empty if it is missing; the original text if it is a date, a
    /// duration or not numeric.
    pub fn text(&self, row: usize) -> Cow<'_, str> {
        match &self.values {
            Values::Numbers { values, not_numeric } => match values.get(row) {
                Some(value) if !value.is_nan() => decimal(*value).into(),
                _ => not_numeric.text(row).unwrap_or_default().into(),
            },
            Values::Texts { texts, indices } | Values::Spelled { texts, indices, .. } => {
                let text = indices.get(row).and_then(|&index| texts.get(index as usize));
                text.unwrap_or_default().into()
            }
        }
    }

    /// What most texts of a text column look like, and how to have them read, as in "a fraction
    /// such as 1/2: …". `None` if they have no known form, and for columns of numbers or dates.
    pub fn looks_like(&self) -> Option<String> {
        looks::of_texts(self.categories()?.names)
    }

    /// The first cell with a text that `is_wanted`, as its row and text. Numbers have no text.
    pub(crate) fn first_text(&self, is_wanted: impl Fn(&str) -> bool) -> Option<(usize, &str)> {
        let wanted = |texts: &Texts| texts.iter().map(&is_wanted).collect::<Vec<bool>>();
        let (row, index, texts) = match &self.values {
            Values::Numbers { not_numeric: NotNumeric { cells, texts }, .. } => {
                let wanted = wanted(texts);
                let &(row, index) = cells.iter().find(|cell| wanted.get(cell.1 as usize) == Some(&true))?;
                (row as usize, index, texts)
            }
            Values::Texts { texts, indices } | Values::Spelled { texts, indices, .. } => {
                let wanted = wanted(texts);
                let row = indices.iter().position(|&index| wanted.get(index as usize) == Some(&true))?;
                (row, *indices.get(row)?, texts)
            }
        };
        Some((row, texts.get(index as usize)?))
    }

    /// The values of a numeric column, finite or NaN; `None` for a text column.
    pub fn numbers(&self) -> Option<&[f64]> {
        match &self.values {
            Values::Numbers { values, .. } | Values::Spelled { values, .. } => Some(values),
            Values::Texts { .. } => None,
        }
    }

    /// The categories of a text column; `None` for a numeric column.
    pub fn categories(&self) -> Option<Categories<'_>> {
        match &self.values {
            Values::Numbers { .. } | Values::Spelled { .. } => None,
            Values::Texts { texts, indices } => Some(Categories { names: texts, indices }),
        }
    }

    pub(super) fn rows(&self) -> usize {
        match &self.values {
            Values::Numbers { values, .. } => values.len(),
            Values::Texts { indices, .. } | Values::Spelled { indices, .. } => indices.len(),
        }
    }
}

impl NotNumeric {
    fn text(&self, row: usize) -> Option<&str> {
        let found = self.cells.binary_search_by_key(&row, |cell| cell.0 as usize).ok()?;
        self.texts.get(self.cells.get(found)?.1 as usize)
    }
}

fn missing(indices: &[u32]) -> usize {
    indices.iter().filter(|&&index| index == Categories::MISSING).count()
}

/// Converts a row to the index type that columns store.
fn index(row: usize) -> u32 {
    u32::try_from(row).expect("a table has fewer than 2³² rows")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_finite_missing_or_kept_as_text() {
        let column = Column::of_numbers("price", vec![1.5, f64::NAN, f64::INFINITY, -0.0, f64::NEG_INFINITY]);
        assert_eq!((column.kind(), column.missing(), column.not_numeric()), (Kind::Number, 1, 2));
        let cells: Vec<_> = (0..6).map(|row| (column.number(row), column.text(row).into_owned())).collect();
        let wanted = [(Some(1.5), "1.5"), (None, ""), (None, "inf"), (Some(-0.0), "-0"), (None, "-inf"), (None, "")];
        assert_eq!(cells, wanted.map(|(number, text)| (number, text.to_owned())));
        assert!(column.categories().is_none());
        assert!(column.numbers().is_some_and(|numbers| numbers.iter().all(|number| !number.is_infinite())));
    }

    #[test]
    fn texts_are_categories() {
        let column = Column::of_texts("series", &["EQ", "", "BE", "EQ"]);
        assert_eq!((column.kind(), column.missing(), column.not_numeric()), (Kind::Text, 1, 0));
        let categories = column.categories().unwrap();
        assert_eq!(categories.indices, [0, Categories::MISSING, 1, 0]);
        assert_eq!(categories.names.iter().collect::<Vec<_>>(), ["EQ", "BE"]);
        assert_eq!((column.text(1), column.text(3), column.number(0)), ("".into(), "EQ".into(), None));
    }

    #[test]
    fn texts_that_are_dates_are_numbers_of_days_shown_as_they_are() {
        let column = Column::of_texts("date", &["02-Jan-1970", "", "1970-01-01 12:00", "02-Jan-1970"]);
        assert_eq!(
            (column.kind(), column.is_date(), column.missing(), column.not_numeric()),
            (Kind::Number, true, 1, 0)
        );
        assert_eq!((0..4).map(|row| column.number(row)).collect::<Vec<_>>(), [Some(1.0), None, Some(0.5), Some(1.0)]);
        assert_eq!([0, 1, 2].map(|row| column.text(row).into_owned()), ["02-Jan-1970", "", "1970-01-01 12:00"]);
        assert!(column.categories().is_none());
        let column = Column::of_texts("date", &["02-Jan-1970", "", "TBD", "02-Jan-1970"]);
        assert_eq!((column.is_date(), column.missing(), column.not_numeric()), (true, 1, 1));
        assert_eq!((column.first_not_numeric(), column.number(2), column.text(2)), (Some(2), None, "TBD".into()));
        for texts in [&["02-Jan-1970", "unknown"][..], &["", ""]] {
            assert_eq!(Column::of_texts("date", texts).kind(), Kind::Text);
        }
    }
}
