//! CSV files for other programs.

use std::fmt::Write;

use crate::results::{EpochErrors, TableRows};

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

/// One line per test row, counted from 1.
pub(super) fn predicted(rows: &TableRows) -> String {
    let mut text = "row,true,predicted\n".to_owned();
    for (row, [truth, predicted]) in rows.test() {
        let _ = writeln!(text, "{},{truth},{predicted}", row + 1);
    }
    text
}

/// One line per row that is used, counted from 1.
pub(super) fn split(rows: &TableRows) -> String {
    let mut text = "row,part\n".to_owned();
    for (row, part) in rows.parts() {
        let _ = writeln!(text, "{},{part}", row + 1);
    }
    text
}
