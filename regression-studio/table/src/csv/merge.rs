//! Concatenation of a column's chunks, and the decision on its kind.

use super::parse::Cells;
use super::value::{self, Decimals};
use crate::column::NotNumeric;
use crate::texts::{Dictionary, Texts};
use crate::{Categories, Column, Kind};

/// A column read as numeric turns out to be text, and some of its texts are numbers whose spelling is lost.
pub(super) struct Misjudged;

/// The kind of a column by its number of numeric and other cells, missing ones not counted.
fn kind(numbers: usize, others: usize) -> Kind {
    if numbers > others { Kind::Number } else { Kind::Text }
}

/// Concatenates the cells of `chunks`, `rows` in total, to a column.
pub(super) fn column(name: String, rows: usize, chunks: Vec<Cells>, decimals: Decimals) -> Result<Column, Misjudged> {
    let mut numbers = Numbers::default();
    let (mut indices, mut dictionary) = (Vec::new(), Dictionary::default());
    for chunk in chunks {
        match chunk {
            Cells::Numbers { values, missing, others, texts } => numbers.append(rows, values, missing, &others, &texts),
            Cells::Texts { indices: of_chunk, texts } => {
                indices.reserve_exact(rows.saturating_sub(indices.len()));
                let codes: Vec<u32> = texts.texts().iter().map(|text| dictionary.code(text)).collect();
                let code = |&index: &u32| codes.get(index as usize).copied().unwrap_or(Categories::MISSING);
                indices.extend(of_chunk.iter().map(code));
            }
        }
    }
    match indices.is_empty() {
        true => numbers.into_column(name),
        false => Ok(from_texts(name, dictionary.into_texts(), indices, decimals)),
    }
}

/// The kinds of the columns, guessed from a sample; a column without values counts as numeric.
pub(super) fn kinds(sample: &[Cells], decimals: Decimals) -> Vec<Kind> {
    let kind = |cells: &Cells| match cells {
        Cells::Numbers { .. } => Kind::Number,
        Cells::Texts { indices, texts } => {
            let values = parse_numbers(texts.texts(), decimals);
            match indices.iter().any(|&index| index != Categories::MISSING) {
                true => kind_of_texts(&values, indices),
                false => Kind::Number,
            }
        }
    };
    sample.iter().map(kind).collect()
}

/// A column read as numeric.
#[derive(Default)]
struct Numbers {
    values: Vec<f64>,
    missing: usize,
    others: Vec<(u32, u32)>,
    texts: Dictionary,
}

impl Numbers {
    fn append(&mut self, rows: usize, values: Vec<f64>, missing: usize, others: &[(u32, u32)], texts: &Dictionary) {
        let first = self.values.len() as u32;
        self.values.reserve_exact(rows.saturating_sub(self.values.len()));
        self.values.extend_from_slice(&values);
        self.missing += missing;
        let codes: Vec<u32> = texts.texts().iter().map(|text| self.texts.code(text)).collect();
        let moved = |&(row, index): &(u32, u32)| Some((first + row, *codes.get(index as usize)?));
        self.others.extend(others.iter().filter_map(moved));
    }

    fn into_column(self, name: String) -> Result<Column, Misjudged> {
        let rows = self.values.len();
        let numbers = rows - self.missing - self.others.len();
        match kind(numbers, self.others.len()) {
            Kind::Number => {
                let not_numeric = NotNumeric { cells: self.others, texts: self.texts.into_texts() };
                Ok(Column::from_numbers(name, self.values, self.missing, not_numeric))
            }
            Kind::Text if numbers == 0 => {
                let mut indices = vec![Categories::MISSING; rows];
                for (row, index) in self.others {
                    if let Some(cell) = indices.get_mut(row as usize) {
                        *cell = index;
                    }
                }
                Ok(Column::from_texts(name, self.texts.into_texts(), indices))
            }
            Kind::Text => Err(Misjudged),
        }
    }
}

/// A column read as text, converted to numeric if most of its texts are numbers.
fn from_texts(name: String, texts: Texts, indices: Vec<u32>, decimals: Decimals) -> Column {
    let numbers = parse_numbers(&texts, decimals);
    if kind_of_texts(&numbers, &indices) == Kind::Text {
        return Column::from_texts(name, texts, indices);
    }
    let (mut values, mut missing) = (Vec::with_capacity(indices.len()), 0);
    let (mut cells, mut others) = (Vec::new(), Dictionary::default());
    for (row, &index) in indices.iter().enumerate() {
        let number = numbers.get(index as usize).copied().flatten();
        values.push(number.unwrap_or(f64::NAN));
        match texts.get(index as usize) {
            None => missing += 1,
            Some(text) if number.is_none() => cells.push((row as u32, others.code(text))),
            Some(_) => {}
        }
    }
    Column::from_numbers(name, values, missing, NotNumeric { cells, texts: others.into_texts() })
}

fn parse_numbers(texts: &Texts, decimals: Decimals) -> Vec<Option<f64>> {
    texts.iter().map(|text| value::number(text.as_bytes(), decimals)).collect()
}

/// The kind of a column of texts, given each text's value.
fn kind_of_texts(numbers: &[Option<f64>], indices: &[u32]) -> Kind {
    let given = || indices.iter().filter_map(|&index| numbers.get(index as usize));
    let count = given().filter(|number| number.is_some()).count();
    kind(count, given().count() - count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::Dictionary;

    /// Cells that were read as numbers: none is one, the first is missing.
    fn texts_read_as_numbers(texts: [&str; 2]) -> Cells {
        let mut dictionary = Dictionary::default();
        let others = (1..).zip(texts).map(|(row, text)| (row, dictionary.code(text))).collect();
        Cells::Numbers { values: vec![f64::NAN; 3], missing: 1, others, texts: dictionary }
    }

    #[test]
    fn a_column_without_any_number_keeps_its_texts_without_another_reading() {
        let pieces = vec![texts_read_as_numbers(["b", "a"]), texts_read_as_numbers(["a", "c"])];
        let Ok(column) = column("name".to_owned(), 6, pieces, Decimals::Point) else { panic!("it is read again") };
        assert_eq!((column.kind(), column.missing()), (Kind::Text, 2));
        let cells: Vec<_> = (0..6).map(|row| column.text(row).into_owned()).collect();
        assert_eq!(cells, ["", "b", "a", "", "a", "c"]);
    }
}
