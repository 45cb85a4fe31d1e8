//! The window's checks of a finished run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use eframe::egui::{Key, Modifiers};
use regression_studio::cross_validation::{self, Repeats, Spread};
use regression_studio::settings::NetworkKind;

use crate::harness::{Window, small};

#[test]
fn the_spread_over_folds_is_that_of_the_library() {
    let mut window = Window::open(small());
    window.train();
    window.press(Modifiers::NONE, Key::F9);
    window
        .wait_until("the folds are trained", |window| window.shows("Test parts of 5 folds, mean ± standard deviation"));
    let table = Arc::new(small().data.table().unwrap());
    let folds =
        cross_validation::run(&table, &window.settings(), Repeats::Folds(5), &AtomicBool::new(false), |_, _| ());
    let Spread { mean, deviation } = Spread::of_coverages(&folds.unwrap().unwrap()).unwrap();
    let [mean, deviation] = [mean, deviation].map(|share| 100.0 * share);
    let shown = format!("90 % intervals: {mean:.1} ± {deviation:.1} % of the test rows within");
    assert!(window.shows(&shown), "{shown}");
    assert!(window.shows("model") && window.shows("linear") && window.shows_part(" ± "));
}

#[test]
fn a_better_kind_is_offered_and_one_button_switches_to_it() {
    let mut settings = small();
    settings.network.hidden = vec![1];
    let mut window = Window::that_tries_other_kind(settings);
    assert_eq!(window.settings().network.kind, NetworkKind::Layers);
    window.train();
    window.wait_until("the other kind is better", |window| {
        window.shows_part("The network made for tables is better on the validation part: its error there is ")
    });
    window.click("Switch to the better kind");
    assert_eq!(window.settings().network.kind, NetworkKind::Table);
    assert!(window.shows_part("Finished") && window.shows_part("On unseen rows the network explains"));
    assert!(!window.shows("Switch to the better kind"));
    assert!(window.is_enabled("Save run…"));
    window.press(Modifiers::COMMAND, Key::Num5);
    assert!(window.shows("Run 1") && window.shows("Run 2"), "both runs are there");
    // The change to the settings can be undone.
    window.click("Undo");
    assert_eq!(window.settings().network.kind, NetworkKind::Layers);
}

#[test]
fn boosted_trees_are_shown_beside_the_network() {
    let mut window = Window::open(small());
    window.train();
    assert!(window.shows("linear") && !window.shows("trees"));
    window.click("Boosted trees");
    window.wait_until("the trees are fitted", |window| window.shows("trees"));
    assert!(!window.shows("Boosted trees") && window.shows_part("On unseen rows the network explains"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("with trees");
    window.press(Modifiers::COMMAND, Key::S);
    window.type_path("Path of a new folder", &path, "Save");
    window.wait_until("it is saved", |window| window.shows_part("Saved to"));
    let card = std::fs::read_to_string(path.join("model-card.md")).expect("a model card");
    assert!(card.contains("| test | gradient-boosted trees | "), "{card}");
}

#[test]
fn a_check_is_stopped_by_its_button_and_by_the_next_run() {
    let mut settings = small();
    settings.training.epochs = 1_000_000;
    settings.training.patience = None;
    let mut window = Window::that_tries_other_kind(settings);
    window.press(Modifiers::NONE, Key::F5);
    window.wait_until("it trains", |window| window.is_enabled("⏹ Stop") && window.shows("Training"));
    window.press(Modifiers::SHIFT, Key::F5);
    window.wait_until("it is stopped", |window| window.shows("Stopped"));
    assert!(!window.shows("Stop the check"), "a run that was stopped is not compared without a request");
    window.click("Cross-validate");
    assert!(window.shows("Training on 5 folds…"));
    window.click("Stop the check");
    assert!(!window.shows("Training on 5 folds…") && window.is_enabled("Cross-validate"));
    window.click("Cross-validate");
    window.click("⏭ Step");
    window.wait_until("the next run trains", |window| window.shows("Paused"));
    assert!(!window.shows("Training on 5 folds…"));
}
