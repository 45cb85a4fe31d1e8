//! The parser: reads a chunk's rows into columns.

use memchr::memchr;

use super::chunks::Chunk;
use super::error::{CsvProblem, Fault};
use super::grammar::Grammar;
use super::marks::{Evidence, Shown};
use super::{detect, value};
use crate::texts::{Dictionary, bytes_of};
use crate::{Categories, DecimalMark, Kind, Lines};

/// 2⁵³. An f64 represents every whole number up to it exactly.
const BEYOND: f64 = 9_007_199_254_740_992.0;

/// The parsed rows of a chunk.
pub(super) struct Rows {
    /// The chunk's index in file order.
    pub(super) index: usize,
    pub(super) count: usize,
    /// Line breaks in the chunk.
    pub(super) line_breaks: u64,
    /// The lines where the rows begin, counted from 0 at the chunk's start.
    pub(super) lines: Lines,
    /// All of the same length if there is no fault.
    pub(super) columns: Vec<Cells>,
    pub(super) comments: Comments,
    /// Whether the text may have another encoding than UTF-8.
    pub(super) may_be_other: bool,
    /// Cells that are not UTF-8: their number, and the first one as read.
    pub(super) damaged: Shown,
    /// The fault's line is counted from 0 at the chunk's start.
    pub(super) fault: Option<Fault>,
}

/// Lines between the rows that begin with #.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Comments {
    pub(super) count: usize,
    /// Line breaks before the first.
    pub(super) first: Option<u64>,
}

/// A column's cells in a chunk.
pub(super) enum Cells {
    /// Read as numeric.
    Numbers {
        /// Finite, or NaN in rows without a number.
        values: Vec<f64>,
        missing: usize,
        /// Row and index in `texts` of each cell that is neither missing nor a number.
        others: Vec<(u32, u32)>,
        texts: Dictionary,
        /// Evidence without the count of the numbers in `values`. Complete only if
        /// [`Plan::weighs`]; otherwise it lacks the cells that are a number with the point.
        evidence: Box<Evidence>,
    },
    /// Read as text.
    Texts {
        indices: Vec<u32>,
        texts: Dictionary,
        /// Cells with a word for a missing value, such as NA.
        words: Shown,
    },
}

/// How a column's cells are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) kind: Kind,
    pub(super) mark: DecimalMark,
    /// Whether to count all evidence for the mark, not only the commas.
    pub(super) weighs: bool,
    /// Whether only an empty cell is missing.
    pub(super) keeps_words: bool,
}

/// The grammar, assumed column kinds and sizes for parsing chunks.
pub(super) struct Schema<'a> {
    pub(super) grammar: Grammar,
    /// The plan of each column.
    pub(super) plans: &'a [Plan],
    /// Estimated rows per chunk; the initial capacity of the columns.
    pub(super) rows_expected: usize,
    /// Maximum length of a record in bytes.
    pub(super) record_limit: usize,
}

impl Rows {
    /// Parses a chunk and takes its fault.
    pub(super) fn of(chunk: &mut Chunk, schema: &Schema) -> Self {
        let columns = schema.plans.iter().map(|plan| Cells::new(plan.kind, schema.rows_expected)).collect();
        let (index, lines) = (chunk.index, Lines::default());
        let may_be_other = detect::may_be_other(&chunk.bytes);
        let damaged = Shown::default();
        let mut rows = Self {
            index,
            count: 0,
            line_breaks: 0,
            lines,
            columns,
            comments: Comments::default(),
            may_be_other,
            damaged,
            fault: None,
        };
        rows.fault = match memchr(0, &chunk.bytes) {
            Some(zero) => {
                let line = memchr::memchr_iter(schema.grammar.line_end, &chunk.bytes[..zero]).count() as u64;
                Some(Fault { line: Some(line), problem: CsvProblem::NotText(": there is a null byte in this line") })
            }
            None => rows.read(&chunk.bytes, schema),
        };
        if rows.fault.is_none() {
            // The chunk's own fault comes after all of its rows.
            let behind = |fault: Fault| Fault { line: fault.line.map(|line| line + rows.line_breaks), ..fault };
            rows.fault = chunk.fault.take().map(behind);
        }
        rows
    }

    /// Allocated size in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.lines.bytes() + self.columns.iter().map(Cells::bytes).sum::<u64>()
    }

    fn read(&mut self, text: &[u8], schema: &Schema) -> Option<Fault> {
        let (grammar, expected) = (schema.grammar, schema.plans.len());
        let mut at = 0;
        while at < text.len() {
            if let Some(next) = grammar.blank_line(text, at) {
                self.line_breaks += 1;
                at = next;
                continue;
            }
            if let Some((next, lines)) = grammar.comment(text, at, expected) {
                self.comments.count += 1;
                self.comments.first.get_or_insert(self.line_breaks);
                self.line_breaks += lines;
                at = next;
                continue;
            }
            let (start, line, row) = (at, self.line_breaks, self.count as u32);
            let mut columns = self.columns.iter_mut().zip(schema.plans);
            let mut found = 0;
            loop {
                let cell = grammar.cell(text, at);
                if self.may_be_other && std::str::from_utf8(&cell.bytes).is_err() {
                    self.damaged.add(1, row, &cell.bytes);
                }
                if let Some((column, &plan)) = columns.next() {
                    column.push(row, &cell.bytes, plan);
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
            if at - start > schema.record_limit {
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
                evidence: Box::default(),
            },
            Kind::Text => {
                Self::Texts { indices: Vec::with_capacity(rows), texts: Dictionary::default(), words: Shown::default() }
            }
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Numbers { values, others, texts, .. } => bytes_of(values) + bytes_of(others) + texts.bytes(),
            Self::Texts { indices, texts, .. } => bytes_of(indices) + texts.bytes(),
        }
    }

    #[inline]
    fn push(&mut self, row: u32, cell: &[u8], plan: Plan) {
        match self {
            Self::Numbers { values, missing, others, texts, evidence } => match value::plain(cell, plan.mark) {
                Some(number) => {
                    values.push(number);
                    if number.abs() >= BEYOND && value::is_indistinct(cell) {
                        evidence.indistinct.add(1, row, cell);
                    }
                    if plan.weighs && memchr::memchr2(b'.', b',', cell).is_some() {
                        evidence.add_number(row, cell);
                    }
                }
                None => {
                    let number = value::not_plain(cell, plan.mark);
                    values.push(number.unwrap_or(f64::NAN));
                    match (number, value::is_missing(cell)) {
                        (Some(_), _) => evidence.add_number(row, cell),
                        (None, true) => *missing += 1,
                        (None, false) => {
                            others.push((row, texts.code(&value::text(cell))));
                            evidence.add(1, row, cell);
                        }
                    }
                }
            },
            Self::Texts { indices, texts, words } => indices.push(match value::is_missing(cell) {
                true if plan.keeps_words && !cell.trim_ascii().is_empty() => texts.code(&value::text(cell)),
                true => {
                    if !cell.trim_ascii().is_empty() {
                        words.add(1, row, cell);
                    }
                    Categories::MISSING
                }
                false => texts.code(&value::text(cell)),
            }),
        }
    }
}
