//! Splits a file into chunks of whole records, which can be parsed independently.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::memchr_iter;

use super::Declared;
use super::error::{CsvProblem, Fault};
use super::grammar::Grammar;
use super::header::{self, Beginning, Found, Header};
use super::limits::Limits;
use super::source::Source;

/// A chunk of whole records.
pub(super) struct Chunk {
    /// Index in file order, from 0.
    pub(super) index: usize,
    pub(super) bytes: Vec<u8>,
    /// The error after this chunk, which ends the read.
    pub(super) fault: Option<Fault>,
}

/// A sequential reader of chunks. Parallel workers draw from it through `par_bridge`.
pub(super) struct Chunks<'a> {
    source: Source,
    grammar: Grammar,
    /// Bytes already read of a record with an end that is not read yet.
    partial: Vec<u8>,
    next_index: usize,
    is_finished: bool,
    context: Context<'a>,
}

/// Limits and shared state of a read.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) limits: Limits,
    /// Buffers of parsed chunks that can be reused.
    pub(super) buffers: &'a Mutex<Vec<Vec<u8>>>,
    /// Set when no more chunks are needed.
    pub(super) stop: &'a AtomicBool,
    pub(super) progress: &'a (dyn Fn(f32) + Sync),
    pub(super) cancel: &'a AtomicBool,
}

impl<'a> Chunks<'a> {
    /// Reads the header. The chunks are the rows below it.
    pub(super) fn begin(
        mut source: Source,
        declared: &Declared,
        context: Context<'a>,
    ) -> Result<(Self, Header), Fault> {
        let limits = context.limits;
        let mut partial = Vec::new();
        loop {
            let wanted = limits.chunk.max(limits.sample).max(partial.len());
            let count = source.read(&mut partial, wanted).map_err(|problem| Fault { line: None, problem })?;
            let is_whole = count < wanted;
            match header::find(Beginning { text: &partial, is_whole }, declared)? {
                Found::Header(header) => {
                    partial.drain(..header.end);
                    let grammar = header.grammar;
                    return Ok((Self { source, grammar, partial, next_index: 0, is_finished: false, context }, header));
                }
                Found::Incomplete if partial.len() > limits.record => {
                    return Err(Fault { line: Some(0), problem: CsvProblem::TooLong });
                }
                Found::Incomplete | Found::NeedsRows => {}
            }
        }
    }

    /// The complete records of the first rows, up to the sample size. Valid before the first chunk
    /// is taken.
    pub(super) fn sample(&self) -> &[u8] {
        let sample = &self.partial[..self.partial.len().min(self.context.limits.sample)];
        &sample[..self.grammar.complete_records(sample).end]
    }

    /// Whether the file was modified since it was opened.
    pub(super) fn has_changed(&self) -> bool {
        self.source.has_changed()
    }

    /// Fills `bytes` with the next chunk; returns the error after it.
    fn read(&mut self, bytes: &mut Vec<u8>) -> Option<Fault> {
        let mut wanted = self.context.limits.chunk.saturating_sub(bytes.len()).max(1);
        loop {
            if self.context.cancel.load(Ordering::Relaxed) {
                return Some(Fault { line: None, problem: CsvProblem::Cancelled });
            }
            let before = bytes.len();
            let read = self.source.read(bytes, wanted);
            (self.context.progress)(self.source.fraction());
            let records = self.grammar.complete_records(bytes);
            let partial = &bytes[records.end..];
            let lines_before = |at: usize| memchr_iter(self.grammar.line_end, &bytes[records.end..at]).count() as u64;
            let problem = match read {
                Err(problem) => Some((Some(lines_before(bytes.len())), problem)),
                Ok(count) if count < wanted => {
                    self.is_finished = true;
                    match records.open_quote {
                        Some(quote) => Some((Some(lines_before(quote)), CsvProblem::UnclosedQuote)),
                        // The end of the file ends the last record.
                        None => return None,
                    }
                }
                Ok(_) if records.end == 0 && partial.len() > self.context.limits.record => match records.open_quote {
                    Some(quote) => Some((Some(lines_before(quote)), CsvProblem::UnclosedQuote)),
                    None => Some((Some(0), CsvProblem::TooLong)),
                },
                // Doubling limits the repeated scans for the record's end to twice the time of a
                // single scan.
                Ok(_) if records.end == 0 => {
                    wanted = before.max(self.context.limits.chunk);
                    continue;
                }
                Ok(_) => {
                    self.partial.extend_from_slice(partial);
                    None
                }
            };
            bytes.truncate(records.end);
            return problem.map(|(line, problem)| Fault { line, problem });
        }
    }
}

impl Iterator for Chunks<'_> {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        if self.is_finished || self.context.stop.load(Ordering::Relaxed) {
            return None;
        }
        let used = self.context.buffers.lock().ok().and_then(|mut buffers| buffers.pop());
        let mut bytes = std::mem::replace(&mut self.partial, used.unwrap_or_default());
        self.partial.clear();
        let fault = self.read(&mut bytes);
        self.is_finished |= fault.is_some();
        let index = self.next_index;
        self.next_index += 1;
        Some(Chunk { index, bytes, fault })
    }
}
