//! One reading of a file from its beginning to its end.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::merge::{self, Misjudged};
use super::parse::{Form, Rows};
use super::pieces::{Fault, Piece, Pieces, Surroundings};
use super::source::{FileState, Source};
use super::value::Decimals;
use super::{CsvError, CsvProblem};
use crate::{Column, Kind, Lines, Table};

/// A file, and how it is read.
pub(super) struct Pass<'a> {
    pub(super) path: &'a Path,
    pub(super) around: Surroundings<'a>,
}

/// What came of reading a file.
pub(super) enum Outcome {
    Table(Table),
    /// The first rows of a column told its kind wrongly: read it again, knowing this.
    Misjudged(Known),
}

/// What a first reading of a file told.
pub(super) struct Known {
    kinds: Vec<Kind>,
    state: FileState,
}

impl Pass<'_> {
    pub(super) fn run(&self, known: Option<Known>) -> Result<Outcome, CsvError> {
        let source = Source::open(self.path).map_err(|problem| self.error(None, problem))?;
        let (state, is_repeatable) = (source.state(), source.is_repeatable());
        if known.as_ref().is_some_and(|known| known.state != state) {
            return Err(self.error(None, CsvProblem::Changed));
        }
        let begun = Pieces::begin(source, self.around);
        let (mut pieces, header) = begun.map_err(|Fault { line, problem }| self.error(line, problem))?;
        let (limits, grammar) = (self.around.limits, header.grammar);

        let texts = vec![Kind::Text; header.names.len()];
        let form = Form { grammar, kinds: &texts, rows_expected: 0, record_limit: limits.record };
        let sample = Rows::of(&mut Piece { index: 0, bytes: pieces.sample().to_vec(), fault: None }, &form);
        let kinds = match known {
            Some(known) => known.kinds,
            // What is read as text needs no second reading, whatever it turns out to be.
            None if !is_repeatable => texts.clone(),
            None => merge::kinds(&sample.columns, grammar.decimals()),
        };
        // Some more than the sample tells, so that columns seldom grow.
        let bytes_a_row = (pieces.sample().len() / sample.count.max(1)).max(2 * kinds.len());
        let form = Form { kinds: &kinds, rows_expected: limits.piece / bytes_a_row * 9 / 8, ..form };
        let mut rows = self.rows(&mut pieces, &form);

        let (count, lines) = self.count(&mut rows, &pieces, header.lines)?;
        match columns(header.names, count, rows, grammar.decimals()) {
            Ok(columns) => Ok(Outcome::Table(Table::new(self.path.display().to_string(), columns).with_lines(lines))),
            Err(wrong) => {
                let kinds = kinds.iter().enumerate();
                let kinds =
                    kinds.map(|(index, &kind)| if wrong.contains(&index) { Kind::Text } else { kind }).collect();
                Ok(Outcome::Misjudged(Known { kinds, state }))
            }
        }
    }

    pub(super) fn error(&self, line: Option<u64>, problem: CsvProblem) -> CsvError {
        CsvError { path: self.path.to_path_buf(), line: line.map(|line| line + 1), problem }
    }

    /// Reads all pieces; they come in the order of the file.
    fn rows(&self, pieces: &mut Pieces, form: &Form) -> Vec<Rows> {
        let (taken, limit) = (AtomicU64::new(0), self.around.limits.memory);
        let read = |mut piece: Piece| {
            let mut rows = Rows::of(&mut piece, form);
            let bytes = rows.bytes();
            if taken.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > limit {
                // How many rows came before this piece is known when all of them are there.
                rows.fault.get_or_insert(Fault { line: None, problem: CsvProblem::TooLarge { rows: 0, limit } });
            }
            if rows.fault.is_some() {
                // The pieces before this one are taken already; those behind it do not matter.
                self.around.stop.store(true, Ordering::Relaxed);
            }
            if let Ok(mut buffers) = self.around.buffers.lock() {
                buffers.push(piece.bytes);
            }
            rows
        };
        let mut rows: Vec<Rows> = pieces.par_bridge().map(read).collect();
        rows.sort_unstable_by_key(|rows| rows.index);
        rows
    }

    /// How many rows there are and where they begin, if no piece has a fault; the header ends behind `line` line breaks.
    fn count(&self, rows: &mut [Rows], pieces: &Pieces, mut line: u64) -> Result<(usize, Lines), CsvError> {
        let (mut count, mut lines, mut fault) = (0, Lines::default(), None);
        for piece in rows {
            if let Some(Fault { line: within, problem }) = piece.fault.take() {
                let problem = match problem {
                    CsvProblem::TooLarge { limit, .. } => CsvProblem::TooLarge { rows: count + piece.count, limit },
                    problem => problem,
                };
                fault = Some((within.map(|within| line + within), problem));
                break;
            }
            lines.append(&piece.lines, count, line + 1);
            count += piece.count;
            line += piece.line_breaks;
        }
        match fault {
            Some((_, problem @ CsvProblem::Cancelled)) => Err(self.error(None, problem)),
            // Half a file looks damaged in many ways.
            _ if pieces.has_changed() => Err(self.error(None, CsvProblem::Changed)),
            Some((line, problem)) => Err(self.error(line, problem)),
            None if count == 0 => Err(self.error(None, CsvProblem::HeaderOnly)),
            None if count >= u32::MAX as usize => Err(self.error(None, CsvProblem::TooManyRows)),
            None => Ok((count, lines)),
        }
    }
}

/// The columns, or which of them were misjudged.
fn columns(names: Vec<String>, count: usize, rows: Vec<Rows>, decimals: Decimals) -> Result<Vec<Column>, Vec<usize>> {
    let mut cells: Vec<_> = names.iter().map(|_| Vec::with_capacity(rows.len())).collect();
    for piece in rows {
        cells.iter_mut().zip(piece.columns).for_each(|(column, cells)| column.push(cells));
    }
    let merge = |(name, pieces)| merge::column(name, count, pieces, decimals);
    let merged: Vec<_> = names.into_par_iter().zip(cells).map(merge).collect();
    let is_wrong = |(index, column): (usize, &Result<_, Misjudged>)| column.is_err().then_some(index);
    let wrong: Vec<usize> = merged.iter().enumerate().filter_map(is_wrong).collect();
    if wrong.is_empty() { Ok(merged.into_iter().flatten().collect()) } else { Err(wrong) }
}
