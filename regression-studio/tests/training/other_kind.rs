//! The other kind of network for comparison, and canceling jobs that train several networks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use regression_studio::cross_validation::{self, Repeats};
use regression_studio::other_kind::{self, Comparison};
use regression_studio::settings::NetworkKind;
use regression_studio::{Session, Settings};

use crate::support::{small_settings, small_table};

fn settings(kind: NetworkKind) -> Settings {
    let mut settings = small_settings();
    settings.network.kind = kind;
    settings
}

#[test]
fn kinds_are_compared_by_their_errors_on_the_same_validation_part() {
    let table = Arc::new(small_table(300, 1));
    for kind in [NetworkKind::Layers, NetworkKind::Table] {
        let settings = settings(kind);
        let of_other = other_kind::settings(&settings, &table);
        assert_eq!((of_other.network.kind, &of_other.split), (kind.other(), &settings.split));
        let run = |settings: &Settings| Session::start(Arc::clone(&table), settings.clone()).wait();
        let [one, other] = [run(&settings), run(&of_other)];
        let smallest = |snapshot: &regression_studio::Snapshot| {
            snapshot.history.iter().map(|record| record.validation_rmse).fold(f64::INFINITY, f64::min)
        };
        let expected = Comparison { kind, error: smallest(&one), of_other: smallest(&other) };
        let trained = other_kind::train(&table, &settings, &AtomicBool::new(false), |_| ()).unwrap().unwrap();
        let comparison = Comparison::of(one.run.as_ref().unwrap(), &trained).unwrap();
        assert_eq!(comparison, expected);
        let parts = |snapshot: &regression_studio::Snapshot| {
            let rows = snapshot.run.as_ref().unwrap().rows.clone().unwrap();
            rows.parts().collect::<Vec<_>>()
        };
        assert_eq!(parts(&one), parts(&other));
    }
}

#[test]
fn a_difference_within_the_margin_is_not_offered() {
    let of = |of_other| Comparison { kind: NetworkKind::Layers, error: 0.5, of_other };
    assert!(of(0.494).is_other_better() && !of(0.496).is_other_better() && !of(0.6).is_other_better());
    assert_eq!(
        of(0.4).in_words(),
        "The network made for tables is better on the validation part: its error there is 0.4000, that of the network of \
         layers 0.5000, in standard deviations of the target."
    );
    assert!(of(0.5).in_words().starts_with("The network made for tables is not better on the validation part"));
}

#[test]
fn cancelled_checks_have_no_result() {
    let (table, cancel) = (Arc::new(small_table(300, 1)), AtomicBool::new(true));
    let mut settings = settings(NetworkKind::Table);
    settings.training.epochs = 100_000;
    assert_eq!(
        cross_validation::run(&table, &settings, Repeats::Folds(3), &cancel, |_, _| panic!("a fold was trained")),
        Ok(None)
    );
    settings.network.kind = NetworkKind::Layers;
    cancel.store(false, Ordering::Relaxed);
    let trained = other_kind::train(&table, &settings, &cancel, |_| cancel.store(true, Ordering::Relaxed));
    assert_eq!(trained, Ok(None));
}
