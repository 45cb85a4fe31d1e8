//! A launch's counts in words.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::counts::InstructionCounts;
use super::fault::Access;
use super::report::{AccessedSpace, LaunchReport};

/// A file and a line in it; `None` if the PTX has no line information.
type SourceLine = Option<(String, u32)>;

impl LaunchReport {
    /// The counts in words: instructions and active lanes, accesses to each memory, and the `lines`
    /// source lines with the most thread instructions. `source` returns the text of a file's line,
    /// if known.
    pub fn describe(&self, lines: usize, source: impl Fn(&str, u32) -> Option<String>) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.describe_instructions(&mut text);
        let _ = self.describe_memory(&mut text);
        let _ = self.describe_lines(&mut text, lines, source);
        text
    }

    fn describe_instructions(&self, text: &mut String) -> std::fmt::Result {
        let (threads, warps) = (self.thread_instructions(), self.warp_instructions());
        writeln!(text, "[*] Instructions: {} of threads, {} of warps", grouped(threads), grouped(warps))?;
        writeln!(text, "    lanes at work: {:.1} of 32", threads as f64 / warps.max(1) as f64)?;
        let mut classes: Vec<_> = self.by_class().into_iter().collect();
        classes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (class, count) in classes {
            let class = format!("{class:?}").to_lowercase();
            writeln!(text, "    {:5.1} %  {class:8} {:>15}", percent(count, threads), grouped(count))?;
        }
        let (branches, divergent) = self.branches();
        let (all, share) = (grouped(branches), percent(divergent, branches));
        writeln!(text, "    of {all} branches of warps {} were divergent ({share:.2} %)", grouped(divergent))
    }

    fn describe_memory(&self, text: &mut String) -> std::fmt::Result {
        writeln!(text, "[*] Memory accesses of warps")?;
        let spaces = [
            (AccessedSpace::Global, "global", "sectors of 32 bytes"),
            (AccessedSpace::Shared, "shared", "wavefronts"),
            (AccessedSpace::Local, "local", ""),
            (AccessedSpace::Generic, "generic", "sectors or wavefronts"),
        ];
        for (space, name, unit) in spaces {
            for (access, verb) in [(Access::Read, "loads"), (Access::Write, "stores"), (Access::Atomic, "atomics")] {
                let totals = self.accesses(space, access);
                if totals.lanes == 0 {
                    continue;
                }
                write!(text, "    {name} {verb}: {} of threads", grouped(totals.lanes))?;
                if !unit.is_empty() && totals.requests > 0 {
                    let ratio = totals.transactions as f64 / totals.min_transactions.max(1) as f64;
                    let (requests, transactions) = (grouped(totals.requests), grouped(totals.transactions));
                    write!(
                        text,
                        " in {requests} of warps; {transactions} {unit}, {ratio:.2} times the least possible"
                    )?;
                }
                writeln!(text)?;
            }
        }
        Ok(())
    }

    fn describe_lines(
        &self,
        text: &mut String,
        count: usize,
        source: impl Fn(&str, u32) -> Option<String>,
    ) -> std::fmt::Result {
        let mut lines: BTreeMap<SourceLine, InstructionCounts> = BTreeMap::new();
        for instruction in &self.instructions {
            let line = instruction.place.source.as_ref().map(|source| (source.file.to_string(), source.line));
            lines.entry(line).or_default().add(&instruction.counts);
        }
        let mut lines: Vec<_> = lines.into_iter().filter(|(_, counts)| counts.lanes > 0).collect();
        lines.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.lanes));
        writeln!(text, "[*] Source lines with the most instructions of threads")?;
        for (line, counts) in lines.into_iter().take(count) {
            let share = percent(counts.lanes, self.thread_instructions());
            let place = line.as_ref().map_or("no source line".to_owned(), |(file, line)| format!("{file}:{line}"));
            let excess = match counts.min_transactions {
                0 => String::new(),
                least => format!(" [{:.2} × least]", counts.transactions as f64 / least as f64),
            };
            let code = line.and_then(|(file, line)| source(&file, line)).unwrap_or_default();
            writeln!(text, "    {share:5.1} %  {place}{excess}  {}", code.trim())?;
        }
        Ok(())
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// A number with a comma between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
