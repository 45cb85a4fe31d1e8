//! Accuracy on the real stock file, compared with PyTorch's.

use crate::support::{stocks, trained};
use neural_net::device::TrainingDevice;
use neural_net::training::{Optimizer, Schedule};
use regression_studio::settings::{Duplicates, HiddenActivation, Settings, Source};
use regression_studio::table::synthetic::FEATURES;

/// With the same network and update rule, PyTorch reaches an R² of 0.913 on the logarithms of the test part after 6
/// epochs; linear least squares reaches 0.380.
#[test]
fn trade_value_is_predicted_as_accurately_as_by_pytorch_after_six_epochs() {
    let Some(path) = stocks() else { return };
    let mut settings = Settings::default();
    settings.data.source = Source::File(path);
    settings.data.features = FEATURES.map(str::to_owned).to_vec();
    settings.data.target = "TURNOVER_LACS".to_owned();
    (settings.data.log_target, settings.data.log_features) = (true, false);
    // As in PyTorch's training: a few hundred rows are equal.
    settings.split.duplicates = Duplicates::Apart;
    settings.network.hidden = vec![32, 16];
    settings.network.activation = HiddenActivation::Tanh;
    settings.training.batch_size = 256;
    (settings.training.optimizer, settings.training.learning_rate) = (Optimizer::Sgd, 0.05);
    settings.training.schedule = Schedule::Constant;
    settings.training.momentum = 0.9;
    settings.training.epochs = 6;
    settings.training.patience = None;
    settings.training.device = TrainingDevice::Cpu;
    let table = settings.data.table().unwrap();
    let snapshot = trained(table, settings);
    let results = snapshot.results.as_ref().unwrap_or_else(|| panic!("{:?}", snapshot.state));
    let test = &results.parts[2];
    assert_eq!(test.rows, 61_751);
    let r2 = test.network.r2_log.unwrap();
    assert!((0.91..0.9999).contains(&r2), "{test:?}");
    let linear = test.linear.r2_log.unwrap();
    assert!((0.36..0.40).contains(&linear), "{test:?}");
}
