//! One pass over a CSV file: the column kinds are guessed from a sample unless an earlier pass found them, then all
//! rows are parsed in parallel.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::chunks::{Chunk, Chunks, Context, Fault};
use super::error::{CsvError, CsvProblem};
use super::merge::{self, Misjudged};
use super::parse::{Rows, Schema};
use super::source::{FileState, Source};
use super::value::Decimals;
use crate::{Column, Kind, Lines, Table};

/// A file and the context of its read.
pub(super) struct Pass<'a> {
    pub(super) path: &'a Path,
    pub(super) context: Context<'a>,
}

/// The result of a pass without errors.
pub(super) enum Outcome {
    Table(Table),
    /// The sample gave a column the wrong kind: a second pass with these kinds is needed.
    Misjudged(Known),
}

/// The column kinds found by a first pass, and the file's state during it.
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
        let begun = Chunks::begin(source, self.context);
        let (mut chunks, header) = begun.map_err(|Fault { line, problem }| self.error(line, problem))?;
        let (limits, grammar) = (self.context.limits, header.grammar);

        let texts = vec![Kind::Text; header.names.len()];
        let schema = Schema { grammar, kinds: &texts, rows_expected: 0, record_limit: limits.record };
        let sample = Rows::of(&mut Chunk { index: 0, bytes: chunks.sample().to_vec(), fault: None }, &schema);
        let kinds = match known {
            Some(known) => known.kinds,
            // A column read as text never needs a second pass.
            None if !is_repeatable => texts.clone(),
            None => merge::kinds(&sample.columns, grammar.decimals()),
        };
        // The sample's estimate plus a margin of 1 / 8, so that columns rarely reallocate.
        let bytes_per_row = (chunks.sample().len() / sample.count.max(1)).max(2 * kinds.len());
        let schema = Schema { kinds: &kinds, rows_expected: limits.chunk / bytes_per_row * 9 / 8, ..schema };
        let mut rows = self.rows(&mut chunks, &schema);

        let (count, lines) = self.count(&mut rows, &chunks, header.lines)?;
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

    /// Parses all chunks in parallel; the result is in file order.
    fn rows(&self, chunks: &mut Chunks, schema: &Schema) -> Vec<Rows> {
        let (used, limit) = (AtomicU64::new(0), self.context.limits.memory);
        let read = |mut chunk: Chunk| {
            let mut rows = Rows::of(&mut chunk, schema);
            let bytes = rows.bytes();
            if used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > limit {
                // `count` fills in the number of rows, once all chunks before this one are parsed.
                rows.fault.get_or_insert(Fault { line: None, problem: CsvProblem::TooLarge { rows: 0, limit } });
            }
            if rows.fault.is_some() {
                // Chunks before this one are already taken; later ones do not matter.
                self.context.stop.store(true, Ordering::Relaxed);
            }
            if let Ok(mut buffers) = self.context.buffers.lock() {
                buffers.push(chunk.bytes);
            }
            rows
        };
        let mut rows: Vec<Rows> = chunks.par_bridge().map(read).collect();
        rows.sort_unstable_by_key(|rows| rows.index);
        rows
    }

    /// The number of rows and their lines, or the first fault in file order. `line` is the number of line breaks before
    /// the first chunk.
    fn count(&self, rows: &mut [Rows], chunks: &Chunks, mut line: u64) -> Result<(usize, Lines), CsvError> {
        let (mut count, mut lines, mut fault) = (0, Lines::default(), None);
        for chunk in rows {
            if let Some(Fault { line: within, problem }) = chunk.fault.take() {
                let problem = match problem {
                    CsvProblem::TooLarge { limit, .. } => CsvProblem::TooLarge { rows: count + chunk.count, limit },
                    problem => problem,
                };
                fault = Some((within.map(|within| line + within), problem));
                break;
            }
            lines.append(&chunk.lines, count, line + 1);
            count += chunk.count;
            line += chunk.line_breaks;
        }
        match fault {
            Some((_, problem @ CsvProblem::Cancelled)) => Err(self.error(None, problem)),
            // Any other fault may be a consequence of the change.
            _ if chunks.has_changed() => Err(self.error(None, CsvProblem::Changed)),
            Some((line, problem)) => Err(self.error(line, problem)),
            None if count == 0 => Err(self.error(None, CsvProblem::HeaderOnly)),
            None if count >= u32::MAX as usize => Err(self.error(None, CsvProblem::TooManyRows)),
            None => Ok((count, lines)),
        }
    }
}

/// The columns, or the indices of the misjudged ones.
fn columns(names: Vec<String>, count: usize, rows: Vec<Rows>, decimals: Decimals) -> Result<Vec<Column>, Vec<usize>> {
    let mut cells: Vec<_> = names.iter().map(|_| Vec::with_capacity(rows.len())).collect();
    for chunk in rows {
        cells.iter_mut().zip(chunk.columns).for_each(|(column, cells)| column.push(cells));
    }
    let merge = |(name, chunks)| merge::column(name, count, chunks, decimals);
    let merged: Vec<_> = names.into_par_iter().zip(cells).map(merge).collect();
    let is_wrong = |(index, column): (usize, &Result<_, Misjudged>)| column.is_err().then_some(index);
    let wrong: Vec<usize> = merged.iter().enumerate().filter_map(is_wrong).collect();
    if wrong.is_empty() { Ok(merged.into_iter().flatten().collect()) } else { Err(wrong) }
}
