//! Decides the decimal mark of a file's numbers from all of its cells.

use super::value::{self, Says};
use crate::DecimalMark;
use crate::decimal_mark::{Comma, Point};

/// Evidence for a column's decimal mark, from its cells.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    /// Cells that are not missing.
    pub(super) given: usize,
    /// Cells that are a number with at least one of the marks.
    pub(super) numbers: usize,
    /// Cells that are a number only with the point.
    pub(super) point: Shown,
    /// Cells that are a number only with the comma.
    pub(super) comma: Shown,
    /// Cells such as 1.250.
    pub(super) with_point: Shown,
    /// Cells such as 1,250.
    pub(super) with_comma: Shown,
    /// Numbers in parentheses.
    pub(super) accounting: Shown,
    /// Whole numbers that an f64 cannot represent exactly.
    pub(super) indistinct: Shown,
}

/// The number of cells of a kind, and the row and text of the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    pub(super) count: usize,
    pub(super) first: Option<(u32, String)>,
}

impl Shown {
    pub(super) fn add(&mut self, count: usize, row: u32, text: &[u8]) {
        self.count += count;
        if self.first.as_ref().is_none_or(|first| row < first.0) {
            self.first = Some((row, value::text(text).trim().to_owned()));
        }
    }

    pub(super) fn append(&mut self, other: Self, row: u32) {
        self.count += other.count;
        let moved = other.first.map(|(of_chunk, text)| (row + of_chunk, text));
        self.first = self.first.take().or(moved);
    }
}

impl Evidence {
    /// Adds `count` cells with this text, the first in row `row`.
    pub(super) fn add(&mut self, count: usize, row: u32, text: &[u8]) {
        let shown = match value::says(text) {
            Says::NoNumber => return,
            Says::Neither => None,
            Says::Only(Point) => Some(&mut self.point),
            Says::Only(Comma) => Some(&mut self.comma),
            Says::Either(Point) => Some(&mut self.with_point),
            Says::Either(Comma) => Some(&mut self.with_comma),
        };
        self.numbers += count;
        if text.trim_ascii_start().starts_with(b"(") {
            self.accounting.add(count, row, text);
        }
        if let Some(shown) = shown {
            shown.add(count, row, text);
        }
        if value::is_indistinct(text) {
            self.indistinct.add(count, row, text);
        }
    }

    /// Adds a cell that is counted as a number elsewhere.
    pub(super) fn add_number(&mut self, row: u32, text: &[u8]) {
        self.add(1, row, text);
        self.numbers -= 1;
    }

    /// Appends the evidence of a later chunk. Its row 0 is `row` here.
    pub(super) fn append(&mut self, other: Self, row: u32) {
        self.given += other.given;
        self.numbers += other.numbers;
        self.point.append(other.point, row);
        self.comma.append(other.comma, row);
        self.with_point.append(other.with_point, row);
        self.with_comma.append(other.with_comma, row);
        self.accounting.append(other.accounting, row);
        self.indistinct.append(other.indistinct, row);
    }

    /// Whether most cells are numbers with one mark or the other.
    pub(super) fn counts(&self) -> bool {
        2 * self.numbers > self.given
    }

    /// The mark shown by most of the column's decisive cells.
    fn decides(&self) -> Option<DecimalMark> {
        match self.point.count.cmp(&self.comma.count) {
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(Point),
            std::cmp::Ordering::Less => Some(Comma),
        }
    }
}

/// The marks of a file's columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) columns: Vec<DecimalMark>,
    /// Whether no cell of the file shows its mark.
    pub(super) is_assumed: bool,
    /// Whether a number has a comma. Cells that were read only with the point must then be counted
    /// too.
    pub(super) has_commas: bool,
}

/// Decides the marks. A column's own cells decide first, then the cells of the whole file. If
/// neither decides, a mark in a number is the decimal mark in files separated by semicolons, and
/// the point is the decimal mark in other files. Text columns and columns with a declared mark do
/// not count.
pub(super) fn decide(evidence: &[Evidence], declared: &[Option<DecimalMark>], separator: u8) -> Marks {
    let counting = || evidence.iter().zip(declared).filter(|(of, declared)| declared.is_none() && of.counts());
    let sum = |count: fn(&Evidence) -> usize| counting().map(|(evidence, _)| count(evidence)).sum::<usize>();
    let (point, comma) = (sum(|of| of.point.count), sum(|of| of.comma.count));
    let with_comma = sum(|of| of.with_comma.count);
    let of_file = match point.cmp(&comma) {
        std::cmp::Ordering::Greater => Point,
        std::cmp::Ordering::Less => Comma,
        std::cmp::Ordering::Equal if separator == b';' && with_comma > 0 => Comma,
        std::cmp::Ordering::Equal => Point,
    };
    let mark = |(evidence, declared): (&Evidence, &Option<DecimalMark>)| {
        declared.or_else(|| evidence.decides().filter(|_| evidence.counts())).unwrap_or(of_file)
    };
    let columns = evidence.iter().zip(declared).map(mark).collect();
    Marks { columns, is_assumed: point == comma, has_commas: comma + with_comma > 0 }
}
