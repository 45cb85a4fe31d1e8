//! CSV tables written by learning platforms and spreadsheets: with or without a byte order mark,
//! separated by commas, semicolons or tabs. A table is written as it was read, except for quotes
//! around every cell and for formulas.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use whole_files::write_privately;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A table with a header.
#[derive(Clone, Debug)]
pub(super) struct Sheet {
    file: PathBuf,
    delimiter: u8,
    has_mark: bool,
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// A row. Missing cells at the end are empty.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Line number in the file, from 1.
    pub(super) line: u64,
    pub(super) cells: Vec<String>,
}

impl Sheet {
    /// Reads a table.
    ///
    /// # Errors
    /// If the file cannot be read, is not UTF-8, has no header, has two columns of the same name,
    /// or has a row with more cells than columns.
    pub(super) fn read(file: &Path) -> Result<Self> {
        let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let text = String::from_utf8(bytes)
            .ok()
            .with_context(|| format!("{} is not UTF-8: save it as \"CSV UTF-8\"", file.display()))?;
        Self::of_text(file, &text)
    }

    pub(super) fn of_text(file: &Path, text: &str) -> Result<Self> {
        let (has_mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(text) => (true, text),
            None => (false, text),
        };
        let delimiter = delimiter_of(text);
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .has_headers(false)
            .from_reader(text.as_bytes());
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.with_context(|| file.display().to_string())?;
            let start = record.position().map_or(0, |position| position.byte() as usize);
            let line = line_at(text, start);
            let cells: Vec<String> = record.iter().map(str::to_owned).collect();
            if cells.iter().any(|cell| !cell.trim().is_empty()) {
                rows.push(Row { line, cells });
            }
        }
        ensure!(!rows.is_empty(), "{} is empty: its first row names the columns", file.display());
        let header: Vec<String> = rows.remove(0).cells.iter().map(|name| name.trim().to_owned()).collect();
        for row in &mut rows {
            let (cells, columns) = (row.cells.len(), header.len());
            let line = row.line;
            ensure!(cells <= columns, "{}, line {line}: {cells} cells, but {columns} columns", file.display());
            row.cells.resize(columns, String::new());
        }
        Ok(Self { file: file.to_owned(), delimiter, has_mark, header, rows })
    }

    /// Returns the index of a column, ignoring case; `None` if it is missing.
    ///
    /// # Errors
    /// If several columns have this name.
    pub(super) fn find(&self, name: &str) -> Result<Option<usize>> {
        let mut columns = (0..self.header.len()).filter(|&index| self.header[index].eq_ignore_ascii_case(name));
        let column = columns.next();
        ensure!(columns.next().is_none(), "{} has several columns {name:?}", self.file.display());
        Ok(column)
    }

    /// Returns the index of a required column.
    ///
    /// # Errors
    /// If the column is missing, or several columns have this name.
    pub(super) fn column(&self, name: &str) -> Result<usize> {
        match self.find(name)? {
            Some(column) => Ok(column),
            None => bail!("{} has no column {name:?}, only {}", self.file.display(), self.header.join(", ")),
        }
    }

    /// Returns the indices of these columns. The table must have no others.
    ///
    /// # Errors
    /// If a column is missing, appears twice, or is not in `names`.
    pub(super) fn columns<const N: usize>(&self, names: [&str; N]) -> Result<[usize; N]> {
        let other = self.header.iter().find(|column| !names.iter().any(|name| name.eq_ignore_ascii_case(column)));
        if let Some(other) = other {
            bail!("{} has a column {other:?}; its columns are {}", self.file.display(), names.join(", "));
        }
        let mut columns = [0; N];
        for (column, name) in columns.iter_mut().zip(names) {
            *column = self.column(name)?;
        }
        Ok(columns)
    }

    /// File and line of a row, to start a message with.
    pub(super) fn place(&self, row: &Row) -> String {
        format!("{}, line {}", self.file.display(), row.line)
    }

    /// Returns the table with only these columns.
    pub(super) fn with_columns(&self, columns: &[usize]) -> Self {
        let kept = |cells: &[String]| columns.iter().map(|&column| cells[column].clone()).collect();
        let rows = self.rows.iter().map(|row| Row { line: row.line, cells: kept(&row.cells) });
        Self { header: kept(&self.header), rows: rows.collect(), ..self.clone() }
    }

    /// Writes the table to another file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn write(&self, file: &Path) -> Result<()> {
        let rows = std::iter::once(&self.header).chain(self.rows.iter().map(|row| &row.cells));
        let mark = if self.has_mark { BYTE_ORDER_MARK } else { "" };
        let text = format!("{mark}{}", to_csv(self.delimiter, rows)?);
        write_privately(file, text.as_bytes()).with_context(|| format!("cannot write {}", file.display()))
    }
}

/// Formats rows as CSV with quotes around every cell. No spreadsheet runs a cell as a formula.
///
/// # Errors
/// If the rows differ in length.
pub(super) fn to_csv<R: IntoIterator<Item: AsRef<str>>>(
    delimiter: u8,
    rows: impl IntoIterator<Item = R>,
) -> Result<String> {
    let mut options = csv::WriterBuilder::new();
    let mut writer = options.delimiter(delimiter).quote_style(csv::QuoteStyle::Always).from_writer(Vec::new());
    for row in rows {
        writer.write_record(row.into_iter().map(|text| cell(text.as_ref(), delimiter)))?;
    }
    String::from_utf8(writer.into_inner().context("the table is not complete")?).context("the table is UTF-8")
}

/// Characters that start a formula, including the full-width forms of East Asian keyboards.
const FORMULAS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// Whether a spreadsheet treats a cell as a formula. Numbers and lone signs are not formulas.
fn is_formula(text: &str) -> bool {
    let is_of_number = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ',');
    let is_number = text.strip_prefix(['+', '-']).is_some_and(|rest| rest.chars().all(is_of_number));
    text.starts_with(FORMULAS) && !is_number
}

/// Whether a cell is a sum written by this program: only the letters and digits of a range.
fn is_sum(text: &str) -> bool {
    let range = text.strip_prefix("=SUM(").and_then(|rest| rest.strip_suffix(')'));
    range.is_some_and(|range| range.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == ':'))
}

/// Returns text that a spreadsheet shows without running it as a formula. It escapes formulas at
/// the start of the cell, and after characters that end the cell for a spreadsheet with another
/// separator.
fn cell(text: &str, delimiter: u8) -> String {
    if is_sum(text) {
        return text.to_owned();
    }
    let is_end = |letter: char| matches!(letter, ',' | ';' | '\t' | '\n' | '\r') && letter != char::from(delimiter);
    let mut shown = String::with_capacity(text.len() + 1);
    if text.starts_with(['\t', '\r', '\n']) {
        shown.push('\'');
    }
    for part in text.split_inclusive(is_end) {
        if is_formula(part.trim_end_matches(is_end)) {
            shown.push('\'');
        }
        shown.push_str(part);
    }
    shown
}

/// Line number of a record that starts at this byte or after the line breaks that follow the byte.
fn line_at(text: &str, byte: usize) -> u64 {
    let (before, rest) = text.as_bytes().split_at(byte.min(text.len()));
    let ends = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    before.iter().chain(ends).filter(|byte| **byte == b'\n').count() as u64 + 1
}

/// The most frequent separator in the first line, outside quotes.
fn delimiter_of(text: &str) -> u8 {
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0)];
    let mut is_quoted = false;
    for byte in text.bytes() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' if !is_quoted => break,
            _ if !is_quoted => counts.iter_mut().filter(|count| count.0 == byte).for_each(|count| count.1 += 1),
            _ => {}
        }
    }
    // The first one wins if counts are equal.
    counts.into_iter().rev().max_by_key(|count| count.1).map_or(b',', |count| count.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(text: &str) -> Result<Sheet> {
        Sheet::of_text(Path::new("class.csv"), text)
    }

    fn error(text: &str) -> String {
        format!("{:#}", sheet(text).unwrap_err())
    }

    #[test]
    fn grade_reads_tables_of_spreadsheets_and_writes_them_as_they_were() {
        for text in [
            "name,time\n\"Lovelace, Ada\",\"1\n2\"\n",
            "\u{feff}name;time\n\"Lovelace; \"\"Ada\"\"\";1,5\n",
            "name\ttime\na,b;c\t1\n",
            "name\nx\n",
        ] {
            let read = sheet(text).unwrap();
            assert_eq!(read.find("NAME").unwrap(), Some(0), "{text}");
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("written.csv");
            read.write(&file).unwrap();
            let written = std::fs::read_to_string(&file).unwrap();
            assert_eq!(written.starts_with(BYTE_ORDER_MARK), text.starts_with(BYTE_ORDER_MARK));
            let again = sheet(&written).unwrap();
            assert_eq!((again.delimiter, &again.header), (read.delimiter, &read.header), "{text}");
            assert_eq!(again.rows[0].cells, read.rows[0].cells, "{text}");
            // Grades are readable only by their owner.
            let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
        // Quoted separators do not count; carriage returns and empty lines are not cells.
        let read = sheet("\"a,b,c\";d\r\n\r\n1;2\r\n;\r\n3\r\n").unwrap();
        assert_eq!(read.header, ["a,b,c", "d"]);
        assert_eq!(read.rows.iter().map(|row| row.line).collect::<Vec<_>>(), [3, 5]);
        assert_eq!(read.rows[1].cells, ["3", ""]);
    }

    #[test]
    fn grade_writes_no_cell_that_a_spreadsheet_runs() {
        let written = |text: &str, delimiter| to_csv(delimiter, [[text]]).unwrap();
        for (text, expected) in [
            ("=1+1", "\"'=1+1\"\n"),
            ("+x", "\"'+x\"\n"),
            ("-x", "\"'-x\"\n"),
            ("@x", "\"'@x\"\n"),
            ("＝x", "\"'＝x\"\n"),
            ("\t=x", "\"'\t'=x\"\n"),
            ("\rx", "\"'\rx\"\n"),
            // A spreadsheet may use another separator.
            ("a;=x\n@y\t-z", "\"a;'=x\n'@y\t'-z\"\n"),
            ("a,=x", "\"a,=x\"\n"),
            ("=SUM(A1:A2)+x", "\"'=SUM(A1:A2)+x\"\n"),
            // Text that is not a formula is unchanged.
            ("a = b; -1", "\"a = b; -1\"\n"),
            ("-1.5", "\"-1.5\"\n"),
            ("-", "\"-\"\n"),
            ("=SUM(B2:AA2)", "\"=SUM(B2:AA2)\"\n"),
            ("\"", "\"\"\"\"\n"),
        ] {
            assert_eq!(written(text, b','), expected);
        }
        assert_eq!(written("a,=x;=y", b';'), "\"a,'=x;=y\"\n");
        assert_eq!(written("-1,5", b';'), "\"-1,5\"\n");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("written.csv");
        sheet("name,=x\n@a,-\n").unwrap().write(&file).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "\"name\",\"'=x\"\n\"'@a\",\"-\"\n");
    }

    #[test]
    fn grade_names_what_is_wrong_in_a_table() {
        assert_eq!(error(""), "class.csv is empty: its first row names the columns");
        assert_eq!(error("a,b\n1,2,3\n"), "class.csv, line 2: 3 cells, but 2 columns");
        let read = sheet("name,Name,time\n").unwrap();
        assert_eq!(format!("{:#}", read.find("name").unwrap_err()), "class.csv has several columns \"name\"");
        let missing = format!("{:#}", read.column("grade").unwrap_err());
        assert_eq!(missing, "class.csv has no column \"grade\", only name, Name, time");
        let other = format!("{:#}", sheet("name,tiem\n").unwrap().columns(["name", "time"]).unwrap_err());
        assert_eq!(other, "class.csv has a column \"tiem\"; its columns are name, time");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("latin1.csv");
        std::fs::write(&file, b"name\nJ\xfcrgen\n").unwrap();
        assert!(format!("{:#}", Sheet::read(&file).unwrap_err()).ends_with("is not UTF-8: save it as \"CSV UTF-8\""));
    }

    #[test]
    fn grade_keeps_the_named_columns_of_a_table() {
        let kept = sheet("a,b,c\n1,2,3\n").unwrap().with_columns(&[2, 0]);
        assert_eq!(
            (kept.header, kept.rows[0].cells.clone()),
            (vec!["c".into(), "a".into()], vec!["3".into(), "1".into()])
        );
    }
}
