//! No run is lost: the question before closing, and recovery of a run that an earlier process left
//! behind.

use std::path::Path;

use eframe::egui::{Key, Modifiers};
use regression_studio::run_folder;
use regression_studio::window::Options;

use crate::harness::{Window, small};
use crate::support::names_in;

fn options(folder: &Path) -> Options {
    Options {
        uses_system_dialogs: false,
        tries_other_kind: false,
        runs_folder: folder.join("runs"),
        copies_folder: Some(folder.join("copies")),
    }
}

fn open(folder: &Path) -> Window {
    let mut window = Window::with(small(), options(folder));
    window.wait_until("the data are loaded", |window| !window.shows("Cancel"));
    window
}

/// Waits for the folder with the copies of unsaved runs.
fn wait_for_copy(window: &mut Window, folder: &Path) {
    let copies = folder.join("copies");
    window.wait_until("it is copied", |_| copies.exists() && names_in(&copies).len() == 1);
}

#[test]
fn closing_with_an_unsaved_run_asks_and_saves_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut window = open(folder.path());
    window.press(Modifiers::COMMAND, Key::Q);
    assert!(!window.shows("Save before closing?"), "there is nothing to save");
    window.train();
    window.train();
    wait_for_copy(&mut window, folder.path());
    window.press(Modifiers::COMMAND, Key::Q);
    assert!(window.shows("Save before closing?") && window.shows("Not saved: Run 1, Run 2."));
    window.press(Modifiers::NONE, Key::Escape);
    assert!(!window.shows("Save before closing?"));
    window.press(Modifiers::COMMAND, Key::Q);
    window.click("Save");
    assert!(!window.shows("Save before closing?"));
    let (runs, copies) = (folder.path().join("runs"), folder.path().join("copies"));
    window.wait_until("the runs are saved, and the copy is removed", |_| names_in(&copies).is_empty());
    assert_eq!(names_in(&runs), ["run-1", "run-2"]);
    assert!(run_folder::open(&runs.join("run-2")).is_ok());
}

#[test]
fn a_saved_run_is_not_asked_about() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut window = open(folder.path());
    window.train();
    wait_for_copy(&mut window, folder.path());
    window.press(Modifiers::COMMAND, Key::S);
    window.type_path("Path of a new folder", &folder.path().join("mine"), "Save");
    let copies = folder.path().join("copies");
    window.wait_until("it is saved", |window| window.shows_part("Saved to") && names_in(&copies).is_empty());
    window.press(Modifiers::COMMAND, Key::Q);
    assert!(!window.shows("Save before closing?"));
}

#[test]
fn a_discarded_run_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut window = open(folder.path());
    window.train();
    wait_for_copy(&mut window, folder.path());
    window.press(Modifiers::COMMAND, Key::Q);
    assert!(window.shows("Not saved: Run 1."));
    window.click("Discard");
    let copies = folder.path().join("copies");
    window.wait_until("the copy is removed", |_| names_in(&copies).is_empty());
    assert!(!folder.path().join("runs").exists());
}

#[test]
fn a_run_of_a_process_that_was_killed_is_recovered() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut window = open(folder.path());
    window.train();
    let copies = folder.path().join("copies");
    wait_for_copy(&mut window, folder.path());
    let [name] = &names_in(&copies)[..] else { panic!("one copy") };
    window.wait_until("the run is copied", |_| run_folder::holds_run(&copies.join(name)));
    // The lock of a killed process is gone, but its files remain.
    let left = folder.path().join("left");
    std::fs::create_dir_all(left.join(name)).expect("a folder");
    for file in names_in(&copies.join(name)) {
        std::fs::copy(copies.join(name).join(&file), left.join(name).join(&file)).expect("a copy");
    }

    // A run of a live process is not touched.
    let other = open(folder.path());
    assert!(!other.shows("Recover a run"));

    let mut again = Window::with(small(), Options { copies_folder: Some(left.clone()), ..options(folder.path()) });
    again.wait_until("the question", |window| window.shows("Recover a run"));
    assert!(again.shows_part("3 epochs on Synthetic market data"));
    again.click("Open run");
    again.wait_until("the run is shown", |window| window.shows("Finished") && !window.shows("Cancel"));
    assert!(again.shows_part("On unseen rows the network explains"));
    again.press(Modifiers::COMMAND, Key::Q);
    assert!(again.shows("Not saved: Recovered run."));
    again.click("Save");
    let runs = folder.path().join("runs");
    again.wait_until("the run is saved", |_| run_folder::holds_run(&runs.join("recovered-run")));
    assert_eq!(names_in(&runs), ["recovered-run"]);
    again.wait_until("no copy is left", |_| names_in(&left).is_empty());
}
