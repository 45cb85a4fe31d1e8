//! What a user should know about a table before training, and about a prediction.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use regression_studio::prepared::{PrepareError, Prepared};
use regression_studio::settings::{DataSettings, Duplicates, Source, SplitOrder};
use regression_studio::table::csv::Declared;
use regression_studio::table::{Column, Role, Table};
use regression_studio::{Model, Predictions, Session, Settings, prepare};

/// Settings for a table: the last column is the target, all others are features.
fn settings_of(table: &Table) -> Settings {
    let names: Vec<String> = table.columns().iter().map(|column| column.name().to_owned()).collect();
    let (target, features) = names.split_last().unwrap();
    let data = DataSettings {
        features: features.to_vec(),
        target: target.clone(),
        log_target: false,
        log_features: false,
        ..DataSettings::default()
    };
    let mut settings = Settings { data, ..Settings::default() };
    (settings.training.epochs, settings.training.threads, settings.training.batch_size) = (3, Some(1), 16);
    settings
}

fn read(folder: &Path, text: &str, roles: &[(&str, Role)]) -> (Table, BTreeMap<String, Role>) {
    let path = folder.join("table.csv");
    std::fs::write(&path, text).unwrap();
    let columns: BTreeMap<String, Role> = roles.iter().map(|(name, role)| ((*name).to_owned(), *role)).collect();
    let data = DataSettings { source: Source::File(path), columns: columns.clone(), ..DataSettings::default() };
    (data.table().unwrap(), columns)
}

/// The table in `text`, prepared with these roles.
fn prepared(text: &str, roles: &[(&str, Role)], change: impl FnOnce(&mut Settings)) -> Result<Prepared, PrepareError> {
    let folder = tempfile::tempdir().unwrap();
    let (table, columns) = read(folder.path(), text, roles);
    let mut settings = settings_of(&table);
    settings.data.columns = columns;
    change(&mut settings);
    prepare(&table, &settings)
}

fn notes(text: &str, roles: &[(&str, Role)], change: impl FnOnce(&mut Settings)) -> Vec<String> {
    prepared(text, roles, change).unwrap().notes
}

/// Rows of `line` under `header`.
fn rows(header: &str, count: usize, line: impl Fn(usize) -> String) -> String {
    let mut text = format!("{header}\n");
    (0..count).for_each(|row| writeln!(text, "{}", line(row)).unwrap());
    text
}

#[test]
fn unreadable_and_missing_cells_are_counted_apart() {
    let text = rows("area,rooms,price", 60, |row| match row {
        3 => "TBD,2,3".to_owned(),
        4 => ",2,4".to_owned(),
        5 => "n.b.,,5".to_owned(),
        6 => "7,,6".to_owned(),
        _ => format!("{row},{},{}", row % 7, row * row),
    });
    assert_eq!(
        notes(&text, &[], |_| ()),
        [
            "area: 2 cells are not numbers, first line 5 \"TBD\"",
            "4 of 60 rows were dropped: 2 lack a value, 2 have a value that cannot be read",
        ]
    );
}

#[test]
fn only_notes_on_columns_that_are_used_are_given() {
    let text =
        rows("a,b,y", 40, |row| format!("{row},{},{}", if row == 1 { "x".into() } else { row.to_string() }, row * row));
    assert_eq!(notes(&text, &[], |settings| settings.data.features = vec!["b".to_owned()]).len(), 2);
    assert_eq!(notes(&text, &[], |settings| settings.data.features = vec!["a".to_owned()]), Vec::<String>::new());
}

#[test]
fn categories_that_only_later_parts_have_are_counted() {
    let text = rows("month,y", 72, |row| format!("m{},{}", row / 6, 100 * (row / 6) + row % 6));
    let found = notes(&text, &[], |settings| settings.split.order = SplitOrder::Time);
    assert_eq!(
        found,
        [
            "month: 7 of 11 validation rows have a category that no training row has, such as \"m9\"",
            "month: 11 of 11 test rows have a category that no training row has, such as \"m10\"",
        ]
    );
    assert_eq!(notes(&text, &[], |_| ()), Vec::<String>::new());
}

#[test]
fn rows_are_ordered_by_their_dates_if_the_split_is_by_time() {
    let date = |row: usize| format!("2024-{:02}-{:02}", 1 + row / 28, 1 + row % 28);
    let places: [fn(usize) -> usize; 3] = [|row| 99 - row, |row| row * 37 % 100, |row| row];
    let notes = [Some("which descends in the file"), Some("which is in no order in the file"), None];
    for (place, note) in places.into_iter().zip(notes) {
        let text = rows("a,when,y", 100, |row| format!("{},{},{}", row % 9, date(place(row)), place(row)));
        let by_time = |settings: &mut Settings| settings.split.order = SplitOrder::Time;
        let prepared = prepared(&text, &[], by_time).unwrap();
        let wanted: Vec<f64> = (85..100).map(f64::from).collect();
        let mut newest = prepared.test.truth.to_vec();
        newest.sort_by(f64::total_cmp);
        assert_eq!(newest, wanted, "{note:?}");
        let wanted: Vec<String> = note
            .iter()
            .map(|note| format!("the rows are ordered by when, {note}: the newest are the test part"))
            .collect();
        assert_eq!(prepared.notes, wanted);
    }
}

#[test]
fn rows_that_belong_together_are_in_one_part() {
    let part_of =
        |prepared: &Prepared, row: u32| prepared.parts().iter().position(|(_, part)| part.rows.contains(&row)).unwrap();
    let repeated = rows("a,b,y", 300, |row| format!("{},{},{}", row % 100, row % 100 * 7 % 31, row % 100 * 13 % 17));
    let together = prepared(&repeated, &[], |_| ()).unwrap();
    assert_eq!(
        together.notes,
        ["200 rows repeat another row exactly in features and target: such rows are in one part"]
    );
    let is_together = |prepared: &Prepared| {
        (0..100).all(|row| {
            part_of(prepared, row) == part_of(prepared, row + 100)
                && part_of(prepared, row) == part_of(prepared, row + 200)
        })
    };
    assert!(is_together(&together));
    assert_eq!(together.parts().map(|(_, part)| part.rows.len()), [210, 45, 45]);
    let apart = prepared(&repeated, &[], |settings| settings.split.duplicates = Duplicates::Apart).unwrap();
    assert!(!is_together(&apart) && apart.notes[0].contains("may be in different parts"), "{:?}", apart.notes);

    let people = rows("person,a,y", 200, |row| format!("p{},{},{}", row % 40, row * row % 101, row));
    let grouped =
        prepared(&people, &[("person", Role::Group)], |settings| settings.data.features = vec!["a".to_owned()])
            .unwrap();
    assert_eq!(grouped.notes, ["the rows of each person are in one part: 40 groups"]);
    assert!((0..40).all(|row| (1..5).all(|of| part_of(&grouped, row) == part_of(&grouped, row + 40 * of))));
    // A single group cannot be divided.
    let one = rows("person,a,y", 50, |row| format!("p,{row},{}", row * row));
    let error = prepared(&one, &[("person", Role::Group)], |settings| settings.data.features = vec!["a".to_owned()])
        .unwrap_err();
    assert!(matches!(error, PrepareError::TooFewGroups { .. }), "{error}");
}

#[test]
fn a_heavy_tailed_target_is_told() {
    let text = rows("a,y", 200, |row| format!("{},{}", row % 23, (row as f64 / 12.0).exp()));
    let found = notes(&text, &[], |_| ());
    assert_eq!(found, ["y spans several powers of ten: its logarithm may help (log_target = true in [data])"]);
    assert_eq!(notes(&text, &[], |settings| settings.data.log_target = true), Vec::<String>::new());
}

#[test]
fn columns_that_are_no_features_by_their_role_are_refused_as_one() {
    let text = rows("id,a,y", 40, |row| format!("{row},{},{}", row * 7 % 11, row * row));
    for role in [Role::Index, Role::Ignore, Role::Group] {
        let error = prepared(&text, &[("id", role)], |_| ()).unwrap_err().to_string();
        assert!(error.contains(&format!("\"id\" is declared as {:?}", role.name())), "{error}");
    }
    let error = prepared(&text, &[("ida", Role::Category)], |_| ()).unwrap_err().to_string();
    assert!(error.contains("has no column \"ida\""), "{error}");
    let mixed = rows("area,y", 80, |row| format!("{row} {},{row}", if row % 2 == 0 { "m2" } else { "ft2" }));
    let error = prepared(&mixed, &[], |_| ()).unwrap_err().to_string();
    assert!(error.contains("numbers with different units, \"ft2\", \"m2\""), "{error}");
}

/// A network trained on `text`.
fn trained(text: &str, roles: &[(&str, Role)]) -> Model {
    let folder = tempfile::tempdir().unwrap();
    let (table, columns) = read(folder.path(), text, roles);
    let mut settings = settings_of(&table);
    settings.data.columns = columns;
    let snapshot = Session::start(Arc::new(table), settings).wait();
    snapshot.run.as_ref().unwrap_or_else(|| panic!("{:?}", snapshot.state)).model.clone()
}

/// The predictions for the table in `text`, read the way a model reads other tables, or the error.
fn predicted(model: &Model, text: &str) -> Result<Predictions, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.csv");
    std::fs::write(&path, text).unwrap();
    let table = Source::File(path).table_with(&model.transform.declared(), &|_| (), &AtomicBool::new(false));
    Predictions::of(model, None, &table.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

/// The predictions as CSV, without reading their file again.
fn csv_of(predictions: &Predictions) -> String {
    let mut text = Vec::new();
    predictions.write_csv(&Table::default(), &Declared::default(), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Number of rows with a prediction.
fn count(predictions: &Predictions) -> usize {
    (0..predictions.rows()).filter(|&row| predictions.predicted(row).is_some()).count()
}

#[test]
fn predictions_outside_the_range_of_training_are_marked() {
    let model = trained(&rows("area,rooms,price", 60, |row| format!("{},{},{row}", row + 8, row % 5)), &[]);
    let predictions = predicted(&model, "area,rooms\n20,3\n538,3\n-50,9\n67,4\n8,0\n").unwrap();
    assert_eq!(
        predictions.notes(),
        [
            "2 rows are outside the range of training, first row 2 (line 3): area 538, training 8 to 67: their intervals are wider, but \
          without guarantee"
        ]
    );
    let outside: Vec<Vec<&str>> = (0..5).map(|row| predictions.outside(row)).collect();
    assert_eq!(outside, [&[][..], &["area"], &["area", "rooms"], &[], &[]]);
    let lines: Vec<String> =
        csv_of(&predictions).lines().map(|line| line.split(',').next_back().unwrap().to_owned()).collect();
    assert_eq!(lines, ["outside the range of training", "", "area", "area; rooms", "", ""]);
    let inside = predicted(&model, "area,rooms\n20,3\n").unwrap();
    assert_eq!(
        (inside.notes(), csv_of(&inside).lines().next()),
        (vec![], Some("row,predicted price,lower 90 %,upper 90 %"))
    );
    let dates = trained(&rows("when,y", 56, |row| format!("2024-{:02}-{:02},{row}", 1 + row / 28, 1 + row % 28)), &[]);
    let predictions = predicted(&dates, "when\n2025-01-01\n").unwrap();
    assert_eq!(
        predictions.notes(),
        [
            "1 row is outside the range of training, first row 1 (line 2): when 2025-01-01, training 2024-01-01 to 2024-02-28: their intervals are wider, but \
             without guarantee"
        ]
    );
}

#[test]
fn dates_and_numbers_are_not_taken_for_each_other() {
    let dates = trained(&rows("when,y", 56, |row| format!("2024-{:02}-{:02},{row}", 1 + row / 28, 1 + row % 28)), &[]);
    for text in ["when\n20240501\n", "when\n45413\n", "id,when\n1,20240501\n"] {
        let error = predicted(&dates, text).unwrap_err();
        assert!(
            error.ends_with(
                "column \"when\" has numbers, but the model was trained with dates in it: write them as 2025-01-31"
            ),
            "{error}"
        );
    }
    let numbers = trained(&rows("a,y", 56, |row| format!("{},{row}", row * 3 % 56)), &[]);
    let error = predicted(&numbers, "a\n2024-05-01\n").unwrap_err();
    assert!(error.contains("column \"a\" has dates, but the model was trained with numbers in it"), "{error}");
    // If whole numbers are declared as dates, they are also dates in other tables.
    let text = rows("when,y", 56, |row| format!("2024{:02}{:02},{row}", 1 + row / 28, 1 + row % 28));
    let compact = trained(&text, &[("when", Role::Date)]);
    assert_eq!(
        predicted(&compact, "when\n20240115\n").unwrap().predicted(0),
        predicted(&compact, "when\n2024-01-15\n").unwrap().predicted(0)
    );
}

#[test]
fn values_that_a_constant_feature_did_not_have_are_marked() {
    let text = rows("x,kind,since,b,y", 60, |row| format!("5,a,2024-01-31,{row},{row}"));
    let model = trained(&text, &[]);
    let predictions =
        predicted(&model, "x,kind,since,b\n5,a,2024-01-31,1\n6,a,2024-01-31,2\n5,b,2025-01-31,3\n").unwrap();
    let outside: Vec<Vec<&str>> = (0..3).map(|row| predictions.outside(row)).collect();
    assert_eq!(outside, [&[][..], &["x"], &["since"]]);
    let notes = predictions.notes();
    assert!(notes[0].contains("first row 2 (line 3): x 6, training only 5"), "{notes:?}");
    assert!(notes[1].contains("1 row with a kind that did not occur in training, such as \"b\""), "{notes:?}");
    // The model does not need them.
    assert_eq!(predicted(&model, "b\n3\n").unwrap().notes(), Vec::<String>::new());
}

#[test]
fn predictions_that_are_not_finite_are_empty_and_counted() {
    let model = trained(&rows("x,b,y", 60, |row| format!("{row},{},{row}", row * 7 % 60)), &[]);
    let predictions = predicted(&model, "x,b\n1,1\n1e308,-1e308\n2,2\n-1e300,1e300\n").unwrap();
    let text = csv_of(&predictions);
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    assert_eq!((predictions.predicted(1), predictions.interval(1)), (None, None));
    assert_eq!(count(&predictions), 2);
    let note = &predictions.notes()[0];
    assert!(
        note.starts_with("2 rows have no prediction, since it is not a finite number, first row 2 (line 3): "),
        "{note}"
    );
    assert!(note.contains("1e308, training 0 to 59: correct the value"), "{note}");
}

#[test]
fn small_tables_are_predicted() {
    let model = trained(&rows("x,y", 40, |row| format!("{row},{}", 2 * row)), &[]);
    assert_eq!(count(&predicted(&model, "x\n3\n4\n").unwrap()), 2);
    let two = trained(&rows("area,rooms,y", 40, |row| format!("{row},{},{}", row * 7 % 11, 2 * row)), &[]);
    let predictions = predicted(&two, "area,rooms\n3,\n").unwrap();
    assert_eq!((predictions.rows(), predictions.predicted(0)), (1, None));
    assert_eq!(predictions.notes(), ["1 of 1 rows has no prediction: 1 lacks a value"]);
    let predictions = predicted(&two, "area,rooms\n3,4\nTBD,4\n5,6\n,2\n").unwrap();
    assert_eq!(
        predictions.notes(),
        ["2 of 4 rows have no prediction: 1 lacks a value, 1 has a value that cannot be read"]
    );
}

#[test]
fn codes_are_categories_in_other_tables_as_in_training() {
    let code = |row: usize| ["01", "02", "3A", "NA"][row % 4];
    let model = trained(&rows("code,y", 80, |row| format!("{},{}", code(row), row % 4)), &[("code", Role::Category)]);
    assert_eq!(model.transform.inputs.len(), 4);
    // All cells of this table look like numbers, and NA is a category.
    let predictions = predicted(&model, "code\n01\n02\nNA\n1\n").unwrap();
    assert_eq!(count(&predictions), 4);
    assert_eq!(predictions.unseen.len(), 1);
    assert_eq!((predictions.unseen[0].rows, &*predictions.unseen[0].example), (1, "1"));
}

#[test]
fn an_older_model_without_ranges_predicts_as_before() {
    let model = trained(&rows("a,y", 40, |row| format!("{row},{row}")), &[]);
    let mut transform = serde_json::to_value(&model.transform).unwrap();
    let number = &mut transform["inputs"][0]["number"];
    assert_eq!((number["range"].clone(), number["is_date"].clone()), (serde_json::json!([0.0, 39.0]), false.into()));
    for key in ["range", "is_date"] {
        number.as_object_mut().unwrap().remove(key);
    }
    let older = Model { transform: serde_json::from_value(transform).unwrap(), ..model.clone() };
    let found = predicted(&older, "a\n99\n").unwrap();
    assert_eq!((found.notes(), found.predicted(0)), (vec![], predicted(&model, "a\n99\n").unwrap().predicted(0)));
}

#[test]
fn small_tables_have_more_and_smaller_steps_by_default() {
    let fitted = |text: &str, rows: usize| {
        let mut settings = Settings::from_toml(text).unwrap();
        let numbers = vec![0.0; rows];
        settings.fill_in_by_rows(&Table::new("table", vec![Column::of_numbers("a", numbers)]));
        let of = settings.training;
        (of.batch_size, of.epochs, of.patience)
    };
    let data = "[data]\nfeatures = [\"a\"]\ntarget = \"y\"\n[data.source]\nfile = \"t.csv\"\n";
    assert_eq!(fitted(data, 800_000), (128, 50, Some(10)));
    assert_eq!(fitted(data, 240), (16, 546, Some(109)));
    assert_eq!(fitted(data, 3000), (32, 182, Some(36)));
    assert_eq!(fitted(data, 4), (16, 1000, Some(200)));
    let given = format!("{data}[training]\nbatch_size = 64\nepochs = 7\npatience = 0\n");
    assert_eq!(fitted(&given, 240), (64, 7, None));
    // Values that a file leaves open remain open when it is written again.
    for text in [data, &given] {
        let settings = Settings::from_toml(text).unwrap();
        assert_eq!(Settings::from_toml(&settings.to_toml()).unwrap(), settings);
    }
    let declared =
        Settings::from_toml(data).unwrap().with_values(&["data.columns.a=category", "data.decimal_mark=comma"]);
    assert_eq!(declared.unwrap().data.role("a"), Some(Role::Category));
    let some = format!("{data}[training]\nepochs = 20\n");
    assert_eq!(fitted(&some, 240), (16, 20, Some(10)));
    // A value on the command line counts as given. The others still depend on the rows.
    let settings = Settings::from_toml(data).unwrap().with_values(&["training.batch_size=8", "training.optimizer=sgd"]);
    let mut settings = settings.unwrap();
    settings.fill_in_by_rows(&Table::new("table", vec![Column::of_numbers("a", vec![0.0; 240])]));
    assert_eq!((settings.training.batch_size, settings.training.epochs), (8, 286));
}

/// The error when preparing the table in `text`.
fn refused(text: &str, change: impl FnOnce(&mut Settings)) -> String {
    prepared(text, &[], change).unwrap_err().to_string()
}

#[test]
fn a_column_that_is_read_as_text_is_refused_by_what_its_cells_look_like() {
    for (cell, looks) in [
        ((|row| format!("{}/{}", row % 7 + 1, row + 2)) as fn(usize) -> String, "a fraction"),
        (|row| format!("{}-{}", row, row + 10), "a range"),
        (|row| format!("Q{} {}", row % 4 + 1, 1980 + row), "a quarter"),
        (|row| format!("2025-03-01 10:{row:02} IST"), "a date with a time-zone name that is not understood"),
        (|row| format!("{row}:{:02} pm", row % 60), "a time of the day"),
        (|row| format!("{}'{}\"\"", row % 9, row), "feet and inches"),
    ] {
        let text = rows("x,y", 59, |row| format!("\"{}\",{row}", cell(row)));
        let error = refused(&text, |_| ());
        assert!(error.contains(&format!("looks like {looks}: ")) && !error.contains("raise the limit"), "{error}");
    }
    let names = rows("x,y", 59, |row| format!("{},{row}", "abcdefgh".repeat(1 + row)));
    assert!(refused(&names, |_| ()).contains("59 categories, more than the limit of 32: remove it or raise the limit"));
}

#[test]
fn a_name_that_differs_by_case_or_blanks_is_proposed() {
    let text = rows("Price  (EUR),area,y", 40, |row| format!("{row},{},{}", row * 7 % 11, row * row));
    for name in ["price (eur)", "PRICE(EUR)", "Price (EUR) "] {
        let error = refused(&text, |settings| settings.data.features = vec![name.to_owned()]);
        assert!(error.contains(&format!("has no column {name:?}: did you mean \"Price (EUR)\"?")), "{error}");
    }
    let error = refused(&text, |settings| settings.data.target = "Y".to_owned());
    assert!(error.contains("did you mean \"y\"?"), "{error}");
    let error = refused(&text, |settings| settings.data.features = vec!["cost".to_owned()]);
    assert!(error.contains("its columns are Price (EUR), area, y"), "{error}");
    // The error mentions that the file has no column names.
    let text = rows("1,2", 40, |row| format!("{row},{}", row * row));
    let error = refused(&text, |settings| settings.data.features = vec!["area".to_owned()]);
    assert!(error.contains("has no column \"area\"") && error.contains("line 1 holds numbers"), "{error}");
}

#[test]
fn a_target_that_one_word_makes_text_is_refused_with_its_line() {
    let error = refused("a,y\n1,2\n2,abc\n3,x\n4,8\n5,z\n", |_| ());
    assert!(error.contains("\"y\" is a text column") && error.contains("first line 3 \"abc\""), "{error}");
}
