//! Saves, opens and compares runs.

use eframe::egui::{Key, Modifiers};
use regression_studio::settings::Source;

use crate::harness::{Window, file, small};

const OPEN_HINT: &str = "Path of a run's folder";

#[test]
fn runs_are_compared() {
    let mut window = Window::open(small());
    window.click("Compare runs");
    assert!(window.shows_part("A comparison needs two runs"));
    window.train();
    window.fill("Learning rate", "0.01");
    window.train();
    window.press(Modifiers::COMMAND, Key::Num5);
    assert!(window.shows("Error curves of the runs"));
    assert!(window.shows("0.003") && window.shows("0.01"), "the differing values");
    assert!(window.shows("Test RMSE"));
    assert!(window.shows("Run 1") && window.shows("Run 2"));

    // Of seven runs, the six latest are compared.
    for epochs in ["4", "5", "6", "7", "8"] {
        window.fill("Epochs", epochs);
        window.train();
    }
    window.press(Modifiers::COMMAND, Key::Num5);
    window.check("Run 1");
    assert!(!window.shows("0.003"), "the first run's learning rate is not among those compared");
    window.check("Run 3");
    window.check("Run 1");
    assert!(window.shows("0.003") && window.shows("0.01"));
}

#[test]
fn a_saved_run_is_opened_in_another_window() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("first run");
    let mut window = Window::open(small());
    window.train();
    window.press(Modifiers::COMMAND, Key::S);
    window.type_path("Path of a new folder", &path, "Save");
    window.wait_until("it is saved", |window| window.shows_part("Saved to"));
    assert!(path.join("settings.toml").is_file());

    let mut settings = small();
    settings.training.learning_rate = 0.01;
    let mut other = Window::open(settings);
    other.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::O);
    other.type_path(OPEN_HINT, &path, "Open");
    other.wait_until("the run is shown", |window| window.shows("Finished"));
    assert!(other.shows_part("On unseen rows the network explains"));
    assert!(other.shows("3 / 3"));
    assert_eq!(other.settings(), small(), "with the settings it was trained with");
}

#[test]
fn recently_opened_tables_and_saved_runs_are_opened_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = folder.path().join("first run");
    let mut text = "a,b,y\n".to_owned();
    (0..50).for_each(|row| text += &format!("{row},{},{}\n", row * row % 17, 3 * row));
    let tables = ["one.csv", "two.csv", "three.csv"].map(|name| file(&folder, name, text.as_bytes()));
    let mut window = Window::open(small());
    window.click("Recent");
    assert!(window.shows("No table or run was opened yet."));
    window.press(Modifiers::NONE, Key::Escape);

    for table in &tables {
        window.press(Modifiers::COMMAND, Key::O);
        window.type_path("Path of a .csv, .xlsx or .ods file", table, "Open");
        window.wait_until("the file is loaded", |window| window.settings().data.source == Source::File(table.clone()));
    }
    window.fill("Epochs", "3");
    window.train();
    window.press(Modifiers::COMMAND, Key::S);
    window.type_path("Path of a new folder", &run, "Save");
    window.wait_until("it is saved", |window| window.shows_part("Saved to"));
    std::fs::remove_file(&tables[1]).expect("the second table");
    window.click("Recent");
    assert!(window.shows("one.csv") && window.shows("first run"));
    assert!(!window.shows("two.csv"), "it no longer exists");
    window.click("one.csv");
    window.wait_until("the file is loaded", |window| window.settings().data.source == Source::File(tables[0].clone()));
    window.click("Recent");
    window.click("first run");
    window.wait_until("the run is shown", |window| window.shows("Finished"));
}

#[test]
fn a_folder_without_a_run_shows_a_dialog() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut window = Window::open(small());
    window.click("Open run…");
    window.type_path(OPEN_HINT, folder.path(), "Open");
    window.wait_until("the dialog is open", |window| window.shows("⚠ The run could not be opened"));
    assert!(window.shows("Choose the folder of a saved run."));
    window.press(Modifiers::NONE, Key::Escape);
    assert!(!window.shows("⚠ The run could not be opened"));
}
