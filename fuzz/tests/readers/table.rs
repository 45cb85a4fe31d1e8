//! Tables in text files, plain or compressed with gzip.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use regression_studio::table::csv;
use regression_studio::table::{Column, DecimalMark, Kind, Role, Table};

use crate::cases::{Answer, rejected, scratch};
use crate::edits::{Input, edit_bytes, edit_text, pick};
use crate::idx::packed;

/// Memory for a table's rows, in bytes. Assembling the table takes twice that.
const MEMORY: u64 = 256 << 20;

/// Tables in the dialects that the reader supports.
const TABLES: [&str; 12] = [
    "size,side,price\n1.5,north,3\n-2.25,south,4\n0,north,\n12,south,7\n",
    "a;b;c\r\n1,5;2;x\r\n-0,25;;y\r\n1.250,75;7;z\r\n",
    "a\tb\n1\t2\n3\t4\n\n5\t6\n",
    "\u{feff}Größe,\"a name, \"\"quoted\"\"\"\n\" padded \",1\n\"two\nlines\",2\nnaïve,3\n",
    "sep=;\nday;price\n01/02/2025;5\n13/02/2025;6\n28/12/2025;\n",
    "# by hand\nday,code,price\n2025-01-31T8:05:00.25Z,EQ,1\n2025-02-28T8:05:00Z,BE,2\nTBD,SM,3\n",
    "day,price\n20250131,1\n20250228,2\n\n20251231,NA\n",
    "day,price\n3-Jan-25,1 234\n14-Feb-25,12,34,567\n28-Mar-25,1\u{2019}234.5\n",
    "part,whole,price\n12.5%,$1200,39.4 m2\n3 %,USD 300,424 ft2\n7 %,7 €,#N/A\n",
    "a,b\n(50.00),\"1,250\"\n\u{2212}7,\"2,400\"\nNone,-\n?,null\n",
    "1,2,3\n4,5,6\n7,8,9\n",
    "column0,column2,price\n1,x,0.5\n2,y,\"0,5\"\n3,\"\",1e400\n# a note\n4,z,nan\n",
];

/// An accepted table is consistent, and survives being written and read again.
pub(crate) fn reader() -> impl Fn(&Input) -> Answer {
    let folder = scratch();
    move |input| {
        let path = folder.path().join("table.csv");
        let mut file = pick(&TABLES, input.file).as_bytes().to_vec();
        edit_text(input, &mut file, &[b"\"", b"#", b"\r"]);
        if input.choice % 16 == 1 {
            // The encoding that some spreadsheets write.
            file = String::from_utf8_lossy(&file).encode_utf16().flat_map(u16::to_le_bytes).collect();
        }
        if input.choice.is_multiple_of(3) {
            file = packed(&file);
        }
        if input.choice >= 192 {
            edit_bytes(&input.bytes, &mut file);
        }
        fs::write(&path, &file).unwrap();
        let declared = declared(input.place);
        let (declared, cancel) = (&declared, &AtomicBool::new(false));
        let options = csv::Options { declared, memory: MEMORY, progress: &|_| (), cancel };
        match csv::read_with(&path, options) {
            Err(error) => rejected(error, &path),
            Ok(table) => {
                require_consistent(&table, declared);
                require_same_again(&table, declared, &folder.path().join("copy.csv"));
                Answer::Accepted
            }
        }
    }
}

/// What the user declares about a file.
fn declared(choice: u16) -> csv::Declared {
    let choice = usize::from(choice);
    let role = Role::ALL.get(choice % 17).copied();
    let names = ["column0", "column2", "price"];
    csv::Declared {
        decimal_mark: [None, None, Some(DecimalMark::Point), Some(DecimalMark::Comma)][choice % 4],
        header: [None, None, None, Some(true), Some(false)][choice % 5],
        roles: role.iter().flat_map(|&role| names.map(|name| (name.to_owned(), role))).collect(),
        may_have_one_column: choice.is_multiple_of(7),
        ..csv::Declared::default()
    }
}

fn require_consistent(table: &Table, declared: &csv::Declared) {
    let (rows, columns) = (table.rows(), table.columns().len());
    assert!(rows > 0 && (columns > 1 || columns == 1 && declared.may_have_one_column), "{rows} rows of {columns}");
    assert!(table.notes().iter().all(|note| note.text.lines().count() == 1), "a note is one line: {:?}", table.notes());
    let lines: Vec<u64> = (0..rows).map(|row| table.line(row).expect("each row has a line")).collect();
    assert!(lines.is_sorted_by(|a, b| a < b), "lines rise: {lines:?}");
    for (index, column) in table.columns().iter().enumerate() {
        let name = column.name();
        let first = table.columns().iter().position(|other| other.name() == name);
        assert!(first == Some(index) && !name.is_empty(), "names differ: {name:?}");
        assert!((0..rows).all(|row| column.number(row).is_none_or(f64::is_finite)), "numbers are finite: {name:?}");
        let empty = (0..rows).filter(|&row| column.text(row).is_empty()).count();
        assert_eq!(empty, column.missing(), "missing cells are counted: {name:?}");
    }
}

fn require_same_again(table: &Table, declared: &csv::Declared, copy: &Path) {
    fs::write(copy, written(table)).unwrap();
    // Declares that each column has the kind that was detected.
    let role = |column: &Column| match column.kind() {
        Kind::Number if column.is_date() => declared.roles.get(column.name()).copied(),
        Kind::Number => Some(Role::DecimalPoint),
        Kind::Text => Some(Role::Category),
    };
    let roles = table.columns().iter().filter_map(|column| Some((column.name().to_owned(), role(column)?)));
    let roles = roles.collect::<BTreeMap<_, _>>();
    let declared = csv::Declared {
        decimal_mark: None,
        header: Some(true),
        roles,
        may_have_one_column: true,
        ..csv::Declared::default()
    };
    let (declared, cancel) = (&declared, &AtomicBool::new(false));
    let options = csv::Options { declared, memory: u64::MAX, progress: &|_| (), cancel };
    let again = csv::read_with(copy, options).expect("what is written is read again");
    assert_eq!((again.rows(), again.columns().len()), (table.rows(), table.columns().len()));
    for (a, b) in table.columns().iter().zip(again.columns()) {
        assert_eq!((a.name(), a.kind(), a.missing()), (b.name(), b.kind(), b.missing()));
        for row in 0..table.rows() {
            assert_eq!(a.number(row), b.number(row), "row {row} of {}", a.name());
            assert!(is_unreadable(a, row) || a.text(row) == b.text(row), "row {row} of {}", a.name());
        }
    }
}

/// Whether a cell in a numeric column is not a number. It may be a number with the other decimal
/// mark, which a written table uses.
fn is_unreadable(column: &Column, row: usize) -> bool {
    column.kind() == Kind::Number && !column.is_date() && column.number(row).is_none() && !column.text(row).is_empty()
}

/// A table as CSV, with each text in quotes.
fn written(table: &Table) -> String {
    let quoted = |cell: &str| format!("\"{}\"", cell.replace('"', "\"\""));
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let header = line(table.columns().iter().map(|column| quoted(column.name())).collect());
    let cell = |column: &Column, row| match column.text(row) {
        // An empty line is not a row.
        text if text.is_empty() && table.columns().len() == 1 => quoted(""),
        text if text.is_empty() => String::new(),
        _ if is_unreadable(column, row) => "unreadable".to_owned(),
        text if column.kind() == Kind::Number && !column.is_date() => text.into_owned(),
        text => quoted(&text),
    };
    let rows = (0..table.rows()).map(|row| line(table.columns().iter().map(|column| cell(column, row)).collect()));
    header + &rows.collect::<String>()
}
