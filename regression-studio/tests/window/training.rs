//! Training runs from the first click to the results.

use eframe::egui::{Key, Modifiers};
use neural_net::training::Schedule;

use crate::harness::{Window, small};

#[test]
fn a_run_trains_to_its_results() {
    let mut window = Window::open(small());
    window.train();
    assert!(window.shows("3 / 3"), "all epochs");
    assert!(window.shows_part("On unseen rows the network explains"));
    assert!(window.shows_part("of training on 420 : 90 : 90 rows"));
    assert!(window.shows("Network of 8-4-1 neurons"));
    assert!(window.shows("Neuron OPEN_PRICE") && window.shows("Neuron layer 1, neuron 4"));
    assert!(window.shows("Predicted over true values of 90 rows of the test part"));
    assert!(window.is_enabled("▶ Start") && window.is_enabled("Save run…"));
    assert!(!window.is_enabled("⏸ Pause") && !window.is_enabled("⏹ Stop"));
}

#[test]
fn step_trains_one_epoch() {
    let mut window = Window::open(small());
    window.click("⏭ Step");
    window.wait_until("one epoch is done", |window| window.shows("Paused") && window.shows("1 / 3"));
    assert!(window.shows("Locked during training: stop it to change settings."));
    assert!(window.is_enabled("▶ Resume") && !window.is_enabled("▶ Start") && !window.is_enabled("⏸ Pause"));
    window.press(Modifiers::NONE, Key::F8);
    window.wait_until("two epochs are done", |window| window.shows("Paused") && window.shows("2 / 3"));
    window.click("▶ Resume");
    window.wait_until("it has ended", |window| window.shows("Finished"));
    assert!(window.shows("3 / 3"));
}

#[test]
fn a_run_is_paused_stopped_and_resumed() {
    let mut settings = small();
    settings.training.epochs = 1_000_000;
    settings.training.patience = None;
    let mut window = Window::open(settings);
    window.press(Modifiers::NONE, Key::F5);
    window.wait_until("it trains", |window| window.shows("Training") && window.is_enabled("⏸ Pause"));
    window.click("⏸ Pause");
    window.wait_until("it is paused", |window| window.shows("Paused"));
    window.press(Modifiers::NONE, Key::F7);
    window.wait_until("it trains again", |window| window.is_enabled("⏸ Pause"));
    window.press(Modifiers::SHIFT, Key::F5);
    window.wait_until("it is stopped", |window| window.shows("Stopped"));
    assert!(window.shows_part("On unseen rows the network explains"), "a stopped run has results");
    assert!(window.is_enabled("▶ Resume"), "a stopped run can be resumed");
    window.click("▶ Resume");
    window.wait_until("it trains once more", |window| window.is_enabled("⏸ Pause"));
    window.click("⏹ Stop");
    window.wait_until("it is stopped again", |window| window.shows("Stopped"));
}

#[test]
fn a_failed_preparation_shows_a_dialog() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rows: String = (0..50).map(|row| format!("{row},7\n")).collect();
    let path = crate::harness::file(&folder, "constant.csv", format!("x,y\n{rows}").as_bytes());
    let mut window = Window::open(small());
    window.press(Modifiers::COMMAND, Key::O);
    window.type_path("Path of a .csv, .xlsx or .ods file", &path, "Open");
    window.wait_until("the file is loaded", |window| window.shows("50 rows, 2 columns"));
    window.click("▶ Start");
    window.wait_until("the dialog is open", |window| window.shows("⚠ Training failed"));
    assert!(window.shows_part("choose another target"));
    window.click("OK");
    assert!(window.shows("Failed"));
    assert!(window.is_enabled("▶ Start"), "to try other settings");
}

#[test]
fn a_run_that_still_improves_goes_on_and_keeps_its_name() {
    let mut settings = small();
    settings.training.schedule = Schedule::Constant;
    let mut window = Window::open(settings);
    window.train();
    assert!(window.shows("3 / 3") && window.shows("Still improving: train longer"));
    window.click("Still improving: train longer");
    window.wait_until("six epochs are done", |window| window.shows("6 / 6") && window.shows_part("Finished"));
    assert_eq!(window.settings().training.epochs, 6);
    window.press(eframe::egui::Modifiers::COMMAND, eframe::egui::Key::Num5);
    assert!(window.shows_part("A comparison needs two runs"), "it is the same run");
}

#[test]
fn logarithms_are_suggested_and_used_by_a_button() {
    let mut settings = small();
    (settings.data.log_target, settings.data.log_features) = (false, false);
    let mut window = Window::open(settings);
    assert!(window.shows("Suggested: the target spans several powers of ten."));
    window.train();
    window.click("Use logarithms and retrain");
    window.wait_until("the second run has ended", |window| window.shows_part("of the logarithm's variance"));
    assert!(window.settings().data.log_target && window.settings().data.log_features);
    assert!(!window.shows("Use logarithms and retrain"));
    assert!(window.shows_part("Half of the predictions of unseen rows are within"));
    assert!(window.shows("Importance of the features"));
}
