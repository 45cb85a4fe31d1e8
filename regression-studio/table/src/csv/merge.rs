//! Concatenates a column's chunks, and decides on its kind.

use std::borrow::Cow;

use super::affix::Affix;
use super::forms::{self, Form, Formed};
use super::marks::{Evidence, Shown};
use super::parse::Cells;
use super::value;
use crate::column::NotNumeric;
use crate::dates::{self, Dates};
use crate::texts::{Dictionary, Texts};
use crate::{Categories, Column, DecimalMark, Kind, Role};

/// A column with concatenated cells, and what was found in them.
pub(super) struct Merged {
    /// `None` if a column read as numeric turns out to be text, and the spelling of some numbers is
    /// lost.
    pub(super) column: Option<Column>,
    pub(super) found: Found,
}

/// How a column is read, according to declarations and its cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) mark: DecimalMark,
    /// Whether numbers with the other mark are not allowed: the mark is declared, or some numbers
    /// are valid with either.
    pub(super) keeps_mark: bool,
    pub(super) role: Option<Role>,
    /// The first of the hundred years that two-digit years belong to.
    pub(super) first_year: i64,
}

impl Reading {
    fn of_forms<'a>(&self, name: &'a str, numbers: usize) -> forms::Column<'a> {
        forms::Column { name, mark: self.mark, keeps_mark: self.keeps_mark, numbers }
    }
}

/// What a user should know about a column's cells.
#[derive(Default)]
pub(super) struct Found {
    /// The text that every number has before or after it.
    pub(super) affix: Option<Affix>,
    /// The form of numbers that are not plain, and an example with its value.
    pub(super) form: Option<(Form, String, f64)>,
    /// A date in a column without a cell that shows the order of day and month.
    pub(super) ambiguous_date: Option<String>,
    /// The cells that are a date only with the day first, and the cells that are one only with the
    /// month first.
    pub(super) both_orders: Option<[OneOrder; 2]>,
    /// A date with a two-digit year, and its days since 1970-01-01.
    pub(super) two_digit_year: Option<(String, f64)>,
    /// Cells with a word for a missing value: NA in a text column, None among numbers.
    pub(super) words: Shown,
}

/// The cells that are a date in only one order of day and month.
pub(super) struct OneOrder {
    /// The number of cells.
    pub(super) cells: usize,
    /// The row and text of one of them.
    pub(super) row: usize,
    pub(super) text: String,
}

/// The kind of a column, given its numbers of numeric and other cells without missing ones.
fn kind(numbers: usize, others: usize) -> Kind {
    if numbers > others { Kind::Number } else { Kind::Text }
}

/// A column's cells from all chunks.
pub(super) enum Gathered {
    /// Read as numeric, with at least one number.
    Numbers(Numbers),
    /// Texts, and their evidence for the decimal mark.
    Texts(TextCells, Evidence),
}

impl Gathered {
    /// Concatenates the cells of `chunks`, `rows` in total.
    pub(super) fn of(rows: usize, chunks: Vec<Cells>) -> Self {
        let (mut numbers, mut texts) = (Numbers::default(), TextCells::default());
        for chunk in chunks {
            match chunk {
                Cells::Numbers { values, missing, others, texts, evidence } => {
                    numbers.append(rows, values, missing, &others, &texts, *evidence);
                }
                Cells::Texts { indices, texts: of_chunk, words } => texts.append(rows, &indices, &of_chunk, words),
            }
        }
        if texts.indices.is_empty() {
            if numbers.values.len() > numbers.missing + numbers.others.len() {
                numbers.evidence.given = numbers.values.len() - numbers.missing;
                numbers.evidence.numbers += numbers.evidence.given - numbers.others.len();
                return Self::Numbers(numbers);
            }
            texts = numbers.into_texts();
        }
        let evidence = evidence(&texts.indices, texts.texts.texts());
        Self::Texts(texts, evidence)
    }

    /// The cells' evidence for the decimal mark.
    pub(super) fn evidence(&self) -> &Evidence {
        match self {
            Self::Numbers(numbers) => &numbers.evidence,
            Self::Texts(_, evidence) => evidence,
        }
    }

    /// Whether the values were read with a decimal mark.
    pub(super) fn depends_on_mark(&self) -> bool {
        matches!(self, Self::Numbers(_))
    }

    /// Creates the column named `name`, read according to `reading`.
    pub(super) fn into_column(self, name: String, reading: Reading) -> Merged {
        let (indistinct, either) = (self.evidence().indistinct.count, self.evidence());
        let is_open = either.with_point.count + either.with_comma.count > 0;
        let reading = Reading { keeps_mark: reading.keeps_mark || is_open, ..reading };
        let merged = match self {
            Self::Numbers(numbers) => numbers.into_column(name, reading),
            Self::Texts(texts, _) => texts.into_column(name, reading),
        };
        let counted = |column: Column| match column.numbers().is_some() && !column.is_date() {
            true => column.with_indistinct_integers(indistinct),
            false => column,
        };
        Merged { column: merged.column.map(counted), ..merged }
    }
}

/// A sample's evidence for the decimal mark.
pub(super) fn evidence_of_cells(cells: &Cells) -> Evidence {
    match cells {
        Cells::Numbers { evidence, .. } => (**evidence).clone(),
        Cells::Texts { indices, texts, .. } => evidence(indices, texts.texts()),
    }
}

/// The kinds of the columns, guessed from a sample that was read as texts. A column without values
/// counts as numeric.
pub(super) fn kinds(sample: &[Cells], marks: &[DecimalMark], roles: &[Option<Role>]) -> Vec<Kind> {
    let kind = |((cells, &mark), role): ((&Cells, &DecimalMark), &Option<Role>)| match cells {
        _ if let Some(kind) = role.and_then(Role::kind) => kind,
        Cells::Numbers { .. } => Kind::Number,
        Cells::Texts { indices, texts, .. } => {
            let counts = texts.texts().counts(indices);
            let is_empty = counts.iter().sum::<usize>() == 0;
            if is_empty { Kind::Number } else { TextCounts::of(texts.texts(), &counts, mark).kind() }
        }
    };
    sample.iter().zip(marks).zip(roles).map(kind).collect()
}

/// A text column's evidence for its decimal mark. If no text is a number, numbers with a unit
/// count.
fn evidence(indices: &[u32], texts: &Texts) -> Evidence {
    // The number of cells with each text, and the row of the first.
    let mut counted = vec![(0, 0); texts.len()];
    for (row, &index) in (0..).zip(indices) {
        if let Some((count, first)) = counted.get_mut(index as usize) {
            *first = if *count == 0 { row } else { *first };
            *count += 1;
        }
    }
    let bare = evidence_of(&counted, texts, |text| text.into());
    match bare.numbers {
        0 => evidence_of(&counted, texts, forms::bare),
        _ => bare,
    }
}

fn evidence_of(counted: &[(usize, u32)], texts: &Texts, number: fn(&str) -> Cow<'_, str>) -> Evidence {
    let given = counted.iter().map(|(count, _)| count).sum();
    let mut evidence = Evidence { given, ..Evidence::default() };
    for (text, &(count, first)) in texts.iter().zip(counted) {
        evidence.add(count, first, number(text).as_bytes());
    }
    evidence
}

/// The texts of a column, read as numbers.
struct TextCounts {
    values: Vec<Option<f64>>,
    numbers: usize,
    /// Cells that are neither numbers nor missing.
    others: usize,
}

impl TextCounts {
    fn of(texts: &Texts, counts: &[usize], mark: DecimalMark) -> Self {
        let values: Vec<Option<f64>> = texts.iter().map(|text| value::number(text.as_bytes(), mark)).collect();
        let (mut numbers, mut others, mut infinite) = (0, 0, 0);
        for ((text, count), value) in texts.iter().zip(counts).zip(&values) {
            match value {
                Some(_) => numbers += count,
                None if value::is_missing_number(text) => {}
                None if value::is_infinite(text) => infinite += count,
                None => others += count,
            }
        }
        // Infinities alone do not make a numeric column.
        match numbers {
            0 => others += infinite,
            _ => numbers += infinite,
        }
        Self { values, numbers, others }
    }

    fn kind(&self) -> Kind {
        kind(self.numbers, self.others)
    }
}

/// A column read as numeric.
#[derive(Default)]
pub(super) struct Numbers {
    values: Vec<f64>,
    missing: usize,
    others: Vec<(u32, u32)>,
    texts: Dictionary,
    evidence: Evidence,
}

impl Numbers {
    fn append(
        &mut self,
        rows: usize,
        values: Vec<f64>,
        missing: usize,
        others: &[(u32, u32)],
        texts: &Dictionary,
        evidence: Evidence,
    ) {
        let first = self.values.len() as u32;
        self.values.reserve_exact(rows.saturating_sub(self.values.len()));
        self.values.extend_from_slice(&values);
        self.missing += missing;
        let codes: Vec<u32> = texts.texts().iter().map(|text| self.texts.code(text)).collect();
        let moved = |&(row, index): &(u32, u32)| Some((first + row, *codes.get(index as usize)?));
        self.others.extend(others.iter().filter_map(moved));
        self.evidence.append(evidence, first);
    }

    /// Converts cells without any number to texts.
    fn into_texts(self) -> TextCells {
        let mut indices = vec![Categories::MISSING; self.values.len()];
        for (row, index) in self.others {
            if let Some(cell) = indices.get_mut(row as usize) {
                *cell = index;
            }
        }
        TextCells { indices, texts: self.texts, words: Shown::default() }
    }

    fn into_column(mut self, name: String, reading: Reading) -> Merged {
        let role = reading.role;
        let numbers = self.values.len() - self.missing - self.others.len();
        let words = self.without_missing_numbers();
        let form = self.read_forms(&name, &reading, numbers);
        let is_infinite: Vec<bool> = self.texts.texts().iter().map(value::is_infinite).collect();
        let infinite = self.others.iter().filter(|(_, index)| is_infinite[*index as usize]).count();
        let is_number = role.and_then(Role::kind) == Some(Kind::Number)
            || kind(numbers + infinite, self.others.len() - infinite) == Kind::Number;
        let not_numeric = NotNumeric { cells: self.others, texts: self.texts.into_texts() };
        let column = is_number.then(|| Column::from_numbers(name, self.values, self.missing, not_numeric));
        Merged { column, found: Found { words, form, ..Found::default() } }
    }

    /// Reads the other cells as numbers if all of them share a form. Returns the form, and an
    /// example with its value.
    fn read_forms(&mut self, name: &str, reading: &Reading, numbers: usize) -> Option<(Form, String, f64)> {
        if self.others.is_empty() {
            return None;
        }
        // Words for missing values are in the dictionary, but in no cell.
        let texts: Vec<&str> = self.texts.texts().iter().collect();
        let mut counts = vec![0; texts.len()];
        self.others.iter().for_each(|&(_, index)| counts[index as usize] += 1);
        let formed = Formed::of(&texts, &counts, &vec![None; texts.len()], &reading.of_forms(name, numbers))?;
        let example = (formed.form, texts[formed.example].to_owned(), formed.values[formed.example]?);
        for (row, index) in std::mem::take(&mut self.others) {
            match formed.values.get(index as usize).copied().flatten() {
                Some(value) => self.values[row as usize] = value,
                None => self.others.push((row, index)),
            }
        }
        Some(example)
    }

    /// Counts words such as None as missing.
    fn without_missing_numbers(&mut self) -> Shown {
        let is_word: Vec<bool> = self.texts.texts().iter().map(value::is_missing_number).collect();
        let mut words = Shown::default();
        if is_word.contains(&true) {
            let texts = self.texts.texts();
            self.others.retain(|&(row, index)| {
                let is_word = is_word.get(index as usize) == Some(&true);
                if is_word {
                    words.add(1, row, texts.get(index as usize).unwrap_or_default().as_bytes());
                }
                !is_word
            });
            self.missing += words.count;
        }
        words
    }
}

/// A column read as text.
#[derive(Default)]
pub(super) struct TextCells {
    indices: Vec<u32>,
    texts: Dictionary,
    words: Shown,
}

impl TextCells {
    fn append(&mut self, rows: usize, indices: &[u32], texts: &Dictionary, words: Shown) {
        let first = self.indices.len() as u32;
        self.indices.reserve_exact(rows.saturating_sub(self.indices.len()));
        let codes: Vec<u32> = texts.texts().iter().map(|text| self.texts.code(text)).collect();
        let code = |&index: &u32| codes.get(index as usize).copied().unwrap_or(Categories::MISSING);
        self.indices.extend(indices.iter().map(code));
        self.words.append(words, first);
    }

    /// Creates the column: numbers if most of its texts are, or if all of the numbers share a unit;
    /// dates if most texts are dates.
    fn into_column(self, name: String, reading: Reading) -> Merged {
        let Reading { mark, role, first_year, .. } = reading;
        let (indices, texts) = (self.indices, self.texts.into_texts());
        let counts = texts.counts(&indices);
        let declared = role.and_then(Role::kind);
        let of_texts = TextCounts::of(&texts, &counts, mark);
        let numbers = |values: &[Option<f64>], affix: Option<Affix>| {
            let mut words = Shown::default();
            let column = numbers(name.clone(), &texts, &indices, values, &mut words);
            let column = column.with_unit(affix.as_ref().map(Affix::shown));
            Merged { column: Some(column), found: Found { affix, words, ..Found::default() } }
        };
        if declared != Some(Kind::Text) {
            if of_texts.others > 0
                && let Some(merged) = formed(&name, &texts, &indices, &counts, &of_texts, &reading)
            {
                return merged;
            }
            if of_texts.kind() == Kind::Number || declared == Some(Kind::Number) && of_texts.numbers > 0 {
                return numbers(&of_texts.values, None);
            }
            if of_texts.numbers == 0
                && let Some((affix, values)) = Affix::of_column(&texts, &counts, mark)
            {
                return numbers(&values, Some(affix));
            }
            if declared == Some(Kind::Number) {
                return numbers(&of_texts.values, None);
            }
        }
        let is_date = role.is_some_and(Role::is_date);
        // Times may identify rows and order them.
        let may_be_dates = declared.is_none() || is_date || matches!(role, Some(Role::Index | Role::Group));
        let dates = match may_be_dates {
            true => {
                let reading = dates::Reading { order: role.and_then(Role::order), is_declared: is_date, first_year };
                dates::of_texts(&texts, &counts, &reading)
            }
            false => None,
        };
        match dates {
            Some(Dates { days, ambiguous, order, both_orders, two_digit_year }) => {
                let shown = |dates::OneOrder { cells, text }| {
                    let row = indices.iter().position(|&of_row| of_row as usize == text).unwrap_or(0);
                    OneOrder { cells, row, text: texts.get(text).unwrap_or_default().to_owned() }
                };
                let both_orders = both_orders.map(|both| both.map(shown));
                let two_digit_year = two_digit_year
                    .and_then(|index| Some((texts.get(index)?.to_owned(), *days.get(index)?)))
                    .filter(|(_, days)| !days.is_nan());
                let column = Column::from_spelled(name, texts, indices, &days, true);
                let column = column.with_dates(two_digit_year.is_some(), order);
                let found = Found { ambiguous_date: ambiguous, both_orders, two_digit_year, ..Found::default() };
                Merged { column: Some(column), found }
            }
            None => {
                let column = Column::from_texts(name, texts, indices);
                Merged { column: Some(column), found: Found { words: self.words, ..Found::default() } }
            }
        }
    }
}

/// A column with numbers that share a form, if they do.
fn formed(
    name: &str,
    texts: &Texts,
    indices: &[u32],
    counts: &[usize],
    of_texts: &TextCounts,
    reading: &Reading,
) -> Option<Merged> {
    let list: Vec<&str> = texts.iter().collect();
    let column = &reading.of_forms(name, of_texts.numbers);
    let Formed { form, values, example, affix } = Formed::of(&list, counts, &of_texts.values, column)?;
    let mut words = Shown::default();
    let column = match form {
        Form::OtherMark | Form::Magnitude => numbers(name.to_owned(), texts, indices, &values, &mut words),
        // Keep the cells as written: 00123 has leading zeros.
        Form::Marked | Form::Duration => {
            let mut cells = Dictionary::default();
            let text = |index: usize| {
                let text = list.get(index).copied()?;
                let is_word = values.get(index).copied().flatten().is_none() && value::is_missing_number(text);
                (!is_word).then(|| if form == Form::Marked { forms::unmarked(text).unwrap_or(text) } else { text })
            };
            let codes: Vec<u32> =
                (0..list.len()).map(|index| text(index).map_or(Categories::MISSING, |text| cells.code(text))).collect();
            let mut of_codes = vec![f64::NAN; cells.texts().len()];
            for (&code, value) in codes.iter().zip(&values) {
                if let (Some(of_code), Some(value)) = (of_codes.get_mut(code as usize), value) {
                    *of_code = *value;
                }
            }
            for (row, &index) in (0..).zip(indices) {
                if codes.get(index as usize) == Some(&Categories::MISSING) {
                    words.add(1, row, list[index as usize].as_bytes());
                }
            }
            let code = |&index: &u32| codes.get(index as usize).copied().unwrap_or(Categories::MISSING);
            let indices = indices.iter().map(code).collect();
            Column::from_spelled(name.to_owned(), cells.into_texts(), indices, &of_codes, false)
        }
    };
    let affix = Some(affix).filter(|affix| *affix != Affix::default());
    let unit = if form == Form::Duration { Some("s".to_owned()) } else { affix.as_ref().map(Affix::shown) };
    let example = (form, list[example].to_owned(), values[example]?);
    let found = Found { affix, words, form: Some(example), ..Found::default() };
    Some(Merged { column: Some(column.with_unit(unit)), found })
}

/// A column with the texts' values. Adds the cells with a word for a missing value to `words`.
fn numbers(name: String, texts: &Texts, indices: &[u32], values: &[Option<f64>], words: &mut Shown) -> Column {
    let (mut numbers, mut missing) = (Vec::with_capacity(indices.len()), 0);
    let (mut cells, mut others) = (Vec::new(), Dictionary::default());
    for (row, &index) in (0..).zip(indices) {
        let number = values.get(index as usize).copied().flatten();
        numbers.push(number.unwrap_or(f64::NAN));
        match texts.get(index as usize) {
            None => missing += 1,
            Some(_) if number.is_some() => {}
            Some(text) if value::is_missing_number(text) => {
                missing += 1;
                words.add(1, row, text.as_bytes());
            }
            Some(text) => cells.push((row, others.code(text))),
        }
    }
    Column::from_numbers(name, numbers, missing, NotNumeric { cells, texts: others.into_texts() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells that were read as numbers, although none is one. The first is missing.
    fn texts_read_as_numbers(texts: [&str; 2]) -> Cells {
        let mut dictionary = Dictionary::default();
        let others = (1..).zip(texts).map(|(row, text)| (row, dictionary.code(text))).collect();
        let (values, evidence) = (vec![f64::NAN; 3], Box::default());
        Cells::Numbers { values, missing: 1, others, texts: dictionary, evidence }
    }

    #[test]
    fn a_column_without_any_number_keeps_its_texts_without_another_reading() {
        let pieces = vec![texts_read_as_numbers(["b", "a"]), texts_read_as_numbers(["a", "c"])];
        let reading =
            Reading { mark: DecimalMark::Point, keeps_mark: false, role: None, first_year: dates::FIRST_YEAR };
        let merged = Gathered::of(6, pieces).into_column("name".to_owned(), reading);
        let Some(column) = merged.column else { panic!("it is read again") };
        assert_eq!((column.kind(), column.missing()), (Kind::Text, 2));
        let cells: Vec<_> = (0..6).map(|row| column.text(row).into_owned()).collect();
        assert_eq!(cells, ["", "b", "a", "", "a", "c"]);
    }
}
