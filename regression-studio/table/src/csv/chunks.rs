//! A file in pieces of whole records, which can be read independently of one another.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::memchr_iter;

use super::grammar::Grammar;
use super::header::{self, Header};
use super::source::Source;
use super::{CsvProblem, Limits};

/// Whole records, in the order of the file.
pub(super) struct Piece {
    /// Counted from 0.
    pub(super) index: usize,
    pub(super) bytes: Vec<u8>,
    /// Why nothing comes after this piece, although the file goes on.
    pub(super) fault: Option<Fault>,
}

/// What is wrong in a piece.
#[derive(Debug)]
pub(super) struct Fault {
    /// Line breaks between the beginning of the piece, or its end where the piece is only cut there, and the trouble.
    /// None if the trouble is at no line.
    pub(super) line: Option<u64>,
    pub(super) problem: CsvProblem,
}

/// Reads pieces one after another: whoever wants to work on one takes the next.
pub(super) struct Pieces<'a> {
    source: Source,
    grammar: Grammar,
    /// The beginning of a record whose end is not read yet.
    begun: Vec<u8>,
    next_index: usize,
    is_over: bool,
    around: Surroundings<'a>,
}

/// What reading depends on beside the file.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) limits: Limits,
    /// Buffers of pieces that are done with, to be used again.
    pub(super) buffers: &'a Mutex<Vec<Vec<u8>>>,
    /// Set when no more pieces are needed.
    pub(super) stop: &'a AtomicBool,
    pub(super) progress: &'a (dyn Fn(f32) + Sync),
    pub(super) cancel: &'a AtomicBool,
}

impl<'a> Pieces<'a> {
    /// Reads the header. The pieces are the rows below it.
    pub(super) fn begin(mut source: Source, around: Surroundings<'a>) -> Result<(Self, Header), Fault> {
        let limits = around.limits;
        let mut begun = Vec::new();
        loop {
            let wanted = limits.piece.max(limits.sample).max(begun.len());
            let count = source.read(&mut begun, wanted).map_err(|problem| Fault { line: None, problem })?;
            let is_whole = count < wanted;
            match header::find(&begun, is_whole).map_err(|(line, problem)| Fault { line, problem })? {
                Some(header) => {
                    begun.drain(..header.end);
                    let grammar = header.grammar;
                    return Ok((Self { source, grammar, begun, next_index: 0, is_over: false, around }, header));
                }
                None if begun.len() > limits.record => {
                    return Err(Fault { line: Some(0), problem: CsvProblem::TooLong });
                }
                None => {}
            }
        }
    }

    /// The first rows, as far as they are read.
    pub(super) fn sample(&self) -> &[u8] {
        let sample = &self.begun[..self.begun.len().min(self.around.limits.sample)];
        &sample[..self.grammar.complete_records(sample).end]
    }

    /// Whether somebody wrote to the file since it was opened.
    pub(super) fn has_changed(&self) -> bool {
        self.source.has_changed()
    }

    /// The next piece's bytes, and the fault behind them.
    fn read(&mut self, bytes: &mut Vec<u8>) -> Option<Fault> {
        let mut wanted = self.around.limits.piece.saturating_sub(bytes.len()).max(1);
        loop {
            if self.around.cancel.load(Ordering::Relaxed) {
                return Some(Fault { line: None, problem: CsvProblem::Cancelled });
            }
            let before = bytes.len();
            let read = self.source.read(bytes, wanted);
            (self.around.progress)(self.source.share());
            let records = self.grammar.complete_records(bytes);
            let begun = &bytes[records.end..];
            let lines_before = |at: usize| memchr_iter(self.grammar.line_end, &bytes[records.end..at]).count() as u64;
            let problem = match read {
                Err(problem) => Some((Some(lines_before(bytes.len())), problem)),
                Ok(count) if count < wanted => {
                    self.is_over = true;
                    match records.open_quote {
                        Some(quote) => Some((Some(lines_before(quote)), CsvProblem::UnclosedQuote)),
                        // The last record ends with the file.
                        None => return None,
                    }
                }
                Ok(_) if records.end == 0 && begun.len() > self.around.limits.record => match records.open_quote {
                    Some(quote) => Some((Some(lines_before(quote)), CsvProblem::UnclosedQuote)),
                    None => Some((Some(0), CsvProblem::TooLong)),
                },
                // Twice as much each time, so that looking for the record's end again takes no more than twice the time.
                Ok(_) if records.end == 0 => {
                    wanted = before.max(self.around.limits.piece);
                    continue;
                }
                Ok(_) => {
                    self.begun.extend_from_slice(begun);
                    None
                }
            };
            bytes.truncate(records.end);
            return problem.map(|(line, problem)| Fault { line, problem });
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if self.is_over || self.around.stop.load(Ordering::Relaxed) {
            return None;
        }
        let used = self.around.buffers.lock().ok().and_then(|mut buffers| buffers.pop());
        let mut bytes = std::mem::replace(&mut self.begun, used.unwrap_or_default());
        self.begun.clear();
        let fault = self.read(&mut bytes);
        self.is_over |= fault.is_some();
        let index = self.next_index;
        self.next_index += 1;
        Some(Piece { index, bytes, fault })
    }
}
