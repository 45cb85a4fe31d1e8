//! The view of findings to decide on before training.

use std::fmt::Write;

use eframe::egui::{Key, Modifiers};

use crate::harness::{Window, file, small};

#[test]
fn findings_are_shown_and_their_remedies_change_the_settings() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut text = "id,temp_f,pressure,temp_c\n".to_owned();
    for row in 0..200 {
        let celsius = f64::from(row * 37 % 200) / 10.0;
        let pressure = if row % 10 == 3 { -999 } else { row * row % 83 };
        writeln!(text, "{row},{:.1},{pressure},{celsius}", 1.8 * celsius + 32.0).expect("writing succeeds");
    }
    let path = file(&folder, "weather.csv", text.as_bytes());
    let mut window = Window::open(small());
    window.press(Modifiers::COMMAND, Key::O);
    window.type_path("Path of a .csv, .xlsx or .ods file", &path, "Open");
    window.wait_until("the file is loaded", |window| window.shows("200 rows, 4 columns"));
    // A column that numbers the rows is not chosen as a feature.
    window.wait_until("findings are counted", |window| window.shows("⚠ Findings (2)"));
    window.press(Modifiers::COMMAND, Key::Num2);
    assert!(window.shows("⚠ temp_f determines temp_c (R² of a line 1.0000): is it known when you predict?"));
    assert!(window.shows_part("⚠ pressure is -999 in 20 rows, far from all others: is it missing there?"));
    window.click("Take -999 as missing");
    window.wait_until("the table is read again", |window| window.shows("⚠ Findings (1)"));
    assert_eq!(window.settings().data.missing["pressure"], ["-999"]);
    window.click("Remove temp_f");
    window.wait_until("the last finding is gone", |window| {
        window.shows("No findings: nothing to decide before training.")
    });
    assert_eq!(window.settings().data.features, ["pressure"]);
    window.press(Modifiers::COMMAND, Key::Z);
    window.wait_until("the feature is back", |window| window.shows("⚠ Findings (1)"));
    assert_eq!(window.settings().data.features, ["temp_f", "pressure"]);
}
