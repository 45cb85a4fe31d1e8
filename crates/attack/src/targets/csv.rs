//! Tables in text files, plain or compressed with gzip.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use flate2::Compression;
use flate2::write::GzEncoder;
use regression_studio::table::csv;
use regression_studio::table::{Column, DecimalMark, Kind, Role, Table};

use crate::finding::{Case, Expected, Verdict, Wrong, wrong};
use crate::mutate;
use crate::random::Random;
use crate::targets::Reader;
use crate::targets::model::require;

/// Memory limit for rows, in bytes. Assembling a table takes twice that, which is below the limit of a case.
const MEMORY: u64 = 256 << 20;

pub(super) struct Csv {
    path: PathBuf,
    copy: PathBuf,
}

impl Csv {
    pub(super) fn new(folder: &Path) -> Self {
        Self { path: folder.join("table.csv"), copy: folder.join("copy.csv") }
    }
}

impl Reader for Csv {
    fn case(&self, random: &mut Random) -> Case {
        let mut bytes = text(random);
        match random.below(8) {
            0 => {}
            1..6 => mutate::text(random, &mut bytes),
            _ => mutate::bytes(random, &mut bytes),
        }
        if random.one_in(12) {
            // UTF-16, as some spreadsheets write it.
            let wide: Vec<u16> = String::from_utf8_lossy(&bytes).encode_utf16().collect();
            bytes = wide.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        }
        if random.one_in(3) {
            let mut encoder = GzEncoder::new(vec![], Compression::fast());
            bytes = encoder.write_all(&bytes).and_then(|()| encoder.finish()).expect("writing to a Vec does not fail");
            if random.one_in(2) {
                mutate::bytes(random, &mut bytes);
            }
        }
        Case { name: "table.csv".to_owned(), bytes, expected: Expected::Any }
    }

    fn read(&self, case: &Case) -> Verdict {
        if let Err(error) = fs::write(&self.path, &case.bytes) {
            return wrong("the attack can write", error.to_string());
        }
        let declared = declared(case.bytes.len());
        let (declared, cancel) = (&declared, &AtomicBool::new(false));
        let options = csv::Options { declared, memory: MEMORY, progress: &|_| (), cancel };
        match csv::read_with(&self.path, options) {
            Err(error) => Verdict::rejected(error, self.path.display()),
            Ok(table) => self.check(&table, declared).map_or_else(Verdict::Wrong, |()| Verdict::Accepted),
        }
    }
}

/// What is declared about a case; each length has its own, so that a case is read alike again.
fn declared(length: usize) -> csv::Declared {
    let role = Role::ALL.get(length % 17).copied();
    csv::Declared {
        decimal_mark: [None, None, Some(DecimalMark::Point), Some(DecimalMark::Comma)][length % 4],
        header: [None, None, None, Some(true), Some(false)][length % 5],
        roles: role
            .iter()
            .flat_map(|&role| ["column0", "column2", "price"].map(|name| (name.to_owned(), role)))
            .collect(),
        may_have_one_column: length.is_multiple_of(7),
    }
}

impl Csv {
    /// Checks that a table is consistent, and that it reads equal after it is written again.
    fn check(&self, table: &Table, declared: &csv::Declared) -> Result<(), Wrong> {
        let rows = table.rows();
        let columns = table.columns().len();
        let is_table = rows > 0 && (columns > 1 || columns == 1 && declared.may_have_one_column);
        require(is_table, "a table has rows and columns", format!("{rows} rows"))?;
        let notes = table.notes().iter().find(|note| note.text.lines().count() != 1);
        require(notes.is_none(), "a note is one line", format!("{notes:?}"))?;
        let lines: Vec<Option<u64>> = (0..rows).map(|row| table.line(row)).collect();
        require(lines.iter().all(Option::is_some), "each row has a line", "one has none")?;
        require(lines.is_sorted_by(|a, b| a < b), "lines rise", format!("{lines:?}"))?;
        for (index, column) in table.columns().iter().enumerate() {
            let name = column.name();
            let first = table.columns().iter().position(|other| other.name() == name);
            require(first == Some(index) && !name.is_empty(), "names differ", format!("{name:?}"))?;
            let finite = |row| column.number(row).is_none_or(f64::is_finite);
            require((0..rows).all(finite), "numbers are finite", format!("not in {name:?}"))?;
            let empty = (0..rows).filter(|&row| column.text(row).is_empty()).count();
            require(empty == column.missing(), "missing cells are counted", format!("{empty} in {name:?}"))?;
        }
        if let Err(error) = fs::write(&self.copy, written(table)) {
            return Err(Wrong { promise: "the attack can write", detail: error.to_string() });
        }
        let declared = declared_again(table, declared);
        let (declared, cancel) = (&declared, &AtomicBool::new(false));
        let options = csv::Options { declared, memory: u64::MAX, progress: &|_| (), cancel };
        let again = csv::read_with(&self.copy, options)
            .map_err(|error| Wrong { promise: "what is written again is read again", detail: error.to_string() })?;
        let is_same = again.rows() == rows
            && again.columns().len() == table.columns().len()
            && table.columns().iter().zip(again.columns()).all(|(a, b)| is_same(a, b, rows));
        require(is_same, "what is written again is read again", "another table")
    }
}

/// What is declared about a table that is written again: that its columns are what they are.
fn declared_again(table: &Table, declared: &csv::Declared) -> csv::Declared {
    let role = |column: &Column| match column.kind() {
        Kind::Number if column.is_date() => declared.roles.get(column.name()).copied(),
        Kind::Number => Some(Role::DecimalPoint),
        Kind::Text => Some(Role::Category),
    };
    let roles = table.columns().iter().filter_map(|column| Some((column.name().to_owned(), role(column)?)));
    let roles = roles.collect::<BTreeMap<_, _>>();
    csv::Declared { decimal_mark: None, header: Some(true), roles, may_have_one_column: true }
}

fn is_same(a: &Column, b: &Column, rows: usize) -> bool {
    (a.name(), a.kind(), a.missing()) == (b.name(), b.kind(), b.missing())
        && (0..rows).all(|row| a.number(row) == b.number(row) && (is_unreadable(a, row) || a.text(row) == b.text(row)))
}

/// Whether a cell in a column of numbers is no number. It may be one by the other decimal mark, by which a table is
/// written again.
fn is_unreadable(column: &Column, row: usize) -> bool {
    column.kind() == Kind::Number && !column.is_date() && column.number(row).is_none() && !column.text(row).is_empty()
}

/// A table as CSV, each cell in quotes.
fn written(table: &Table) -> String {
    let quoted = |cell: &str| format!("\"{}\"", cell.replace('"', "\"\""));
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let header = line(table.columns().iter().map(|column| quoted(column.name())).collect());
    let cell = |column: &Column, row| match column.text(row) {
        // A line of nothing is no row.
        text if text.is_empty() && table.columns().len() == 1 => quoted(""),
        text if text.is_empty() => String::new(),
        _ if is_unreadable(column, row) => "unreadable".to_owned(),
        text if column.kind() == Kind::Number && !column.is_date() => text.into_owned(),
        text => quoted(&text),
    };
    let rows = (0..table.rows()).map(|row| line(table.columns().iter().map(|column| cell(column, row)).collect()));
    header + &rows.collect::<String>()
}

/// A valid table of one of several dialects.
fn text(random: &mut Random) -> Vec<u8> {
    let separator = random.pick(&[",", ",", ";", "\t"]);
    let line_end = random.pick(&["\n", "\n", "\r\n", "\r"]);
    let columns = 2 + random.below(5);
    let max_rows = if random.one_in(30) { 400 } else { 12 };
    let rows = 1 + random.below(max_rows);
    let kinds: Vec<usize> = (0..columns).map(|_| random.below(9)).collect();
    let mut text = if random.one_in(8) { "\u{feff}".to_owned() } else { String::new() };
    if random.one_in(10) {
        text += random.pick(&["sep=;", "sep=,", "\"sep=\t\"", "# by hand", "# a, b, c", "#"]);
        text += line_end;
    }
    let names: Vec<String> = (0..columns).map(|column| name(random, column)).collect();
    text += &(names.join(separator) + line_end);
    for _ in 0..rows {
        let cells: Vec<String> = kinds.iter().map(|&kind| cell(random, kind, separator)).collect();
        text += &cells.join(separator);
        text += if random.one_in(40) { "\n\n" } else { line_end };
        text += if random.one_in(60) { "# a note\n" } else { "" };
    }
    text.into_bytes()
}

fn name(random: &mut Random, column: usize) -> String {
    match random.below(12) {
        0 => String::new(),
        1 => "price".to_owned(),
        2 => "\"a name, \"\"quoted\"\"\"".to_owned(),
        3 => "Größe".to_owned(),
        _ => format!("column{column}"),
    }
}

fn cell(random: &mut Random, kind: usize, separator: &str) -> String {
    match (random.below(20), kind) {
        (0, _) => random.pick(&["", "-", "NA", "null", " ", "#N/A", "?"]).to_owned(),
        (1, _) => format!("\"{}\"", mutate::TEXTS[random.below(mutate::TEXTS.len())].replace('"', "\"\"")),
        (2, _) => mutate::number(random),
        (3, _) => format!("\"two\nlines{separator}\""),
        (_, 0 | 1) => format!("{:.3}", 1000.0 * random.fraction() - 500.0),
        (_, 2) => random.below(100).to_string(),
        (_, 4) => {
            let spellings = [
                "1.250",
                "\"1,250\"",
                "\"2.400,50\"",
                "\"0,5\"",
                "(50.00)",
                "\u{2212}7",
                "1 234",
                "12,34,567",
                "1\u{2019}234.5",
                "None",
            ];
            random.pick(&spellings).to_owned()
        }
        (_, 5) => random.pick(&["12.5%", "3 %", "$1200", "USD 300", "39.4 m2", "424 ft2", "7 €"]).to_owned(),
        (_, 6) => {
            let (day, month) = (1 + random.below(31), 1 + random.below(12));
            let dates = [
                format!("{day:02}/{month:02}/2025"),
                format!("2025-{month:02}-{day:02}T8:05:00.25Z"),
                format!("2025{month:02}{day:02}"),
                format!("{day}-Jan-25"),
                "TBD".to_owned(),
            ];
            dates[random.below(dates.len())].clone()
        }
        (_, 3) => random.pick(&["EQ", "BE", "SM", "\"N\"\"1\"", "naïve", " padded "]).to_owned(),
        _ => format!("text{}", random.below(1000)),
    }
}
