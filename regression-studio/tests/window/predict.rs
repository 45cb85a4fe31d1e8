//! Predictions in the window.

use eframe::egui::{Key, Modifiers};

use crate::harness::{Window, file, small};

const OPEN_HINT: &str = "Path of a .csv, .xlsx or .ods file";

/// A window with a trained network, in the Predict view.
fn trained() -> Window {
    let mut window = Window::open(small());
    window.train();
    window.press(Modifiers::COMMAND, Key::Num4);
    window
}

#[test]
fn the_rows_of_the_loaded_table_are_predicted_and_saved() {
    let mut window = Window::open(small());
    window.click("Predict");
    assert!(window.shows_part("Predictions need a trained network"));
    window.train();
    window.click("Predict");
    assert!(!window.is_enabled("Save predictions…"));
    window.click("Predict the loaded table");
    window.wait_until("the rows are listed", |window| window.shows_part("Row 1: predicted"));
    assert!(window.shows("Synthetic market data: 600 rows predicted"));
    assert!(window.shows_part(" test rows: R²"));
    assert!(window.shows_part("⚠ this is the table that the network was trained on: "));
    assert!(
        window.shows_part("The 90 % intervals contain the true value in ") && window.shows_part(", 90 % interval ")
    );
    assert!(window.shows_part(", part training") && window.shows_part(", part test"));

    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("new folder").join("predictions.csv");
    window.click("Save predictions…");
    window.type_path("Path of a .csv file", &path, "Save");
    window.wait_until("they are saved", |window| window.shows_part("Saved "));
    let text = std::fs::read_to_string(&path).expect("the predictions");
    let lines: Vec<&str> = text.lines().collect();
    let target = small().data.target;
    assert_eq!(lines[0], format!("row,predicted {target},lower 90 %,upper 90 %,{target},part"));
    assert_eq!((lines.len(), lines[600].split(',').next()), (601, Some("600")));
}

#[test]
fn a_file_without_the_columns_shows_a_dialog_and_another_is_predicted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut window = trained();
    let other = file(&folder, "other.csv", b"a,b\n1,2\n");
    window.click("Predict a file…");
    window.type_path(OPEN_HINT, &other, "Open");
    window.wait_until("the failure is shown", |window| window.shows("⚠ The table could not be predicted"));
    assert!(window.shows_part("other.csv: the model needs a column"));
    window.press(Modifiers::NONE, Key::Escape);

    let features = small().data.features;
    let row = |value: &str| vec![value; features.len()].join(",") + "\n";
    let text = features.join(",") + "\n" + &row("1e12") + &row("") + &row("2.5");
    let fitting = file(&folder, "fitting.csv", text.as_bytes());
    window.click("Predict a file…");
    window.type_path(OPEN_HINT, &fitting, "Open");
    window.wait_until("the rows are listed", |window| window.shows("fitting.csv: 2 rows predicted"));
    assert!(window.shows("Row 2: predicted –"));
    assert!(window.shows_part("1 of 3 rows has no prediction"));
    assert!(window.shows_part("outside the range of training, first row 1 (line 2)"), "the warning");
    assert!(window.shows_part(&format!(", outside the range of training: {}", features.join(", "))), "its row");
    assert!(!window.shows_part("Beside the true values"), "the file has no target");

    // The predictions do not replace the table.
    window.click("Save predictions…");
    window.type_path("Path of a .csv file", &fitting, "Save");
    window.wait_until("the failure is shown", |window| window.shows_part("fitting.csv, which is read"));
    assert_eq!(std::fs::read_to_string(&fitting).expect("the table"), text);
}

#[test]
fn one_row_is_varied_and_reset() {
    let mut window = trained();
    window.click("Predict the loaded table");
    window.wait_until("the rows are listed", |window| window.shows_part("Row 3: predicted"));
    assert!(window.shows_part("Mean row: predicted") && !window.is_enabled("Reset row"));
    window.click_part("Row 3: predicted");
    assert!(window.shows_part("Row 3: predicted") && !window.shows_part("Mean row"));
    window.nudge(&small().data.features[0]);
    assert!(window.shows_part("by these changes"));
    window.click("Reset row");
    assert!(!window.shows_part("by these changes"));
}

#[test]
fn the_row_has_an_interval_contributions_and_curves() {
    let mut window = trained();
    assert!(window.shows_part("90 % interval: "));
    let feature = &small().data.features[0];
    let contribution = format!("{feature} contributes ");
    window.wait_until("the contributions are there", |window| window.shows_part(&contribution));
    assert!(window.shows_part("Why: the mean (of logarithms) over 100 training rows is "));
    assert!(!window.shows_part("without guarantee"));
    window.nudge(feature);
    window.wait_until("the contributions follow", |window| window.shows_part(&contribution));
    window.choose("Curve over", feature);
    let curve = format!("over {feature}: the mean curve, this row, and 25 rows of the training part");
    window.wait_until("the curves are there", |window| window.shows_part(&curve));
    window.choose("Curve over", "no feature");
    assert!(!window.shows_part(&curve));
}
