//! Notes for the user on how a file was read.

use super::forms::Form;
use super::marks::{Evidence, Marks, Shown};
use super::merge::{Found, Merged, OneOrder};
use super::parse::{Cells, Comments};
use super::value::{self, Says};
use crate::dates;
use crate::{Column, DecimalMark, Encoding, Lines, Note, Role, decimal, shortened};

/// Maximum number of different texts before a column's form is reported; columns with fewer are
/// categories.
const MANY: usize = 32;

/// A file and how it was read.
pub(super) struct File<'a> {
    pub(super) of_header: Vec<String>,
    /// How many times the file is compressed.
    pub(super) compressions: usize,
    pub(super) encoding: Encoding,
    /// Whether the encoding is a guess.
    pub(super) is_guess: bool,
    /// Cells that are not UTF-8.
    pub(super) damaged: Shown,
    pub(super) comments: Comments,
    pub(super) lines: &'a Lines,
    pub(super) separator: u8,
    pub(super) marks: &'a Marks,
    /// The declared marks, by column.
    pub(super) declared: &'a [Option<DecimalMark>],
    pub(super) roles: &'a [Option<Role>],
    /// A number with a leading zero, by column.
    pub(super) leading_zeros: &'a [Option<String>],
    /// The declared first year for two-digit years.
    pub(super) first_year: Option<i64>,
}

/// A number such as 01 among the first cells of a column.
pub(super) fn leading_zero(cells: &Cells) -> Option<String> {
    let Cells::Texts { texts, .. } = cells else { return None };
    let is_code =
        |text: &&str| text.len() > 1 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    texts.texts().iter().find(is_code).map(str::to_owned)
}

impl File<'_> {
    /// The notes on the whole file, followed by the notes on each column.
    pub(super) fn notes(self, merged: &[Merged], evidence: &[Evidence]) -> Vec<Note> {
        let of_file = |text: String| Note { column: None, text };
        let mut notes: Vec<Note> = self.of_header.iter().cloned().map(of_file).collect();
        notes.extend(self.of_encoding(merged).into_iter().map(of_file));
        if self.compressions > 1 {
            notes.push(of_file(format!("the file is compressed {} times, one around the other", self.compressions)));
        }
        if let Some(first) = self.comments.first {
            let (count, line) = (self.comments.count, first + 1);
            let text = format!("lines that begin with # are comments: {count} skipped, the first line {line}");
            notes.push(of_file(text));
        }
        for (index, (Merged { column, found }, evidence)) in merged.iter().zip(evidence).enumerate() {
            let Some(column) = column else { continue };
            let texts = self.of_column(index, column, found, evidence);
            let name = column.name();
            notes.extend(
                texts
                    .into_iter()
                    .map(|text| Note { column: Some(name.to_owned()), text: format!("{}: {text}", shortened(name)) }),
            );
        }
        notes
    }

    /// How the text was decoded.
    fn of_encoding(&self, merged: &[Merged]) -> Vec<String> {
        let (mut notes, encoding) = (Vec::new(), self.encoding);
        let columns = || merged.iter().filter_map(|merged| merged.column.as_ref());
        let first = |is_wanted: fn(&str) -> bool| {
            columns().filter_map(|column| column.first_text(is_wanted)).min_by_key(|(row, _)| *row)
        };
        if self.is_guess && encoding != Encoding::default() {
            let in_names = columns().map(Column::name).find(|name| !name.is_ascii());
            let example = match (first(|text| !text.is_ascii()), in_names) {
                (Some((row, text)), _) => Some((shortened(text), self.place(row))),
                (None, Some(name)) => Some((shortened(name), "a column's name".to_owned())),
                (None, None) => None,
            };
            let otherwise = example.as_ref().and_then(|(text, _)| otherwise(text, encoding));
            let shown = example.map_or_else(String::new, |(text, place)| format!(": {text:?} ({place})"));
            notes.push(match otherwise {
                Some((other, text)) => format!(
                    "the text is {encoding}{shown}; if it should be {text:?}, declare encoding = \"{other}\" in [data]"
                ),
                None => format!("the text is {encoding}{shown}; if not, declare encoding = \"…\" in [data]"),
            });
        }
        if let Some((row, text)) = &self.damaged.first {
            let (count, are) =
                (counted(self.damaged.count, "cell"), if self.damaged.count == 1 { "is" } else { "are" });
            notes.push(format!(
                "{count} {are} not UTF-8 and read as windows-1252, first {} {:?}: correct the file, or declare encoding = \
                 \"…\" in [data]",
                self.place(*row as usize),
                shortened(text)
            ));
        }
        if encoding != Encoding::default()
            && let Some((row, text)) = first(|text| text.contains(char::REPLACEMENT_CHARACTER))
        {
            notes.push(format!(
                "the file has bytes that are not {encoding}, shown as {:?}, first {} {:?}: correct the file, or declare \
                 another encoding in [data]",
                char::REPLACEMENT_CHARACTER,
                self.place(row),
                shortened(text)
            ));
        }
        notes
    }

    fn of_column(&self, index: usize, column: &Column, found: &Found, evidence: &Evidence) -> Vec<String> {
        let (mut notes, name) = (Vec::new(), toml_key(column.name()));
        let is_declared = self.roles.get(index).is_some_and(Option::is_some);
        let is_number = column.numbers().is_some() && !column.is_date();
        if let Some(affix) = &found.affix {
            notes.push(match &*affix.shown() {
                "%" => "the numbers are per hundred: 12.5% is 12.5".to_owned(),
                shown => format!("every number has {shown:?}, which is left out"),
            });
        }
        notes.extend(found.form.as_ref().map(|(form, text, value)| of_form(*form, text, *value, column)));
        if is_number {
            notes.extend(self.of_mark(index, evidence));
            if let Some((row, text)) = &evidence.accounting.first {
                let (count, place, text) = (evidence.accounting.count, self.place(*row as usize), shortened(text));
                notes.push(format!(
                    "numbers in parentheses are negative: {}, first {place} {text:?}",
                    counted(count, "cell")
                ));
            }
        }
        let undeclared = (!is_declared).then_some(&*name);
        if let Some(row) = column.first_not_numeric() {
            notes.push(self.of_not_numeric(column, row, undeclared));
        } else if let Some(Some(code)) = self.leading_zeros.get(index).filter(|_| is_number && !is_declared) {
            let code = shortened(code);
            notes.push(format!(
                "numbers such as {code:?} begin with a zero; if these are codes, declare it in [data.columns]: {name} = \
                 \"category\""
            ));
        }
        if let Some((row, _)) = evidence.indistinct.first.as_ref().filter(|_| column.indistinct_integers() > 0) {
            let (count, place) = (column.indistinct_integers(), self.place(*row as usize));
            notes.push(format!(
                "{} that f64 cannot tell apart (beyond 2^53), first {place}: if they identify rows, declare \
                 it in [data.columns]: {name} = \"index\" or \"category\"",
                counted(count, "integer")
            ));
        }
        if let Some((_, text)) = &found.words.first {
            let (count, text) = (counted(found.words.count, "cell"), shortened(text));
            notes.push(match column.categories().is_some() {
                true => format!(
                    "missing by a word such as {text:?}: {count}; to make it a category, declare it in [data.columns]: \
                     {name} = \"category\""
                ),
                false => format!("missing by a word such as {text:?}: {count}"),
            });
        }
        if !is_declared {
            notes.extend(self.of_text(column, &name));
        }
        notes.extend(self.of_dates(found, &name));
        let numbers = column.numbers().filter(|numbers| is_number && !is_declared && dates::are_compact(numbers));
        if let Some(row) = numbers.and_then(|numbers| numbers.iter().position(|number| !number.is_nan())) {
            notes.push(format!(
                "numbers such as {} look like dates and are read as numbers; if they are dates, declare it in \
                 [data.columns]: {name} = \"date\"",
                column.text(row)
            ));
        }
        notes
    }

    /// Reports cells that are not numbers or dates, the first in `row`, with a hint if the column
    /// has no declaration.
    fn of_not_numeric(&self, column: &Column, row: usize, undeclared: Option<&str>) -> String {
        let (count, text, is_date) = (column.not_numeric(), column.text(row), column.is_date());
        let (are, what) = match (count, is_date) {
            (1, false) => ("is", "not a number"),
            (1, true) => ("is", "not a date"),
            (_, false) => ("are", "not numbers"),
            (_, true) => ("are", "not dates"),
        };
        let is_code =
            !is_date && text.chars().all(char::is_alphanumeric) && text.contains(|of: char| of.is_ascii_digit());
        let hint = match undeclared.filter(|_| is_code) {
            Some(name) => format!("; if these are codes, declare it in [data.columns]: {name} = \"category\""),
            None => String::new(),
        };
        format!("{} {are} {what}, first {} {:?}{hint}", counted(count, "cell"), self.place(row), shortened(&text))
    }

    /// How dates with an ambiguous order or year were read.
    fn of_dates(&self, found: &Found, name: &str) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(date) = &found.ambiguous_date {
            let date = shortened(date);
            notes.push(format!(
                "no cell shows the order of day and month: {date:?} is read with the day first; otherwise declare it in \
                 [data.columns]: {name} = \"month-first\""
            ));
        }
        if let Some([day_first, month_first]) = &found.both_orders {
            let order = if month_first.cells > day_first.cells { "month" } else { "day" };
            let shown = |of: &OneOrder, order: &str| {
                format!("{} with the {order} first ({}, {:?})", counted(of.cells, "cell"), self.place(of.row), of.text)
            };
            notes.push(format!(
                "both orders of day and month occur: {} and {}; all dates are read with the {order} first, which may be \
                 wrong for others: write them as 2025-01-31",
                shown(day_first, "day"),
                shown(month_first, "month")
            ));
        }
        if let (Some((text, days)), None) = (&found.two_digit_year, self.first_year) {
            let (first, last) = (dates::FIRST_YEAR, dates::FIRST_YEAR + 99);
            notes.push(format!(
                "years of two digits are {first} to {last}: {text:?} is {}; declare, for example, first_year = 1950 in \
                 [data] to read them as 1950 to 2049",
                dates::date(*days)
            ));
        }
        notes
    }

    /// Why a column is read as text, if it may have been meant as another kind.
    fn of_text(&self, column: &Column, name: &str) -> Option<String> {
        let categories = column.categories()?;
        if categories.names.len() > MANY
            && let Some(looks) = column.looks_like()
        {
            return Some(looks);
        }
        let is_number = |text: &str| value::says(text.as_bytes()) != Says::NoNumber;
        let counts = categories.names.counts(categories.indices);
        let of_numbers = categories.names.iter().zip(&counts).filter(|(text, _)| is_number(text));
        let (numbers, given) = (of_numbers.map(|(_, count)| count).sum::<usize>(), counts.iter().sum::<usize>());
        // With a lower share, the numbers are names, too.
        if numbers == 0 || 4 * numbers < given {
            return None;
        }
        let (row, text) = column.first_text(|text| !is_number(text) && !value::is_missing_number(text))?;
        Some(format!(
            "{numbers} of {} are numbers, but the column is read as text, since others are not, first {} {:?}: correct them, \
             or declare it in [data.columns]: {name} = \"number\"",
            counted(given, "cell"),
            self.place(row),
            shortened(text)
        ))
    }

    /// How numbers were read that are valid with either mark, or that use another mark than other
    /// columns.
    fn of_mark(&self, index: usize, evidence: &Evidence) -> Option<String> {
        let mark = *self.marks.columns.get(index)?;
        if self.declared.get(index).is_some_and(Option::is_some) {
            return None;
        }
        let (shown, decimals, thousands) = match mark {
            DecimalMark::Point => (&evidence.point, &evidence.with_point, &evidence.with_comma),
            DecimalMark::Comma => (&evidence.comma, &evidence.with_comma, &evidence.with_point),
        };
        let is_assumed = self.marks.is_assumed && shown.first.is_none();
        let in_doubt = if thousands.count > 0 { thousands } else { decimals };
        let example = self.example(in_doubt, mark)?;
        if is_assumed {
            if thousands.count == 0 && self.separator == b',' && mark == DecimalMark::Point {
                return None;
            }
            let other = mark.other();
            let otherwise = in_doubt.first.as_ref().and_then(|(_, text)| value::spelled(text, other)).map(decimal)?;
            return Some(format!(
                "no number shows the decimal mark: {example}; decimal_mark = \"{}\" in [data] reads {otherwise}",
                other.name()
            ));
        }
        if thousands.count == 0 {
            return None;
        }
        let by = match &shown.first {
            Some((row, text)) => format!(" ({:?}, {})", shortened(text), self.place(*row as usize)),
            None => ", as in other columns".to_owned(),
        };
        Some(format!("the decimal mark is the {}{by}, so that {example}", mark.name()))
    }

    /// The first cell and its value.
    fn example(&self, shown: &Shown, mark: DecimalMark) -> Option<String> {
        let (row, text) = shown.first.as_ref()?;
        let number = value::spelled(text, mark)?;
        Some(format!("{:?} ({}) is {}", shortened(text), self.place(*row as usize), decimal(number)))
    }

    fn place(&self, row: usize) -> String {
        self.lines.place(row)
    }
}

/// How numbers of this form are read.
fn of_form(form: Form, text: &str, value: f64, column: &Column) -> String {
    let (text, value) = (shortened(text), decimal(value));
    match form {
        Form::OtherMark => {
            format!("both decimal marks occur, and each number is read by its own: {text:?} is {value}")
        }
        Form::Magnitude => format!("numbers with a suffix such as K, M or B are multiplied by it: {text:?} is {value}"),
        Form::Marked => format!("numbers that a spreadsheet marks as texts are read as numbers: {text:?} is {value}"),
        Form::Duration if text.matches(':').count() == 2 => {
            format!("durations are read as seconds: {text:?} is {value}")
        }
        Form::Duration => format!(
            "minutes and seconds are read as seconds: {text:?} is {value}; if {name} is a time of the day, write {text}:00",
            name = column.name()
        ),
    }
}

/// An encoding that is easily mistaken for `encoding`, and the text decoded with it, if that
/// differs.
fn otherwise(text: &str, encoding: Encoding) -> Option<(Encoding, String)> {
    let other = match encoding.name() {
        "windows-1252" => Encoding(encoding_rs::WINDOWS_1250),
        "windows-1250" | "ISO-8859-2" | "windows-1254" | "windows-1257" => Encoding(encoding_rs::WINDOWS_1252),
        _ => return None,
    };
    let bytes = encoding.0.encode(text).0;
    let (read, _, has_errors) = other.0.decode(&bytes);
    (!has_errors && read != text).then(|| (other, read.into_owned()))
}

/// A column's name as a key in a settings file, which is TOML.
pub fn toml_key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_bare { shortened(name).into_owned() } else { format!("{:?}", shortened(name)) }
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
