//! The search for settings in the window.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use eframe::egui::{Key, Modifiers};
use regression_studio::Settings;
use regression_studio::search::{Trials, ranked, settings_of_run};
use regression_studio::settings::NetworkKind;

use crate::harness::{Window, small};

/// Settings for a search with 100 small runs.
fn searching() -> Settings {
    let mut settings = small();
    settings.search.layers = [1, 1];
    settings.search.widths = vec![2, 3, 4];
    settings
}

#[test]
fn the_search_ranks_as_the_library_and_its_best_settings_are_taken() {
    let mut window = Window::open(searching());
    window.press(Modifiers::SHIFT, Key::F9);
    window.wait_until("the search has ended", |window| window.shows_part("100 settings tried."));
    let settings = window.settings();
    let table = Arc::new(settings.data.table().unwrap());
    let mut trials = Trials::new(&table, &settings, Vec::new()).unwrap();
    assert!(trials.train(&table, 100, &AtomicBool::new(false), |_, _| (), |_| Ok(())).unwrap());
    let of_library = ranked(trials.tried().iter());
    let [best, second] = [of_library[0].run, of_library[1].run];
    assert!(window.shows_part(&format!("Run {best} has the smallest validation error")));
    assert!(window.shows_part("Curves of run 1: R² ") && window.shows_part("The test part was not used."));
    let with_ranges = |run: usize| Settings { search: settings.search.clone(), ..settings_of_run(&settings, run) };
    window.click(&format!("Use run {second}"));
    assert_eq!(window.settings(), with_ranges(second));
    window.click(&format!("Use the settings of run {best}"));
    assert_eq!(window.settings(), with_ranges(best));
    assert!(window.shows_part(&format!("The form has the settings of run {best}")));
    // The settings can be trained, and the change can be undone.
    window.click("Undo");
    assert_eq!(window.settings(), with_ranges(second));
    window.train();
}

#[test]
fn a_search_that_is_stopped_keeps_its_runs_and_goes_on() {
    let mut settings = searching();
    settings.training.epochs = 300;
    settings.training.patience = None;
    let mut window = Window::open(settings);
    window.press(Modifiers::COMMAND, Key::Num6);
    assert!(window.shows_part("Run 1 has the settings on the left."));
    window.click("Search");
    assert!(window.shows("Stop the search"));
    window.wait_until("a run has ended", |window| window.shows_part(" tried. Run "));
    window.click("Stop the search");
    window.wait_until("the runs in progress are gone", |window| !window.shows_part(": epoch "));
    assert!(window.is_enabled("Search") && window.shows_part(" tried. Run "));
    window.click("Search");
    assert!(!window.shows("0 of 100 runs") && window.shows_part(" of 100 runs"), "it goes on with what was kept");
    window.click("Stop the search");
}

#[test]
fn a_search_that_cannot_be_made_says_why() {
    let mut settings = searching();
    settings.search.learning_rate = [0.1, 0.01];
    let mut window = Window::open(settings);
    window.press(Modifiers::COMMAND, Key::Num6);
    assert!(!window.is_enabled("Search"));
    assert!(window.shows_part("search.learning_rate: the minimum 0.1 is greater than the maximum 0.01"));
    window.press(Modifiers::SHIFT, Key::F9);
    assert!(!window.shows("Stop the search"));
    let mut settings = searching();
    settings.network.kind = NetworkKind::Table;
    let mut window = Window::open(settings);
    window.press(Modifiers::COMMAND, Key::Num6);
    assert!(!window.is_enabled("Search") && window.shows_part("chooses its own layers and learning rate"));
}
