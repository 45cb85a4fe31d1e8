//! Validation in the form: invalid values are marked at their field, and Start shows why it is
//! disabled.

use eframe::egui::{Key, Modifiers};

use neural_net::training::Optimizer;
use regression_studio::Settings;
use regression_studio::settings::HiddenActivation;

use crate::harness::{Window, small};

#[test]
fn start_is_enabled_at_first() {
    let window = Window::open(small());
    assert!(window.is_enabled("▶ Start"));
    assert!(!window.shows_part("⚠"), "nothing is wrong at first");
    for button in ["⏸ Pause", "▶ Resume", "⏹ Stop", "Save run…"] {
        assert!(!window.is_enabled(button), "{button} before there is a run");
    }
    assert!(window.is_enabled("⏭ Step"));
}

#[test]
fn an_invalid_value_is_marked_and_disables_start() {
    let mut window = Window::open(small());
    window.fill("Learning rate", "fast");
    assert!(!window.is_enabled("▶ Start"));
    let reason = r#"Learning rate: "fast" is not a number, must be greater than 0 and at most 10"#;
    assert!(window.shows(&format!("⚠ {reason}")), "at the field");
    assert!(window.shows(&format!("⚠ Start: {reason}")), "beside Start");
    window.press(Modifiers::NONE, Key::F5);
    assert!(!window.shows("Preparing data…"), "its key is disabled too");

    window.fill("Learning rate", "11");
    assert!(window.shows_part("⚠ Learning rate: 11 is out of range"));
    window.click("Show more");
    window.fill("Momentum", "1");
    assert!(window.shows_part("(and 1 more)"));
    assert!(!window.is_enabled("Show less"), "a wrong input stays visible");
    window.fill("Momentum", "0.5");
    window.fill("Learning rate", "0.02");
    assert!(window.is_enabled("▶ Start") && !window.shows_part("⚠"));
    assert_eq!(window.settings().training.learning_rate, 0.02);
    assert_eq!(window.settings().training.momentum, 0.5);
}

#[test]
fn every_input_has_its_label() {
    let mut window = Window::open(small());
    assert!(!window.shows("Momentum"), "behind a button");
    window.click("Show more");
    for field in ["Samples", "Neurons per layer", "Gain", "Threshold", "Learning rate", "Momentum", "Regularization"] {
        window.text_in(field);
    }
    for field in
        ["Training part", "Validation part", "Test part", "Batch size", "Epochs", "Stop early after", "Training seed"]
    {
        window.text_in(field);
    }
    for label in ["Data set", "Target", "Features", "Logarithm of the target", "Rows with missing values", "Device"] {
        assert!(window.shows(label), "{label}");
    }
    assert_eq!(window.text_in("Neurons per layer"), "4");
    assert_eq!(window.text_in("Samples"), "", "all of them");
}

#[test]
fn layers_and_samples_are_parsed_while_typing() {
    let mut window = Window::open(small());
    window.fill("Neurons per layer", "12-8, 4");
    window.fill("Samples", "500");
    assert_eq!(window.settings().network.hidden, [12, 8, 4]);
    assert_eq!(window.settings().data.samples, Some(500));
    window.fill("Samples", "");
    assert_eq!(window.settings().data.samples, None);
}

#[test]
fn the_learning_rate_follows_the_optimizer_unless_it_was_changed() {
    let mut window = Window::open(small());
    assert_eq!(window.text_in("Learning rate"), "0.003");
    window.choose("Optimizer", "SGD");
    assert_eq!((window.text_in("Learning rate"), window.settings().training.learning_rate), ("0.02".to_owned(), 0.02));
    window.fill("Learning rate", "0.07");
    window.choose("Optimizer", "Adam");
    assert_eq!((window.text_in("Learning rate"), window.settings().training.learning_rate), ("0.07".to_owned(), 0.07));
}

#[test]
fn a_check_box_removes_a_feature() {
    let mut window = Window::open(small());
    let before = window.settings().data.features;
    window.click(&before[0]);
    assert_eq!(window.settings().data.features, before[1..]);
    window.click(&before[0]);
    assert_eq!(window.settings().data.features, before, "in the table's order again");
    window.click("none");
    assert!(!window.is_enabled("▶ Start"));
    assert!(window.shows_part("⚠ Features: no column is chosen"));
    window.click("numbers");
    assert!(window.is_enabled("▶ Start"));
}

#[test]
fn the_keyboard_reaches_the_buttons_and_fields() {
    let mut window = Window::open(small());
    let mut reached = Vec::new();
    for _ in 0..70 {
        window.press(Modifiers::NONE, Key::Tab);
        reached.extend(window.focused());
    }
    for label in ["▶ Start", "⏭ Step", "Open run…", "Switch theme", "Keys", "Open file…", "Training"] {
        assert!(reached.iter().any(|name| name == label), "{label} is not among {reached:?}");
    }
}

#[test]
fn f1_lists_the_keys_and_escape_closes_the_list() {
    let mut window = Window::open(small());
    window.press(Modifiers::NONE, Key::F1);
    assert!(window.shows("Ctrl+O") && window.shows("F5"));
    window.press(Modifiers::NONE, Key::Escape);
    assert!(!window.shows("Ctrl+O"));
}

#[test]
fn layers_are_added_and_removed_by_buttons() {
    let mut window = Window::open(small());
    let hidden = |window: &Window| (window.settings().network.hidden, window.text_in("Neurons per layer"));
    window.click("Add layer");
    assert_eq!(hidden(&window), (vec![4, 2], "4, 2".to_owned()));
    window.click("Remove layer");
    window.click("Remove layer");
    assert_eq!(hidden(&window).0, Vec::<usize>::new());
    assert!(!window.is_enabled("Remove layer") && window.is_enabled("▶ Start"), "a linear model");
    window.click("Add layer");
    assert_eq!(hidden(&window).0, [32]);
    window.click("More neurons in layer 1");
    assert_eq!(hidden(&window), (vec![36], "36".to_owned()));
    window.fill("Neurons per layer", "1, 2");
    window.click("Fewer neurons in layer 2");
    assert_eq!(hidden(&window).0, [1, 1]);
    assert!(!window.is_enabled("Fewer neurons in layer 1"));
}

#[test]
fn presets_set_network_and_training() {
    let mut settings = small();
    settings.training.seed = 7;
    let mut window = Window::open(settings);
    let before = window.settings();
    window.click("Presets");
    window.click("Sigmoids, as in the paper");
    let after = window.settings();
    assert_eq!((after.network.activation, after.network.hidden), (HiddenActivation::Sigmoid, vec![16]));
    let training = after.training;
    assert_eq!((training.optimizer, training.learning_rate, training.momentum), (Optimizer::Sgd, 0.02, 0.9));
    assert_eq!((training.seed, after.data, after.split), (7, before.data.clone(), before.split));
    assert_eq!(window.text_in("Learning rate"), "0.02");
    assert!(window.is_enabled("▶ Start"));
    window.click("Undo");
    assert_eq!(window.settings(), before);
}

#[test]
fn changes_are_undone_and_settings_reset() {
    let mut window = Window::open(small());
    assert!(!window.is_enabled("Undo") && !window.is_enabled("Redo"));
    let before = window.settings();
    window.click("Add layer");
    window.wait_until("the change is an undo point", |window| window.is_enabled("Undo"));
    let after = window.settings();
    assert_ne!(after, before);
    window.click("Undo");
    assert_eq!(window.settings(), before);
    assert_eq!(window.text_in("Neurons per layer"), "4");
    window.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    assert_eq!(window.settings(), after);
    window.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(window.settings(), before);

    window.click("Reset");
    let (mut defaults, reset) = (Settings::default(), window.settings());
    // The defaults for 600 rows.
    let training = &mut defaults.training;
    (training.batch_size, training.epochs, training.patience) = (16, 223, Some(44));
    assert_eq!((reset.network, reset.split, reset.training), (defaults.network, defaults.split, defaults.training));
    assert_eq!((&reset.data.source, &reset.data.features), (&before.data.source, &before.data.features));
    assert_eq!(window.text_in("Epochs"), "223");
    window.click("Undo");
    assert_eq!(window.settings(), before);
}
