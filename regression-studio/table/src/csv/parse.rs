//! The rows of a piece as columns.

use memchr::memchr;

use super::CsvProblem;
use super::grammar::Grammar;
use super::pieces::{Fault, Piece};
use super::value::{self, Decimals};
use crate::texts::{Dictionary, bytes_of};
use crate::{Categories, Kind, Lines};

/// The rows of a piece.
pub(super) struct Rows {
    /// Counted from 0, of the piece.
    pub(super) index: usize,
    pub(super) count: usize,
    /// The line breaks.
    pub(super) line_breaks: u64,
    /// Where the rows begin, counted from 0 at the piece's beginning.
    pub(super) lines: Lines,
    /// Of equal length unless there is a fault.
    pub(super) columns: Vec<Cells>,
    /// Its line is counted from 0 at the piece's beginning.
    pub(super) fault: Option<Fault>,
}

/// A column's cells in a piece.
pub(super) enum Cells {
    /// A column that is thought to hold numbers.
    Numbers {
        /// NaN where there is none.
        values: Vec<f64>,
        missing: usize,
        /// The row and the text of what is neither a number nor missing.
        others: Vec<(u32, u32)>,
        texts: Dictionary,
    },
    /// A column that is thought to hold texts.
    Texts { indices: Vec<u32>, texts: Dictionary },
}

/// What a file's rows must look like.
pub(super) struct Form<'a> {
    pub(super) grammar: Grammar,
    /// What the columns are thought to hold.
    pub(super) kinds: &'a [Kind],
    /// How many rows a piece may have, roughly.
    pub(super) rows_expected: usize,
    /// The longest record, in bytes.
    pub(super) record_limit: usize,
}

impl Grammar {
    /// How numbers are written in such a file.
    pub(super) fn decimals(self) -> Decimals {
        if self.separator == b';' { Decimals::PointOrComma } else { Decimals::Point }
    }
}

impl Rows {
    /// Reads a piece.
    pub(super) fn of(piece: &mut Piece, form: &Form) -> Self {
        let columns = form.kinds.iter().map(|&kind| Cells::new(kind, form.rows_expected)).collect();
        let (index, lines) = (piece.index, Lines::default());
        let mut rows = Self { index, count: 0, line_breaks: 0, lines, columns, fault: None };
        rows.fault = match memchr(0, &piece.bytes) {
            Some(zero) => {
                let line = memchr::memchr_iter(form.grammar.line_end, &piece.bytes[..zero]).count() as u64;
                Some(Fault { line: Some(line), problem: CsvProblem::NotText(": there is a zero byte in this line") })
            }
            None => rows.read(&piece.bytes, form),
        };
        if rows.fault.is_none() {
            // The piece's own fault is behind all of its rows.
            let behind = |fault: Fault| Fault { line: fault.line.map(|line| line + rows.line_breaks), ..fault };
            rows.fault = piece.fault.take().map(behind);
        }
        rows
    }

    /// Bytes of memory that the rows take.
    pub(super) fn bytes(&self) -> u64 {
        self.lines.bytes() + self.columns.iter().map(Cells::bytes).sum::<u64>()
    }

    fn read(&mut self, text: &[u8], form: &Form) -> Option<Fault> {
        let (grammar, expected) = (form.grammar, form.kinds.len());
        let decimals = grammar.decimals();
        let mut at = 0;
        while at < text.len() {
            if let Some(next) = grammar.blank_line(text, at) {
                self.line_breaks += 1;
                at = next;
                continue;
            }
            let (start, line, row) = (at, self.line_breaks, self.count as u32);
            let mut found = 0;
            loop {
                let cell = grammar.cell(text, at);
                if let Some(column) = self.columns.get_mut(found) {
                    column.push(row, &cell.bytes, decimals);
                }
                found += 1;
                self.line_breaks += cell.lines;
                at = cell.next;
                if cell.is_last {
                    break;
                }
            }
            if found != expected {
                return Some(Fault { line: Some(line), problem: CsvProblem::Ragged { found, expected } });
            }
            if at - start > form.record_limit {
                return Some(Fault { line: Some(line), problem: CsvProblem::TooLong });
            }
            self.lines.push(self.count, line);
            self.line_breaks += 1;
            self.count += 1;
        }
        None
    }
}

impl Cells {
    fn new(kind: Kind, rows: usize) -> Self {
        match kind {
            Kind::Number => Self::Numbers {
                values: Vec::with_capacity(rows),
                missing: 0,
                others: Vec::new(),
                texts: Dictionary::default(),
            },
            Kind::Text => Self::Texts { indices: Vec::with_capacity(rows), texts: Dictionary::default() },
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Numbers { values, others, texts, .. } => bytes_of(values) + bytes_of(others) + texts.bytes(),
            Self::Texts { indices, texts } => bytes_of(indices) + texts.bytes(),
        }
    }

    #[inline]
    fn push(&mut self, row: u32, cell: &[u8], decimals: Decimals) {
        match self {
            Self::Numbers { values, missing, others, texts } => {
                let number = value::number(cell, decimals);
                values.push(number.unwrap_or(f64::NAN));
                if number.is_none() {
                    match value::is_missing(cell) {
                        true => *missing += 1,
                        false => others.push((row, texts.code(&value::text(cell)))),
                    }
                }
            }
            Self::Texts { indices, texts } => indices.push(match value::is_missing(cell) {
                true => Categories::MISSING,
                false => texts.code(&value::text(cell)),
            }),
        }
    }
}
