//! Opens data files, valid and invalid.

use std::fmt::Write;

use eframe::egui::{Key, Modifiers};

use regression_studio::Settings;

use crate::harness::{Window, file, small};

const HINT: &str = "Path of a .csv, .xlsx or .ods file";

#[test]
fn a_file_is_opened_and_its_columns_are_chosen() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut text = "a,b,name,y\n".to_owned();
    for row in 0..200 {
        let hole = if row == 7 { String::new() } else { row.to_string() };
        writeln!(text, "{hole},{},n{},{}", row * row % 17, row % 3, 3 * row).expect("writing to a string succeeds");
    }
    let path = file(&folder, "small.csv", text.as_bytes());
    let mut window = Window::open(small());
    window.press(Modifiers::COMMAND, Key::O);
    window.type_path(HINT, &path, "Open");
    window.wait_until("the file is loaded", |window| window.shows("200 rows, 4 columns"));
    assert_eq!(window.settings().data.target, "y");
    assert_eq!(window.settings().data.features, ["a", "b", "name"]);
    assert!(window.shows("a: numbers, 1 missing"), "the preview's header");
    assert!(window.shows("name: 3 categories, nothing missing"));
    assert!(window.shows_part("Row 8, a , b 15, name n1, y 21"), "a row, the first of its cells missing");
    assert!(window.is_enabled("▶ Start"));
    // Clicking a column's header makes it a feature or not. The target does not change.
    for (header, features) in [
        ("name: 3 categories, nothing missing", &["a", "b"][..]),
        ("name: 3 categories, nothing missing", &["a", "b", "name"]),
        ("a: numbers, 1 missing", &["b", "name"]),
        ("y: numbers, nothing missing", &["b", "name"]),
        ("a: numbers, 1 missing", &["a", "b", "name"]),
    ] {
        window.click(header);
        let data = window.settings().data;
        assert_eq!(data.target, "y");
        assert_eq!(data.features, features, "{header}");
    }
    window.click("Demo: rents");
    window.wait_until("the demo is loaded", |window| window.shows_part("2,000 rows, "));
    assert!(window.is_enabled("▶ Start"));
    let (data, built_in) = (window.settings().data, Settings::default().data);
    assert_eq!((data.target, data.features), (built_in.target, built_in.features), "as at the start");
    assert_eq!((data.log_target, data.log_features), (built_in.log_target, built_in.log_features));
    // Check the values that depend on the number of rows.
    assert_eq!((window.settings().training.batch_size, window.settings().training.epochs), (32, 273));
}

#[test]
fn a_sheet_of_a_workbook_is_chosen() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("book.xlsx");
    let mut book = rust_xlsxwriter::Workbook::new();
    for (name, columns, rows) in
        [("Flats", ["area", "rent"], 30), ("Cars", ["power", "price"], 40), ("Notes", ["", ""], 0)]
    {
        let sheet = book.add_worksheet().set_name(name).expect("a name");
        sheet.write_row(0, 0, columns).expect("a header");
        for row in 0..rows {
            sheet.write_row(row + 1, 0, [row * 7 % 30, row * row]).expect("a row");
        }
    }
    book.save(&path).expect("a workbook");
    let mut window = Window::open(small());
    window.press(Modifiers::COMMAND, Key::O);
    window.type_path(HINT, &path, "Open");
    window.wait_until("the first sheet is loaded", |window| window.shows("30 rows, 2 columns"));
    assert_eq!((window.settings().data.sheet, window.settings().data.target), (None, "rent".to_owned()));
    window.choose("Sheet", "Cars");
    window.wait_until("the other sheet is loaded", |window| window.shows("40 rows, 2 columns"));
    let data = window.settings().data;
    assert_eq!(
        (data.sheet.as_deref(), &*data.target, data.features),
        (Some("Cars"), "price", vec!["power".to_owned()])
    );
    assert!(window.is_enabled("▶ Start"));
    // A sheet that is not a table leaves the previous one in place.
    window.choose("Sheet", "Notes");
    window.wait_until("the dialog is open", |window| window.shows("⚠ The data could not be loaded"));
    assert!(window.shows_part("book.xlsx, sheet \"Notes\": the file is empty"));
    window.click("OK");
    assert_eq!(window.settings().data.sheet.as_deref(), Some("Cars"));
    assert!(window.shows("40 rows, 2 columns") && window.is_enabled("▶ Start"));
}

#[test]
fn a_file_that_changes_is_noticed_and_read_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = file(&folder, "changing.csv", b"a,y\n1,2\n2,4\n3,6\n4,8\n");
    let mut window = Window::open(small());
    window.click("Open file…");
    window.type_path(HINT, &path, "Open");
    window.wait_until("the file is loaded", |window| window.shows("4 rows, 2 columns"));
    let changed = "⚠ The file has changed since it was read.";
    assert!(!window.shows(changed));
    file(&folder, "changing.csv", b"a,y\n1,2\n2,4\n3,6\n4,8\n5,10\n");
    window.wait_until("the change is noticed", |window| window.shows(changed));
    window.click("Read again");
    window.wait_until("the file is read again", |window| window.shows("5 rows, 2 columns"));
    assert!(!window.shows(changed));
}

#[test]
fn an_invalid_file_shows_a_dialog_with_a_remedy() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = file(&folder, "ragged.csv", b"a,b\n1,2\n3\n");
    let mut window = Window::open(small());
    window.click("Open file…");
    window.type_path(HINT, &path, "Open");
    window.wait_until("the dialog is open", |window| window.shows("⚠ The data could not be loaded"));
    assert!(window.shows_part("ragged.csv") && window.shows_part("3"), "the file and the line");
    assert!(window.shows("Correct the file, or open another one."));
    window.click("OK");
    assert!(!window.shows("⚠ The data could not be loaded"));
    assert!(window.is_enabled("▶ Start"), "the previous data are kept");
    assert_eq!(window.settings(), small());
}

#[test]
fn a_missing_file_is_reported_and_enter_closes_the_dialog() {
    let mut window = Window::open(small());
    window.press(Modifiers::COMMAND, Key::O);
    window.type_path(HINT, std::path::Path::new("/nowhere/at all.csv"), "Open");
    window.wait_until("the dialog is open", |window| window.shows("⚠ The data could not be loaded"));
    assert!(window.shows_part("at all.csv"));
    window.press(Modifiers::NONE, Key::Enter);
    assert!(!window.shows("⚠ The data could not be loaded"));
}

#[test]
fn escape_keeps_the_data() {
    let mut window = Window::open(small());
    window.press(Modifiers::COMMAND, Key::O);
    assert!(window.shows(HINT));
    window.press(Modifiers::NONE, Key::Escape);
    assert!(!window.shows(HINT));
    assert_eq!(window.settings(), small());
}

/// Opens a table.
fn open(window: &mut Window, folder: &tempfile::TempDir, text: &str) {
    let path = file(folder, "table.csv", text.as_bytes());
    window.press(Modifiers::COMMAND, Key::O);
    window.type_path(HINT, &path, "Open");
}

#[test]
fn the_first_columns_to_be_chosen_are_neither_a_number_of_the_row_nor_texts_with_many_categories() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut text = ",area,town,name,price\n".to_owned();
    for row in 0..60 {
        writeln!(text, "{row},{},t{},n{row},{}", row * 7 % 31, row % 3, row * row)
            .expect("writing to a string succeeds");
    }
    let mut window = Window::open(small());
    open(&mut window, &folder, &text);
    window.wait_until("the file is loaded", |window| window.shows("60 rows, 5 columns"));
    let data = window.settings().data;
    assert_eq!((data.target.as_str(), data.features), ("price", ["area", "town"].map(str::to_owned).to_vec()));
    let training = window.settings().training;
    assert_eq!((training.batch_size, training.epochs), (16, 1000));
}

#[test]
fn a_column_is_what_the_user_declares() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut text = "code,price,y\n".to_owned();
    for row in 0..60 {
        let price = if row == 0 { "1.250".to_owned() } else { (100 + row).to_string() };
        writeln!(text, "{:02},{price},{}", row % 12 + 1, row * row).expect("writing to a string succeeds");
    }
    let mut window = Window::open(small());
    open(&mut window, &folder, &text.replace(',', ";"));
    window.wait_until("the file is loaded", |window| window.shows("60 rows, 3 columns"));
    assert!(window.shows_part("code: numbers such as \"01\" begin with a zero"), "the note on codes");
    assert!(window.shows_part("\"1.250\" (line 2) is 1.25; decimal_mark"), "the note on the decimal mark");
    assert!(window.shows("code: numbers, nothing missing") && window.shows_part("Row 1, code 1, price 1.25,"));
    window.choose("Role of code", "category");
    window.wait_until("it is read again", |window| window.shows("code: 12 categories, nothing missing"));
    assert!(window.shows_part("Row 1, code 01, price 1.25,"));
    assert_eq!(window.settings().data.features, ["code", "price"]);
    window.choose("Decimal mark", "comma");
    window.wait_until("it is read again", |window| window.shows_part("Row 1, code 01, price 1250,"));
    window.choose("Role of price", "ignore");
    window.wait_until("it is no feature", |window| window.settings().data.features == ["code"]);
    window.choose("First line", "a row");
    window.wait_until("it is read again", |window| window.shows("61 rows, 3 columns"));
}
