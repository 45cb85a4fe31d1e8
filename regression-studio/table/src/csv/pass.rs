//! One pass over a CSV file. The column kinds are guessed from a sample unless an earlier pass
//! determined them. Then all rows are parsed in parallel.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;

use super::Declared;
use super::chunks::{Chunk, Chunks, Context};
use super::error::{CsvError, CsvProblem, Fault};
use super::marks::{self, Evidence, Marks, Shown};
use super::merge::{self, Gathered, Merged};
use super::notes::{self, File};
use super::parse::{Cells, Comments, Plan, Rows, Schema};
use super::source::{Basis, FileState, Source};
use super::workbook::Sheet;
use crate::{DecimalMark, Encoding, Kind, Lines, Role, Table, dates};

/// A file, the declarations about it, and the context of its read.
pub(super) struct Pass<'a> {
    pub(super) path: &'a Path,
    /// The sheet, if the file is a workbook.
    pub(super) sheet: Option<&'a Sheet>,
    pub(super) declared: &'a Declared,
    pub(super) context: Context<'a>,
}

/// The result of a pass without errors.
pub(super) enum Outcome {
    Table(Table),
    /// The text was read with the wrong encoding, or a column as the wrong kind or with the wrong
    /// decimal mark. Another pass with these values is needed.
    Misjudged(Known),
}

/// How to read the text and the columns according to an earlier pass, and the file's state during
/// that pass.
pub(super) struct Known {
    /// `None` if the text was read with another encoding.
    plans: Option<Vec<Plan>>,
    encoding: Encoding,
    /// Whether the encoding is a guess.
    is_guess: bool,
    state: FileState,
}

impl Pass<'_> {
    pub(super) fn run(&self, known: Option<Known>) -> Result<Outcome, CsvError> {
        let of_file = |problem| self.error(None, problem);
        let encoding = known.as_ref().map(|known| known.encoding).or(self.declared.encoding);
        let source = match self.sheet {
            Some(sheet) => sheet.source(),
            None => Source::open(self.path, encoding, self.declared.encoding_unless_utf8),
        };
        let source = source.map_err(of_file)?;
        let state = source.state();
        if known.as_ref().is_some_and(|known| known.state != state) {
            return Err(of_file(CsvProblem::Changed));
        }
        let is_assumed = source.basis() == Basis::Assumption && source.is_repeatable();
        let may_be_other = AtomicBool::new(false);
        let outcome = self.read(source, known, &may_be_other);
        // In another encoding, the characters that separate cells may be parts of other characters.
        let may_be_other = may_be_other.load(Ordering::Relaxed)
            || outcome.as_ref().is_err_and(|error| !matches!(error.problem, CsvProblem::Cancelled));
        if is_assumed && may_be_other {
            let encoding = Source::detected(self.path, self.declared.encoding_unless_utf8).map_err(of_file)?;
            if encoding != Encoding::default() {
                return Ok(Outcome::Misjudged(Known { plans: None, encoding, is_guess: true, state }));
            }
        }
        outcome
    }

    /// Reads the file once. Sets `may_be_other` if its text may have another encoding than UTF-8.
    fn read(&self, source: Source, known: Option<Known>, may_be_other: &AtomicBool) -> Result<Outcome, CsvError> {
        let (state, is_repeatable, encoding) = (source.state(), source.is_repeatable(), source.encoding());
        let is_guess = source.basis() == Basis::Guess || known.as_ref().is_some_and(|known| known.is_guess);
        let compressions = source.compressions();
        let begun = Chunks::begin(source, self.declared, self.context);
        let (mut chunks, header) = begun.map_err(|Fault { line, problem }| self.error(line, problem))?;
        may_be_other.store(header.may_be_other, Ordering::Relaxed);
        let (limits, grammar) = (self.context.limits, header.grammar);
        let roles: Vec<Option<Role>> = header.names.iter().map(|name| self.declared.roles.get(name).copied()).collect();
        let said_marks: Vec<Option<DecimalMark>> =
            roles.iter().map(|role| role.and_then(Role::decimal_mark).or(self.declared.decimal_mark)).collect();
        let declared_marks = self.with_marks_of_sheet(&said_marks);

        let as_text = |role: &Option<Role>| Plan {
            kind: Kind::Text,
            mark: DecimalMark::Point,
            weighs: false,
            keeps_words: matches!(role, Some(Role::Category | Role::Index | Role::Group)),
        };
        let texts: Vec<Plan> = roles.iter().map(as_text).collect();
        let schema = Schema { grammar, plans: &texts, rows_expected: 0, record_limit: limits.record };
        let sample = Rows::of(&mut Chunk { index: 0, bytes: chunks.sample().to_vec(), fault: None }, &schema);
        let plans = match known.and_then(|known| known.plans) {
            Some(plans) => plans,
            // A column read as text never needs a second pass.
            None if !is_repeatable => texts.clone(),
            None => guessed(&sample.columns, &texts, &roles, &declared_marks, grammar.separator),
        };
        let leading_zeros: Vec<Option<String>> = sample.columns.iter().map(notes::leading_zero).collect();
        // The sample's estimate plus a margin of 1 / 8: columns should rarely reallocate.
        let bytes_per_row = (chunks.sample().len() / sample.count.max(1)).max(2 * plans.len());
        let schema = Schema { plans: &plans, rows_expected: limits.chunk / bytes_per_row * 9 / 8, ..schema };
        let mut rows = self.rows(&mut chunks, &schema);

        may_be_other.fetch_or(rows.iter().any(|rows| rows.may_be_other), Ordering::Relaxed);
        let Counted { rows: count, lines, comments, damaged } = self.count(&mut rows, &chunks, header.lines)?;
        let columns = gather(plans.len(), count, rows);
        let evidence: Vec<Evidence> = columns.iter().map(|column| column.evidence().clone()).collect();
        let marks = marks::decide(&evidence, &declared_marks, grammar.separator);
        let misjudged = |plans| Outcome::Misjudged(Known { plans: Some(plans), encoding, is_guess, state });
        if let Some(plans) = plans_by_marks(&columns, &plans, &marks) {
            return Ok(misjudged(plans));
        }
        let first_year = self.declared.first_year.unwrap_or(dates::FIRST_YEAR);
        let reading = |((&role, declared), &mark): ((&Option<Role>, &Option<DecimalMark>), &DecimalMark)| {
            merge::Reading { mark, keeps_mark: declared.is_some(), role, first_year }
        };
        let readings: Vec<merge::Reading> = roles.iter().zip(&said_marks).zip(&marks.columns).map(reading).collect();
        let named = header.names.into_par_iter().zip(columns).zip(readings);
        let merged: Vec<Merged> = named.map(|((name, column), reading)| column.into_column(name, reading)).collect();
        if let Some(plans) = plans_by_kinds(&merged, &plans) {
            return Ok(misjudged(plans));
        }
        let file = File {
            of_header: self.sheet.iter().flat_map(|sheet| sheet.csv.notes.clone()).chain(header.notes).collect(),
            compressions,
            encoding,
            is_guess,
            damaged,
            comments,
            lines: &lines,
            separator: grammar.separator,
            marks: &marks,
            declared: &declared_marks,
            roles: &roles,
            leading_zeros: &leading_zeros,
            first_year: self.declared.first_year,
        };
        let notes = file.notes(&merged, &evidence);
        let columns = merged.into_iter().filter_map(|merged| merged.column).collect();
        let table = Table::new(self.path.display().to_string(), columns)
            .with_lines(lines)
            .with_notes(notes)
            .with_encoding(encoding);
        Ok(Outcome::Table(table))
    }

    pub(super) fn error(&self, line: Option<u64>, problem: CsvProblem) -> CsvError {
        CsvError::at(self.path, line, problem)
    }

    /// The decimal marks that are declared, or known because a sheet's cells are numbers.
    fn with_marks_of_sheet(&self, said: &[Option<DecimalMark>]) -> Vec<Option<DecimalMark>> {
        let has_numbers = |column| self.sheet.is_some_and(|sheet| sheet.csv.has_numbers.get(column) == Some(&true));
        let mark = |(column, said): (usize, &_)| if has_numbers(column) { Some(DecimalMark::Point) } else { *said };
        said.iter().enumerate().map(mark).collect()
    }

    /// Parses all chunks in parallel. The result is in file order.
    fn rows(&self, chunks: &mut Chunks, schema: &Schema) -> Vec<Rows> {
        let (used, limit) = (AtomicU64::new(0), self.context.limits.memory);
        let read = |mut chunk: Chunk| {
            let mut rows = Rows::of(&mut chunk, schema);
            let bytes = rows.bytes();
            if used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > limit {
                // `count` sets the number of rows once all earlier chunks are parsed.
                rows.fault.get_or_insert(Fault { line: None, problem: CsvProblem::TooLarge { rows: 0, limit } });
            }
            if rows.fault.is_some() {
                // Earlier chunks are already taken; later ones do not matter.
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

    /// The number of rows and their lines, or the first fault in file order. `line` is the number
    /// of line breaks before the first chunk.
    fn count(&self, rows: &mut [Rows], chunks: &Chunks, mut line: u64) -> Result<Counted, CsvError> {
        let (mut count, mut lines, mut fault) = (0, Lines::default(), None);
        let (mut comments, mut damaged) = (Comments::default(), Shown::default());
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
            comments.count += chunk.comments.count;
            comments.first = comments.first.or(chunk.comments.first.map(|first| line + first));
            damaged.append(std::mem::take(&mut chunk.damaged), count as u32);
            count += chunk.count;
            line += chunk.line_breaks;
        }
        match fault {
            Some((_, problem @ CsvProblem::Cancelled)) => Err(self.error(None, problem)),
            // Any other fault may result from the change.
            _ if chunks.has_changed() => Err(self.error(None, CsvProblem::Changed)),
            Some((line, problem)) => Err(self.error(line, problem)),
            None if count == 0 => Err(self.error(None, CsvProblem::HeaderOnly)),
            None if count >= u32::MAX as usize => Err(self.error(None, CsvProblem::TooManyRows)),
            None => Ok(Counted { rows: count, lines, comments, damaged }),
        }
    }
}

/// Totals over all chunks.
struct Counted {
    rows: usize,
    /// The lines where the rows begin.
    lines: Lines,
    comments: Comments,
    /// Cells that are not UTF-8.
    damaged: Shown,
}

/// How to read the columns at first, guessed from a sample of their cells.
fn guessed(
    sample: &[Cells],
    texts: &[Plan],
    roles: &[Option<Role>],
    declared: &[Option<DecimalMark>],
    separator: u8,
) -> Vec<Plan> {
    let evidence: Vec<Evidence> = sample.iter().map(merge::evidence_of_cells).collect();
    let marks = marks::decide(&evidence, declared, separator);
    // In files separated by commas, numbers with a comma are rare, and the sample shows them.
    let weighs = separator != b',' || marks.has_commas;
    let kinds = merge::kinds(sample, &marks.columns, roles);
    let plans = texts.iter().zip(kinds).zip(marks.columns).zip(declared);
    plans
        .map(|(((plan, kind), mark), declared)| Plan {
            kind,
            mark: if weighs { mark } else { declared.unwrap_or(DecimalMark::Point) },
            weighs,
            ..*plan
        })
        .collect()
}

/// The plans for another pass, if some numbers were read with another mark than their column's, or
/// not all evidence was weighed.
fn plans_by_marks(columns: &[Gathered], plans: &[Plan], marks: &Marks) -> Option<Vec<Plan>> {
    let was_weighed = plans.iter().all(|plan| plan.weighs || plan.kind == Kind::Text);
    let is_read_by =
        |((column, plan), &mark): ((&Gathered, &Plan), &DecimalMark)| !column.depends_on_mark() || plan.mark == mark;
    let is_read = columns.iter().zip(plans).zip(&marks.columns).all(is_read_by);
    let is_wrong = marks.has_commas && !was_weighed || !is_read;
    let plan = |(plan, &mark): (&Plan, &DecimalMark)| Plan { mark, weighs: true, ..*plan };
    is_wrong.then(|| plans.iter().zip(&marks.columns).map(plan).collect())
}

/// The plans for another pass, if some columns that were read as numbers are texts.
fn plans_by_kinds(merged: &[Merged], plans: &[Plan]) -> Option<Vec<Plan>> {
    let plan = |(plan, merged): (&Plan, &Merged)| match merged.column {
        Some(_) => *plan,
        None => Plan { kind: Kind::Text, ..*plan },
    };
    let is_wrong = merged.iter().any(|merged| merged.column.is_none());
    is_wrong.then(|| plans.iter().zip(merged).map(plan).collect())
}

/// The concatenated cells of each column.
fn gather(columns: usize, count: usize, rows: Vec<Rows>) -> Vec<Gathered> {
    let mut cells: Vec<_> = (0..columns).map(|_| Vec::with_capacity(rows.len())).collect();
    for chunk in rows {
        cells.iter_mut().zip(chunk.columns).for_each(|(column, cells)| column.push(cells));
    }
    cells.into_par_iter().map(|chunks| Gathered::of(count, chunks)).collect()
}
