//! What a model stores about its training table.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use regression_studio::settings::{DataSettings, Source};
use regression_studio::table::Table;
use regression_studio::{Model, Predictions, Session, Settings};

fn written(folder: &Path, bytes: impl AsRef<[u8]>) -> Source {
    let path = folder.join("table.csv");
    std::fs::write(&path, bytes).unwrap();
    Source::File(path)
}

/// A model that predicts y from the columns x and b, after a round trip through a file.
fn trained(bytes: impl AsRef<[u8]>, change: impl FnOnce(&mut DataSettings)) -> Model {
    let folder = tempfile::tempdir().unwrap();
    let data = DataSettings {
        source: written(folder.path(), bytes),
        features: ["x", "b"].map(str::to_owned).into(),
        target: "y".to_owned(),
        log_target: false,
        log_features: false,
        ..DataSettings::default()
    };
    let mut settings = Settings { data, ..Settings::default() };
    change(&mut settings.data);
    (settings.training.epochs, settings.training.threads, settings.training.batch_size) = (2, Some(1), 16);
    let table = settings.data.table().unwrap();
    let snapshot = Session::start(Arc::new(table), settings).wait();
    let run = snapshot.run.as_ref().unwrap_or_else(|| panic!("{:?}", snapshot.state));
    let path = folder.path().join("model.safetensors");
    run.model.save(&path).unwrap();
    Model::load(&path).unwrap()
}

/// A table as the model reads it.
fn read(model: &Model, bytes: impl AsRef<[u8]>) -> Table {
    let folder = tempfile::tempdir().unwrap();
    let source = written(folder.path(), bytes);
    source.table_with(&model.transform.declared(), &|_| (), &AtomicBool::new(false)).unwrap()
}

/// Rows x, b, y; `cell` gives the text of x.
fn rows(cell: impl Fn(usize) -> String) -> String {
    let row = |row: usize| format!("{},{},{}\n", cell(row), row % 7, row * row % 31);
    "x,b,y\n".to_owned() + &(0..80).map(row).collect::<String>()
}

/// The text of a number in a form such as "€#".
fn spelled(form: &str, row: usize) -> String {
    form.replace('#', &(10 + row * 7 % 60).to_string())
}

/// Why a table's units differ from the model's; `None` if they do not.
fn other_units(model: &Model, text: &str) -> Option<String> {
    let error = model.transform.check_units(&read(model, text)).err()?.to_string();
    Some(error.split_once(": ").unwrap().1.to_owned())
}

fn reason(column: &str, found: &str, trained: &str) -> Option<String> {
    let hint = "convert the numbers, or accept them as they are";
    Some(format!("column {column:?} has {found}, but the model was trained with {trained} in it: {hint}"))
}

#[test]
fn a_unit_other_than_that_of_the_training_is_an_error_that_names_both() {
    let forms = ["€#", "#%", "# m2", "#", "EUR #", "# °C"];
    let shown = ["\"€\"", "\"%\"", "\"m2\"", "no unit", "\"EUR\"", "\"°C\""];
    for (form, trained_with) in forms.into_iter().zip(shown) {
        let model = trained(rows(|row| spelled(form, row)), |_| ());
        assert_eq!(other_units(&model, &rows(|row| spelled(form, row + 1))), None, "{form}");
        for (other, found) in forms.into_iter().zip(shown).filter(|(other, _)| *other != form) {
            let text = format!("x,b\n{},1\n{},2\n", spelled(other, 1), spelled(other, 5));
            assert_eq!(other_units(&model, &text), reason("x", found, trained_with), "{form}, {other}");
        }
        // Without numbers there is no unit to compare.
        assert_eq!(other_units(&model, "x,b\n,1\n"), None, "{form}");
    }
    for (form, same) in [("€#", "# €"), ("#%", "# %"), ("# m2", "#m2"), ("#", "#.0")] {
        let model = trained(rows(|row| spelled(form, row)), |_| ());
        assert_eq!(other_units(&model, &format!("x,b\n{},1\n", spelled(same, 3))), None, "{form}, {same}");
    }
}

/// Otherwise true values in another currency would be compared with the predictions.
#[test]
fn the_unit_of_the_target_is_compared_where_it_is_given() {
    let row = |row: usize| format!("{},{},${}\n", row % 9, row % 7, 5 + row % 6);
    let model = trained("x,b,y\n".to_owned() + &(0..80).map(row).collect::<String>(), |_| ());
    assert_eq!(other_units(&model, "x,b,y\n1,2,€50\n"), reason("y", "\"€\"", "\"$\""));
    assert_eq!(other_units(&model, "x,b\n1,2\n"), None);
}

#[test]
fn a_table_that_is_not_utf8_is_read_in_the_encoding_of_the_training() {
    // Windows-1250: Őr and Żółw.
    let text = |row: usize| if row.is_multiple_of(3) { &b"\xaf\xf3\xb3w"[..] } else { b"\xd5r" };
    let row = |row: usize| [text(row), format!(",{},{}\n", row % 7, row % 11).as_bytes()].concat();
    let model = trained([b"x,b,y\n".to_vec(), (0..80).flat_map(row).collect()].concat(), |data| {
        data.encoding = Some("windows-1250".parse().unwrap());
    });
    for (bytes, encoding) in [
        (&b"x,b\n\xd5r,1\n\xaf\xf3\xb3w,2\n"[..], "windows-1250"),
        ("x,b\nŐr,1\nŻółw,2\n".as_bytes(), "UTF-8"),
        ("\u{feff}x,b\nŐr,1\nŻółw,2\n".as_bytes(), "UTF-8"),
    ] {
        let table = read(&model, bytes);
        let texts: Vec<_> = (0..2).map(|row| table.column("x").unwrap().text(row).into_owned()).collect();
        assert_eq!((&texts[..], table.encoding().name()), (&["Őr", "Żółw"].map(str::to_owned)[..], encoding));
    }
}

#[test]
fn years_of_two_digits_mean_what_they_meant_in_training() {
    let day = |row: usize| format!("{:02}.03.{:02}", 1 + row % 28, 20 + row % 40);
    for (declared, of_60, of_15) in [(None, 2060, 2015), (Some(1916), 1960, 2015), (Some(1920), 1960, 2015)] {
        let model = trained(rows(day), |data| data.first_year = declared);
        let table = read(&model, "x,b\n01.01.60,1\n01.01.15,2\n");
        let year = |row: usize| 1970 + (table.column("x").unwrap().number(row).unwrap() / 365.2425).round() as i64;
        assert_eq!((year(0), year(1)), (of_60, of_15), "{declared:?}");
    }
}

#[test]
fn cells_declared_as_missing_are_missing_in_other_tables_too() {
    let cell = |row: usize| if row % 9 == 2 { "-999".to_owned() } else { (row % 40).to_string() };
    let model = trained(rows(cell), |data| {
        data.missing = [("x".to_owned(), vec!["-999".to_owned()])].into();
    });
    let table = read(&model, "x,b\n-999,1\n-999.0,2\n7,-999\n");
    let column = |name: &str| (0..3).map(|row| table.column(name).unwrap().number(row)).collect::<Vec<_>>();
    assert_eq!((column("x"), column("b")), (vec![None, None, Some(7.0)], vec![Some(1.0), Some(2.0), Some(-999.0)]));
    assert_eq!(model.predict(&table).unwrap().iter().map(Option::is_some).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn day_and_month_have_the_order_of_the_training() {
    let shown = |row: usize| format!("{:02}/{:02}/2024", 1 + row % 12, 1 + row % 28);
    let day_first = |row: usize| format!("{:02}/{:02}/2024", 1 + row % 28, 1 + row % 12);
    for (model, of_march) in [(trained(rows(shown), |_| ()), 0), (trained(rows(day_first), |_| ()), 1)] {
        // 4 March and 3 April, or 3 April and 4 March.
        let table = read(&model, "x,b\n03/04/2024,1\n04/03/2024,2\n");
        let day = |row: usize| table.column("x").unwrap().number(row).unwrap();
        assert_eq!((day(of_march), day(1 - of_march)), (19_786.0, 19_816.0));
    }
}

#[test]
fn infinite_cells_are_numbers_that_cannot_be_used() {
    let model = trained(rows(|row| (row % 40).to_string()), |_| ());
    let table = read(&model, "x,b\ninf,1\n-Infinity,2\n1e308,1\n1e400,1\nnan,1\n7,1\n");
    let predictions = Predictions::of(&model, None, &table).unwrap();
    let predicted: Vec<bool> = (0..6).map(|row| predictions.predicted(row).is_some()).collect();
    assert_eq!(predicted, [false, false, false, false, false, true]);
    assert_eq!(table.notes()[0].text, "x: 3 cells are not numbers, first line 2 \"inf\"");
    let notes = predictions.notes().join("\n");
    assert!(notes.contains("x 1e308, training 0 to 39"), "{notes}");
    let error = model.predict(&read(&model, "x,b\n3,1\nabout 5,2\nunder 7,1\n")).unwrap_err().to_string();
    assert!(error.ends_with(
        "column \"x\" is a text column (line 3: \"about 5\"), but the model was trained with numbers in it: correct these \
         cells, or leave them empty"
    ), "{error}");
}

#[test]
fn a_category_in_another_spelling_is_compared_with_those_of_the_training() {
    let model = trained(rows(|row| ["New York", "Łódź"][row % 2].to_owned()), |_| ());
    let note = |text: &str| Predictions::of(&model, None, &read(&model, format!("x,b\n{text},1\n"))).unwrap().notes();
    for (text, alike) in [("new york", "New York"), ("NewYork", "New York"), ("ŁÓDŹ", "Łódź")] {
        let wanted = format!(
            "1 row with a x that did not occur in training, such as {text:?} (training has {alike:?}): unreliable predictions"
        );
        assert_eq!(note(text), [wanted]);
    }
    assert!(note("Lodz")[0].contains("such as \"Lodz\": unreliable"));
    assert!(note(&"x".repeat(200_000))[0].len() < 200);
}
