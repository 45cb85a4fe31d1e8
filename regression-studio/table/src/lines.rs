//! The line where each row begins in the file, run-length encoded.

/// Runs of consecutive rows on consecutive lines: one run for a whole file, unless blank lines or line breaks in quotes
/// interrupt it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    /// First row and its line, for each run.
    runs: Vec<(usize, u64)>,
}

impl Lines {
    /// Appends `row`, the next row, which begins at `line`.
    pub(crate) fn push(&mut self, row: usize, line: u64) {
        if self.line(row) != Some(line) {
            self.runs.push((row, line));
        }
    }

    /// Appends the runs of the following rows: row 0 of `other` is `row` here, and its line 0 is
    /// `line`.
    pub(crate) fn append(&mut self, other: &Self, row: usize, line: u64) {
        for &(first, at) in &other.runs {
            self.push(row + first, line + at);
        }
    }

    /// Allocated size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        crate::texts::bytes_of(&self.runs)
    }

    /// The location of `row` in the file, in words: "line 3".
    pub(crate) fn place(&self, row: usize) -> String {
        place(self.line(row), row)
    }

    /// The line where `row` begins.
    pub(crate) fn line(&self, row: usize) -> Option<u64> {
        // `push` looks up rows after the last run.
        let run = match self.runs.last() {
            Some(last) if last.0 <= row => last,
            _ => self.runs.get(self.runs.partition_point(|run| run.0 <= row).checked_sub(1)?)?,
        };
        Some(run.1 + (row - run.0) as u64)
    }
}

/// "line 3", or "row 2" if the line is unknown; the row is counted from 0.
pub(crate) fn place(line: Option<u64>, row: usize) -> String {
    line.map_or_else(|| format!("row {}", row + 1), |line| format!("line {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_gaps_are_one_run() {
        let mut lines = Lines::default();
        (0..1000).for_each(|row| lines.push(row, row as u64 + 2));
        assert_eq!(lines.runs, [(0, 2)]);
        assert_eq!(lines.line(999), Some(1001));
    }

    #[test]
    fn rows_keep_their_lines_across_gaps_and_chunks() {
        let wanted: Vec<u64> = (0..200).map(|row| 2 + row + row / 7 + u64::from(row > 50) * 3).collect();
        for cut in 0..=wanted.len() {
            let (mut first, mut second, start) = (Lines::default(), Lines::default(), 40);
            wanted[..cut].iter().enumerate().for_each(|(row, &line)| first.push(row, line));
            // The second chunk counts its lines from its own start.
            let base = wanted.get(cut).map_or(0, |line| line - 1);
            wanted[cut..].iter().enumerate().for_each(|(row, &line)| second.push(row, line - base));
            let mut whole = Lines::default();
            whole.append(&first, 0, start);
            whole.append(&second, cut, start + base);
            for (row, line) in wanted.iter().enumerate() {
                assert_eq!(whole.line(row), Some(line + start), "row {row}, cut at {cut}");
            }
        }
    }

    #[test]
    fn an_empty_list_has_no_line() {
        assert_eq!(Lines::default().line(0), None);
    }

    #[test]
    fn memory_is_taken_by_runs() {
        let mut lines = Lines::default();
        assert_eq!(lines.bytes(), 0);
        (0..100).for_each(|row| lines.push(row, 2 * row as u64));
        assert!(lines.bytes() >= 100 * size_of::<(usize, u64)>() as u64);
    }
}
