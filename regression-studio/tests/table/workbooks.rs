//! Workbooks: the same table as in a CSV file, the choice of a sheet, merged cells, and one-line
//! errors for unreadable workbooks.

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use regression_studio::Predictions;
use regression_studio::settings::{DataSettings, Settings, Source};
use regression_studio::table::csv::{self, CsvError, CsvProblem, Declared};
use regression_studio::table::{DecimalMark, Role, Table, date, decimal};
use rust_xlsxwriter::{ExcelDateTime, Format, Workbook, Worksheet};
use tempfile::TempDir;

use crate::support::{csv_of, trained};

/// The files in tests/table/workbooks: flats.ods was written by odfpy, flats.xlsx by openpyxl and
/// protected.xlsx by msoffcrypto. They contain the table in flats.csv.
fn committed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/table/workbooks").join(name)
}

fn read_as(path: &Path, declared: &Declared) -> Result<Table, CsvError> {
    let cancel = &AtomicBool::new(false);
    csv::read_with(path, csv::Options { declared, memory: u64::MAX, progress: &|_| (), cancel })
}

/// Names, numbers, texts, dates and lines.
fn contents(table: &Table) -> Vec<String> {
    let column = |column: &regression_studio::table::Column| {
        let cells = (0..table.rows()).map(|row| {
            let (number, text) = (column.number(row), column.text(row));
            // Trailing zeros are not part of a number's value.
            let text = if number.is_some() && !column.is_date() { "".into() } else { text };
            format!("{}: {number:?} {text}", table.place(row))
        });
        format!("{:?} {} {:?}", column.name(), column.is_date(), cells.collect::<Vec<_>>())
    };
    table.columns().iter().map(column).collect()
}

/// A workbook in its own folder; `write` fills its sheets.
fn workbook(names: &[&str], write: impl Fn(usize, &mut Worksheet)) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.xlsx");
    let mut workbook = Workbook::new();
    for (index, name) in names.iter().enumerate() {
        let sheet = workbook.add_worksheet();
        sheet.set_name(*name).unwrap();
        write(index, sheet);
    }
    workbook.save(&path).unwrap();
    (folder, path)
}

/// Fills a sheet with these cells: a number if the text is one, nothing if it is empty.
fn fill(sheet: &mut Worksheet, rows: &[&[&str]]) {
    for (row, cells) in (0..).zip(rows) {
        for (column, cell) in (0..).zip(*cells) {
            match cell.parse::<f64>() {
                _ if cell.is_empty() => {}
                Ok(number) => _ = sheet.write_number(row, column, number).unwrap(),
                Err(_) => _ = sheet.write_string(row, column, *cell).unwrap(),
            }
        }
    }
}

fn message(path: &Path, declared: &Declared) -> String {
    let message = read_as(path, declared).unwrap_err().to_string();
    assert_eq!(message.lines().count(), 1, "{message}");
    message.strip_prefix(&*path.display().to_string()).unwrap().to_owned()
}

fn notes(table: &Table) -> Vec<&str> {
    table.notes().iter().map(|note| &*note.text).collect()
}

/// A copy of a workbook with changed parts.
fn with_parts(bytes: &[u8], change: impl Fn(&str, Vec<u8>) -> Vec<u8>) -> Vec<u8> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut changed = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for index in 0..archive.len() {
        let mut part = archive.by_index(index).unwrap();
        let (name, mut content) = (part.name().unwrap().into_owned(), Vec::new());
        part.read_to_end(&mut content).unwrap();
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        changed.start_file(&*name, options).unwrap();
        changed.write_all(&change(&name, content)).unwrap();
    }
    changed.finish().unwrap().into_inner()
}

#[test]
fn workbooks_of_other_programs_have_the_table_of_the_csv_file() {
    let expected = csv::read(&committed("flats.csv")).unwrap();
    assert_eq!((expected.rows(), expected.columns().len()), (24, 6));
    for name in ["flats.xlsx", "flats.ods"] {
        let table = csv::read(&committed(name)).unwrap();
        assert_eq!(contents(&table), contents(&expected), "{name}");
        assert_eq!(table.sheet(), Some("Flats"), "{name}");
    }
    assert_eq!((expected.sheet(), expected.sheets()), (None, &[][..]));
}

/// A cell, as written in a workbook and in a CSV file.
#[derive(Clone, Debug)]
enum Cell {
    Empty,
    Number(f64),
    Text(String),
    Switch(bool),
    /// Days since 1899-12-30.
    Day(u32),
}

impl Cell {
    fn write(&self, sheet: &mut Worksheet, row: u32, column: u16) {
        let date = Format::new().set_num_format("dd.mm.yyyy");
        match self {
            Self::Empty => {}
            Self::Number(number) => _ = sheet.write_number(row, column, *number).unwrap(),
            Self::Text(text) => _ = sheet.write_string(row, column, text).unwrap(),
            Self::Switch(value) => _ = sheet.write_boolean(row, column, *value).unwrap(),
            Self::Day(days) => _ = sheet.write_number_with_format(row, column, f64::from(*days), &date).unwrap(),
        }
    }

    fn in_csv(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Number(number) => decimal(*number),
            Self::Text(text) => format!("\"{}\"", text.trim().replace('"', "\"\"")),
            Self::Switch(value) => value.to_string().to_uppercase(),
            // The two epochs are 25,569 days apart.
            Self::Day(days) => date(f64::from(*days) - 25_569.0),
        }
    }
}

fn cell() -> impl Strategy<Value = Cell> {
    let text = proptest::sample::select(&[
        "x",
        "a,b",
        "say \"no\"",
        "#1",
        "sep=;",
        "1,250",
        "0,5",
        "NA",
        " é ",
        "12 €",
        "007",
    ]);
    prop_oneof![
        2 => Just(Cell::Empty),
        6 => (-1e6..1e6).prop_map(Cell::Number),
        3 => (-999_999_i32..999_999).prop_map(|number| Cell::Number(f64::from(number) / 1000.0)),
        1 => any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Cell::Number),
        2 => text.prop_map(|text| Cell::Text(text.to_owned())),
        1 => any::<bool>().prop_map(Cell::Switch),
        2 => (61_u32..90_000).prop_map(Cell::Day),
    ]
}

/// Columns of cells, each mostly of one kind.
fn columns() -> impl Strategy<Value = Vec<Vec<Cell>>> {
    (2_usize..5, 2_usize..30).prop_flat_map(|(columns, rows)| {
        let column = (cell(), prop::collection::vec((0..10, cell()), rows)).prop_map(|(usual, others)| {
            let same_kind = |other: &Cell| std::mem::discriminant(other) == std::mem::discriminant(&usual);
            let keep =
                |(share, other): (i32, Cell)| if share == 0 || same_kind(&other) { other } else { usual.clone() };
            others.into_iter().map(keep).collect::<Vec<Cell>>()
        });
        prop::collection::vec(column, columns)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn any_cells_are_read_as_in_a_csv_file(columns in columns()) {
        let names: Vec<String> = (0..columns.len()).map(|index| format!("name {index}")).collect();
        let (_folder, path) = workbook(&["Sheet1"], |_, sheet| {
            (0..).zip(&names).for_each(|(column, name)| _ = sheet.write_string(0, column, name).unwrap());
            for (index, column) in (0..).zip(&columns) {
                (1..).zip(column).for_each(|(row, cell)| cell.write(sheet, row, index));
            }
        });
        let mut text = names.join(",") + "\n";
        for row in 0..columns[0].len() {
            let cells: Vec<&Cell> = columns.iter().map(|column| &column[row]).collect();
            // In a workbook, a column or row without cells does not exist.
            let is_empty = cells.iter().all(|cell| matches!(cell, Cell::Empty));
            let cells: Vec<String> = cells.into_iter().map(Cell::in_csv).collect();
            text += &if is_empty { String::new() } else { cells.join(",") };
            text.push('\n');
        }
        let plain = path.with_extension("csv");
        std::fs::write(&plain, text).unwrap();
        // A workbook's number never has thousands separators, whatever its neighbors are.
        let point = Declared { decimal_mark: Some(DecimalMark::Point), ..Declared::default() };
        match (read_as(&path, &point), read_as(&plain, &point)) {
            (Ok(table), Ok(expected)) => prop_assert_eq!(contents(&table), contents(&expected)),
            (found, expected) => prop_assert_eq!(found.is_err(), expected.is_err()),
        }
    }
}

#[test]
fn a_number_keeps_its_value_whatever_the_decimal_mark_of_texts_is() {
    let (_folder, path) = workbook(&["Sheet1"], |_, sheet| {
        let rows = [["1.25", "0,5", "2.25"], ["2.125", "1,5", "3,5"], ["3.5", "7,25", "4.75"]];
        fill(sheet, &[&["a", "b", "y"], &rows[0], &rows[1], &rows[2]]);
    });
    for decimal_mark in [None, Some(DecimalMark::Comma)] {
        let table = read_as(&path, &Declared { decimal_mark, ..Declared::default() }).unwrap();
        let numbers = |index: usize| table.columns()[index].numbers().unwrap().to_vec();
        assert_eq!(numbers(0), [1.25, 2.125, 3.5], "{decimal_mark:?}");
        assert_eq!(numbers(1), [0.5, 1.5, 7.25], "{decimal_mark:?}");
        // A text among numbers.
        let third = numbers(2);
        assert_eq!((third[0], third[2]), (2.25, 4.75), "{decimal_mark:?}");
        assert_eq!(third[1].is_nan(), decimal_mark.is_some(), "{decimal_mark:?}: {}", third[1]);
    }
}

#[test]
fn dates_times_and_durations_of_both_date_systems() {
    let (_folder, path) = workbook(&["Sheet1"], |_, sheet| {
        fill(sheet, &[&["day", "moment", "time", "span", "y"]]);
        let formats =
            ["yyyy-mm-dd", "yyyy-mm-dd hh:mm", "hh:mm", "[h]:mm:ss"].map(|of| Format::new().set_num_format(of));
        for row in 1..6 {
            let number = f64::from(row);
            let cells = [44_000.0 + number, 44_000.25 + number, number / 24.0, 1.0 + number / 24.0];
            for ((column, cell), format) in (0..).zip(cells).zip(&formats) {
                sheet.write_number_with_format(row, column, cell, format).unwrap();
            }
            sheet.write_number(row, 4, number).unwrap();
        }
    });
    let table = csv::read(&path).unwrap();
    let row = |table: &Table| table.columns().iter().map(|column| column.text(0).into_owned()).collect::<Vec<_>>();
    assert_eq!(row(&table), ["2020-06-19", "2020-06-19T06:00:00", "1:00:00", "25:00:00", "1"]);
    let seconds = |table: &Table| [2, 3].map(|column: usize| table.columns()[column].number(0));
    assert_eq!(seconds(&table), [Some(3600.0), Some(90_000.0)]);
    assert!(table.columns()[0].is_date() && table.columns()[1].is_date() && !table.columns()[2].is_date());
    assert_eq!(table.columns()[1].number(0), Some(18_432.25));
    // The same numbers, counted from another day.
    let bytes = with_parts(&std::fs::read(&path).unwrap(), |name, part| match name {
        "xl/workbook.xml" => {
            let text = String::from_utf8(part).unwrap();
            assert!(text.contains("<workbookPr "), "{text}");
            text.replace("<workbookPr ", "<workbookPr date1904=\"1\" ").into_bytes()
        }
        _ => part,
    });
    std::fs::write(&path, bytes).unwrap();
    let table = csv::read(&path).unwrap();
    assert_eq!(row(&table), ["2024-06-20", "2024-06-20T06:00:00", "1:00:00", "25:00:00", "1"]);
    assert_eq!(seconds(&table), [Some(3600.0), Some(90_000.0)]);
    let written = ExcelDateTime::from_ymd(2024, 6, 20).unwrap().to_excel();
    assert_eq!(table.columns()[0].number(0), Some(written - 25_569.0));
}

#[test]
fn errors_are_missing_and_said_once() {
    let (_folder, path) = workbook(&["Sheet1"], |_, sheet| {
        fill(sheet, &[&["a", "y"], &["1", "2"], &["", "3"], &["3", "4"], &["4", ""]]);
    });
    let bytes = with_parts(&std::fs::read(&path).unwrap(), |name, part| match name {
        "xl/worksheets/sheet1.xml" => {
            let text = String::from_utf8(part).unwrap();
            let text = text.replace("<c r=\"B3\"", "<c r=\"A3\" t=\"e\"><v>#DIV/0!</v></c><c r=\"B3\"");
            text.replace("<c r=\"A5\"><v>4</v></c>", "<c r=\"A5\"><v>4</v></c><c r=\"B5\" t=\"e\"><v>#N/A</v></c>")
                .into_bytes()
        }
        _ => part,
    });
    std::fs::write(&path, bytes).unwrap();
    let table = csv::read(&path).unwrap();
    assert_eq!(table.columns().iter().map(|column| column.missing()).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(notes(&table), ["2 cells are errors of the workbook, read as missing, first line 3 \"#DIV/0!\""]);
}

#[test]
fn the_first_sheet_that_is_a_table_is_read_unless_one_is_declared() {
    let names = ["Cover", "Prices", "Sales 2025"];
    let (_folder, path) = workbook(&names, |index, sheet| match index {
        0 => fill(sheet, &[&["Our prices"], &["by Ann"]]),
        1 => fill(sheet, &[&["a", "y"], &["1", "2"], &["3", "4"]]),
        _ => fill(sheet, &[&["x", "sales"], &["5", "6"], &["7", "8"], &["9", "10"]]),
    });
    let table = csv::read(&path).unwrap();
    assert_eq!((table.sheet(), table.rows(), table.source()), (Some("Prices"), 2, &*path.display().to_string()));
    assert_eq!(table.sheets(), names);
    let note = "the sheet \"Prices\" is read; others (\"Cover\", \"Sales 2025\") are in the list Sheet, and sheet = \"…\" in [data] chooses one";
    assert_eq!(notes(&table), [note]);

    let of = |name: &str| Declared { sheet: Some(name.to_owned()), ..Declared::default() };
    let table = read_as(&path, &of("sales 2025")).unwrap();
    assert_eq!((table.sheet(), table.rows(), notes(&table).len()), (Some("Sales 2025"), 3, 0));
    assert_eq!(
        message(&path, &of("Sale")),
        ": there is no sheet \"Sale\": the sheets are \"Cover\", \"Prices\", \"Sales 2025\""
    );
    let cover = message(&path, &of("Cover"));
    assert!(cover.starts_with(", sheet \"Cover\", line 1: there is only one column, \"Our prices\""), "{cover}");
    let plain = path.with_extension("csv");
    std::fs::write(&plain, "a,y\n1,2\n").unwrap();
    assert_eq!(
        message(&plain, &of("Prices")),
        ": this is no workbook with a sheet \"Prices\": leave the sheet out, or open the workbook"
    );
    // A preferred sheet is not required to exist.
    let preferred = |name: &str| Declared { sheet_if_there: Some(name.to_owned()), ..Declared::default() };
    assert_eq!(read_as(&path, &preferred("Sales 2025")).unwrap().sheet(), Some("Sales 2025"));
    assert_eq!(read_as(&path, &preferred("Sales 2024")).unwrap().sheet(), Some("Prices"));
    assert_eq!(read_as(&plain, &preferred("Prices")).unwrap().rows(), 1);
}

#[test]
fn hidden_sheets_are_read_only_if_they_are_declared() {
    let (_folder, path) = workbook(&["Lists", "Table"], |index, sheet| {
        fill(sheet, &[&["a", "y"], &["1", "2"]]);
        sheet.set_hidden(index == 0);
        if index == 1 {
            sheet.set_active(true).set_first_tab(true);
        }
    });
    assert_eq!(csv::read(&path).unwrap().sheet(), Some("Table"));
    let declared = Declared { sheet: Some("Lists".to_owned()), ..Declared::default() };
    assert_eq!(read_as(&path, &declared).unwrap().sheet(), Some("Lists"));
}

#[test]
fn titles_empty_rows_and_columns_around_a_table_are_left_out() {
    let (_folder, path) = workbook(&["Sheet1"], |_, sheet| {
        fill(
            sheet,
            &[
                &["", "Export of 2026"],
                &[],
                &["", "size\nin m2", "", "rent", "town"],
                &["", "40", "", "500", "North"],
                &[],
                &["", "50", "", "610", "South"],
                &["", "60", "", "700", "North"],
            ],
        );
    });
    let table = csv::read(&path).unwrap();
    let names: Vec<&str> = table.columns().iter().map(|column| column.name()).collect();
    assert_eq!((names, table.rows()), (vec!["size in m2", "rent", "town"], 3));
    // A line number is a row number of the sheet.
    assert_eq!([0, 1, 2].map(|row| table.line(row)), [Some(4), Some(6), Some(7)]);
    assert!(notes(&table)[0].starts_with("line 1 looks like a title (\"Export of 2026\"): the header is line 3"));
}

#[test]
fn the_rows_of_a_merged_header_are_joined() {
    let (_folder, path) = workbook(&["Sheet1"], |_, sheet| {
        let plain = Format::new();
        sheet.merge_range(0, 0, 0, 4, "Prices of 2026", &plain).unwrap();
        sheet.merge_range(1, 0, 2, 0, "Town", &plain).unwrap();
        sheet.merge_range(1, 1, 1, 2, "Price", &plain).unwrap();
        sheet.merge_range(1, 3, 1, 4, "Volume", &plain).unwrap();
        for (column, name) in (1..).zip(["open", "close", "open", "close"]) {
            sheet.write_string(2, column, name).unwrap();
        }
        sheet.merge_range(3, 0, 4, 0, "North", &plain).unwrap();
        sheet.merge_range(5, 0, 7, 0, "South", &plain).unwrap();
        for row in 3..8 {
            (1..5).for_each(|column| _ = sheet.write_number(row, column, row * 10 + u32::from(column)).unwrap());
        }
    });
    let table = csv::read(&path).unwrap();
    let names: Vec<&str> = table.columns().iter().map(|column| column.name()).collect();
    assert_eq!(names, ["Town", "Price open", "Price close", "Volume open", "Volume close"]);
    let towns: Vec<String> = (0..5).map(|row| table.columns()[0].text(row).into_owned()).collect();
    assert_eq!(towns, ["North", "North", "South", "South", "South"]);
    assert_eq!((table.columns()[4].number(0), table.line(0)), (Some(34.0), Some(4)));
    let notes = notes(&table);
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes.contains(
        &"the header is in the lines 2 to 3, since its cells are merged: its names are joined, as in \"Volume close\""
    ));
    assert!(notes.contains(&"merged cells have their value in each of their rows: 3 cells filled, first line 4"));
    assert!(notes[2].starts_with("line 1 looks like a title (\"Prices of 2026\")"), "{notes:?}");
}

#[test]
fn a_merged_cell_above_numbers_joins_no_rows() {
    let (_folder, path) = workbook(&["Sheet1"], |_, sheet| {
        fill(sheet, &[&["a"], &["1", "2", "3"], &["4", "5", "6"]]);
        sheet.merge_range(0, 1, 0, 2, "remarks", &Format::new()).unwrap();
    });
    let table = csv::read(&path).unwrap();
    let names: Vec<&str> = table.columns().iter().map(|column| column.name()).collect();
    assert_eq!((names, table.rows()), (vec!["a", "remarks", "column 3"], 2));
}

#[test]
fn workbooks_that_cannot_be_read_are_rejected_in_one_line() {
    let default = Declared::default();
    let password = ": the workbook is protected by a password: save it without one, or save the sheet as CSV";
    assert_eq!(message(&committed("protected.xlsx"), &default), password);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.xlsx");
    let rejection = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        message(&path, &default)
    };
    let whole = std::fs::read(committed("flats.xlsx")).unwrap();
    let damaged =
        ": the workbook is damaged: open it in a spreadsheet program and save it again, or save the sheet as CSV (";
    for bytes in [&whole[..whole.len() / 2], &whole[..100], b"PK\x03\x04"] {
        assert!(rejection(bytes).starts_with(damaged), "{}", rejection(bytes));
    }
    let renamed = |from: &str, to: &str| with_names(&whole, |name| name.replace(from, to));
    assert_eq!(
        rejection(&renamed("xl/", "word/")),
        ": this is not a text file: it is a ZIP archive without a spreadsheet; unpack it"
    );
    assert_eq!(
        rejection(&renamed("workbook.xml", "workbook.bin")),
        ": this is not a text file: it is a binary workbook (.xlsb); save it as .xlsx"
    );
    assert_eq!(
        rejection(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and more"),
        ": this is not a text file: it is an old workbook (.xls) or another document of Office; save it as .xlsx, or its table as CSV"
    );
    let (_folder, empty) = workbook(&["Sheet1"], |_, _| ());
    assert_eq!(
        message(&empty, &default),
        ": the file is empty: a table needs a line of column names and rows below it"
    );
    // A CSV file is recognized by its content, whatever its name.
    std::fs::write(&path, "a,y\n1,2\n").unwrap();
    assert_eq!(csv::read(&path).unwrap().rows(), 1);
}

/// A copy of a workbook with other names for its parts.
fn with_names(bytes: &[u8], rename: impl Fn(&str) -> String) -> Vec<u8> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut changed = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for index in 0..archive.len() {
        let part = archive.by_index_raw(index).unwrap();
        let name = rename(&part.name().unwrap());
        changed.raw_copy_file_rename(part, name).unwrap();
    }
    changed.finish().unwrap().into_inner()
}

#[test]
fn damaged_workbooks_are_read_or_rejected_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["flats.xlsx", "flats.ods", "protected.xlsx"] {
        let whole = std::fs::read(committed(name)).unwrap();
        // Without compression and its checksums, damage reaches the readers of the parts.
        let parts = if name == "protected.xlsx" { whole } else { with_parts(&whole, |_, part| part) };
        let path = folder.path().join(name);
        for seed in 0..60_usize {
            let mut bytes = parts.clone();
            for edit in 0..=seed % 4 {
                let at = (seed * 7919 + edit * 104_729) % bytes.len();
                bytes[at] = bytes[at].wrapping_add(1 + (seed % 255) as u8);
            }
            std::fs::write(&path, &bytes).unwrap();
            if let Err(error) = csv::read(&path) {
                assert_eq!(error.to_string().lines().count(), 1, "{error}");
            }
        }
    }
}

#[test]
fn a_workbook_beyond_the_memory_is_rejected_and_a_read_is_cancelled() {
    let (_folder, path) = workbook(&["Sheet1"], |_, sheet| {
        fill(sheet, &[&["a", "y"]]);
        for row in 1..20_000 {
            (0..2).for_each(|column| _ = sheet.write_number(row, column, f64::from(row) / 7.0).unwrap());
        }
    });
    let declared = &Declared::default();
    let cancel = AtomicBool::new(false);
    let within = |memory| csv::read_with(&path, csv::Options { declared, memory, progress: &|_| (), cancel: &cancel });
    let error = within(1 << 19).unwrap_err();
    let CsvProblem::TooLarge { rows, .. } = error.problem else { panic!("{error}") };
    assert!((1_000..19_000).contains(&rows), "{rows}");
    assert_eq!(within(1 << 24).unwrap().rows(), 19_999);
    let stop = |_: f32| cancel.store(true, Ordering::Relaxed);
    let options = csv::Options { declared, memory: u64::MAX, progress: &stop, cancel: &cancel };
    let error = csv::read_with(&path, options).unwrap_err();
    assert!(matches!(error.problem, CsvProblem::Cancelled), "{error}");
}

#[test]
fn a_cell_far_from_the_others_takes_no_memory_for_those_between() {
    let (_folder, path) = workbook(&["Sheet1"], |_, sheet| {
        fill(sheet, &[&["a", "y"], &["1", "2"], &["3", "4"], &["5", "6"]]);
        sheet.write_string(1_048_575, 16_383, "far").unwrap();
    });
    let table = csv::read(&path).unwrap();
    assert_eq!((table.rows(), table.columns().len(), table.line(3)), (4, 3, Some(1_048_576)));
}

#[test]
fn a_model_reads_the_sheet_of_its_training_and_predictions_name_their_rows() {
    let (_folder, path) = workbook(&["Old", "New"], |index, sheet| {
        fill(sheet, &[&["code", "a", "y"]]);
        for at in 0..40 {
            let number = at + 100 * index as u32;
            sheet.write_string(at + 1, 0, format!("no {number}")).unwrap();
            sheet.write_number(at + 1, 1, number % 7).unwrap();
            sheet.write_number(at + 1, 2, number % 7 * 3).unwrap();
        }
    });
    let data = DataSettings {
        source: Source::File(path.clone()),
        sheet: Some("New".to_owned()),
        features: vec!["a".to_owned()],
        target: "y".to_owned(),
        log_target: false,
        log_features: false,
        columns: [("code".to_owned(), Role::Index)].into(),
        ..DataSettings::default()
    };
    let mut settings = Settings { data, ..Settings::default() };
    (settings.training.epochs, settings.training.threads) = (2, Some(1));
    let table = settings.data.table().unwrap();
    let run = trained(table.clone(), settings.clone()).run.clone().unwrap();
    let declared = run.model.transform.declared();
    let again = read_as(&path, &declared).unwrap();
    assert_eq!(again.sheet(), Some("New"));
    let predictions = Predictions::of(&run.model, None, &again).unwrap();
    let text = csv_of(&predictions, &again);
    let second = text.lines().nth(2).unwrap();
    assert!(second.starts_with("2,no 101,") && second.contains(",9"), "{text}");
}
