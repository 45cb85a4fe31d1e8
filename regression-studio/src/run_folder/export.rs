//! CSV files for other programs.

use std::fmt::Write;

use crate::intervals::PERCENT;
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

/// One line per test row, counted from 1, with the ends of its interval if it has one.
pub(super) fn predicted(rows: &TableRows) -> String {
    let mut text = "row,true,predicted".to_owned();
    if !rows.intervals().is_empty() {
        let _ = write!(text, ",lower {PERCENT} %,upper {PERCENT} %");
    }
    text.push('\n');
    let mut intervals = rows.intervals().iter();
    for (row, [truth, predicted]) in rows.test() {
        let _ = write!(text, "{},{truth},{predicted}", row + 1);
        if let Some([low, high]) = intervals.next() {
            let _ = write!(text, ",{low},{high}");
        }
        text.push('\n');
    }
    text
}

/// One line per used row, counted from 1.
pub(super) fn split(rows: &TableRows) -> String {
    let mut text = "row,part\n".to_owned();
    for (row, part) in rows.parts() {
        let _ = writeln!(text, "{},{part}", row + 1);
    }
    text
}
