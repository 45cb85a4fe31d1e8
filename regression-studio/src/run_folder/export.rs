//! CSV files for other programs.

use std::fmt::Write;

use crate::results::EpochErrors;
use crate::results::Predicted;

/// One line per epoch.
pub(super) fn history(history: &[EpochErrors]) -> String {
    let mut text = "epoch,seconds,train_rmse,validation_rmse,train_rmse_in_unit,validation_rmse_in_unit\n".to_owned();
    for record in history {
        let EpochErrors { epoch, seconds, train_rmse, validation_rmse, .. } = record;
        let (train, validation) = (record.train_rmse_in_unit, record.validation_rmse_in_unit);
        let _ = writeln!(text, "{epoch},{seconds},{train_rmse},{validation_rmse},{train},{validation}");
    }
    text
}

/// One line per pair.
pub(super) fn predicted(predicted: &Predicted) -> String {
    let mut text = "true,predicted\n".to_owned();
    for [truth, predicted] in &predicted.pairs {
        let _ = writeln!(text, "{truth},{predicted}");
    }
    text
}
