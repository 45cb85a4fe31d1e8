//! The search for settings: what it draws, what it compares, and what remains after an
//! interruption.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use regression_studio::Session;
use regression_studio::prepared::prepare;
use regression_studio::search::{Search, Tried, require_valid, settings_of_run};
use regression_studio::settings::{NetworkKind, SearchSettings, Settings};
use regression_studio::table::{Column, Table};

use crate::support::{small_settings, small_table};

fn settings() -> Settings {
    let mut settings = small_settings();
    settings.training.epochs = 3;
    settings.search =
        SearchSettings { layers: [0, 2], widths: vec![3, 5], learning_rate: [0.01, 0.5], ..settings.search };
    settings
}

/// The runs of a search in order, without times.
fn runs_of(search: &Search, runs: usize) -> Vec<Tried> {
    let mut tried: Vec<Tried> = search.ranked(runs).into_iter().cloned().collect();
    tried.sort_by_key(|tried| tried.run);
    tried.into_iter().map(|tried| Tried { seconds: 0.0, ..tried }).collect()
}

fn open(folder: &Path, table: &Table, settings: &Settings, resume: bool) -> Result<Search, String> {
    let opened = Search::open(folder, table, settings, resume, |warning| panic!("{warning}"));
    opened.map_err(|error| error.to_string())
}

fn searched(table: &Arc<Table>, settings: &Settings, runs: usize) -> Vec<Tried> {
    let folder = tempfile::tempdir().unwrap();
    let mut search = open(folder.path(), table, settings, false).unwrap();
    assert!(search.train(table, runs, &AtomicBool::new(false), |_| ()).unwrap());
    runs_of(&search, runs)
}

#[test]
fn draws_are_uniform_in_their_ranges_and_each_run_has_its_own() {
    let mut base = small_settings();
    base.search.learning_rate = [0.001, 0.1];
    let first = settings_of_run(&base, 1);
    assert_eq!(first, Settings { search: SearchSettings::default(), ..base.clone() }, "run 1 has the file's settings");
    let drawn: Vec<Settings> = (2..2002).map(|run| settings_of_run(&base, run)).collect();
    let share =
        |is_so: &dyn Fn(&Settings) -> bool| drawn.iter().filter(|settings| is_so(settings)).count() as f64 / 2000.0;
    let third = |is_so: &dyn Fn(&Settings) -> bool| (share(is_so) - 1.0 / 3.0).abs() < 0.05;
    for layers in 1..=3 {
        assert!(third(&|settings| settings.network.hidden.len() == layers), "{layers} layers");
    }
    for width in [8, 16, 32, 64, 128] {
        assert!((share(&|settings| settings.network.hidden[0] == width) - 0.2).abs() < 0.05, "{width}");
    }
    let [low, high] = base.search.learning_rate;
    let bounds = [low, low * 100.0_f64.powf(1.0 / 3.0), low * 100.0_f64.powf(2.0 / 3.0), high];
    for range in bounds.windows(2) {
        assert!(third(&|settings| (range[0]..=range[1]).contains(&settings.training.learning_rate)), "{range:?}");
    }
    let [low, high] = base.search.regularization;
    assert!(share(&|settings| (low..=high).contains(&settings.training.regularization)) == 1.0);
    assert!((share(&|settings| settings.training.regularization < (low * high).sqrt()) - 0.5).abs() < 0.05);
    // Everything else comes from the file, including the seed of training.
    let others = |settings: &Settings| {
        let mut settings = settings.clone();
        settings.network.hidden.clear();
        (settings.training.learning_rate, settings.training.regularization) = (0.0, 0.0);
        settings
    };
    assert!(drawn.iter().all(|settings| others(settings) == others(&first)));
    let mut other_seed = base.clone();
    other_seed.search.seed = 1;
    assert_ne!(settings_of_run(&other_seed, 2), drawn[0]);
    // A range with a single value, which has more digits than drawn values have.
    base.search.learning_rate = [0.012_345; 2];
    assert_eq!(settings_of_run(&base, 7).training.learning_rate, 0.012_345);
}

#[test]
fn bad_ranges_are_named_with_a_way_out() {
    let cases: [(&str, &str); 13] = [
        (
            "search.learning_rate=[0.1,0.01]",
            "search.learning_rate: the minimum 0.1 is greater than the maximum 0.01: write [0.01, 0.1]",
        ),
        ("search.learning_rate=[0,0.01]", "search.learning_rate: [0, 0.01] must have positive bounds"),
        (
            "search.learning_rate=[-1,0.01]",
            "must have positive bounds, since its logarithm is drawn: write for example",
        ),
        ("search.learning_rate=[nan,0.01]", "search.learning_rate: [NaN, 0.01] must have positive bounds"),
        ("search.learning_rate=[0.01,nan]", "search.learning_rate: [0.01, NaN] must have positive bounds"),
        ("search.learning_rate=[0.1,inf]", "search.learning_rate: inf is out of range: the maximum is at most 10"),
        ("search.regularization=[0,0.1]", "search.regularization: [0, 0.1] must have positive bounds"),
        ("search.regularization=[0.1,2]", "search.regularization: 2 is out of range: the maximum is at most 1"),
        ("search.layers=[3,1]", "search.layers: the minimum 3 is greater than the maximum 1: write [1, 3]"),
        ("search.layers=[1,9]", "search.layers: 9 hidden layers are too many: at most 8 are possible"),
        ("search.widths=[]", "search.widths: the list is empty: give at least one width"),
        ("search.widths=[8,0]", "search.widths: 0 is out of range, must be 1 … 1024"),
        ("search.widths=[1025]", "search.widths: 1025 is out of range"),
    ];
    for (set, expected) in cases {
        let message = require_valid(&small_settings().with_values(&[set]).unwrap()).unwrap_err().to_string();
        assert!(message.contains(expected) && !message.contains('\n'), "{set}: {message}");
    }
    for set in [
        "search.learning_rate=[0.1]",
        "search.learning_rate=0.1",
        "search.layers=[-1,2]",
        "search.rate=1",
        "search.widths=[a]",
    ] {
        let message = small_settings().with_values(&[set]).unwrap_err();
        assert!(message.starts_with(set) && !message.contains('\n'), "{message}");
    }
    let mut settings = small_settings();
    assert!(require_valid(&settings).is_ok());
    settings.network.kind = NetworkKind::Table;
    assert!(require_valid(&settings).unwrap_err().to_string().contains("chooses its own layers and learning rate"));
}

#[test]
fn runs_have_the_validation_errors_of_single_runs_and_are_ranked_by_them() {
    let (table, mut settings) = (Arc::new(small_table(200, 1)), settings());
    let mut expected = Vec::new();
    for run in 1..=6 {
        let alone = Session::start(Arc::clone(&table), settings_of_run(&settings, run)).wait();
        let of_validation = alone.results.as_ref().unwrap().parts[1].network;
        expected.push((run, alone.history[alone.best_epoch - 1].validation_rmse, of_validation, alone.best_epoch));
    }
    for threads in [1, 3] {
        settings.training.threads = Some(threads);
        let folder = tempfile::tempdir().unwrap();
        let mut search = open(folder.path(), &table, &settings, false).unwrap();
        let mut ended = Vec::new();
        assert!(search.train(&table, 6, &AtomicBool::new(false), |tried| ended.push(tried.run)).unwrap());
        ended.sort_unstable();
        assert_eq!(ended, [1, 2, 3, 4, 5, 6]);
        for (tried, (run, rmse, metrics, best_epoch)) in runs_of(&search, 6).iter().zip(&expected) {
            let validation = tried.validation.unwrap();
            assert_eq!((tried.run, validation.rmse, validation.best_epoch), (*run, *rmse, *best_epoch));
            assert!((validation.rmse_in_unit - metrics.rmse).abs() < 1e-6 && (validation.r2 - metrics.r2).abs() < 1e-5);
        }
        let ranked = search.ranked(6);
        assert!(ranked.is_sorted_by(|a, b| a.error() <= b.error()) && ranked.len() == 6);
        let best = expected.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert_eq!(ranked[0].run, best.0);
    }
}

#[test]
fn the_test_part_is_not_looked_at() {
    let (table, settings) = (small_table(200, 1), settings());
    let test_rows = prepare(&table, &settings).unwrap().test.rows.to_vec();
    assert_eq!(test_rows.len(), 30);
    let change = |column: &Column| match column.numbers() {
        Some(numbers) if column.name() == "target" => {
            let changed = |(row, value): (u32, &f64)| if test_rows.contains(&row) { 7.0 - 3.0 * value } else { *value };
            Column::of_numbers("target", (0..).zip(numbers).map(changed).collect())
        }
        _ => column.clone(),
    };
    let changed = Table::new("another test part", table.columns().iter().map(change).collect());
    assert_eq!(searched(&Arc::new(table), &settings, 5), searched(&Arc::new(changed), &settings, 5));
}

#[test]
fn an_interrupted_search_ends_as_one_without_interruption() {
    let (table, mut settings) = (Arc::new(small_table(200, 1)), settings());
    let expected = searched(&table, &settings, 9);
    assert_eq!(searched(&table, &settings, 4), expected[..4], "the runs do not depend on their number");
    for (threads, after) in [(1, 1), (1, 3), (2, 4)] {
        settings.training.threads = Some(threads);
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("search.jsonl");
        let cancel = AtomicBool::new(false);
        let mut search = open(folder.path(), &table, &settings, false).unwrap();
        let mut ended = 0;
        let stop = |_: &Tried| {
            ended += 1;
            cancel.store(ended >= after, Ordering::Relaxed);
        };
        let is_complete = search.train(&table, 7, &cancel, stop).unwrap();
        drop(search);
        // Tear the last line at a different byte each time.
        let whole = fs::read(&log).unwrap();
        let lines = whole.iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!((lines, is_complete), (1 + ended, ended == 7));
        let last = whole[..whole.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
        for length in [whole.len(), whole.len() - 1, last + 1, last + (whole.len() - last) / 2] {
            fs::write(&log, &whole[..length]).unwrap();
            let mut warnings = Vec::new();
            let mut search =
                Search::open(folder.path(), &table, &settings, true, |warning| warnings.push(warning)).unwrap();
            let kept = if length == whole.len() { ended } else { ended - 1 };
            assert_eq!((search.ranked(9).len(), warnings.len()), (kept, usize::from(kept < ended)), "{warnings:?}");
            let mut trained = 0;
            assert!(search.train(&table, 9, &AtomicBool::new(false), |_| trained += 1).unwrap());
            assert_eq!((trained, runs_of(&search, 9)), (9 - kept, expected.clone()));
            // The same when read again, without a warning.
            assert_eq!(runs_of(&open(folder.path(), &table, &settings, true).unwrap(), 9), expected);
            assert_eq!(runs_of(&search, 4), expected[..4]);
        }
    }
}

#[test]
fn a_search_is_resumed_with_the_same_table_and_settings_alone() {
    let (table, settings) = (Arc::new(small_table(200, 1)), settings());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let resume =
        |table: &Table, settings: &Settings| open(folder.path(), table, settings, true).map(|_| ()).unwrap_err();
    assert!(resume(&table, &settings).starts_with(&format!("{path}: no search found")));
    let mut search = open(folder.path(), &table, &settings, false).unwrap();
    search.train(&table, 3, &AtomicBool::new(false), |_| ()).unwrap();
    let message = open(folder.path(), &table, &settings, false).map(|_| ()).unwrap_err();
    assert!(
        message.starts_with(&format!("{path}: the folder contains a search: resume it with --resume")),
        "{message}"
    );
    for (set, difference) in [
        ("training.epochs=4", "training.epochs = 3, not 4"),
        ("training.seed=1", "training.seed = 0, not 1"),
        ("network.hidden=[7]", "network.hidden = [7, 5], not [7]"),
        ("split.seed=3", "split.seed = 0, not 3"),
        ("search.layers=[1,2]", "search.layers = [0, 2], not [1, 2]"),
        ("search.learning_rate=[0.01,0.4]", "search.learning_rate = [0.01, 0.5], not [0.01, 0.4]"),
        ("search.seed=9", "search.seed = 0, not 9"),
        ("data.samples=150", "data.samples = no value, not 150"),
    ] {
        let message = resume(&table, &settings.with_values(&[set]).unwrap());
        assert!(message.contains(&format!("its search has {difference}")) && !message.contains('\n'), "{message}");
    }
    let message = resume(&small_table(200, 2), &settings);
    assert!(message.contains("its search has another table: the rows of a small table have changed"), "{message}");
    let threads = settings.with_values(&["training.threads=3"]).unwrap();
    assert_eq!(runs_of(&open(folder.path(), &table, &threads, true).unwrap(), 3).len(), 3);

    // An interruption can leave a gap between runs.
    let log = folder.path().join("search.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let is_second = |line: &&str| line.contains("\"run\":2,");
    assert_eq!(text.lines().filter(is_second).count(), 1);
    let without_second: Vec<&str> = text.split_inclusive('\n').filter(|line| !is_second(line)).collect();
    fs::write(&log, without_second.concat()).unwrap();
    let mut resumed = open(folder.path(), &table, &settings, true).unwrap();
    assert!(resumed.train(&table, 3, &AtomicBool::new(false), |_| ()).unwrap());
    assert_eq!(runs_of(&resumed, 3), runs_of(&search, 3));
    drop(resumed);

    // Lines before the last one must be complete, belong to these settings, and occur once.
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let changed = lines[2].replacen("\"run\":", "\"run\":1", 1);
    for (number, damaged) in [
        (1, lines[1..].concat()),
        (1, String::new()),
        (2, [lines[0], "{\n", lines[2]].concat()),
        (3, [lines[0], lines[1], lines[1]].concat()),
        (3, [lines[0], lines[1], &changed].concat()),
    ] {
        fs::write(&log, damaged).unwrap();
        let message = resume(&table, &settings);
        assert!(message.contains(&format!("search.jsonl, line {number}: not ")), "{message}");
    }
}
